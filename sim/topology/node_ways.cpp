#include "sim/topology/node_ways.hpp"

#include <algorithm>

#include "sim/topology/shortest_ways.hpp"

namespace ddpsim {
namespace {

// GPUs and NICs only send and receive here; switches forward.
WayGraph graph_of(const NodeModel& model, const std::function<std::optional<Link>(int)>& wire) {
  WayGraph graph;
  graph.forwards.assign(model.names.size(), 1);
  for (int v = 0; v < model.gpus + model.nics; ++v) graph.forwards[v] = 0;
  for (int i = 0; i < static_cast<int>(model.wires.size()); ++i)
    if (auto link = wire(i)) graph.edges.push_back({model.wires[i].from, model.wires[i].to, i, *link});
  for (int nic = 0; nic < model.nics; ++nic)
    for (int vertex : model.plugged[nic]) {
      graph.edges.push_back({vertex, model.nic_vertex(nic), -1});
      graph.edges.push_back({model.nic_vertex(nic), vertex, -1});
    }
  return graph;
}

void keep_better(NodeWays::Way& best, const NodeWays::Way& first, const NodeWays::Way& second) {
  if (!first || !second) return;
  auto links = first->links.size() + second->links.size();
  auto bandwidth = std::min(first->bandwidth, second->bandwidth);
  if (!best || better_way(links, bandwidth, best->links.size(), best->bandwidth))
    best = joined(*first, *second);
}

}  // namespace

std::optional<int> NodeModel::vertex_named(const std::string& name) const {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<int>(i);
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (std::ranges::find(devices[i], name) != devices[i].end()) return nic_vertex(static_cast<int>(i));
  return std::nullopt;
}

NodeWays::NodeWays(const NodeModel& model)
    : NodeWays(model, model.gpus, [&](int i) { return std::optional(model.wires[i].link); }) {}

NodeWays::NodeWays(const NodeModel& model, int gpus_in_use,
                   const std::function<std::optional<Link>(int)>& wire)
    : gpus_(model.gpus), nics_(model.nics) {
  WayGraph graph = graph_of(model, wire);
  std::vector<Way> direct_out, direct_in;
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    auto ways = shortest_ways(graph, gpu);
    gpu_.insert(gpu_.end(), ways.begin(), ways.begin() + gpus_);
    direct_out.insert(direct_out.end(), ways.begin() + gpus_, ways.begin() + gpus_ + nics_);
    for (int memory : model.memory_of) written_.push_back(ways[static_cast<std::size_t>(memory)]);
  }
  for (std::size_t gpu = 0; gpu < model.memory_of.size(); ++gpu)
    read_.push_back(shortest_ways(graph, model.memory_of[gpu])[gpu]);
  direct_in.resize(direct_out.size());
  for (int nic = 0; nic < nics_; ++nic) {
    auto ways = shortest_ways(graph, model.nic_vertex(nic));
    for (int gpu = 0; gpu < gpus_; ++gpu) direct_in[at(gpu, nic, nics_)] = ways[gpu];
  }
  out_ = direct_out;
  in_ = direct_in;
  for (int gpu = 0; gpu < gpus_; ++gpu)
    for (int nic = 0; nic < nics_; ++nic)
      for (int via = 0; via < gpus_in_use; ++via) {
        if (via == gpu) continue;
        keep_better(out_[at(gpu, nic, nics_)], between(gpu, via), direct_out[at(via, nic, nics_)]);
        keep_better(in_[at(gpu, nic, nics_)], direct_in[at(via, nic, nics_)], between(via, gpu));
      }
}

NodeWays::Way NodeWays::through_host(int from_gpu, int to_gpu) const {
  if (read_.empty()) return std::nullopt;
  const auto& written = written_[at(from_gpu, to_gpu, gpus_)];
  const auto& read = read_[static_cast<std::size_t>(to_gpu)];
  if (!written || !read) return std::nullopt;
  return joined(*written, *read);
}

}  // namespace ddpsim
