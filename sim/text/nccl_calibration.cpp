#include "sim/text/nccl_calibration.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;
using Entry = nccl::Calibration::Entry;
using NodeEntry = nccl::Calibration::NodeEntry;

// What was ever measured inside a node.
const config::Words<Operation> kWithLines{{"all_reduce", Operation::all_reduce},
                                          {"all_gather", Operation::all_gather},
                                          {"reduce_scatter", Operation::reduce_scatter},
                                          {"all_to_all", Operation::all_to_all}};

// What all-reduces are measured with.
const config::Words<nccl::Algorithm> kFitted{{"tree", nccl::Algorithm::tree},
                                             {"ring", nccl::Algorithm::ring},
                                             {"nvls", nccl::Algorithm::nvls},
                                             {"nvls_tree", nccl::Algorithm::nvls_tree}};

// What a curve was fitted to is for people, but for the GPUs, which are returned.
int read_fitted_table(const Value& value) {
  MapReader reader(value, "fitted_to");
  reader.required("table", config::as_string);
  auto ranks = reader.required("ranks", config::as_integer(2, kLargestWorldSize));
  reader.required("nodes", config::as_integer(1, kLargestWorldSize));
  reader.required("rows", config::as_integer(1, 1'000'000));
  for (const char* size : {"smallest", "largest"}) reader.required(size, config::as_bytes);
  for (const char* error : {"mean_error_percent", "worst_error_percent"})
    reader.required(error, config::as_number(0, 1e9));
  reader.optional("distrusted_rows", config::as_integer(0, 1'000'000));
  reader.finish();
  return static_cast<int>(ranks);
}

Entry read_entry(const Value& value) {
  MapReader reader(value, "curves");
  Entry entry;
  entry.place = value.span;
  entry.algorithm = reader.required("algorithm", config::as_word(kFitted));
  entry.across_nodes = reader.required("across_nodes", config::as_bool);
  entry.curve.latency_scale = reader.required("latency_scale", config::as_number(1e-3, 1e3));
  entry.curve.efficiency = reader.required("efficiency", config::as_number(1e-3, 1e3));
  entry.curve.ramp = reader.required("ramp", config::as_seconds);
  if (const Value* nodes = reader.find("nodes")) {
    entry.nodes = static_cast<int>(config::as_integer(2, kLargestWorldSize)(*nodes));
    if (entry.algorithm != nccl::Algorithm::ring || !entry.across_nodes)
      throw InputError(nodes->span, "only a ring across nodes falls with the number of nodes",
                       "remove 'nodes'; 'fitted_to' says how many nodes a table had");
  }
  auto ranks = reader.optional("fitted_to", config::as_list(read_fitted_table)).value_or(std::vector<int>{});
  for (int count : ranks) entry.largest_ranks = std::max(entry.largest_ranks, count);
  reader.finish();
  return entry;
}

template <class Lines, class Parameters>
Lines read_parameters(const Value& value, const Parameters& parameters) {
  MapReader reader(value, "parameters");
  Lines lines{};
  for (const auto& parameter : parameters)
    lines.*parameter.value = reader.required(std::string(parameter.name),
                                             config::as_number(parameter.least / 10, parameter.most * 10));
  reader.finish();
  return lines;
}

NodeEntry read_lines(const Value& value) {
  MapReader reader(value, "lines");
  NodeEntry entry;
  entry.operation = reader.required("operation", config::as_word(kWithLines));
  const auto& parameters = reader.require("parameters");
  if (entry.operation == Operation::all_to_all)
    entry.peers = read_parameters<nccl::PeerLines>(parameters, nccl::kPeerParameters);
  else
    entry.ring = read_parameters<nccl::RingLines>(parameters, nccl::kRingParameters);
  auto ranks = reader.optional("fitted_to", config::as_list(read_fitted_table)).value_or(std::vector<int>{});
  for (int count : ranks) entry.largest_ranks = std::max(entry.largest_ranks, count);
  reader.finish();
  return entry;
}

}  // namespace

nccl::Calibration read_calibration(const std::string& path) {
  Value root = config::load_yaml(path, "a calibration");
  MapReader reader(root, "calibration");
  nccl::Calibration calibration;
  const Value *curves = reader.find("curves"), *lines = reader.find("lines");
  if (!curves && !lines) reader.require("curves");
  for (const auto& item : curves ? config::items_of(*curves) : std::vector<Value>{}) {
    auto entry = read_entry(item);
    if (calibration.find(entry.algorithm, entry.across_nodes))
      throw InputError(item.span,
                       fmt::format("a second curve for {} {}", nccl::name(entry.algorithm),
                                   entry.across_nodes ? "across nodes" : "within a node"),
                       "remove one of the two");
    calibration.entries.push_back(entry);
  }
  for (const auto& item : lines ? config::items_of(*lines) : std::vector<Value>{}) {
    auto entry = read_lines(item);
    if (calibration.in_node(entry.operation))
      throw InputError(item.span, fmt::format("second lines for {}", operation_name(entry.operation)),
                       "remove one of the two");
    calibration.node.push_back(entry);
  }
  reader.finish();
  return calibration;
}

}  // namespace ddpsim
