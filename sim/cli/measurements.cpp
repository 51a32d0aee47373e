#include "sim/cli/measurements.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/cost/direct_sends.hpp"
#include "sim/cost/nccl_communicator.hpp"
#include "sim/cost/nccl_ways.hpp"
#include "sim/topology/placement.hpp"

namespace ddpsim::cli {
namespace {

using calibrate::CollectiveTable;
using calibrate::Measurement;

// FILE@2+4/half/all_gather
struct Selection {
  std::string path;
  std::vector<int> ranks = {};  // empty: any
  std::string data_type = {};   // empty: any
  std::optional<Operation> operation = {};

  [[nodiscard]] bool has(const CollectiveTable& table, int table_ranks, Operation of_table) const {
    bool fits = ranks.empty() || std::find(ranks.begin(), ranks.end(), table_ranks) != ranks.end();
    return fits && (data_type.empty() || table.data_type == data_type) &&
           (!operation || operation == of_table);
  }
};

std::optional<std::vector<int>> as_counts(std::string_view text) {
  std::vector<int> counts;
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at < end; ++at) {
    int count = 0;
    auto [next, error] = std::from_chars(at, end, count);
    if (error != std::errc() || count < 2 || (next != end && *next != '+')) return std::nullopt;
    counts.push_back(count);
    at = next;
  }
  if (counts.empty() || text.back() == '+') return std::nullopt;
  return counts;
}

// A name with an @ that is not followed by numbers of GPUs is a file's.
Selection parse_selection(const std::string& text) {
  if (text.empty()) throw InputError("a table without a name", "leave out the comma too many");
  auto at = text.rfind('@');
  if (at == std::string::npos) return {text};
  auto rest = std::string_view(text).substr(at + 1);
  auto slash = rest.find('/');
  auto ranks = as_counts(rest.substr(0, slash));
  if (!ranks && !rest.empty() && rest.find_first_not_of("0123456789+") == std::string_view::npos)
    throw InputError(
        fmt::format("'@{}' does not say which tables", rest),
        "write @8 or @2+4 for numbers of GPUs, @8/half for a data type as well, @8/half/all_gather for "
        "an operation, too");
  if (!ranks) return {text};
  Selection selection{text.substr(0, at), *ranks};
  if (slash == std::string_view::npos) return selection;
  rest = rest.substr(slash + 1);
  slash = rest.find('/');
  selection.data_type = rest.substr(0, slash);
  if (slash == std::string_view::npos) return selection;
  selection.operation = calibrate::operation_named(rest.substr(slash + 1));
  if (!selection.operation)
    throw InputError(fmt::format("'{}' in {} is no operation", rest.substr(slash + 1), text),
                     "write one of " + calibrate::words(calibrate::any_operation()));
  return selection;
}

// What a table does not say is an all-reduce, as most are that were ever published.
Operation operation_of(const CollectiveTable& table, const MeasuredOptions& options) {
  const auto& may_be = table.operations;
  auto can_be = [&](Operation o) { return std::find(may_be.begin(), may_be.end(), o) != may_be.end(); };
  const auto& place = table.rows.front().span;
  if (may_be.size() == 1) return may_be.front();
  if (options.operation) {
    if (can_be(*options.operation)) return *options.operation;
    throw InputError(place,
                     fmt::format("{} is not of {}: its reductions and bus bandwidths are those of {}",
                                 table.title, operation_name(*options.operation), calibrate::words(may_be)),
                     "leave out --operation, or give it one of these");
  }
  if (can_be(Operation::all_reduce)) return Operation::all_reduce;
  throw InputError(place,
                   fmt::format("{} does not say what was measured: {} have such figures", table.title,
                               calibrate::words(may_be)),
                   fmt::format("give --operation {} (in CSV a line '# operation: {}' does as well)",
                               operation_name(may_be.front()), operation_name(may_be.front())));
}

int ranks_of(const CollectiveTable& table, Operation operation, const MeasuredOptions& options) {
  const auto& place = table.rows.front().span;
  if (table.ranks) return *table.ranks;
  if (!options.world_size)
    throw InputError(place, fmt::format("{} does not say how many GPUs it is of", table.title),
                     "give --world-size (in CSV a line '# world_size: 16' does as well)");
  double expected = busbw_factor(operation, *options.world_size);
  if (auto factor = table.busbw_factor; factor && std::abs(*factor / expected - 1) > 0.02) {
    auto ranks = calibrate::ranks_of_factor(operation, *factor);
    throw InputError(
        place,
        fmt::format(
            "with {} GPUs the bus bandwidth would be {:.4g} times the algorithm's, here it is {:.4g} times",
            *options.world_size, expected, *factor),
        ranks ? fmt::format("is it --world-size {:.0f}?", *ranks) : "how many GPUs was it?");
  }
  return *options.world_size;
}

// The machine as it was when measured: `ranks` GPUs, packed, or spread over as many nodes as the table says.
struct MachineAtSize {
  std::shared_ptr<const Cluster> cluster;
  std::vector<int> gpus;
};

MachineAtSize machine_of(const Topology& topology, const CollectiveTable& table, int ranks) {
  int node_size = topology.usual_size().value_or(1);
  int taken = topology.rack_size() ? usual_domain_gpus(ranks, node_size) : node_size;
  int packed = (ranks + node_size - 1) / node_size;
  int nodes = table.nodes.value_or(packed);
  if (nodes < packed || ranks % nodes != 0)
    throw InputError(fmt::format("measured with {} GPUs on {}, which does not fit nodes of {}", ranks,
                                 counted(nodes, "node"), node_size),
                     "name the topology of the machine that was measured");
  bool is_packed = nodes == packed && taken == node_size;
  MachineAtSize machine{topology.build(is_packed ? ranks : nodes * node_size), {}};
  for (int gpu = 0; gpu < machine.cluster->gpus(); ++gpu)
    if (is_packed || machine.cluster->position_of(gpu) < ranks / nodes) machine.gpus.push_back(gpu);
  return machine;
}

nccl::Element element_of(const std::string& data_type) {
  using nccl::Element;
  constexpr Names<Element, 12> names{{{"int8", Element::int8},
                                      {"uint8", Element::int8},
                                      {"f8e4m3", Element::float8},
                                      {"f8e5m2", Element::float8},
                                      {"int32", Element::int32},
                                      {"uint32", Element::int32},
                                      {"int64", Element::int64},
                                      {"uint64", Element::int64},
                                      {"half", Element::float16},
                                      {"bfloat16", Element::bfloat16},
                                      {"float", Element::float32},
                                      {"double", Element::float64}}};
  for (const auto& [name, element] : names)
    if (name == data_type) return element;
  return Element::float32;
}

// The release that was measured picks, where its sources were read.
NcclPlatform platform_of(NcclPlatform platform, const CollectiveTable& table) {
  auto version = table.nccl_version ? nccl::parse_version(*table.nccl_version) : std::nullopt;
  if (version && *version >= nccl::kOldestVersion && *version <= nccl::kNewestVersion)
    platform.version = *version;
  return platform;
}

Measurement measured_on(const Topology& topology, CollectiveTable table, int ranks, Operation operation,
                        const nccl::Allowed& allowed) {
  const auto place = table.rows.front().span;
  try {
    auto machine = machine_of(topology, table, ranks);
    auto communicator = nccl_communicator(*machine.cluster, machine.gpus, platform_of(*topology.nccl, table));
    Measurement measurement{std::move(table), communicator, allowed, {operation}};
    measurement.collective.element = element_of(measurement.table.data_type);
    if (sends_directly(measurement.collective.operation)) {
      measurement.link_bounds = [machine, operation](const nccl::Communicator& taken) {
        return DirectSends(NcclWays(*machine.cluster, taken), machine.gpus, operation).bounds();
      };
      (void)measurement.link_bounds(communicator);  // or an error, here
    } else {
      nccl::require_candidates(nccl::Tuner(communicator, allowed, measurement.collective));
    }
    return measurement;
  } catch (const InputError& error) {
    throw error.at(place);
  }
}

}  // namespace

