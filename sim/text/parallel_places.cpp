#include "sim/text/parallel_places.hpp"

#include <algorithm>

#include <fmt/core.h>

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
  return {Operation::all_gather, Operation::reduce_scatter};
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

std::vector<CommunicatorUse> communicators_of_axis(const ParallelOptions& options) {
  if (!options.one_stage) {
    if (options.data_axis.shards == 0) return {};
    return {{.axis = fmt::format("data of {}", options.data_axis.shards)}};
  }
  auto uses = options.one_stage->strategy->communicators(*options.one_stage);
  // Groups of shards differ in size, and so do their communicators.
  if (auto group = options.one_stage->shards) uses.front().axis += fmt::format(" of {}", *group);
  return uses;
}

namespace {

// Those that are traffic on links.
std::vector<Operation> operations_of(const PipelineChannel& channel, const StageAxis& axis) {
  auto kind = channel.kind;
  if (!channel.is_traffic) return {};
  if (kind == Kind::messages) return {Operation::send_recv};
  std::vector<Operation> operations{Operation::all_reduce};
  if (kind != Kind::data && kind != Kind::experts) return operations;  // all-reduces only
  if (axis.reduction != Operation::all_reduce) operations = {axis.reduction};
  if (axis.gathers) operations.push_back(Operation::all_gather);
  return operations;
}

class ChannelGroups {
 public:
  ChannelGroups(const Places& places, const ParallelOptions& options, Communication& communication)
      : places_(places), options_(options), communication_(communication) {
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
    switch (channel.kind) {
      case Kind::messages:
        first = {begin(channel, "pipeline")};
        add_pairs(channel.from, channel.to);
        return;
      case Kind::ends:
        first = {begin(channel, "embedding")};
        add_pairs(0, degrees.pipeline - 1);
        return;
      case Kind::all:
        first = {begin(channel, "all")};
        group(places_.gpus());
        return;
      case Kind::data:
      case Kind::experts:
      case Kind::replicas:
        for (int stage = 0; stage < degrees.pipeline; ++stage) {
          first.push_back(begin(channel, channel.kind == Kind::data      ? "data"
                                         : channel.kind == Kind::experts ? "expert_data"
                                                                         : "replica"));
          int shards = options_.data_axis.shards > 0 ? options_.data_axis.shards : degrees.reducing();
          for (auto& gpus : channel.kind == Kind::experts ? places_.same_experts(stage, shards)
                            : channel.kind == Kind::data  ? places_.shards(stage, shards)
                                                          : places_.replicas(stage, shards))
            group(std::move(gpus));
        }
        return;
    }
  }

  std::size_t begin(const PipelineChannel& channel, const char* name) {
    communication_.axes.push_back({.name = name,
                                   .operations = operations_of(channel, options_.data_axis),
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
  Communication& communication_;
  std::vector<std::vector<std::size_t>> first_;  // groups, by channel; of the data axis by stage
};

}  // namespace

std::vector<std::vector<std::size_t>> add_channels(const Places& places, const ParallelOptions& options,
                                                   const std::vector<PipelineChannel>& channels,
                                                   Communication& communication) {
  return ChannelGroups(places, options, communication).add(channels);
}

std::vector<std::size_t> add_one_stage(const Places& places, const ParallelOptions& options,
                                       Communication& communication) {
  const auto& choice = *options.one_stage;
  communication.axes.clear();
  std::vector<std::size_t> mine;
  int data = options.degrees.reducing(), shards = choice.shards.value_or(data);
  for (const auto& use : choice.strategy->communicators(choice)) {
    bool is_replica = use.joined == Joined::replicas;
    if (is_replica && shards == data) continue;
    communication.axes.push_back(
        {.name = use.axis, .operations = use.operations, .first = communication.groups.size()});
    mine.push_back(communication.groups.size());
    for (auto& gpus : is_replica                      ? places.replicas(0, shards)
                      : use.joined == Joined::experts ? places.same_experts(0, shards)
                                                      : places.shards(0, shards)) {
      communication.groups.push_back(std::move(gpus));
      communication.labels.push_back(static_cast<int>(communication.axes.size()) - 1);
    }
  }
  return mine;
}

}  // namespace ddpsim
