#include "sim/cli/measurements.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/cost/nccl_communicator.hpp"
#include "sim/topology/names.hpp"

namespace ddpsim::cli {
namespace {

// FILE@2+4/half
struct Selection {
  std::string path;
  std::vector<int> ranks;  // empty: any
  std::string data_type;   // empty: any

  [[nodiscard]] bool has(const calibrate::AllReduceTable& table, int table_ranks) const {
    bool fits = ranks.empty() || std::find(ranks.begin(), ranks.end(), table_ranks) != ranks.end();
    return fits && (data_type.empty() || table.data_type == data_type);
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
  if (at == std::string::npos) return {text, {}, {}};
  auto rest = std::string_view(text).substr(at + 1);
  auto slash = rest.find('/');
  auto ranks = as_counts(rest.substr(0, slash));
  if (!ranks && !rest.empty() && rest.find_first_not_of("0123456789+") == std::string_view::npos)
    throw InputError(fmt::format("'@{}' does not say which tables", rest),
                     "write @8 or @2+4 for numbers of GPUs, @8/half for a data type as well");
  if (!ranks) return {text, {}, {}};
  return {text.substr(0, at), *ranks,
          slash == std::string_view::npos ? "" : std::string(rest.substr(slash + 1))};
}

int ranks_of(const calibrate::AllReduceTable& table, const MeasuredOptions& options) {
  const auto& place = table.rows.front().span;
  if (table.ranks) return *table.ranks;
  if (!options.world_size)
    throw InputError(place, fmt::format("{} does not say how many GPUs it is of", table.title),
                     "give --world-size (in CSV a line '# world_size: 16' does as well)");
  double n = *options.world_size, expected = 2 * (n - 1) / n;
  if (auto factor = table.busbw_factor; factor && std::abs(*factor / expected - 1) > 0.02)
    throw InputError(
        place,
        fmt::format(
            "with {} GPUs the bus bandwidth would be {:.4g} times the algorithm's, here it is {:.4g} times",
            *options.world_size, expected, *factor),
        *factor < 1.999 ? fmt::format("is it --world-size {:.0f}?", 2 / (2 - *factor))
                        : "how many GPUs was it?");
  return *options.world_size;
}

// The machine as it was when measured: `ranks` GPUs, packed, or spread over as many nodes as the table says.
struct MachineAtSize {
  std::shared_ptr<const Cluster> cluster;
  std::vector<int> gpus;
};

MachineAtSize machine_of(const Topology& topology, const calibrate::AllReduceTable& table, int ranks) {
  int node_size = topology.usual_size().value_or(1);
  int packed = (ranks + node_size - 1) / node_size;
  int nodes = table.nodes.value_or(packed);
  if (nodes < packed || ranks % nodes != 0)
    throw InputError(fmt::format("measured with {} GPUs on {}, which does not fit nodes of {}", ranks,
                                 counted(nodes, "node"), node_size),
                     "name the topology of the machine that was measured");
  MachineAtSize machine{topology.build(nodes == packed ? ranks : nodes * node_size), {}};
  for (int gpu = 0; gpu < machine.cluster->gpus(); ++gpu)
    if (nodes == packed || machine.cluster->position_of(gpu) < ranks / nodes) machine.gpus.push_back(gpu);
  return machine;
}

Measured measured_on(const Topology& topology, calibrate::AllReduceTable table,
                     const MeasuredOptions& options) {
  const auto& place = table.rows.front().span;
  int ranks = ranks_of(table, options);
  try {
    auto machine = machine_of(topology, table, ranks);
    auto communicator = nccl_communicator(*machine.cluster, machine.gpus, *topology.nccl);
    // NVLS reduces floating point and 32 and 64 bit integers (nvls.cc: ncclNvlsSupported).
    if (table.data_type.ends_with("int8")) communicator.nvls.reset();
    nccl::CurveShape shape(communicator, options.allowed);
    return {{std::move(table), ranks, communicator.nodes, communicator.nvlink, std::move(shape)},
            communicator,
            options.allowed};
  } catch (const InputError& error) {
    throw error.at(place);
  }
}

}  // namespace

std::vector<Measured> load_measured(const std::string& selection, const Topology& topology,
                                    const MeasuredOptions& options) {
  auto wanted = parse_selection(selection);
  std::vector<Measured> all;
  for (auto& table : calibrate::read_allreduce_tables(wanted.path)) {
    if (!wanted.has(table, ranks_of(table, options))) continue;
    auto measured = measured_on(topology, std::move(table), options);
    if (calibrate::points_of(measured.measurement.table).size() < 3)
      throw InputError(
          measured.measurement.table.rows.front().span,
          fmt::format("{} has less than three rows from 256 KiB on", measured.measurement.table.title),
          "smaller messages are not fitted: measure larger ones");
    all.push_back(std::move(measured));
  }
  if (all.empty())
    throw InputError(fmt::format("{} has no table like that", selection),
                     "leave out what follows the @ to take all tables of the file");
  return all;
}

calibrate::Judgement judge_with(const nccl::Calibration& calibration, const Measured& measured) {
  nccl::CostModel model(measured.communicator, measured.allowed, calibration);
  return calibrate::judge(calibrate::points_of(measured.measurement.table),
                          [&](Bytes bytes) { return model.choose(bytes).time; });
}

Measured every_other(const Measured& measured, bool first) {
  Measured half = measured;
  auto& rows = half.measurement.table.rows;
  std::erase_if(rows, [](const auto& row) { return row.bytes < calibrate::kSmallestFitted; });
  std::vector<calibrate::TableRow> kept;
  for (std::size_t i = first ? 0 : 1; i < rows.size(); i += 2) kept.push_back(rows[i]);
  rows = std::move(kept);
  return half;
}

}  // namespace ddpsim::cli
