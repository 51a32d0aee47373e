#include "sim/variability/sampled_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <boost/random/bernoulli_distribution.hpp>
#include <boost/random/lognormal_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <boost/random/uniform_real_distribution.hpp>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

// Boost's distributions, unlike the standard library's, are the same everywhere.
using Random = boost::random::mt19937_64;

// What is drawn: each source has random numbers of its own, so that one more does not change the others.
enum Source : std::uint32_t {
  kJitter,
  kRanks,
  kNodes,
  kSlow,  // the first of `slow`, then the others
  kWeather = 1U << 31U
};

Random random_numbers(std::uint64_t seed, std::uint32_t source, std::uint32_t iteration) {
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U), source,
                         iteration};
  return Random(sequence);
}

using Factors = std::vector<double>;

void multiply(const FactorDistribution& distribution, Random random, Factors& factors) {
  if (const auto* observed = std::get_if<Observed>(&distribution)) {
    DDPSIM_CHECK(!observed->factors.empty(), "something was observed");
    boost::random::uniform_int_distribution<std::size_t> draw(0, observed->factors.size() - 1);
    for (auto& factor : factors) factor *= observed->factors[draw(random)];
    return;
  }
  boost::random::lognormal_distribution<double> draw(
      0, log_normal_sigma(std::get<LogNormal>(distribution).spread));
  for (auto& factor : factors) factor *= draw(random);
}

// Returns how many are.
int slow_down(const SlowOnes& ones, Random random, Factors& factors) {
  boost::random::bernoulli_distribution<double> draw(ones.probability);
  int drawn = 0;
  for (auto& factor : factors)
    if (draw(random)) {
      factor *= ones.slowdown;
      ++drawn;
    }
  return drawn;
}

// The factors of all ranks and nodes.
class Draws {
 public:
  Draws(const Variability& variability, std::span<const RankPlace> places)
      : variability_(variability), places_(places) {
    int n_nodes = 0;
    for (const auto& place : places) {
      lasting_ranks_.push_back(place.slowdown);
      n_nodes = std::max(n_nodes, place.node + 1);
    }
    lasting_nodes_.assign(static_cast<std::size_t>(n_nodes), 1);
    if (variability.ranks) multiply(*variability.ranks, random_of(kRanks, 0), lasting_ranks_);
    if (variability.nodes) multiply(*variability.nodes, random_of(kNodes, 0), lasting_nodes_);
    slow_for_the_run_ = add_slow(SlowOnes::Lasts::run, 0, lasting_ranks_, lasting_nodes_);
  }

  [[nodiscard]] const std::vector<SlowForTheRun>& slow_for_the_run() const { return slow_for_the_run_; }

  Factors in_iteration(std::uint32_t iteration) const {
    auto ranks = lasting_ranks_;
    auto nodes = lasting_nodes_;
    if (variability_.jitter) multiply(*variability_.jitter, random_of(kJitter, iteration), ranks);
    add_slow(SlowOnes::Lasts::iteration, iteration, ranks, nodes);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      ranks[rank] *= nodes[static_cast<std::size_t>(places_[rank].node)];
    return ranks;
  }

 private:
  [[nodiscard]] Random random_of(std::uint32_t source, std::uint32_t iteration) const {
    return random_numbers(variability_.seed, source, iteration);
  }

  std::vector<SlowForTheRun> add_slow(SlowOnes::Lasts lasts, std::uint32_t iteration, Factors& ranks,
                                      Factors& nodes) const {
    std::vector<SlowForTheRun> drawn;
    for (std::uint32_t i = 0; i < variability_.slow.size(); ++i) {
      const auto& ones = variability_.slow[i];
      if (ones.lasts != lasts) continue;
      auto& factors = ones.of == SlowOnes::Of::ranks ? ranks : nodes;
      int count = slow_down(ones, random_of(kSlow + i, iteration), factors);
      drawn.push_back({ones, count, static_cast<int>(factors.size())});
    }
    return drawn;
  }

