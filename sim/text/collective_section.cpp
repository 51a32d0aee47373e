// The section `collective` of a scenario: how all-reduces are carried out.
#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/scenario_reader.hpp"

namespace ddpsim {
namespace {

using config::as_integer;
using config::as_word;
using config::MapReader;
using config::Value;
using config::Words;
using config::words_of;

enum class RingOrder { search, ranks };

// Each ring a list of ranks.
std::vector<std::vector<int>> read_rings(const Value& value) {
  std::vector<std::vector<int>> rings;
  for (const auto& item : config::items_of(value)) {
    auto& ring = rings.emplace_back();
    for (auto rank : config::as_list(as_integer(0, kLargestWorldSize - 1))(item))
      ring.push_back(static_cast<int>(rank));
  }
  if (rings.empty())
    throw InputError(value.span, "no rings", "give one list of ranks a ring, or remove 'rings'");
  return rings;
}

// Some algorithms have one channel by nature, and for some nobody knows how many would do.
void check_channels(const Value& value, Algorithm algorithm, const CollectiveOptions& options) {
  bool only_one = algorithm == Algorithm::halving_doubling || algorithm == Algorithm::nvls ||
                  algorithm == Algorithm::nvls_tree;
  if (only_one && options.channels != 1)
    throw InputError(value.span, fmt::format("'{}' has no channels", algorithm_name(algorithm)),
                     "write channels: 1, or remove it");
  bool can_search = algorithm == Algorithm::ring || algorithm == Algorithm::chain_tree;
  if (!can_search && !options.channels)
    throw InputError(
        value.span, fmt::format("nothing says how many channels '{}' should have", algorithm_name(algorithm)),
        "say how many, or use algorithm: ring or chain_tree");
}

// Threads of PyTorch's Gloo process group, two unless it is told otherwise (ProcessGroupGloo.hpp); NCCL's
// collectives are kernels of one stream.
int read_workers(const Value* value, Backend backend) {
  if (!value) return backend == Backend::gloo ? 2 : 1;
  if (backend != Backend::gloo)
    throw InputError(value->span, "NCCL's collectives run one after the other",
                     "remove 'workers', or write backend: gloo");
  return static_cast<int>(as_integer(1, 64)(*value));
}

ScaleSection read_scale(const Value& value) {
  MapReader reader(value, "scale");
  ScaleSection scale{{}, value.span};
  scale.of.latency = reader.optional("latency", config::as_number(0, 1e3)).value_or(1);
  scale.of.bandwidth = reader.optional("bandwidth", config::as_number(1e-3, 1e3)).value_or(1);
  reader.finish();
  return scale;
}

}  // namespace

LinkScale ScenarioReader::link_scale(const Topology& topology, const Collective& collective) const {
  bool links_say =
      collective.servers || !(uses_nccl(topology, collective) || uses_gloo(topology, collective));
  if (!links_say) return links_;
  const auto& scale = collective.scale.of;
  return {links_.bandwidth * scale.bandwidth, links_.latency * scale.latency};
}

void ScenarioReader::scale_models(const Collective& collective, Communication& communication) {
  if (!collective.scale.is_set()) return;
  for (auto& model : communication.nccl)
    model = std::make_shared<const NcclModel>(model->scaled(collective.scale.of_times()));
  if (auto& gloo = communication.gloo)
    gloo = std::make_shared<const GlooModel>(gloo->scaled(collective.scale.of_times()));
}

void ScenarioReader::check_scale(const Collective& collective, const Communication& communication) {
  if (communication.nccl.empty() || collective.scale.of.bandwidth == 1) return;
  throw InputError(
      collective.scale.place,
      "under NCCL's model bandwidth is scaled of groups that have their links to themselves, and "
      "here others use them",
      "scale the links: cluster.overrides, or the topology's own; or use algorithm: ring");
}

ScenarioReader::Collective ScenarioReader::read_collective(const Value* value) {
  if (!value) return {};
  MapReader reader(*value, "collective");
  auto backend = reader.optional("backend", as_word(words_of(kBackendNames))).value_or(Backend::nccl);
  using Choice = std::optional<Algorithm>;  // none: measured
  auto algorithms = words_of<Choice>(kAlgorithmNames, {{"auto", Algorithm::ring}});
  algorithms.emplace_back("measured", std::nullopt);
  Collective collective;
  collective.section = value;
  collective.backend = backend;
  collective.workers = read_workers(reader.find("workers"), backend);
  const Value* word = reader.find("algorithm");
  collective.place = word ? word->span : value->span;
  Choice algorithm = word ? as_word(algorithms)(*word) : Algorithm::ring;
  bool is_auto = !word || word->scalar == "auto";
  collective.is_auto = is_auto;
  collective.automatic = backend == Backend::nccl && is_auto;
  const Value* channels = reader.find("channels");
  if (channels && channels->scalar != "auto")
    collective.options.channels = static_cast<int>(as_integer(1, 64)(*channels));
  else if (!channels && !collective.automatic)
    collective.options.channels = 1;
  Words<RingOrder> orders{{"search", RingOrder::search}, {"ranks", RingOrder::ranks}};
  const Value* order = reader.find("ring_order");
  // Gloo's ranks are joined in their order.
  collective.options.search_rings =
      order ? as_word(orders)(*order) == RingOrder::search : backend == Backend::nccl;
  collective.ring_shape = channels ? channels : order;
  const Value* rings = reader.find("rings");
  if (rings) {
    if (algorithm != Algorithm::ring || channels || order)
      throw InputError(rings->span,
                       "rings are given to algorithm: ring, instead of 'channels' and 'ring_order'",
                       "write algorithm: ring, and remove the others");
    collective.options.rings = read_rings(*rings);
    collective.place = rings->span;
  }
  const Value* table = reader.find("measured");
  const Value* nccl = reader.find("nccl");
  if (nccl && backend == Backend::gloo)
    throw InputError(nccl->span, "Gloo does not do what NCCL would do",
                     "remove 'nccl', or write backend: nccl");
  collective.nccl = read_nccl_section(nccl);
  const Value* gloo = reader.find("gloo");
  if (gloo && backend == Backend::nccl)
    throw InputError(gloo->span, "NCCL does not do what Gloo would do",
                     "remove 'gloo', or write backend: gloo");
  collective.gloo = read_gloo_section(gloo);
  if (const Value* scale = reader.find("scale")) collective.scale = read_scale(*scale);
  reader.finish();
  if (algorithm) {
    collective.options.algorithm = *algorithm;
    if (backend == Backend::gloo && (*algorithm == Algorithm::nvls || *algorithm == Algorithm::nvls_tree))
      throw InputError(word->span, "Gloo has no switches that reduce",
                       "use algorithm: ring, or backend: nccl");
    // Beside an explicit algorithm the table waits for its turn on a sweep's axis; without one it was
    // forgotten.
    if (table && is_auto)
      throw InputError(table->span, "a table of measured times is only used with algorithm: measured",
                       "write algorithm: measured");
    if (channels) check_channels(*channels, *algorithm, collective.options);
    return collective;
  }
  if (!table) throw InputError(value->span, "algorithm 'measured' needs a table", "add 'measured: FILE'");
  if (collective.nccl.section)
    throw InputError(collective.nccl.section->span, "measured times ask nothing of NCCL's model",
                     "remove 'nccl', or write algorithm: auto");
  if (gloo)
    throw InputError(gloo->span, "measured times ask nothing of Gloo's model",
                     "remove 'gloo', or write algorithm: auto");
  auto path = resolve(*table);
  auto& entry = tables_[path];
  if (!entry) entry = std::make_shared<const MeasuredTable>(read_measured_table(path));
  collective.table = entry;
  collective.table_span = table->span;
  return collective;
}

}  // namespace ddpsim
