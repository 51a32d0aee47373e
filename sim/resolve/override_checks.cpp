#include "sim/resolve/override_checks.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/text/cluster_overrides.hpp"

namespace ddpsim {
namespace {

InputError unread_latency(const SourceSpan& place) {
  return InputError(
      place, "NCCL's model does not read latencies of links: this changes nothing",
      "its latencies are NCCL's own; nccl.nic_latency of the topology says a NIC's. Or write collective: "
      "{algorithm: ring}, whose steps pay the links' latencies");
}

}  // namespace

void check_nccl_reads(const GivenJob& given, const Topology& topology) {
  if (given.has("cluster.nics.latency")) throw unread_latency(given.at("cluster.nics.latency"));
  if (given.job.strategy->traits.is_one_process) return;  // whose copies of outputs pay latencies
  if (given.has("cluster.interconnect.latency"))
    throw unread_latency(given.at("cluster.interconnect.latency"));
  const auto& entries = given.job.cluster.overrides;
  if (entries.empty()) return;
  auto usual = topology.build(gpus_of(topology, given), {}, given.job.cluster.hashing);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto path = fmt::format("cluster.overrides[{}]", i);
    auto different = link_override(entries[i], given.at(path + (entries[i].node ? ".node" : ".link")));
    if (!different || !different->latency) continue;
    auto links = usual->links_named(different->link, different->span);
    bool is_new = std::any_of(links.begin(), links.end(),
                              [&](int link) { return usual->link(link).latency != *different->latency; });
    if (is_new) throw unread_latency(given.at(path + ".latency"));
  }
}

void check_gloo_uses(const GivenJob& given, const Cluster& cluster) {
  for (const auto& change : read_cluster_overrides(given).links) {
    auto links = cluster.links_named(change.link, change.span);
    bool unused = std::all_of(links.begin(), links.end(), [&](int link) {
      auto medium = cluster.cable(link).medium;
      return medium == Medium::nvlink || medium == Medium::xgmi || medium == Medium::socket;
    });
    if (unused)
      throw InputError(change.span, fmt::format("Gloo does not use {}: this changes nothing", change.link),
                       "remove it, or write backend: nccl");
  }
}

}  // namespace ddpsim
