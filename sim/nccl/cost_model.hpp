#pragma once
// What an all-reduce takes, as far as measurements of such machines tell: NCCL's tuner chooses, a calibrated
// curve gives the time. Without a curve for the machine the time is the tuner's own.
//
// The curve of a message of S bytes (docs/model.md: where its form comes from, what it was judged on):
//   bulk(S) = latency_scale * L + S / (efficiency * b) + ramp * depth * ln(1 + S / 4 MiB)
// Across nodes, the least over the algorithms, and at most what the tuner has LL take (its latency scaled).
// Within a node, as long as the tuner would use ring/LL, low(S) = latency_scale * L_LL + S / (1.25 b_LL), and
// from there on at least as much.
#include <optional>
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
  };
  std::vector<Entry> entries;

  [[nodiscard]] const Curve* find(Algorithm algorithm, bool across_nodes) const;
  // Its own, or across nodes the first of another algorithm: what is lost there is mostly the network's doing.
  [[nodiscard]] const Curve* best_for(Algorithm algorithm, bool across_nodes) const;
};

// What of a curve follows from the machine: L, b and depth, from the constants of NCCL 2.30.7 whatever
// version runs (of all, they come closest to measured large messages).
class CurveShape {
 public:
  // Throws InputError (without a place) when nothing that is allowed is possible.
  CurveShape(const Communicator& communicator, const Allowed& allowed);

  [[nodiscard]] Algorithm algorithm() const { return algorithm_; }  // of large messages
  [[nodiscard]] Seconds time(const Curve& curve, Bytes bytes) const;
  [[nodiscard]] BytesPerSecond bandwidth() const {
    return lines_.front().bandwidth;
  }  // algbw of large messages

 private:
  struct Line {
    Seconds latency;
    BytesPerSecond bandwidth;
  };
  void set_lines_within(const Communicator& communicator, const Candidate& large);
  void set_lines_across(const Candidate& large);
  [[nodiscard]] Seconds low(const Curve& curve, Bytes bytes) const;
  [[nodiscard]] Seconds bulk(const Curve& curve, Bytes bytes) const;
  [[nodiscard]] Seconds low_across(const Curve& curve, Bytes bytes) const;

  Tuner tuner_;
  Algorithm algorithm_;
  std::vector<Line> lines_;  // of bulk, large messages' first
  double depth_ = 1;
  Line low_;         // within a node
  Bytes low_until_;  // zero: bulk from the first byte on
};

class CostModel {
 public:
  // Throws InputError (without a place) when nothing that is allowed is possible.
  CostModel(const Communicator& communicator, const Allowed& allowed, const Calibration& calibration);

  struct Choice {
    const Candidate* candidate;
    Seconds time;
  };
  [[nodiscard]] Choice choose(Bytes bytes) const;
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return tuner_.candidates(); }
  [[nodiscard]] const Communicator& communicator() const { return tuner_.communicator(); }
  [[nodiscard]] const CurveShape& shape() const { return shape_; }
  [[nodiscard]] bool is_calibrated() const { return curve_.has_value(); }

 private:
  Tuner tuner_;
  CurveShape shape_;
  std::optional<Curve> curve_;
};

}  // namespace ddpsim::nccl
