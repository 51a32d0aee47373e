#pragma once
// How unevenly a router spreads tokens over experts, drawn: shares of a layer's experts from a symmetric
// Dirichlet distribution, tokens of each micro-batch from a multinomial one.
#include <cstdint>

namespace ddpsim {

inline constexpr double kLeastConcentration = 0.01;

struct ExpertDraws {
  int experts = 1, top_k = 1;
  int ranks = 1;            // that share the experts, as many each
  std::int64_t tokens = 0;  // of all those ranks, in a micro-batch
  int layers = 1, micro_batches = 1;
  double concentration = 1;  // infinite: as many tokens each
  double capacity = 0;       // tokens an expert takes over the mean; 0: all
  std::uint64_t seed = 1;
};

struct ExpertLoad {
  double of_slowest =
      1;               // tokens of the rank with most over the mean: averaged over layers and micro-batches
  double most = 1;     // and the most of those
  double dropped = 0;  // share that finds its expert full
};

// The same for the same draws, wherever it runs. No expert has more than one copy of a token: shares are 1 /
// top_k at most. Of more than 16 micro-batches 16 are drawn.
ExpertLoad draw_expert_load(const ExpertDraws& draws);

}  // namespace ddpsim
