#pragma once
// Random small scenarios in which somebody shares a link: two groups, background traffic, channels, trees.
#include <random>

#include "sim/base/check.hpp"

#include "tests/engine/scenarios.hpp"

namespace ddpsim::testing {

// What shares links, on a cluster of `ranks` (per group) in 16..64.
enum class Sharing { two_groups, background, hierarchical, channels, tree, halving_doubling };

class RandomContention {
 public:
  RandomContention(Sharing sharing, unsigned seed) : sharing_(sharing), random_(seed) {}

  Scenario make() {
    switch (sharing_) {
      case Sharing::two_groups:
        return two_groups();
      case Sharing::background:
        return with_background();
      case Sharing::hierarchical:
        return hierarchical();
      case Sharing::channels:
        return on_switch(in_rank_order(Algorithm::ring, whole(2, 4)), 1);
      case Sharing::tree:
        return on_switch(in_rank_order(Algorithm::tree), 1);
      case Sharing::halving_doubling:
        return on_switch(in_rank_order(Algorithm::halving_doubling), 1);
    }
    throw InternalError("every kind of sharing is made");
  }

 private:
  double uniform(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }
  int whole(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  bool one_in(int n) { return whole(1, n) == 1; }

  // A few buckets, some of which overlap the computation of the next.
  LayerTrace trace() {
    std::vector<double> megabytes, ready;
    double time = 0;
    for (int i = whole(1, 4); i > 0; --i) {
      megabytes.push_back(uniform(0.1, 20));
      ready.push_back(time += uniform(0.1, 5));
    }
    return make_trace(megabytes, ready);
  }

  std::vector<BackgroundFlow> background(const std::vector<int>& links) {
    BackgroundFlow flow;
    flow.links = links;
    flow.start = Seconds(uniform(0, 8e-3));
    if (one_in(2))
      flow.size = Bytes(std::round(uniform(1e4, 5e7)));
    else
      flow.end = flow.start + Seconds(uniform(1e-4, 8e-3));
    return {flow};
  }

  void slow_down(RankGroup& group, int rank) {
    int ranks = group.ranks;
    if (one_in(3)) group.rank_classes = {{0, ranks - 1, 1.0}, {rank, 1, uniform(1.01, 1.5)}};
  }

  // Two rings through the same ports, the second some time after the first; one port may be slower.
  Scenario two_groups() {
    int ranks = whole(8, 32);
    auto cluster = switch_cluster(2 * ranks, 2, {uniform(0.5, 20), uniform(2, 25)});
    if (one_in(2)) cluster->set_link(2 * whole(0, ranks - 1), {uniform(20, 30), uniform(0.5, 2)});
    auto scenario = base_scenario(trace(), Reducer::overlap, {}, 2 * ranks);
    scenario.groups.assign(2, {ranks, {{0, ranks, 1.0}}, Seconds(0)});
    scenario.groups[1].rank_classes[0].rank = 1;
    scenario.groups[1].offset = Seconds(one_in(4) ? 0 : uniform(0, 6e-3));
    slow_down(scenario.groups[0], 2);
    std::vector<std::vector<int>> gpus(2);
    for (int r = 0; r < ranks; ++r)
      for (int g = 0; g < 2; ++g) gpus[static_cast<std::size_t>(g)].push_back(2 * r + g);
    connect(scenario, cluster, in_rank_order(Algorithm::ring), gpus);
    return scenario;
  }

  Scenario with_background() {
    std::vector<RingLink> links(static_cast<std::size_t>(whole(16, 64)), {uniform(0.5, 20), uniform(2, 25)});
    int hot = whole(0, static_cast<int>(links.size()) - 1);
    if (one_in(2)) links[static_cast<std::size_t>(hot)].bandwidth_GBps /= 2;
    auto cluster = ring_cluster(links);
    auto scenario = base_scenario(trace(), Reducer::overlap, {}, cluster->gpus());
    slow_down(scenario.groups[0], 3);
    connect(scenario, cluster, in_rank_order(Algorithm::ring), {all_gpus(*cluster)}, background({hot}));
    return scenario;
  }

  Scenario hierarchical() {
    int per_node = whole(2, 8), nodes = whole(2, 8);
    auto cluster = two_level_cluster(nodes, per_node);
    int rail = nodes * per_node * per_node + whole(0, nodes * per_node - 1);
    if (one_in(2)) cluster->set_link(rail, {5, uniform(3, 12)});
    auto scenario = base_scenario(trace(), Reducer::overlap, {}, cluster->gpus());
    connect(scenario, cluster, in_rank_order(Algorithm::hierarchical), {all_gpus(*cluster)},
            one_in(3) ? std::vector<BackgroundFlow>{} : background({rail}));
    return scenario;
  }

  Scenario on_switch(const CollectiveOptions& options, int sharing) {
    int ranks = options.algorithm == Algorithm::halving_doubling ? 1 << whole(4, 6) : whole(16, 40);
    auto cluster = switch_cluster(ranks, sharing, {uniform(0.5, 20), uniform(2, 25)});
    auto scenario = base_scenario(trace(), Reducer::overlap, {}, ranks);
    connect(scenario, cluster, options, {all_gpus(*cluster)},
            one_in(2) ? std::vector<BackgroundFlow>{} : background({whole(0, 2 * ranks - 1)}));
    return scenario;
  }

  Sharing sharing_;
  std::mt19937 random_;
};

// By how much the ends of the collectives differ, at most, relative to the last end.
inline double difference(const Timeline& a, const Timeline& b) {
  double largest = 0;
  for (const auto& ranks : a.rank_classes) {
    auto other = std::find_if(b.rank_classes.begin(), b.rank_classes.end(),
                              [&](const auto& candidate) { return candidate.rank == ranks.rank; });
    if (other == b.rank_classes.end()) continue;  // folded into another group
    double scale = ranks.communication.back().end.value();
    for (std::size_t i = 0; i < ranks.communication.size(); ++i)
      largest = std::max(
          largest, std::abs((ranks.communication[i].end - other->communication[i].end).value()) / scale);
  }
  return largest;
}

}  // namespace ddpsim::testing
