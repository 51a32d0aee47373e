// Our programs against what PyTorch's FSDP really launched, as record_fsdp.py recorded it
// (recorded/README.md): the same passes, copies and collectives of the same sizes, launched in the same
// order, each waiting for the same pass and waited for by the same one.
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/strategies/fsdp.hpp"

namespace ddpsim::testing {
namespace {

using Json = nlohmann::json;

// An op of a program or of a recording.
struct Node {
  std::string name;          // "forward h.0"
  std::string communicator;  // empty: compute
  double bytes = 0;
  std::vector<std::size_t> after;
};

// Which ops have ended when an op begins: those it waits for, those before it on the compute lane or on its
// communicator, and all that these had to wait for.
std::vector<std::set<std::size_t>> ancestors(const std::vector<Node>& nodes) {
  std::vector<std::set<std::size_t>> result(nodes.size());
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto after = nodes[i].after;
    if (auto before = last.find(nodes[i].communicator); before != last.end()) after.push_back(before->second);
    for (auto j : after) {
      result[i].insert(j);
      result[i].insert(result[j].begin(), result[j].end());
    }
    last[nodes[i].communicator] = i;
  }
  return result;
}

struct Said {
  std::vector<std::string> compute, collectives;
};

// What counts of nodes: compute ops in order, and collectives in launch order, each with the compute op and
// the collective of each communicator that it waits for last and the first compute op that waits for it.
Said said(const std::vector<Node>& nodes, const std::function<bool(const Node&)>& counts) {
  Said result;
  auto before = ancestors(nodes);
  std::map<std::string, std::vector<std::size_t>> lanes;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (counts(nodes[i])) lanes[nodes[i].communicator].push_back(i);
  const auto& computes = lanes[""];
  auto place_of = [&](const std::vector<std::size_t>& lane, std::size_t place) {
    return fmt::format("{} {}", place, nodes[lane[place]].name);
  };
  for (auto i : computes) result.compute.push_back(nodes[i].name);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].communicator.empty() || !counts(nodes[i])) continue;
    auto text = fmt::format("{} of {} bytes over {}", nodes[i].name, nodes[i].bytes, nodes[i].communicator);
    for (const auto& [name, lane] : lanes)
      for (std::size_t place = lane.size(); place-- > 0;)
        if (before[i].contains(lane[place])) {
          text += ", after " + place_of(lane, place);
          break;
        }
    for (std::size_t place = 0; place < computes.size(); ++place)
      if (before[computes[place]].contains(i)) {
        text += ", before " + place_of(computes, place);
        break;
      }
    result.collectives.push_back(std::move(text));
  }
  return result;
}

class Case {
 public:
  Case(const Json& model, const Json& recorded) : json_(recorded), model_(model) {
    options_.units.blocks = json_.at("layers_a_unit");
    options_.param_dtype = json_.at("mixed") ? DType::bfloat16 : DType::float32;
    options_.reduce_dtype = DType::float32;
    options_.reduce_every_micro_batch = json_.at("reduce_every_micro_batch");
    const auto& reshard = json_.at("reshard_after_forward");
    options_.reshard_after_forward = reshard.is_string() || reshard.get<bool>();
    options_.reshard_last = reshard.is_boolean();
    options_.communicators = json_.at("communicators");
    trace_ = make_trace();
    int ranks = json_.at("ranks"), shards = json_.at("shard");
    auto kind = is_fsdp2() ? FsdpKind::fsdp2 : FsdpKind::fsdp1;
    plan_ = make_fsdp_plan(trace_, kind, options_, shards, ranks / shards);
  }

  [[nodiscard]] bool is_fsdp2() const { return json_.at("strategy") == "fsdp"; }

