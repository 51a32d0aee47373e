#include "sim/study/explain_fabric.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/base/quantity.hpp"

namespace ddpsim {
namespace {

void add_peers(const nccl::Pcie& pcie, std::vector<Change>& changes) {
  if (!pcie.through_host()) return;
  if (pcie.why != nccl::Pcie::Why::driver)
    changes.push_back({"peer-to-peer between any two GPUs of a node (NCCL_P2P_LEVEL=SYS)",
                       {"cluster.interconnect.peer_to_peer=SYS"}});
  if (pcie.is_interleaved())
    changes.push_back({"four NUMA domains a socket (NPS4, in the BIOS)", {"cluster.interconnect.numa=4"}});
}

void add_connections(const nccl::Sockets& sockets, std::vector<Change>& changes) {
  auto add = [&](int threads, int of_thread) {
    changes.push_back({fmt::format("{} x {} sockets a channel (NCCL_SOCKET_NTHREADS, NCCL_NSOCKS_PERTHREAD)",
                                   threads, of_thread),
                       {fmt::format("cluster.socket.threads={}", threads),
                        fmt::format("cluster.socket.sockets={}", of_thread)}});
  };
  if (sockets.threads == 0) {
    add(2, 4);
  } else {
    if (sockets.sockets > 1) add(sockets.threads, sockets.sockets / 2);
    add(sockets.threads, 2 * sockets.sockets);  // refused where NCCL opens no more
  }
  if (sockets.flow == nccl::sockets_of(nccl::Cloud::aws).flow)
    changes.push_back({"a cluster placement group", {"cluster.fabric.cloud=aws-placement"}});
}

void add_nics(const Communication& communication, std::vector<Change>& changes) {
  const auto& cluster = *communication.cluster;
  if (cluster.nodes() < 2) return;
  auto route = cluster.find_route(0, cluster.gpus() - 1);
  if (!route) return;
  auto nic = std::ranges::find_if(route->links,
                                  [&](int link) { return cluster.cable(link).medium == Medium::network; });
  if (nic == route->links.end()) return;
  auto twice = 2 * cluster.link(*nic).bandwidth;
  changes.push_back({fmt::format("NICs of {}", format_bandwidth(twice)),
                     {fmt::format("cluster.nics.bandwidth={:.0f}B/s", twice.value())}});
}

// What is known of a fabric is not which cable a flow takes.
void add_hashes(const Scenario& scenario, std::vector<Change>& changes) {
  constexpr std::array kSeeds{1, 2, 3, 4};
  bool is_unknown =
      std::ranges::any_of(scenario.doubts, [](const Doubt& one) { return one.of->name == "roce"; });
  const auto& cluster = *scenario.communication->cluster;
  bool is_hashed = &cluster.without_hashing() != &cluster;
  if (!is_unknown && !is_hashed) return;
  if (is_hashed) changes.push_back({"adaptive routing (cluster.hashing none)", {"cluster.hashing=none"}});
  for (int hashes : {1, 2, 8})
    for (int seed : kSeeds)
      changes.push_back(
          {fmt::format("flows hashed onto {}, seed {}",
                       hashes == 1 ? "one cable each" : fmt::format("{} cables each", hashes), seed),
           {fmt::format("cluster.hashing={{seed: {}, hashes: {}}}", seed, hashes)}});
}

}  // namespace

void add_fabric_changes(const Scenario& scenario, std::vector<Change>& changes) {
  const auto& communication = scenario.communication;
  if (!communication || communication->is_alone() || communication->library) return;
  if (!scenario.parallel) add_hashes(scenario, changes);
  if (communication->nccl.empty()) return;
  const auto& models = communication->nccl;
  auto with_pcie = std::ranges::find_if(
      models, [](const auto& model) { return model->cost().communicator().pcie.has_value(); });
  if (with_pcie != models.end()) add_peers(*(*with_pcie)->cost().communicator().pcie, changes);
  auto over_sockets = std::ranges::find_if(
      models, [](const auto& model) { return model->cost().communicator().sockets.has_value(); });
  if (over_sockets == models.end()) return;
  add_connections(*(*over_sockets)->cost().communicator().sockets, changes);
  add_nics(*communication, changes);
}

}  // namespace ddpsim
