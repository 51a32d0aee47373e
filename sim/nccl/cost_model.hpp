#pragma once
// What an all-reduce takes, as far as measurements of such machines tell: NCCL's tuner chooses, a calibrated
// curve gives the time. Without a curve for the machine the time is the tuner's own.
//
// The curve of a message of S bytes (docs/model.md: where its form comes from, what it was judged on):
//   bulk(S) = latency_scale * L + S / (efficiency * b) + ramp * depth * ln(1 + S / 4 MiB)
// with L and b of the algorithm that is picked; LL has a line of its own, latency_scale * L_LL + S / b_LL.
#include <optional>
#include <string_view>
#include <vector>

#include "sim/nccl/tuner.hpp"

namespace ddpsim::nccl {

// The parameters of a curve. They hold for machines like those they were fitted to.
struct Curve {
  double latency_scale = 1;
  double efficiency = 1;
  Seconds ramp;

  [[nodiscard]] bool operator==(const Curve&) const = default;
};

// Curves by the algorithm that carries large messages, and whether it crosses nodes.
struct Calibration {
  struct Entry {
    Algorithm algorithm = Algorithm::ring;
    bool across_nodes = false;
    Curve curve;
    int largest_ranks = 0;  // of the tables it was fitted to; 0: not known
  };
  std::vector<Entry> entries;

  [[nodiscard]] const Curve* find(Algorithm algorithm, bool across_nodes) const;
  // Its own, or across nodes the first of another algorithm: what is lost there is mostly the network's
  // doing.
  [[nodiscard]] const Entry* best_for(Algorithm algorithm, bool across_nodes) const;
};

// What of a curve follows from the machine: L, b and depth, from the constants of NCCL 2.30.7 whatever
// version picks (of all, they come closest to measured large messages).
class CurveShape {
 public:
  // Throws InputError (without a place) when nothing that is allowed is possible.
  CurveShape(const Communicator& communicator, const Allowed& allowed);

  [[nodiscard]] const Tuner& tuner() const { return tuner_; }  // which picks
  // What carries large messages: of what is allowed, and if everything were.
  [[nodiscard]] Algorithm large_algorithm() const { return large_algorithm_; }
  [[nodiscard]] Algorithm usual_large_algorithm() const { return usual_large_algorithm_; }
  [[nodiscard]] BytesPerSecond bandwidth(Algorithm algorithm) const;  // algbw of its large messages

  [[nodiscard]] Seconds time(const Curve& curve, const Candidate& candidate, Bytes bytes) const;
  [[nodiscard]] Seconds time(const Curve& curve, Bytes bytes) const {
    return time(curve, tuner_.choose(bytes), bytes);
  }

 private:
  [[nodiscard]] bool across_nodes() const { return tuner_.communicator().nodes > 1; }
  [[nodiscard]] Seconds latency(Algorithm algorithm) const;
  [[nodiscard]] double depth(Algorithm algorithm) const;  // how often the ramp is paid
  [[nodiscard]] Seconds low(const Curve& curve, const Candidate& candidate, Bytes bytes) const;

  Tuner tuner_;
  Tuner reference_;  // everything allowed, 2.30.7
  Algorithm large_algorithm_, usual_large_algorithm_;
  Bytes low_until_;  // within a node: where the tuner leaves ring/LL
};

// Where a time comes from.
enum class TimesFrom { own_curve, other_curve, extrapolated, tuner };
std::string_view name(TimesFrom source);  // "calibrated", "calibrated on fewer GPUs"

class CostModel {
 public:
  // Throws InputError (without a place) when nothing that is allowed is possible.
  CostModel(const Communicator& communicator, const Allowed& allowed, const Calibration& calibration);

  struct Choice {
    const Candidate* candidate;
    Seconds time;
  };
  [[nodiscard]] Choice choose(Bytes bytes) const;
  [[nodiscard]] Seconds time(const Candidate& candidate, Bytes bytes) const;

  [[nodiscard]] const std::vector<Candidate>& candidates() const { return shape_.tuner().candidates(); }
  [[nodiscard]] const Communicator& communicator() const { return shape_.tuner().communicator(); }
  // The curve that a candidate's times are read off; null: they are the tuner's own estimate.
  [[nodiscard]] const Calibration::Entry* curve(const Candidate& candidate) const;
  [[nodiscard]] TimesFrom times_from(const Candidate& candidate) const;
  // algbw of an algorithm's large messages.
  [[nodiscard]] BytesPerSecond bandwidth(Algorithm algorithm) const;

 private:
  // Whose curve is looked for first.
  [[nodiscard]] Algorithm curve_of(const Candidate& candidate) const;

  CurveShape shape_;
  Calibration calibration_;
};

}  // namespace ddpsim::nccl
