#include "sim/text/override_checks.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/config/reader.hpp"
#include "sim/text/cluster_overrides.hpp"

namespace ddpsim {

using config::Value;

void check_nccl_reads(const ClusterSection& section, const Topology& topology) {
  if (!section.overrides) return;
  auto usual = topology.build(gpus_of(topology, section), {}, section.hashing_seed);
  for (const auto& item : config::items_of(*section.overrides)) {
    auto different = read_override(item);
    if (!different || !different->latency) continue;
    auto links = usual->links_named(different->link, different->span);
    bool is_new = std::any_of(links.begin(), links.end(),
                              [&](int link) { return usual->link(link).latency != *different->latency; });
    if (is_new)
      throw InputError(
          item.find("latency")->value.span,
          "NCCL's model does not read latencies of links: this changes nothing",
          "its latencies are NCCL's own; nccl.nic_latency of the topology says a NIC's. Or write collective: "
          "{algorithm: ring}, whose steps pay the links' latencies");
  }
}

void check_gloo_uses(const Value* overrides, const Cluster& cluster) {
  for (const auto& change : read_cluster_overrides(overrides).links) {
    auto links = cluster.links_named(change.link, change.span);
    bool unused = std::all_of(links.begin(), links.end(), [&](int link) {
      auto medium = cluster.cable(link).medium;
      return medium == Medium::nvlink || medium == Medium::socket;
    });
    if (unused)
      throw InputError(change.span, fmt::format("Gloo does not use {}: this changes nothing", change.link),
                       "remove it, or write backend: nccl");
  }
}

}  // namespace ddpsim
