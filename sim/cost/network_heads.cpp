#include "sim/cost/network_heads.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "sim/cost/communication.hpp"

namespace ddpsim {

NetworkHeads network_heads(const Cluster& cluster, std::span<const int> gpus) {
  auto nodes = ranks_by_node(cluster, gpus);
  if (nodes.size() < 2) return {};
  std::vector<std::set<int>> out(nodes.size()), in(nodes.size());
  for (std::size_t from = 0; from < nodes.size(); ++from) {
    std::size_t to = (from + 1) % nodes.size();
    for (std::size_t i = 0; i < nodes[from].size(); ++i) {
      int peer = nodes[to][std::min(i, nodes[to].size() - 1)];
      auto route =
          cluster.route(gpus[static_cast<std::size_t>(nodes[from][i])], gpus[static_cast<std::size_t>(peer)]);
      auto is_network = [&](int link) { return cluster.cable(link).medium == Medium::network; };
      auto first = std::find_if(route.links.begin(), route.links.end(), is_network);
      auto last = std::find_if(route.links.rbegin(), route.links.rend(), is_network);
      if (first == route.links.end()) return {};
      out[from].insert(*first);
      in[to].insert(*last);
    }
  }
  NetworkHeads found;
  for (const auto& nics : out)
    if (found.heads == 0 || static_cast<int>(nics.size()) < found.heads)
      found.heads = static_cast<int>(nics.size());
  for (const auto* links : {&out, &in})
    for (const auto& nics : *links)
      for (int link : nics)
        found.seconds_per_byte =
            std::max(found.seconds_per_byte, 1 / (found.heads * cluster.link(link).bandwidth.value()));
  return found;
}

}  // namespace ddpsim