namespace {

void take_off(Seconds per_call, CollectiveTable& table) {
  for (auto& row : table.rows) {
    auto least = std::min(row.out_of_place, row.in_place.value_or(row.out_of_place));
    if (least <= per_call)
      throw InputError(row.span,
                       fmt::format("{} takes {}, and the harness alone {} (--per-call)",
                                   format_bytes(row.bytes), format_seconds(least), format_seconds(per_call)),
                       "give --per-call what a call of no bytes takes beyond NCCL's own time");
    row.out_of_place -= per_call;
    if (row.in_place) *row.in_place -= per_call;
  }
}

}  // namespace

std::vector<Measurement> load_measured(const std::string& selection, const Topology& topology,
                                       const MeasuredOptions& options) {
  auto wanted = parse_selection(selection);
  std::vector<Measurement> all;
  for (auto& table : calibrate::read_collective_tables(wanted.path)) {
    auto operation = operation_of(table, options);
    if (options.per_call > Seconds(0)) take_off(options.per_call, table);
    int ranks = ranks_of(table, operation, options);
    if (!wanted.has(table, ranks, operation)) continue;
    auto measurement = measured_on(topology, std::move(table), ranks, operation, options.allowed);
    if (calibrate::points_of(measurement.table, calibrate::kLarge).size() < 3)
      throw InputError(measurement.place(),
                       fmt::format("{} has less than three rows from 256 KiB on", measurement.table.title),
                       "errors are given of these: measure larger messages");
    all.push_back(std::move(measurement));
  }
  if (all.empty())
    throw InputError(fmt::format("{} has no table like that", selection),
                     "leave out what follows the @ to take all tables of the file");
  return all;
}

Measurement every_other(Measurement measurement, bool first) {
  auto& rows = measurement.table.rows;
  std::erase_if(rows, [](const auto& row) { return row.bytes < calibrate::kSmallest; });
  std::vector<calibrate::TableRow> kept;
  for (std::size_t i = first ? 0 : 1; i < rows.size(); i += 2) kept.push_back(rows[i]);
  rows = std::move(kept);
  return measurement;
}

}  // namespace ddpsim::cli
