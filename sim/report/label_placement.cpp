#include "sim/report/label_placement.hpp"

#include <algorithm>
#include <cmath>

namespace ddpsim {
namespace {

constexpr double kSampleStep = 3;  // px
constexpr double kGap = 11;        // px between a point's marker and its text

PixelBox around(Pixel middle, double width, double height) {
  return {middle.x - width / 2, middle.y - height / 2, middle.x + width / 2, middle.y + height / 2};
}

}  // namespace

void LabelPlacement::add_line(Pixel from, Pixel to) {
  auto steps = std::max(1.0, std::ceil(std::hypot(to.x - from.x, to.y - from.y) / kSampleStep));
  for (double step = 0; step <= steps; ++step)
    samples_.push_back({std::lerp(from.x, to.x, step / steps), std::lerp(from.y, to.y, step / steps)});
}

bool LabelPlacement::is_taken(const PixelBox& box) const {
  return std::any_of(taken_.begin(), taken_.end(), [&](const PixelBox& other) {
    return box.left < other.right && other.left < box.right && box.top < other.bottom &&
           other.top < box.bottom;
  });
}

bool LabelPlacement::take(const PixelBox& box) {
  if (is_taken(box)) return false;
  taken_.push_back(box);
  return true;
}

std::optional<Pixel> LabelPlacement::place(Pixel anchor, double width, double height) {
  std::optional<Pixel> best;
  std::ptrdiff_t least = 0;
  // Nearest first: below and above the point, centred, then shifted sideways, then further off.
  for (double distance : {0.5, 1.5, 2.5})
    for (double shift : {0.0, 0.25, -0.25, 0.5, -0.5})
      for (double side : {1, -1}) {
        Pixel middle{anchor.x + shift * width, anchor.y + side * (kGap + distance * height)};
        auto box = around(middle, width, height);
        if (box.left < area_.left || box.right > area_.right || box.top < area_.top ||
            box.bottom > area_.bottom || is_taken(box))
          continue;
        auto covered = std::count_if(samples_.begin(), samples_.end(), [&](Pixel p) {
          return p.x > box.left && p.x < box.right && p.y > box.top && p.y < box.bottom;
        });
        if (best && covered >= least) continue;
        best = middle;
        least = covered;
      }
  if (best) take(around(*best, width, height));
  return best;
}

}  // namespace ddpsim
