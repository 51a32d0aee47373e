#include "sim/base/terminal.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sim/base/letter_case.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kWidestProse = 100;

constexpr std::string_view kBestMark = "▶";
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kPlainSigns{{{kBestMark, ">"},
                                                                                     {"≈", "~"},
                                                                                     {"–", "-"},
                                                                                     {"·", "-"},
                                                                                     {"×", "x"},
                                                                                     {"█", "#"},
                                                                                     {"▌", "#"},
                                                                                     {"±", "+-"},
                                                                                     {"…", "..."},
                                                                                     {"\u00a0", " "}}};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string_view code_of(Look style) {
  switch (style) {
    case Look::best:
      return "1;32";
    case Look::verdict:
      return "1";
    case Look::dim:
      return "2";
    case Look::bad:
      return "31";
    case Look::plain:
      break;
  }
  return "";
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_utf8_locale() {
  std::string text;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (text.empty()) text = environment(name);
  text = lower_case(text);
  return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
}

bool wants_colour(const std::string& wish, bool is_terminal) {
  if (wish != "auto") return wish == "always";
  if (!environment("NO_COLOR").empty()) return false;
  auto force = environment("CLICOLOR_FORCE");
  return (!force.empty() && force != "0") || (is_terminal && environment("TERM") != "dumb");
}

std::optional<std::size_t> width_of(int descriptor, const TerminalWish& wish, bool is_terminal) {
  if (wish.width) return static_cast<std::size_t>(*wish.width);
  auto said = environment("COLUMNS");
  std::size_t columns = 0;
  auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), columns);
  if (error == std::errc() && end == said.data() + said.size() && columns > 0) return columns;
  if (!is_terminal) return std::nullopt;
  winsize size{};
  bool is_known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : 80;
}

Terminal terminal_of(int descriptor, const TerminalWish& wish) {
  bool is_terminal = isatty(descriptor) != 0;
  return {width_of(descriptor, wish, is_terminal), wants_colour(wish.colour, is_terminal), is_utf8_locale()};
}

struct Terminals {
  Terminal output, error;
};
Terminals& terminals() {
  static Terminals all{terminal_of(STDOUT_FILENO, {}), terminal_of(STDERR_FILENO, {})};
  return all;
}

bool begins_unit(std::string_view word) {
  static constexpr std::array kUnits{"%",   "s",   "ms",  "us", "B",    "kB",   "MB",   "GB",   "TB", "KiB",
                                     "MiB", "GiB", "TiB", "h",  "days", "GPUs", "GB/s", "Gb/s", "GPU"};
  while (!word.empty() && std::string_view(".,;:)").find(word.back()) != std::string_view::npos)
    word.remove_suffix(1);
  return std::ranges::find(kUnits, word) != kUnits.end();
}

// Words between which a line may end.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    auto end = std::min(text.find(' ', at), text.size());
    auto word = text.substr(at, end - at);
    bool follows_number = !words.empty() && !words.back().empty() &&
                          std::isdigit(static_cast<unsigned char>(words.back().back())) != 0;
    if (follows_number && begins_unit(word))
      words.back() += fmt::format(" {}", word);
    else
      words.emplace_back(word);
    at = end + 1;
  }
  return words;
}

}  // namespace

std::string Terminal::shown(std::string_view text, Look style) const {
  std::string plain(text);
  if (!has_utf8)
    for (const auto& [sign, instead] : kPlainSigns) plain = replaced(std::move(plain), sign, instead);
  auto code = code_of(style);
  return has_colour && !code.empty() && !plain.empty() ? fmt::format("\033[{}m{}\033[0m", code, plain)
                                                       : plain;
}

std::string Terminal::wrapped(std::string_view text, Look style, std::size_t indent) const {
  if (!width) return shown(text, style);
  auto limit = std::min(*width, kWidestProse);
  std::string all, line;
  bool begins = true;
  for (const auto& word : words_of(text)) {
    bool has_words = line.find_first_not_of(' ') != std::string::npos;
    if (has_words && display_width(line) + 1 + display_width(word) > limit) {
      all += shown(line, style) + '\n';
      line = std::string(indent, ' ') + word;
    } else {
      line += (begins ? "" : " ") + word;
    }
    begins = false;
  }
  return all + shown(line, style);
}

const Terminal& standard_output() {
  return terminals().output;
}

const Terminal& standard_error() {
  return terminals().error;
}

void choose_terminals(const TerminalWish& wish) {
  terminals() = {terminal_of(STDOUT_FILENO, wish), terminal_of(STDERR_FILENO, wish)};
}

std::size_t display_width(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string to_right(std::string_view text, std::size_t width) {
  auto columns = display_width(text);
  return std::string(width > columns ? width - columns : 0, ' ') + std::string(text);
}

std::string to_left(std::string_view text, std::size_t width) {
  auto columns = display_width(text);
  return std::string(text) + std::string(width > columns ? width - columns : 0, ' ');
}

}  // namespace ddpsim
