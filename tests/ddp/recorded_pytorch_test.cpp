// Our plans against what DistributedDataParallel really reduced: every bucket of the first three iterations,
// element for element and in launch order, as record_pytorch.py recorded it (recorded/README.md).
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/ddp/ddp_rules.hpp"

#include "tests/support/launch_times.hpp"

namespace ddpsim::test {
namespace {

using ddpsim::testing::bucket_launch_times;

using Json = nlohmann::json;
using Lists = std::vector<std::vector<std::size_t>>;

Json load(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return Json::parse(file);
}

// What was recorded, as a trace: gradients by arrival, a second apart, those that never arrived last.
// Gradients are named by their parameter's place in the registration order.
LayerTrace trace_of(const Json& model, const std::vector<std::size_t>& arrivals) {
  const auto& parameters = model.at("parameters");
  std::vector<std::size_t> order = arrivals;
  for (std::size_t parameter = 0; parameter < parameters.size(); ++parameter)
    if (std::find(arrivals.begin(), arrivals.end(), parameter) == arrivals.end()) order.push_back(parameter);
  LayerTrace trace;
  trace.registration_order.resize(order.size());
  for (std::size_t gradient = 0; gradient < order.size(); ++gradient) {
    const auto& parameter = parameters.at(order[gradient]);
    trace.gradients.push_back({.name = std::to_string(order[gradient]),
                               .elements = parameter.at(1).get<std::int64_t>(),
                               .dtype = *find_dtype(parameter.at(2).get<std::string>()),
                               .ready = Seconds(static_cast<double>(gradient + 1)),
                               .ready_spread = {}});
    trace.registration_order[order[gradient]] = gradient;
  }
  return trace;
}

DdpOptions options_of(const Json& test_case, TorchVersion torch, int iteration) {
  const auto& given = test_case.at("options");
  DdpOptions options;
  options.torch = torch;
  if (!given.at("bucket_cap_mb").is_null())
    options.bucket_cap = Bytes(test_case.at("cap_bytes").get<double>());
  for (const auto& cap : test_case.at("cap_bytes_list")) options.bucket_caps.emplace_back(cap.get<double>());
  // distributed.py takes its own default for the first bucket unless the given cap holds for it as well.
  bool holds_for_first = options.bucket_cap && torch >= TorchVersion{2, 4};
  if (!given.at("first_bucket_bytes").is_null() && !holds_for_first && options.bucket_caps.empty())
    options.first_bucket_cap = Bytes(given.at("first_bucket_bytes").get<double>());
  options.find_unused_parameters = given.at("find_unused_parameters");
  options.static_graph = given.at("static_graph");
  options.gradient_as_bucket_view = given.at("gradient_as_bucket_view");
  options.set_last_bucket_cap = given.at("set_last_bucket_cap");
  options.accumulation_steps = given.at("accumulation_steps");
  auto hook = given.at("comm_hook").get<std::string>();
  options.comm_hook = hook == "none"                 ? CommHook::none
                      : hook == "fp16_compress_hook" ? CommHook::fp16
                                                     : CommHook::bf16;
  options.iteration = static_cast<DdpIteration>(iteration);
  return options;
}

Lists parameters_of(const LayerTrace& trace, const ReductionPlan& plan) {
  Lists buckets;
  for (const auto& bucket : plan.buckets) {
    auto& parameters = buckets.emplace_back();
    for (auto gradient : bucket.gradients) parameters.push_back(std::stoul(trace.gradients[gradient].name));
  }
  return buckets;
}

// How many gradients have arrived when each bucket is launched.
std::vector<std::size_t> arrived_at_launch(const LayerTrace& trace, const ReductionPlan& plan,
                                           std::size_t arrivals) {
  std::vector<std::size_t> counts;
  for (auto time : bucket_launch_times(trace, plan))
    counts.push_back(plan.launch == LaunchRule::after_backward ? arrivals
                                                               : static_cast<std::size_t>(time.value()));
  return counts;
}

std::vector<std::int64_t> elements_of(const Json& collectives, const std::string& kind) {
  std::vector<std::int64_t> elements;
  for (const auto& one : collectives)
    if (one.at(0) == kind) elements.push_back(one.at(1));
  return elements;
}

class Recording {
 public:
  explicit Recording(const std::string& path) : json_(load(path)) {
    auto version = parse_torch_version(json_.at("recorded").at("torch").get<std::string>());
    EXPECT_TRUE(version) << path;
    torch_ = version.value_or(TorchVersion{});
  }

