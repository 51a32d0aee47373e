#pragma once
// What text for people is written to: how wide it is, and what it can show.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ddpsim {

// Never says what no word or mark says besides.
enum class Look { plain, best, verdict, dim, bad };

struct Terminal {
  std::optional<std::size_t> width;  // in columns; none: a pipe, where nothing is wrapped or left out
  bool has_colour = false;
  bool has_utf8 = true;

  // Text in a style, and without the signs that it cannot show ("1.51-1.86" for an en dash).
  [[nodiscard]] std::string shown(std::string_view text, Look style = Look::plain) const;
  // Prose, broken between words where a line is full, at 100 columns at most: never between a number and its
  // unit. Lines after the first begin with `indent` blanks. Ends without a newline.
  [[nodiscard]] std::string wrapped(std::string_view text, Look style = Look::plain,
                                    std::size_t indent = 0) const;
};

// Of standard output and standard error: by --width, else COLUMNS, else the terminal's own; by --color
// (auto, always, never), else NO_COLOR, CLICOLOR_FORCE, TERM=dumb and whether it is a terminal; by LC_ALL,
// LC_CTYPE and LANG.
const Terminal& standard_output();
const Terminal& standard_error();
struct TerminalWish {
  std::optional<int> width;
  std::string colour = "auto";
};
void choose_terminals(const TerminalWish& wish);

// How many columns it takes: a code point each.
std::size_t display_width(std::string_view utf8);
// Blanks before, or behind, up to so many columns.
std::string to_right(std::string_view text, std::size_t width);
std::string to_left(std::string_view text, std::size_t width);

}  // namespace ddpsim
