#include "sim/text/nccl_calibration.hpp"

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/job/types.hpp"
#include "sim/keys/types.hpp"
#include "sim/text/file_rows.hpp"
#include "sim/topology/fabric.hpp"

namespace ddpsim::calibration_keys {
namespace {

using namespace keys;
using nccl::Calibration;
using nccl::FittedRows;
using Entry = Calibration::Entry;
using NodeEntry = Calibration::NodeEntry;

constexpr std::int64_t kMostRows = 1'000'000;

config::Words<Operation> operations_with_lines() {
  config::Words<Operation> words;
  for (const auto& [name, operation] : kOperationNames)
    if (nccl::has_lines(operation)) words.emplace_back(name, operation);
  return words;
}

// What all-reduces are measured with.
const config::Words<nccl::Algorithm> kFitted{{"tree", nccl::Algorithm::tree},
                                             {"ring", nccl::Algorithm::ring},
                                             {"nvls", nccl::Algorithm::nvls},
                                             {"nvls_tree", nccl::Algorithm::nvls_tree}};

Type<std::vector<FittedRows>> fitted_to() {
  using R = FittedRows;
  auto error =
      made_of<double, double>(number(0, 1e9), [](double percent, const Value&) { return percent / 100; });
  return list(nested(Rows<R>("fitted_to")
                         .needs<&R::table>("table", text(), "File")
                         .needs<&R::ranks>("ranks", whole(2, kLargestWorldSize), "Of the job")
                         .needs<&R::nodes>("nodes", whole(1, kLargestWorldSize), "Of the job")
                         .needs<&R::rows>("rows", whole(1, kMostRows), "How many")
                         .needs<&R::smallest>("smallest", size(), "Message")
                         .needs<&R::largest>("largest", size(), "Message")
                         .needs<&R::mean_error>("mean_error_percent", error, "Of the rows")
                         .needs<&R::worst_error>("worst_error_percent", error, "Of the rows")
                         .key<&R::distrusted>("distrusted_rows", whole(0, kMostRows), "Left out")));
}

Type<Entry> curve() {
  using C = nccl::Curve;
  auto factor = number(1e-3, 1e3);
  auto rows = nested(
      Rows<Entry>("curves")
          .needs<&Entry::algorithm>("algorithm", word(kFitted), "Of large messages")
          .needs<&Entry::across_nodes>("across_nodes", boolean(), "Or within one")
          .needs<&Entry::curve, &C::latency_scale>("latency_scale", factor, "Of the tuner's")
          .needs<&Entry::curve, &C::efficiency>("efficiency", factor, "Of the links' bandwidth")
          .needs<&Entry::curve, &C::ramp>("ramp", time(), "Until the pipeline is full")
          .key<&Entry::nodes>("nodes", whole(2, kLargestWorldSize), "The most measured on")
          .key<&Entry::fitted_to>("fitted_to", fitted_to(), "Tables")
          .check([](const Entry& entry, const Cursor& at) {
            if (entry.nodes > 0 && (entry.algorithm != nccl::Algorithm::ring || !entry.across_nodes))
              throw InputError(at.place("nodes"), "only a ring across nodes falls with the number of nodes",
                               "remove 'nodes'; 'fitted_to' says how many nodes a table had");
          }));
  return made_of<Entry, Entry>(rows, [](Entry entry, const Value& from) {
    entry.place = from.span;
    return entry;
  });
}

// Parameters of lines, each within ten times its bounds.
template <class Lines, class Parameters>
Type<Lines> lines_of(const Parameters& parameters) {
  Rows<Lines> rows("parameters");
  for (const auto& parameter : parameters)
    rows.template at<double>(
            parameter.name, number(parameter.least / 10, parameter.most * 10),
            [value = parameter.value](Lines & lines) -> auto& { return lines.*value; }, "As in its formula")
        .required();
  return nested(rows);
}

template <class Parameters>
std::vector<bool> read_identified(const Value& value, const Parameters& parameters) {
  config::Words<std::size_t> places;
  for (std::size_t p = 0; p < parameters.size(); ++p) places.emplace_back(parameters[p].name, p);
  std::vector<bool> identified(parameters.size(), false);
  for (auto place : read_alone(list(word(places)), value)) identified[place] = true;
  return identified;
}

// An entry whose parameters are those of its operation.
struct NodeRows : NodeEntry {
  Value parameters = {}, names = {};
};

NodeEntry entry_of(NodeRows rows, const Value& from) {
  static const auto ring = lines_of<nccl::RingLines>(nccl::kRingParameters);
  static const auto peers = lines_of<nccl::PeerLines>(nccl::kPeerParameters);
  bool is_peers = sends_directly(rows.operation);
  if (is_peers)
    rows.peers = read_alone(peers, rows.parameters);
  else
    rows.ring = read_alone(ring, rows.parameters);
  if (from.find("identified"))
    rows.identified = is_peers ? read_identified(rows.names, nccl::kPeerParameters)
                               : read_identified(rows.names, nccl::kRingParameters);
  return rows;
}

Type<NodeEntry> node_lines() {
  auto rows =
      nested(Rows<NodeRows>("lines")
                 .needs<&NodeEntry::operation>("operation", word(operations_with_lines()), "Inside a node")
                 .needs<&NodeRows::parameters>("parameters", any(), "All of the operation's")
                 .key<&NodeRows::names>("identified", any(), "Parameters that rows determined")
                 .key<&NodeEntry::fitted_to>("fitted_to", fitted_to(), "Tables"));
  return made_of<NodeEntry, NodeRows>(rows, entry_of);
}

void check_curves(const std::vector<Entry>& curves, const Value& list) {
  for (std::size_t i = 0; i < curves.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (curves[i].algorithm == curves[j].algorithm && curves[i].across_nodes == curves[j].across_nodes)
        throw InputError(list.items[i].span,
                         fmt::format("a second curve for {} {}", nccl::name(curves[i].algorithm),
                                     curves[i].across_nodes ? "across nodes" : "within a node"),
                         "remove one of the two");
}

void check_lines(const std::vector<NodeEntry>& lines, const Value& list) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (lines[i].operation == lines[j].operation)
        throw InputError(list.items[i].span,
                         fmt::format("second lines for {}", operation_name(lines[i].operation)),
                         "remove one of the two");
}

Type<Calibration> calibration_rows() {
  using C = Calibration;
  return nested(Rows<C>("calibration")
                    .key<&C::network>("network", name_of(kNetworkClassNames), "Between its nodes")
                    .key<&C::release>("release", maybe(job::nccl_version()), "Whose estimates it scales")
                    .key<&C::entries>("curves", checked<std::vector<Entry>>(list(curve()), check_curves),
                                      "Of all-reduces")
                    .key<&C::node>("lines", checked<std::vector<NodeEntry>>(list(node_lines()), check_lines),
                                   "Of any operation inside a node"));
}

}  // namespace
}  // namespace ddpsim::calibration_keys

namespace ddpsim {

file_rows::Codec file_rows::nccl_calibration() {
  return calibration_keys::calibration_rows().codec;
}

nccl::Version release_of(const nccl::Calibration& calibration) {
  return calibration.release.value_or(nccl::Version{2, 27, 6});
}

nccl::Calibration read_calibration(const std::string& path) {
  static const auto rows = calibration_keys::calibration_rows();
  config::Value root = config::load_yaml(path, "a calibration");
  config::check_map(root, "calibration");
  // Without either it is another file, whatever its keys are.
  if (!root.find("curves") && !root.find("lines")) config::MapReader(root, "calibration").require("curves");
  return keys::read_alone(rows, root);
}

}  // namespace ddpsim
