// NVLink SHARP: a node's switch adds up what the ranks send and multicasts what one of them sends. Rank r of
// n owns shard r: it fetches the sum of that shard from the switch and sends it to all through the switch
// (NCCL's src/device/all_reduce.h: RunWorkColl<..., NCCL_ALGO_NVLS, ...>; NCCL_ALGO_NVLS_TREE adds it to what
// comes from other nodes in between).
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "sim/base/source.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/channels.hpp"

namespace ddpsim {
namespace {

void require_switch(const Wiring& wiring, std::string_view algorithm) {
  if (!wiring.to_switch || !wiring.from_switch)
    throw InputError(
        fmt::format("{} needs a switch in each node that reduces and multicasts (NVLink SHARP)", algorithm),
        "give every node such a switch (multicast: true) with unbroken links, or choose ring or tree");
}

// A pipeline through the nodes' switches, put together edge by edge; edges are known by their numbers.
struct SwitchPipeline {
  const Wiring& wiring;
  Channel channel{Pattern::pipeline, {}, {}, 0};

  // A switch is two vertices: the data it adds up and the data it hands out.
  [[nodiscard]] int sum(int node) const { return wiring.ranks + 2 * node; }
  [[nodiscard]] int multicast(int node) const { return sum(node) + 1; }
  // Another for each rank: the sum of its shard over several nodes, which is not yet in its buffer.
  [[nodiscard]] int shard_sums() const { return sum(static_cast<int>(wiring.nodes.size())); }

  int add(Path path, int from, int to, Part piece, const std::vector<int>& inputs) {
    channel.edges.push_back(edge_along(std::move(path), from, to));
    channel.edges.back().piece = piece;
    channel.edges.back().inputs.assign(inputs.begin(), inputs.end());
    return static_cast<int>(channel.edges.size()) - 1;
  }
  std::vector<int> add_up(int node, Part piece) {
    std::vector<int> edges;
    for (int rank : wiring.nodes[node]) {
      edges.push_back(add(wiring.to_switch(rank), rank, sum(node), piece, {}));
      channel.edges.back().reduce = true;
    }
    return edges;
  }
  void hand_out(int node, Part piece, const std::vector<int>& inputs) {
    for (int rank : wiring.nodes[node]) add(wiring.from_switch(rank), multicast(node), rank, piece, inputs);
  }
};

Channel within_one_node(const Wiring& wiring) {
  SwitchPipeline pipeline{wiring};
  const auto& owners = wiring.nodes[0];
  int n = static_cast<int>(owners.size());
  pipeline.channel.depth = 4;
  pipeline.channel.edges.reserve(4 * owners.size());
  auto added_up = pipeline.add_up(0, {});
  std::vector<int> fetched, sent;
  for (int r = 0; r < n; ++r)
    fetched.push_back(
        pipeline.add(wiring.from_switch(owners[r]), pipeline.sum(0), owners[r], {r, n}, added_up));
  for (int r = 0; r < n; ++r)
    sent.push_back(
        pipeline.add(wiring.to_switch(owners[r]), owners[r], pipeline.multicast(0), {r, n}, {fetched[r]}));
  pipeline.hand_out(0, {}, sent);
  return std::move(pipeline.channel);
}

// One shard's way from all ranks to all. Its owners are the ranks at one local position of each node.
void add_shard(SwitchPipeline& pipeline, const std::array<Parents, 2>& trees, int position, Part shard) {
  const Wiring& wiring = pipeline.wiring;
  int nodes = static_cast<int>(wiring.nodes.size());
  std::vector<int> owners, sums;
  Arrivals fetched;
  for (int node = 0; node < nodes; ++node) {
    int owner = owners.emplace_back(wiring.nodes[node][position]);
    int shard_sum = sums.emplace_back(pipeline.shard_sums() + owner);
    auto added_up = pipeline.add_up(node, shard);
    fetched.push_back(
        {pipeline.add(wiring.from_switch(owner), pipeline.sum(node), shard_sum, shard, std::move(added_up))});
    pipeline.channel.edges.back().reduce = true;
  }
  Wiring between_sums;
  between_sums.path = [&wiring, first = pipeline.shard_sums()](int from, int to) {
    return wiring.path(from - first, to - first);
  };
  Part halves[] = {{2 * shard.index, 2 * shard.of}, {2 * shard.index + 1, 2 * shard.of}};
  auto arrivals = add_tree(between_sums, sums, trees[0], halves[0], pipeline.channel, fetched);
  auto of_second = add_tree(between_sums, sums, trees[1], halves[1], pipeline.channel, std::move(fetched));
  for (int node = 0; node < nodes; ++node) {
    auto& inputs = arrivals[node];
    inputs.insert(inputs.end(), of_second[node].begin(), of_second[node].end());
    int sent = pipeline.add(wiring.to_switch(owners[node]), sums[node], pipeline.multicast(node), shard,
                            std::move(inputs));
    pipeline.hand_out(node, shard, {sent});
  }
}

// Every edge carries a shard or half of one, because NCCL cuts each shard into chunks, not the buffer
// (src/enqueue.cc, NCCL_ALGO_NVLS_TREE: nHeads operations at once).
Channel across_nodes(const Wiring& wiring, int g) {
  auto trees = double_binary_trees(static_cast<int>(wiring.nodes.size()));
  if (g == 1) {  // the switch of a single rank has nothing to add up
    std::vector<int> ranks;
    for (const auto& node : wiring.nodes) ranks.push_back(node[0]);
    return tree_channel(wiring, ranks, trees, {});
  }
  SwitchPipeline pipeline{wiring};
  pipeline.channel.depth = 4 + 2 * std::max(height(trees[0]), height(trees[1]));
  pipeline.channel.edges.reserve(static_cast<std::size_t>(wiring.ranks) * (2 * g + 6));
  auto heads = wiring.heads;
  if (heads.empty()) {
    heads.resize(static_cast<std::size_t>(g));
    std::iota(heads.begin(), heads.end(), 0);
  }
  auto shards = static_cast<int>(heads.size());
  for (int shard = 0; shard < shards; ++shard) add_shard(pipeline, trees, heads[shard], {shard, shards});
  return std::move(pipeline.channel);
}

CollectiveSchedule all_reduce_in(Channel channel, std::string_view algorithm, int ranks) {
  Stage stage{Operation::all_reduce, {}};
  stage.channels.push_back(std::move(channel));
  CollectiveSchedule schedule{std::string(algorithm), Operation::all_reduce, ranks, {}};
  schedule.stages.push_back(std::move(stage));
  return schedule;
}

}  // namespace

CollectiveSchedule nvls(const Wiring& wiring) {
  require_switch(wiring, "nvls");
  if (wiring.nodes.size() != 1)
    throw InputError(fmt::format("nvls stays within one node; these ranks are on {}", wiring.nodes.size()),
                     "choose nvls_tree");
  if (wiring.ranks == 1) return {"nvls", Operation::all_reduce, 1, {}};
  return all_reduce_in(within_one_node(wiring), "nvls", wiring.ranks);
}

CollectiveSchedule nvls_tree(const Wiring& wiring) {
  require_switch(wiring, "nvls_tree");
  int g = ranks_per_node(wiring, "nvls_tree");
  if (wiring.ranks == 1) return {"nvls_tree", Operation::all_reduce, 1, {}};
  return all_reduce_in(wiring.nodes.size() == 1 ? within_one_node(wiring) : across_nodes(wiring, g),
                       "nvls_tree", wiring.ranks);
}

}  // namespace ddpsim
