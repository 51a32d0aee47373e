#include "sim/text/nccl_calibration.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/job/version_types.hpp"
#include "sim/text/nccl_platform_section.hpp"
#include "sim/topology/fabric.hpp"

namespace ddpsim {
namespace {

using config::MapReader;
using config::Value;
using Entry = nccl::Calibration::Entry;
using NodeEntry = nccl::Calibration::NodeEntry;

constexpr std::int64_t kMostRows = 1'000'000;

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

nccl::FittedRows read_fitted_rows(const Value& value) {
  MapReader reader(value, "fitted_to");
  auto count = [&](std::int64_t least, std::int64_t most) {
    return [=](const Value& number) { return static_cast<int>(config::as_integer(least, most)(number)); };
  };
  auto percent = [](const Value& number) { return config::as_number(0, 1e9)(number) / 100; };
  nccl::FittedRows rows;
  rows.table = reader.required("table", config::as_string);
  rows.ranks = reader.required("ranks", count(2, kLargestWorldSize));
  rows.nodes = reader.required("nodes", count(1, kLargestWorldSize));
  rows.rows = reader.required("rows", count(1, kMostRows));
  rows.smallest = reader.required("smallest", config::as_bytes);
  rows.largest = reader.required("largest", config::as_bytes);
  rows.mean_error = reader.required("mean_error_percent", percent);
  rows.worst_error = reader.required("worst_error_percent", percent);
  rows.distrusted = reader.optional("distrusted_rows", count(0, kMostRows)).value_or(0);
  reader.finish();
  return rows;
}

std::vector<nccl::FittedRows> read_fitted_to(MapReader& reader) {
  return reader.optional("fitted_to", config::as_list(read_fitted_rows))
      .value_or(std::vector<nccl::FittedRows>{});
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
  entry.fitted_to = read_fitted_to(reader);
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

template <class Parameters>
std::vector<bool> read_identified(const Value& value, const Parameters& parameters) {
  config::Words<std::size_t> places;
  for (std::size_t p = 0; p < parameters.size(); ++p) places.emplace_back(parameters[p].name, p);
  std::vector<bool> identified(parameters.size(), false);
  for (auto place : config::as_list(config::as_word(places))(value)) identified[place] = true;
  return identified;
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
  if (const Value* names = reader.find("identified"))
    entry.identified = entry.operation == Operation::all_to_all
                           ? read_identified(*names, nccl::kPeerParameters)
                           : read_identified(*names, nccl::kRingParameters);
  entry.fitted_to = read_fitted_to(reader);
  reader.finish();
  return entry;
}

}  // namespace

nccl::Version release_of(const nccl::Calibration& calibration) {
  return calibration.release.value_or(nccl::Version{2, 27, 6});
}

nccl::Calibration read_calibration(const std::string& path) {
  Value root = config::load_yaml(path, "a calibration");
  MapReader reader(root, "calibration");
  nccl::Calibration calibration;
  if (auto network = reader.optional("network", config::as_word(config::words_of(kNetworkClassNames))))
    calibration.network = name_in(kNetworkClassNames, *network);
  calibration.release = reader.optional("release", job::as_nccl_version);
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
