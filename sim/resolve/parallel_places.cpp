#include "sim/resolve/parallel_places.hpp"

#include <algorithm>

namespace ddpsim {

using Kind = PipelineChannel::Kind;

// A message that takes less than so much of the latency of its path is no traffic.
constexpr double kLatencyAlone = 1e-3;

int Places::gpu(int tensor, int replica, int stage) const {
  int rank = tensor + degrees_.tensor * (replica + degrees_.reducing() * stage);
  return gpu_of_rank_[static_cast<std::size_t>(rank)];
}

int Places::node_of(int rank) const {
  return cluster_.node_of(gpu_of_rank_[static_cast<std::size_t>(rank)]);
}

std::vector<int> Places::ranks_on(int node) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(gpu_of_rank_.size()); ++rank)
    if (node_of(rank) == node) ranks.push_back(rank);
  return ranks;
}

std::vector<int> Places::ranks_of_stage(int stage) const {
  std::vector<int> ranks;
  int of_a_stage = degrees_.tensor * degrees_.reducing();
  for (int rank = 0; rank < of_a_stage; ++rank) ranks.push_back(rank + of_a_stage * stage);
  return ranks;
}

std::set<int> Places::nodes_of_replica(int replica) const {
  std::set<int> nodes;
  for (int stage = 0; stage < degrees_.pipeline; ++stage)
    for (int t = 0; t < degrees_.tensor; ++t) nodes.insert(cluster_.node_of(gpu(t, replica, stage)));
  return nodes;
}

std::vector<int> Places::beside(int replica) const {
  auto mine = nodes_of_replica(replica);
  std::vector<int> beside{replica};
  for (int other = 0; other < degrees_.reducing(); ++other) {
    auto its = nodes_of_replica(other);
    if (other != replica && std::ranges::any_of(its, [&](int node) { return mine.contains(node); }))
      beside.push_back(other);
  }
  return beside;
}

int Places::farthest(int from, int to) const {
  for (int replica = 0; replica < degrees_.reducing(); ++replica)
    if (node(replica, from) != node(replica, to)) return replica;
  return 0;
}

bool Places::is_traffic(Bytes message) const {
  auto across = cluster_.find_route(gpu_of_rank_.front(), gpu_of_rank_.back());
  return !across || message / across->bandwidth >= kLatencyAlone * across->latency;
}

std::vector<int> Places::tensor_group(int replica, int stage) const {
  std::vector<int> group;
  for (int t = 0; t < degrees_.tensor; ++t) group.push_back(gpu(t, replica, stage));
  return group;
}

std::vector<int> Places::context_group(int tensor, int data, int stage) const {
  std::vector<int> group;
  for (int c = 0; c < degrees_.context; ++c) group.push_back(gpu(tensor, c + degrees_.context * data, stage));
  return group;
}

std::set<int> Places::nodes_of(const std::vector<int>& gpus) const {
  std::set<int> nodes;
  for (int gpu : gpus) nodes.insert(cluster_.node_of(gpu));
  return nodes;
}

std::vector<std::vector<int>> Places::tensor_groups() const {
  std::pair<int, int> widest;
  std::size_t most = 0;
  for (int stage = 0; stage < degrees_.pipeline; ++stage)
    for (int replica = 0; replica < degrees_.reducing(); ++replica)
      if (auto nodes = nodes_of(tensor_group(replica, stage)).size(); nodes > most)
        most = nodes, widest = {replica, stage};
  auto [replica, stage] = widest;
  std::vector<std::vector<int>> groups;
  for (int other : beside(replica)) groups.push_back(tensor_group(other, stage));
  return groups;
}

std::vector<std::vector<int>> Places::context_groups() const {
  std::pair<int, int> widest;
  std::size_t most = 0;
  for (int stage = 0; stage < degrees_.pipeline; ++stage)
    for (int data = 0; data < degrees_.data; ++data)
      for (int t = 0; t < degrees_.tensor; ++t)
        if (auto nodes = nodes_of(context_group(t, data, stage)).size(); nodes > most)
          most = nodes, widest = {data, stage};
  auto [data, stage] = widest;
  std::set<int> all{data};
  for (int c = 0; c < degrees_.context; ++c)
    for (int replica : beside(c + degrees_.context * data)) all.insert(replica / degrees_.context);
  std::vector<std::vector<int>> groups;
  for (int one : all)
    for (int t = 0; t < degrees_.tensor; ++t) {
      auto group = context_group(t, one, stage);
      if (degrees_.context_kind != ContextKind::ring) {
        groups.push_back(std::move(group));
        continue;
      }
      for (std::size_t i = 0; i < group.size(); ++i)
        groups.push_back({group[i], group[(i + 1) % group.size()]});
    }
  return groups;
}

