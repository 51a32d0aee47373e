#include "sim/variability/expert_load.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <boost/random/binomial_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>

namespace ddpsim {
namespace {

using Engine = boost::random::mt19937_64;

constexpr int kMostMicroBatches = 16;

std::vector<double> dirichlet(int n, double concentration, Engine& engine) {
  boost::random::gamma_distribution<double> gamma(concentration, 1);
  std::vector<double> shares(static_cast<std::size_t>(n));
  for (auto& share : shares) share = gamma(engine);
  double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  // So uneven that no share is left of most: one has all.
  if (!(sum > 0)) shares.front() = sum = 1;
  for (auto& share : shares) share /= sum;
  return shares;
}

// What is above goes to the others, by their shares.
void limit(std::vector<double>& shares, double most) {
  for (std::size_t round = 0; round < shares.size(); ++round) {
    double above = 0, below = 0, full = 0;
    for (double share : shares) {
      if (share >= most)
        above += share - most, full += most;
      else
        below += share;
    }
    if (above <= 1e-12) return;
    double others = static_cast<double>(
        std::count_if(shares.begin(), shares.end(), [most](double share) { return share < most; }));
    for (auto& share : shares) {
      if (share >= most)
        share = most;
      else
        share = below > 0 ? share * (1 - full) / below : (1 - full) / others;
    }
  }
}

std::vector<std::int64_t> multinomial(std::int64_t tokens, const std::vector<double>& shares,
                                      Engine& engine) {
  std::vector<std::int64_t> counts;
  double left = 1;
  for (double share : shares) {
    double probability = left > 0 ? std::clamp(share / left, 0.0, 1.0) : 0;
    if (counts.size() + 1 == shares.size()) probability = 1;
    boost::random::binomial_distribution<std::int64_t, double> binomial(tokens, probability);
    auto count = probability >= 1 ? tokens : probability <= 0 ? 0 : binomial(engine);
    counts.push_back(count);
    tokens -= count;
    left -= share;
  }
  return counts;
}

}  // namespace

ExpertLoad draw_expert_load(const ExpertDraws& draws) {
  ExpertLoad load;
  if (std::isinf(draws.concentration)) {
    load.dropped = draws.capacity > 0 ? std::max(0.0, 1 - draws.capacity) : 0;
    return load;
  }
  Engine engine(draws.seed);
  auto assigned = draws.tokens * draws.top_k;
  auto local = static_cast<std::size_t>(draws.experts / draws.ranks);
  double mean = static_cast<double>(assigned) / draws.ranks;
  double room = draws.capacity * static_cast<double>(assigned) / draws.experts;
  int rounds = std::min(draws.micro_batches, kMostMicroBatches);
  double sum = 0, dropped = 0;
  load.most = 0;
  for (int layer = 0; layer < draws.layers; ++layer) {
    auto shares = dirichlet(draws.experts, draws.concentration, engine);
    limit(shares, 1.0 / draws.top_k);
    for (int round = 0; round < rounds; ++round) {
      auto counts = multinomial(assigned, shares, engine);
      double most = 0;
      for (std::size_t first = 0; first < counts.size(); first += local) {
        auto begin = counts.begin() + static_cast<std::ptrdiff_t>(first);
        auto of_rank = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(local), std::int64_t{0});
        most = std::max(most, static_cast<double>(of_rank) / mean);
      }
      if (draws.capacity > 0)
        for (auto count : counts) dropped += std::max(0.0, static_cast<double>(count) - room);
      sum += most;
      load.most = std::max(load.most, most);
    }
  }
  double count = static_cast<double>(draws.layers) * rounds;
  load.of_slowest = sum / count;
  load.dropped = dropped / (count * static_cast<double>(assigned));
  return load;
}

}  // namespace ddpsim
