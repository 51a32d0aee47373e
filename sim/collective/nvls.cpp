// NVLink SHARP: a node's switch adds up what the ranks send and multicasts what one of them sends. Rank r of
// n owns shard r: it fetches the sum of that shard from the switch and sends it to all through the switch
// (NCCL's src/device/all_reduce.h: RunWorkColl<..., NCCL_ALGO_NVLS, ...>).
#include <numeric>
#include <utility>

#include <fmt/format.h>

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

// The pipeline of one node, put together group by group: each has one edge a rank, and waits for one before.
class NodePipeline {
 public:
  // The switch is two vertices: the data it adds up and the data it hands out.
  NodePipeline(const Wiring& wiring, std::size_t node)
      : wiring_(wiring),
        ranks_(wiring.nodes[node]),
        n_(static_cast<int>(ranks_.size())),
        sum_(wiring.ranks + 2 * static_cast<int>(node)),
        multicast_(sum_ + 1) {
    channel_.pattern = Pattern::pipeline;
    channel_.edges.reserve(4 * ranks_.size());
  }

  NodePipeline& reduce_in_switch() {
    begin_group();
    for (int rank : ranks_) add(wiring_.to_switch(rank), rank, sum_, {}).reduce = true;
    return *this;
  }
  NodePipeline& fetch_shards() {
    auto all_before = begin_group();
    for (int r = 0; r < n_; ++r) add(wiring_.from_switch(rank(r)), sum_, rank(r), all_before).piece = {r, n_};
    return *this;
  }
  NodePipeline& send_shards() {
    auto fetched = begin_group();
    for (int r = 0; r < n_; ++r) {
      std::vector<int> own;
      if (!fetched.empty()) own.push_back(fetched[r]);
      add(wiring_.to_switch(rank(r)), rank(r), multicast_, std::move(own)).piece = {r, n_};
    }
    return *this;
  }
  NodePipeline& hand_out() {
    auto all_before = begin_group();
    for (int rank : ranks_) add(wiring_.from_switch(rank), multicast_, rank, all_before);
    return *this;
  }
  Channel finish() { return std::move(channel_); }

 private:
  // The edges of the group before.
  std::vector<int> begin_group() {
    std::vector<int> before(channel_.edges.empty() ? 0U : ranks_.size());
    std::iota(before.begin(), before.end(), static_cast<int>(channel_.edges.size() - before.size()));
    ++channel_.depth;
    return before;
  }
  Edge& add(Path path, int from, int to, std::vector<int> inputs) {
    channel_.edges.push_back(edge_along(std::move(path), from, to));
    channel_.edges.back().inputs = std::move(inputs);
    return channel_.edges.back();
  }
  [[nodiscard]] int rank(int local) const { return ranks_[local]; }

  const Wiring& wiring_;
  const std::vector<int>& ranks_;
  int n_, sum_, multicast_;
  Channel channel_;
};

CollectiveSchedule within_one_node(const Wiring& wiring, std::string_view algorithm) {
  CollectiveSchedule schedule{std::string(algorithm), Operation::all_reduce, wiring.ranks, {}};
  if (wiring.ranks == 1) return schedule;
  Stage stage{Operation::all_reduce, {}};
  stage.channels.push_back(
      NodePipeline(wiring, 0).reduce_in_switch().fetch_shards().send_shards().hand_out().finish());
  schedule.stages.push_back(std::move(stage));
  return schedule;
}

Stage reduce_in_nodes(const Wiring& wiring) {
  Stage stage{Operation::reduce_scatter, {}};
  for (std::size_t node = 0; node < wiring.nodes.size(); ++node)
    stage.channels.push_back(NodePipeline(wiring, node).reduce_in_switch().fetch_shards().finish());
  return stage;
}

Stage trees_between_nodes(const Wiring& wiring, int g) {
  Stage stage{Operation::all_reduce, {}};
  std::vector<int> owners(wiring.nodes.size());
  for (int shard = 0; shard < g; ++shard) {
    for (std::size_t node = 0; node < owners.size(); ++node) owners[node] = wiring.nodes[node][shard];
    stage.channels.push_back(double_tree_channel(wiring, owners, {shard, g}));
  }
  return stage;
}

Stage gather_in_nodes(const Wiring& wiring) {
  Stage stage{Operation::all_gather, {}};
  for (std::size_t node = 0; node < wiring.nodes.size(); ++node)
    stage.channels.push_back(NodePipeline(wiring, node).send_shards().hand_out().finish());
  return stage;
}

}  // namespace

CollectiveSchedule nvls(const Wiring& wiring) {
  require_switch(wiring, "nvls");
  if (wiring.nodes.size() != 1)
    throw InputError(fmt::format("nvls stays within one node; these ranks are on {}", wiring.nodes.size()),
                     "choose nvls_tree");
  return within_one_node(wiring, "nvls");
}

CollectiveSchedule nvls_tree(const Wiring& wiring) {
  require_switch(wiring, "nvls_tree");
  int g = ranks_per_node(wiring, "nvls_tree");
  if (wiring.nodes.size() == 1) return within_one_node(wiring, "nvls_tree");
  CollectiveSchedule schedule{"nvls_tree", Operation::all_reduce, wiring.ranks, {}};
  if (g > 1) schedule.stages.push_back(reduce_in_nodes(wiring));
  schedule.stages.push_back(trees_between_nodes(wiring, g));
  if (g > 1) schedule.stages.push_back(gather_in_nodes(wiring));
  return schedule;
}

}  // namespace ddpsim
