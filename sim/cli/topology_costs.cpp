#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "sim/base/output_file.hpp"
#include "sim/cli/cluster_options.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/number_lists.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cost/nccl_communicator.hpp"
#include "sim/cost/nccl_notes.hpp"
#include "sim/cost/operation_costs.hpp"
#include "sim/cost/usual_library.hpp"
#include "sim/nccl/forced.hpp"
#include "sim/report/collective_costs.hpp"
#include "sim/resolve/collective.hpp"
#include "sim/resolve/plausibility.hpp"
#include "sim/resolve/rccl.hpp"
#include "sim/text/nccl_calibration.hpp"

namespace ddpsim::cli {
namespace {

struct CostOptions {
  ClusterOptions cluster;
  std::string bytes = "25MiB";
  std::vector<std::string> operations;
  bool plain = false;
  std::string backend;
  AllowedOptions allowed;
  std::string json, csv;
};

std::vector<Operation> operations_of(const CostOptions& options) {
  std::vector<Operation> operations;
  for (const auto& [word, operation] : kOperationNames)
    if (options.operations.empty() ||
        std::find(options.operations.begin(), options.operations.end(), word) != options.operations.end())
      operations.push_back(operation);
  return operations;
}

// `unforced`: what NCCL would do by itself, row by row; none: nothing is forced.
std::vector<CollectiveCostRow> rows_of(const std::vector<OperationCost>& costs,
                                       const std::vector<OperationCost>& unforced, int ranks) {
  std::vector<CollectiveCostRow> rows;
  for (const auto& cost : costs)
    rows.push_back({std::string(operation_name(cost.operation)), cost.bytes, cost.algorithm, cost.protocol,
                    cost.channels, cost.time, cost.why_not, busbw_factor(cost.operation, ranks), cost.source,
                    cost.note});
  for (std::size_t i = 0; i < unforced.size(); ++i)
    if (!sends_directly(unforced[i].operation))
      rows[i].unforced = {unforced[i].algorithm, unforced[i].protocol, unforced[i].time};
  return rows;
}

// None: NCCL's model where the topology has what it needs, else plain schedules.
std::shared_ptr<const LibraryModel> library_of(const CostOptions& options, const Topology& topology,
                                               const std::shared_ptr<const Cluster>& cluster,
                                               const std::vector<int>& gpus) {
  if (options.backend.empty()) return nullptr;
  if (options.plain) throw InputError("plain schedules are no library's", "leave out --plain, or --backend");
  auto backend = std::ranges::find(kBackends, options.backend, &BackendTraits::name)->backend;
  return usual_library(backend, topology, cluster, gpus);
}

void costs(const CostOptions& options) {
  check_outputs({{"--json", options.json}, {"--csv", options.csv}});
  auto sizes = parse_number_lists(options.bytes, "--bytes");
  auto operations = operations_of(options);
  auto topology = options.cluster.topology();
  auto cluster = options.cluster.build(*topology);
  auto gpus = options.cluster.job(*topology, *cluster);
  int ranks = static_cast<int>(gpus.size());
  if (ranks < 2) throw InputError("a collective needs two GPUs", "use a larger --world-size");
  auto library = library_of(options, *topology, cluster, gpus);
  bool under_nccl = topology->nccl && !options.plain && !library;
  CollectiveCostsOf whose{options.cluster.file, ranks, "", {}};
  std::vector<OperationCost> all, unforced;
  if (const char* given = options.allowed.given(); given && !under_nccl)
    throw InputError(fmt::format("{} is for what NCCL would do", given),
                     options.plain        ? "leave out --plain"
                     : library            ? "leave it out, or --backend"
                     : topology->has_xgmi ? "leave it out: RCCL, of AMD's GPUs, is not modelled"
                                          : "add a section 'nccl' to the topology");
  if (under_nccl) {
    auto platform = options.allowed.platform(*topology->nccl);
    auto allowed = options.allowed.allowed(platform);
    nccl::Calibration calibration;
    if (topology->nccl->calibration) calibration = read_calibration(*topology->nccl->calibration);
    all = nccl_costs(*cluster, gpus, platform, allowed, calibration, operations, sizes);
    if (nccl::forces(allowed))
      unforced = nccl_costs(*cluster, gpus, platform, options.allowed.unforced(platform), calibration,
                            operations, sizes);
    // Said of symmetric kernels only where there are some.
    allowed.symmetric = std::any_of(all.begin(), all.end(), [](const OperationCost& cost) {
      return cost.time && cost.algorithm.starts_with("symmetric");
    });
    whose.nccl_version = nccl::name(platform.version);
    whose.notes = nccl_notes(nccl_communicator(*cluster, gpus, platform), allowed, calibration);
  } else if (library) {
    all = library_costs(*library, operations, sizes);
    whose.notes.push_back(library->backend() == Backend::mpi ? mpi_note(*topology) : usual_gloo_note());
  } else {
    all = plain_costs(*cluster, gpus, operations, sizes);
  }
  for (auto& note : cluster_notes(*topology, *cluster)) whose.notes.push_back(std::move(note));
  if (topology->has_xgmi) whose.notes.push_back(rccl_note());
  print_notes(whose.notes);
  auto rows = rows_of(all, unforced, ranks);
  OutputPhase writing;
  write_output(options.json, collective_costs_json(whose, rows));
  write_output(options.csv, collective_costs_csv(rows));
  if (options.json == "-" || options.csv == "-") return;
  auto who = under_nccl ? "NCCL " + whose.nccl_version
             : library  ? std::string(backend_words(library->backend()))
                        : std::string("plain schedules");
  std::cout << fmt::format("{} GPUs, nobody else on the links, {}\n\n", ranks, who);
  print_shown(std::cout, standard_output(), collective_costs_table(rows));
}

}  // namespace

Command topology_costs_command() {
  auto options = std::make_shared<CostOptions>();
  Command command{
      .name = "costs",
      .description =
          "How long each collective takes: under NCCL where the topology says what NCCL has to know, "
          "else with each algorithm as a plain schedule over the links",
      .example =
          "  ddpsim topology costs topologies/dgx-h100.yaml --world-size 64 --bytes 8B:8GiB:2 "
          "--operation all_gather --json -",
      .run = [options] { costs(*options); }};
  options->cluster.add_to(command);
  command.options.push_back({.name = "--bytes",
                             .value = &options->bytes,
                             .description = "Sizes of the buffer, as nccl-tests counts it: one, a list "
                                            "(1MiB,3MiB) or a range FROM:TO:FACTOR (8B:8GiB:2)",
                             .shows_default = true});
  command.options.push_back({.name = "--operation",
                             .value = &options->operations,
                             .description = "Of this collective only (repeatable)",
                             .words = operation_names()});
  command.options.push_back({.name = "--plain",
                             .value = &options->plain,
                             .description = "Plain schedules over the links, whatever NCCL would do"});
  std::vector<std::string> backends;
  for (const auto& row : kBackends) backends.emplace_back(row.name);
  command.options.push_back({.name = "--backend",
                             .value = &options->backend,
                             .description =
                                 "The library that communicates: NCCL's model, Gloo's on hosts, or "
                                 "the algorithms that Open MPI picks",
                             .words = backends});
  options->allowed.add_to(command);
  command.options.push_back(
      output_option("--json", &options->json, "Write the costs as JSON; '-' is standard output", "PATH|-"));
  command.options.push_back(
      output_option("--csv", &options->csv, "Write them as CSV; '-' is standard output", "PATH|-"));
  return command;
}

}  // namespace ddpsim::cli
