#pragma once
// How the compute of ranks differs from iteration to iteration and from rank to rank: everything is a factor
// on all compute times of a rank between two synchronisations, and their product counts. And how what a
// fabric gives differs.
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "sim/variability/weather.hpp"

namespace ddpsim {

// Distributions of a factor whose median is 1.
struct LogNormal {
  double spread = 0;  // standard deviation over median
};
struct Observed {
  std::vector<double> factors;  // each as likely as any other; never empty
};
using FactorDistribution = std::variant<LogNormal, Observed>;

// Ranks, or nodes with all their ranks, that are `slowdown` times as slow, each with this probability.
struct SlowOnes {
  enum class Of { ranks, nodes };
  enum class Lasts { run, iteration };
  Of of = Of::ranks;
  Lasts lasts = Lasts::run;
  double probability = 0;
  double slowdown = 1;
  bool operator==(const SlowOnes&) const = default;
};

// Which iteration's terms are reported.
enum class ReportedIteration { median, p95 };

struct Variability {
  std::uint64_t seed = 0;
  int iterations = 0;
  ReportedIteration report = ReportedIteration::median;
  std::optional<FactorDistribution> jitter;  // drawn for each rank in each iteration
  std::optional<FactorDistribution> ranks;   // for each rank, once
  std::optional<FactorDistribution> nodes;   // for each node, once
  std::vector<SlowOnes> slow;
  std::optional<Weather> weather;  // drawn for each iteration

  [[nodiscard]] bool is_off() const { return !draws_ranks() && !weather; }
  [[nodiscard]] bool draws_ranks() const { return jitter || ranks || nodes || !slow.empty(); }
  [[nodiscard]] bool needs_nodes() const;
};

// The sigma of the normal distribution under a log-normal one with this standard deviation over median.
double log_normal_sigma(double spread);

}  // namespace ddpsim