  [[nodiscard]] std::vector<Node> recorded() const {
    std::vector<Node> nodes;
    std::vector<std::size_t> place;  // by recorded op
    for (const auto& op : json_.at("ops")) {
      auto name = op.at(0).get<std::string>() + " " + op.at(1).get<std::string>();
      bool is_compute = op.size() == 3;
      // Layers of one unit, one after the other.
      if (is_compute && !nodes.empty() && nodes.back().name == name) {
        place.push_back(nodes.size() - 1);
        continue;
      }
      place.push_back(nodes.size());
      Node node{name, {}, 0, {}};
      if (!is_compute) {
        node.communicator = op.at(2);
        node.bytes = op.at(3).get<double>() * bytes_per_element(*find_dtype(op.at(4).get<std::string>()));
      }
      for (const auto& before : op.back()) node.after.push_back(place.at(before));
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  // Bytes are those of the padded unit.
  [[nodiscard]] std::vector<Node> programmed() const {
    auto program = plan_.program(trace_, json_.at("accumulation_steps"), {}).program;
    auto forward = forward_passes(trace_, plan_.units), backward = backward_passes(trace_, plan_.units);
    std::size_t forwards = 0, backwards = 0;
    std::vector<Node> nodes;
    for (const auto& op : program.ops) {
      bool of_bucket = op.activity == Activity::copy_in || op.activity == Activity::reduce_scatter ||
                       op.activity == Activity::all_reduce;
      auto unit = op.activity == Activity::forward    ? forward[forwards++ % forward.size()].unit
                  : op.activity == Activity::backward ? backward[backwards++ % backward.size()].unit
                  : of_bucket                         ? plan_.units.size() - 1 - op.index
                                                      : op.index;
      Node node{fmt::format("{} {}", activity_name(op.activity), plan_.units[unit].name), {}, 0, op.after};
      if (op.kind == Op::Kind::collective) {
        auto dtype = op.activity == Activity::all_gather ? plan_.param_dtype : plan_.reduce_dtype;
        auto padding = static_cast<double>(this->padding(unit)) * bytes_per_element(dtype);
        node.communicator = communicator_name(op.communicator);
        node.bytes =
            op.bytes.value() + (op.activity == Activity::all_reduce ? padding / plan_.shards : padding);
      }
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  // FSDP1's copies are none of the model's stream; programs have no set_requires_all_reduce(False).
  [[nodiscard]] bool counts(const Node& node) const {
    if (node.communicator == "replicate" && !json_.at("all_reduce_every_micro_batch")) return false;
    return is_fsdp2() || !node.name.starts_with("copy_");
  }

 private:
  [[nodiscard]] std::string communicator_name(std::size_t communicator) const {
    std::vector<std::string> names{"shard"};
    if (options_.communicators == 2) names.emplace_back("reduce");
    names.emplace_back("replicate");
    return names.at(communicator);
  }

  [[nodiscard]] LayerTrace make_trace() const {
    LayerTrace trace;
    const auto& parameters = model_.at("parameters");
    const auto& arrivals = model_.at("arrivals");
    trace.registration_order.resize(arrivals.size());
    double last = 0;
    for (const auto& parameter : arrivals) {
      const auto& [name, shape, part] = described(parameters.at(parameter.get<std::size_t>()));
      trace.registration_order[parameter.get<std::size_t>()] = trace.gradients.size();
      trace.gradients.push_back(
          {name, product(shape), DType::float32, Seconds(++last), {}, Seconds(part + 1.0)});
    }
    trace.forward = Seconds(1.0 + model_.at("layers").get<double>() + 1.0);
    trace.optimizer = Seconds(1);
    return trace;
  }

  using Shape = std::vector<std::int64_t>;
  static std::tuple<std::string, Shape, int> described(const Json& parameter) { return parameter; }
  static std::int64_t product(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  }

  // Elements that PyTorch adds so that all ranks have equally many: FSDP2 to each parameter's rows. FSDP1
  // lets each parameter of a unit start at a multiple of 16 bytes, and pads the unit.
  [[nodiscard]] std::int64_t padding(std::size_t unit) const {
    std::int64_t ranks = json_.at("shard"), at = 0, elements = 0;
    auto up = [](std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; };
    for (const auto& parameter : model_.at("parameters")) {
      const auto& [name, shape, part] = described(parameter);
      if (!is_in(unit, name)) continue;
      elements += product(shape);
      if (is_fsdp2())
        at += up(shape.front(), ranks) * product(shape) / shape.front();
      else
        at = up(at, 16 / bytes_per_element(plan_.param_dtype)) + product(shape);
    }
    return up(at, ranks) - elements;
  }

  [[nodiscard]] bool is_in(std::size_t unit, const std::string& name) const {
    const auto& gradients = plan_.units[unit].gradients;
    return std::any_of(gradients.begin(), gradients.end(),
                       [&](auto gradient) { return trace_.gradients[gradient].name == name; });
  }

  Json json_, model_;
  FsdpOptions options_;
  LayerTrace trace_;
  FsdpPlan plan_;
};

class RecordedFsdp : public ::testing::TestWithParam<const char*> {
 protected:
  RecordedFsdp() {
    auto path = fmt::format("{}/tests/strategies/recorded/{}", DDPSIM_SOURCE_DIR, GetParam());
    std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    json_ = Json::parse(file);
  }
  [[nodiscard]] Case read(const Json& one) const {
    return {json_.at("models").at(one.at("model").get<std::string>()), one};
  }
  Json json_;
};

TEST_P(RecordedFsdp, LaunchesTheSameCollectives) {
  int compared = 0;
  for (const auto& one : json_.at("cases")) {
    SCOPED_TRACE(one.at("name").get<std::string>());
    auto of_case = read(one);
    auto counts = [&](const Node& node) { return of_case.counts(node); };
    auto ours = said(of_case.programmed(), counts), theirs = said(of_case.recorded(), counts);
    EXPECT_EQ(ours.compute, theirs.compute);
    EXPECT_EQ(ours.collectives, theirs.collectives);
    ++compared;
  }
  EXPECT_GE(compared, 64);
}

INSTANTIATE_TEST_SUITE_P(Versions, RecordedFsdp,
                         ::testing::Values("fsdp-torch-2.6.0.json", "fsdp-torch-2.15.0.json"));

}  // namespace
}  // namespace ddpsim::testing