  // Returns how many iterations were compared.
  std::size_t compare() const {
    std::size_t compared = 0;
    for (const auto& test_case : json_.at("cases")) {
      // An option of 2.15 that leaves out whole buckets; nothing here has it.
      if (test_case.at("options").at("skip_all_reduce_unused_params")) continue;
      for (int iteration = 0; iteration < 3; ++iteration, ++compared) {
        SCOPED_TRACE(test_case.at("name").get<std::string>() + ", iteration " +
                     std::to_string(iteration + 1));
        compare(test_case, iteration);
      }
    }
    return compared;
  }

 private:
  void compare(const Json& test_case, int iteration) const {
    const auto& recorded = test_case.at("iterations").at(static_cast<std::size_t>(iteration));
    auto arrivals = recorded.at("arrivals").get<std::vector<std::size_t>>();
    auto trace = trace_of(json_.at("models").at(test_case.at("model").get<std::string>()), arrivals);
    auto options = options_of(test_case, torch_, iteration);
    for (auto gradient = arrivals.size(); gradient < trace.gradients.size(); ++gradient)
      options.unused_parameters.push_back(trace.gradients[gradient].name);
    auto plan = make_reduction_plan(trace, Reducer::ddp, options);
    EXPECT_EQ(parameters_of(trace, plan), recorded.at("buckets").get<Lists>());
    EXPECT_EQ(arrived_at_launch(trace, plan, arrivals.size()),
              recorded.at("arrived").get<std::vector<std::size_t>>());
    compare_wire(plan, options);
    auto bitmaps = elements_of(recorded.at("others"), "all_reduce");
    EXPECT_EQ(bitmaps.size(), plan.used_parameter_bitmap ? 1U : 0U);
    if (plan.used_parameter_bitmap && !bitmaps.empty()) {
      EXPECT_EQ(plan.used_parameter_bitmap->value(), 4.0 * static_cast<double>(bitmaps.front()));
    }
  }

  // A hook all-reduces two bytes per element.
  static void compare_wire(const ReductionPlan& plan, const DdpOptions& options) {
    for (const auto& bucket : plan.buckets) {
      double elements = bucket.bytes.value() / bytes_per_element(bucket.dtype);
      EXPECT_EQ(bucket.wire.value(),
                options.comm_hook == CommHook::none ? bucket.bytes.value() : 2 * elements);
    }
  }

  Json json_;
  TorchVersion torch_;
};

class RecordedPyTorch : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedPyTorch, ReducesTheSameBucketsInTheSameOrder) {
  Recording recording(std::string(DDPSIM_SOURCE_DIR) + "/tests/ddp/recorded/" + GetParam());
  EXPECT_GT(recording.compare(), 150U);
}

INSTANTIATE_TEST_SUITE_P(Versions, RecordedPyTorch,
                         ::testing::Values("torch-2.4.1.json", "torch-2.15.0.json"));

// What record_pytorch.py just recorded with the PyTorch of this machine, where the build found one.
TEST(LivePyTorch, ReducesTheSameBucketsInTheSameOrder) {
  const char* path = std::getenv("DDPSIM_RECORDING");
  ASSERT_TRUE(path) << "DDPSIM_RECORDING names no recording";
  EXPECT_GT(Recording(path).compare(), 150U);
}

}  // namespace
}  // namespace ddpsim::test
