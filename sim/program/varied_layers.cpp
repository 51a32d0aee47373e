#include "sim/program/varied_layers.hpp"

#include <algorithm>

#include "sim/trace/forward_ends.hpp"

namespace ddpsim {
namespace {

// A pass whose pieces take other times: what becomes of a moment of it.
class Stretched {
 public:
  Stretched(const std::vector<UnitPass>& pieces, std::span<const double> factors) {
    for (const auto& [unit, duration] : pieces) {
      pieces_.push_back({before_, after_, factors[unit]});
      before_ += duration;
      after_ += factors[unit] * duration;
    }
  }

  [[nodiscard]] Seconds end() const { return after_; }
  [[nodiscard]] Seconds of(Seconds moment) const {
    auto next = std::upper_bound(pieces_.begin() + 1, pieces_.end(), moment,
                                 [](Seconds at, const Piece& piece) { return at < piece.before; });
    const auto& piece = *std::prev(next);
    return piece.after + piece.factor * (moment - piece.before);
  }

 private:
  struct Piece {
    Seconds before, after;
    double factor;
  };
  std::vector<Piece> pieces_;
  Seconds before_, after_;
};

}  // namespace

LayerTrace vary_layers(const LayerTrace& trace, const std::vector<ShardUnit>& units,
                       std::span<const double> forward, std::span<const double> backward) {
  auto varied = trace;
  if (trace.forward) {
    auto ends = forward_ends(trace).ends;
    Stretched pass(forward_passes(trace, units), forward);
    for (std::size_t g = 0; g < ends.size(); ++g)
      varied.gradients[g].forward_end = pass.of(std::min(ends[g], *trace.forward));
    varied.forward = pass.end();
  }
  Stretched pass(backward_passes(trace, units), backward);
  for (auto& gradient : varied.gradients) gradient.ready = pass.of(gradient.ready);
  return varied;
}

}  // namespace ddpsim