// Of the ranks of a stage, in their order.
std::vector<int> Places::expert_group(int first, int stride, int count, int stage) const {
  std::vector<int> group;
  for (int i = 0; i < count; ++i) {
    int rank = first + i * stride;
    group.push_back(gpu(rank % degrees_.tensor, rank / degrees_.tensor, stage));
  }
  return group;
}

std::vector<std::vector<int>> Places::widest_and_beside(std::span<const int> firsts, int stride,
                                                        int count) const {
  std::vector<int> widest;
  std::set<int> nodes;
  int of_stage = 0;
  for (int stage = 0; stage < degrees_.pipeline; ++stage)
    for (int first : firsts) {
      auto group = expert_group(first, stride, count, stage);
      if (auto its = nodes_of(group); its.size() > nodes.size())
        nodes = std::move(its), widest = std::move(group), of_stage = stage;
    }
  std::vector<std::vector<int>> groups{widest};
  for (int first : firsts) {
    auto group = expert_group(first, stride, count, of_stage);
    auto shares = std::any_of(group.begin(), group.end(),
                              [&](int gpu) { return nodes.contains(cluster_.node_of(gpu)); });
    if (shares && group != widest) groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<std::vector<int>> Places::expert_groups() const {
  auto [ranks, tensor] = std::pair(degrees_.expert.ranks, degrees_.expert.tensor);
  std::vector<int> firsts;
  for (int first = 0; first < degrees_.of_a_stage(); first += degrees_.sharing_experts())
    for (int part = 0; part < tensor; ++part) firsts.push_back(first + part);
  return widest_and_beside(firsts, tensor, ranks);
}

std::vector<std::vector<int>> Places::expert_tensor_groups() const {
  std::vector<int> firsts;
  for (int first = 0; first < degrees_.of_a_stage(); first += degrees_.expert.tensor) firsts.push_back(first);
  return widest_and_beside(firsts, 1, degrees_.expert.tensor);
}

std::vector<std::vector<int>> Places::same_experts(int stage, int shards) const {
  std::vector<std::vector<int>> groups;
  int sharing = degrees_.sharing_experts(), of_a_group = shards * degrees_.tensor;
  for (int first = 0; first < degrees_.of_a_stage(); first += of_a_group)
    for (int i = 0; i < sharing; ++i)
      groups.push_back(expert_group(first + i, sharing, of_a_group / sharing, stage));
  return groups;
}

std::vector<std::vector<int>> Places::shards(int stage, int shards) const {
  std::vector<std::vector<int>> groups;
  for (int t = 0; t < degrees_.tensor; ++t)
    for (int first = 0; first < degrees_.reducing(); first += shards) {
      auto& gpus = groups.emplace_back();
      for (int i = 0; i < shards; ++i) gpus.push_back(gpu(t, first + i, stage));
    }
  return groups;
}

std::vector<std::vector<int>> Places::replicas(int stage, int shards) const {
  std::vector<std::vector<int>> groups;
  for (int t = 0; t < degrees_.tensor; ++t)
    for (int first = 0; first < shards; ++first) {
      auto& gpus = groups.emplace_back();
      for (int d = first; d < degrees_.reducing(); d += shards) gpus.push_back(gpu(t, d, stage));
    }
  return groups;
}

std::vector<Operation> operations_of(Dispatcher dispatcher) {
  if (dispatcher == Dispatcher::all_to_all) return {Operation::all_to_all, Operation::all_gather};
  if (dispatcher == Dispatcher::all_gather) return {Operation::all_gather, Operation::reduce_scatter};
  return {};
}

std::vector<Operation> operations_of(ContextKind kind) {
  switch (kind) {
    case ContextKind::ring:
      return {Operation::send_recv};
    case ContextKind::all_gather:
      return {Operation::all_gather, Operation::reduce_scatter};
    case ContextKind::all_to_all:
      return {Operation::all_to_all};
  }
  return {};
}

namespace {

class ChannelGroups {
 public:
  ChannelGroups(const Places& places, const ParallelOptions& options, Communication& communication)
      : places_(places),
        options_(options),
        uses_(options.choice.strategy->communicators(options.choice)),
        communication_(communication) {
    communication_.axes.clear();
  }

  std::vector<std::vector<std::size_t>> add(const std::vector<PipelineChannel>& channels) {
    for (const auto& channel : channels) add(channel);
    std::vector<std::vector<std::size_t>> of_stage;
    int stages = options_.degrees.pipeline;
    for (int stage = 0; stage < stages; ++stage) {
      auto& mine = of_stage.emplace_back();
      for (auto c : channels_of_rank(channels, stage, stages))
        mine.push_back(first_[c][first_[c].size() > 1 ? static_cast<std::size_t>(stage) : 0]);
    }
    return of_stage;
  }

 private:
  void add(const PipelineChannel& channel) {
    const auto& degrees = options_.degrees;
    auto& first = first_.emplace_back();
    // What is no traffic on links has no operations there.
    auto of = [&](std::vector<Operation> operations) {
      return channel.is_traffic ? std::move(operations) : std::vector<Operation>();
    };
    switch (channel.kind) {
      case Kind::messages:
        first = {begin("pipeline", of({Operation::send_recv}))};
        add_pairs(channel.from, channel.to);
        return;
      case Kind::ends:
        first = {begin("embedding", of({Operation::all_reduce}))};
        add_pairs(0, degrees.pipeline - 1);
        return;
      case Kind::all:
        first = {begin("all", of({Operation::all_reduce}))};
        group(places_.gpus());
        return;
      case Kind::strategy:
        const auto& use = uses_[static_cast<std::size_t>(channel.strategy)];
        for (int stage = 0; stage < degrees.pipeline; ++stage) {
          first.push_back(begin(use.axis, use.operations));
          for (auto& gpus : groups_of(use.joined, stage)) group(std::move(gpus));
        }
        return;
    }
  }

  [[nodiscard]] std::vector<std::vector<int>> groups_of(Joined joined, int stage) const {
    int reducing = options_.degrees.reducing(), shards = options_.choice.shards.value_or(reducing);
    switch (joined) {
      case Joined::replicas:
        return places_.replicas(stage, shards);
      case Joined::experts:
        return places_.same_experts(stage, shards);
      case Joined::shards:
        return places_.shards(stage, shards);
      case Joined::all:
      case Joined::sets:
      case Joined::servers:
      case Joined::listed:
        break;
    }
    return places_.shards(stage, reducing);
  }

  std::size_t begin(std::string_view name, std::vector<Operation> operations) {
    communication_.axes.push_back({.name = std::string(name),
                                   .operations = std::move(operations),
                                   .first = communication_.groups.size()});
    return communication_.groups.size();
  }
  void group(std::vector<int> gpus) {
    communication_.groups.push_back(std::move(gpus));
    communication_.labels.push_back(static_cast<int>(communication_.axes.size()) - 1);
  }
  // Of GPUs with the same place in two stages, of all copies, which send at the same time; first those that
  // are farthest apart.
  void add_pairs(int from, int to) {
    std::vector<int> copies{places_.farthest(from, to)};
    for (int d = 0; d < options_.degrees.reducing(); ++d)
      if (d != copies.front()) copies.push_back(d);
    for (int d : copies)
      for (int t = 0; t < options_.degrees.tensor; ++t)
        group({places_.gpu(t, d, from), places_.gpu(t, d, to)});
  }

  const Places& places_;
  const ParallelOptions& options_;
  std::vector<CommunicatorUse> uses_;
  Communication& communication_;
  std::vector<std::vector<std::size_t>> first_;  // groups, by channel; of the strategy's by stage
};

}  // namespace

std::vector<std::vector<std::size_t>> add_channels(const Places& places, const ParallelOptions& options,
                                                   const std::vector<PipelineChannel>& channels,
                                                   Communication& communication) {
  return ChannelGroups(places, options, communication).add(channels);
}

}  // namespace ddpsim