  const Variability& variability_;
  std::span<const RankPlace> places_;
  Factors lasting_ranks_, lasting_nodes_;
  std::vector<SlowForTheRun> slow_for_the_run_;
};

std::vector<SlowestRank> slowest_of(const Factors& factors, std::span<const RankPlace> places) {
  std::vector<SlowestRank> slowest;
  for (std::size_t rank = 0; rank < factors.size(); ++rank) {
    auto group = static_cast<std::size_t>(places[rank].group);
    if (group >= slowest.size()) slowest.resize(group + 1);
    if (factors[rank] > slowest[group].slowdown) slowest[group] = {static_cast<int>(rank), factors[rank]};
  }
  return slowest;
}

// Sums of the slowest of all runs of 1, 2, 4, ... consecutive ranks, and of all ranks.
class Growth {
 public:
  void add(Factors slowest) {
    std::size_t n_ranks = slowest.size(), level = 0, run = 1;
    double all = *std::max_element(slowest.begin(), slowest.end());
    for (; run < n_ranks; ++level, run *= 2) {
      if (level == sums_.size()) sums_.push_back({static_cast<int>(run), 0, 0});
      for (double factor : slowest) sums_[level].sum += factor;
      sums_[level].count += static_cast<double>(slowest.size());
      halve(slowest);
    }
    if (level == sums_.size()) sums_.push_back({static_cast<int>(n_ranks), 0, 0});
    sums_[level].sum += all;
    ++sums_[level].count;
  }

  [[nodiscard]] std::vector<ExpectedSlowest> take() const {
    std::vector<ExpectedSlowest> growth;
    for (const auto& [ranks, sum, count] : sums_) growth.push_back({ranks, sum / count});
    return growth;
  }

 private:
  // Two runs become one; what is left over at the end is no whole run.
  static void halve(Factors& slowest) {
    std::size_t pairs = slowest.size() / 2;
    for (std::size_t i = 0; i < pairs; ++i) slowest[i] = std::max(slowest[2 * i], slowest[2 * i + 1]);
    slowest.resize(pairs);
  }

  struct Sum {
    int ranks;
    double sum, count;
  };
  std::vector<Sum> sums_;
};

// One number in each n-th of 0 to 1, in a random order: their quantiles are those of the distribution,
// however few they are.
std::vector<double> spread_evenly(int n, Random random) {
  std::vector<double> numbers;
  boost::random::uniform_real_distribution<double> within(0, 1);
  for (int i = 0; i < n; ++i) numbers.push_back((i + within(random)) / n);
  for (std::size_t i = numbers.size(); i > 1; --i) {
    boost::random::uniform_int_distribution<std::size_t> other(0, i - 1);
    std::swap(numbers[i - 1], numbers[other(random)]);
  }
  return numbers;
}

}  // namespace

double SlowForTheRun::chance_of_any() const {
  return 1 - std::pow(1 - ones.probability, of);
}

SampledRanks sample_ranks(const Variability& variability, std::span<const RankPlace> ranks) {
  DDPSIM_CHECK(!ranks.empty() && variability.iterations > 0, "there are ranks and iterations to draw for");
  SampledRanks sampled{variability, {}, {}, {}, {}};
  Draws draws(variability, ranks);
  Growth growth;
  for (int iteration = 0; iteration < variability.iterations; ++iteration) {
    auto factors = draws.in_iteration(static_cast<std::uint32_t>(iteration));
    sampled.slowest.push_back(slowest_of(factors, ranks));
    growth.add(std::move(factors));
  }
  if (variability.weather)
    sampled.weather = spread_evenly(variability.iterations, random_numbers(variability.seed, kWeather, 0));
  sampled.growth = growth.take();
  sampled.slow_for_the_run = draws.slow_for_the_run();
  return sampled;
}

}  // namespace ddpsim
