#pragma once
// Puts short texts beside their points without covering each other, and off the curves where there is room.
#include <optional>
#include <vector>

namespace ddpsim {

// Of a picture: x to the right and y downwards.
struct Pixel {
  double x = 0, y = 0;
};

struct PixelBox {
  double left = 0, top = 0, right = 0, bottom = 0;
};

class LabelPlacement {
 public:
  explicit LabelPlacement(PixelBox area) : area_(area) {}

  // What labels should not cover.
  void add_line(Pixel from, Pixel to);
  // False where something has been put already.
  bool take(const PixelBox& box);
  // The middle of a text of that size near `anchor`; nothing where only taken places are left.
  std::optional<Pixel> place(Pixel anchor, double width, double height);

 private:
  [[nodiscard]] bool is_taken(const PixelBox& box) const;

  PixelBox area_;
  std::vector<Pixel> samples_;  // of all lines, a few pixels apart
  std::vector<PixelBox> taken_;
};

}  // namespace ddpsim
