#pragma once
// Puts short texts beside their points without covering each other, and off the curves where there is room.
#include <optional>
#include <vector>

namespace ddpsim {

// Pixels, x to the right and y upwards.
struct PixelPoint {
  double x = 0, y = 0;
};

struct PixelBox {
  double left = 0, bottom = 0, right = 0, top = 0;
};

class LabelPlacement {
 public:
  explicit LabelPlacement(PixelBox area) : area_(area) {}

  // A curve that labels should not cover.
  void add_curve(const std::vector<PixelPoint>& curve);
  // Where to put the lower left corner of a text of that size, near `anchor`; nothing where only taken places
  // are left.
  std::optional<PixelPoint> place(PixelPoint anchor, double width, double height);

 private:
  [[nodiscard]] bool is_free(const PixelBox& box) const;
  [[nodiscard]] int covered(const PixelBox& box) const;

  PixelBox area_;
  std::vector<PixelPoint> samples_;  // of all curves, a few pixels apart
  std::vector<PixelBox> taken_;
};

}  // namespace ddpsim
