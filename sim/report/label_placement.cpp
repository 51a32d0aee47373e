#include "sim/report/label_placement.hpp"

#include <algorithm>
#include <cmath>

namespace ddpsim {
namespace {

constexpr double kSampleStep = 3;  // px
constexpr double kGap = 11;        // px between a point's marker and its text

}  // namespace

void LabelPlacement::add_curve(const std::vector<PixelPoint>& curve) {
  for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
    auto a = curve[i], b = curve[i + 1];
    auto steps = std::max(1.0, std::ceil(std::hypot(b.x - a.x, b.y - a.y) / kSampleStep));
    for (double step = 0; step <= steps; ++step)
      samples_.push_back({a.x + (b.x - a.x) * step / steps, a.y + (b.y - a.y) * step / steps});
  }
  if (curve.size() == 1) samples_.push_back(curve.front());
}

bool LabelPlacement::is_free(const PixelBox& box) const {
  if (box.left < area_.left || box.right > area_.right || box.bottom < area_.bottom || box.top > area_.top)
    return false;
  return std::none_of(taken_.begin(), taken_.end(), [&](const PixelBox& other) {
    return box.left < other.right && other.left < box.right && box.bottom < other.top &&
           other.bottom < box.top;
  });
}

int LabelPlacement::covered(const PixelBox& box) const {
  return static_cast<int>(std::count_if(samples_.begin(), samples_.end(), [&](PixelPoint p) {
    return p.x > box.left && p.x < box.right && p.y > box.bottom && p.y < box.top;
  }));
}

std::optional<PixelPoint> LabelPlacement::place(PixelPoint anchor, double width, double height) {
  std::optional<PixelBox> best;
  int best_covered = 0;
  // Nearest first: below and above the point, centred, then shifted sideways, then further off.
  for (double distance : {0.0, 1.0, 2.0}) {
    for (double shift : {-0.5, -0.25, -0.75, 0.0, -1.0}) {
      for (bool below : {true, false}) {
        auto offset = kGap + distance * height;
        PixelBox box;
        box.left = anchor.x + shift * width;
        box.bottom = below ? anchor.y - offset - height : anchor.y + offset;
        box.right = box.left + width;
        box.top = box.bottom + height;
        if (!is_free(box)) continue;
        int covers = covered(box);
        if (best && covers >= best_covered) continue;
        best = box;
        best_covered = covers;
      }
    }
  }
  if (!best) return std::nullopt;
  taken_.push_back(*best);
  return PixelPoint{best->left, best->bottom};
}

}  // namespace ddpsim
