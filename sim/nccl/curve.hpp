#pragma once
// What an all-reduce takes where no line of lines.hpp is known, across nodes and over PCIe, as far as
// measurements of such machines tell: NCCL's tuner chooses, a calibrated curve gives the time.
//
// The curve of a message of S bytes (docs/nccl.md: where its form comes from, what it was judged on):
//   bulk(S) = latency_scale * L + S / (efficiency * b) + ramp * depth * ln(1 + S / 4 MiB)
// with L and b of the algorithm that is picked; LL has a line of its own, latency_scale * L_LL + S / b_LL.
#include "sim/nccl/tuner.hpp"

namespace ddpsim::nccl {

// The parameters of a curve. They hold for machines like those they were fitted to.
struct Curve {
  double latency_scale = 1;
  double efficiency = 1;
  Seconds ramp;

  [[nodiscard]] bool operator==(const Curve&) const = default;
};

// What of a curve follows from the machine: L, b and depth, from the constants of NCCL 2.30.7 whatever
// version picks (of all, they come closest to measured large messages).
class CurveShape {
 public:
  // Throws InputError (without a place) when nothing that is allowed is possible.
  CurveShape(const Communicator& communicator, const Allowed& allowed);

  // What carries large messages: of what is allowed, and if everything were.
  [[nodiscard]] Algorithm large_algorithm() const { return large_algorithm_; }
  [[nodiscard]] Algorithm usual_large_algorithm() const { return usual_large_algorithm_; }
  [[nodiscard]] BytesPerSecond bandwidth(Algorithm algorithm) const;  // algbw of its large messages

  // `floored`: never less than where all-reduces leave ring/LL.
  [[nodiscard]] Seconds time(const Curve& curve, const Candidate& candidate, Bytes bytes,
                             bool floored = true) const;

 private:
  [[nodiscard]] bool across_nodes() const { return reference_.communicator().nodes > 1; }
  [[nodiscard]] Seconds latency(Algorithm algorithm) const;
  [[nodiscard]] double depth(Algorithm algorithm) const;  // how often the ramp is paid
  [[nodiscard]] Seconds low(const Curve& curve, const Candidate& candidate, Bytes bytes) const;

  Tuner reference_;  // everything allowed, 2.30.7
  Algorithm large_algorithm_, usual_large_algorithm_;
  Bytes low_until_;  // within a node: where the tuner leaves ring/LL
};

}  // namespace ddpsim::nccl
