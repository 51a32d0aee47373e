#include "sim/report/step_strip.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/report/figures.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kNameWidth = 11, kMostCells = 109;

struct Letter {
  char sign;
  std::string_view meaning;
};
constexpr std::array kLetters{Letter{'F', "forward"}, Letter{'B', "backward"},
                              Letter{'c', "copies and launches"}, Letter{'o', "optimizer"},
                              Letter{'.', "waits"}};

char letter_of(Activity activity) {
  switch (activity) {
    case Activity::forward:
      return 'F';
    case Activity::backward:
      return 'B';
    case Activity::optimizer:
      return 'o';
    case Activity::wait:
    case Activity::broadcast:
    case Activity::host_wait:
    case Activity::push:
    case Activity::pull:
      return '.';
    default:
      return 'c';
  }
}

// Cells of equal time from the first span to the last.
class Cells {
 public:
  Cells(const RankTimeline& rank, std::size_t count) : begin_(rank.compute.front().start), count_(count) {
    auto end = rank.compute.back().end;
    for (const auto& span : rank.communication) {
      begin_ = std::min(begin_, span.start);
      end = std::max(end, span.end);
    }
    each_ = (end - begin_) / static_cast<double>(count);
  }

  [[nodiscard]] Seconds length() const { return each_ * static_cast<double>(count_); }

  // Calls visit(cell, share of the cell that the span takes).
  void visit(const Span& span, auto visit) const {
    if (each_ <= Seconds()) return;
    double from = (span.start - begin_) / each_, to = (span.end - begin_) / each_;
    auto last = static_cast<double>(count_);
    for (double cell = std::floor(from); cell < std::min(to, last); ++cell)
      if (double share = std::min(to, cell + 1) - std::max(from, cell); share > 0)
        visit(static_cast<std::size_t>(cell), share);
  }

 private:
  Seconds begin_, each_;
  std::size_t count_;
};

// The letter that most of a cell belongs to; blank where nothing happens.
std::string computed(const RankTimeline& rank, const Cells& cells, std::size_t count) {
  std::vector<std::map<char, double>> shares(count);
  for (const auto& span : rank.compute)
    cells.visit(span,
                [&](std::size_t cell, double share) { shares[cell][letter_of(span.activity)] += share; });
  std::string text;
  for (const auto& cell : shares)
    text += cell.empty() ? ' '
                         : std::ranges::max_element(cell, {}, &std::pair<const char, double>::second)->first;
  return text;
}

std::string communicated(const RankTimeline& rank, const Cells& cells, std::size_t count, bool has_utf8) {
  static constexpr std::array kBars{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array kPlain{" ", ".", ".", ":", "-", "=", "+", "*", "#"};
  std::vector<double> busy(count);
  for (const auto& span : rank.communication)
    cells.visit(span, [&](std::size_t cell, double share) { busy[cell] += share; });
  std::string text;
  for (double share : busy) {
    auto level = static_cast<std::size_t>(std::ceil(std::min(share, 1.0) * 8 - 1e-9));
    text += has_utf8 ? kBars.at(level) : kPlain.at(level);
  }
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string legend_of(std::string_view letters) {
  std::vector<std::string> meanings;
  for (const auto& [sign, meaning] : kLetters)
    if (letters.find(sign) != std::string_view::npos) meanings.push_back(fmt::format("{} {}", sign, meaning));
  return fmt::format("  {}; network: the higher, the busier", fmt::join(meanings, ", "));
}

}  // namespace

void print_step_strip(std::ostream& out, const Terminal& terminal, const RankTimeline& rank) {
  auto room = terminal.width.value_or(kNameWidth + kMostCells);
  if (rank.compute.empty() || room < 2 * kNameWidth) return;
  auto count = std::min(room - kNameWidth, kMostCells);
  Cells cells(rank, count);
  auto letters = computed(rank, cells, count);
  auto end = time_text(cells.length().value());
  out << to_left("  compute", kNameWidth) << letters << '\n';
  out << to_left("  network", kNameWidth) << communicated(rank, cells, count, terminal.has_utf8) << '\n';
  out << to_left("", kNameWidth) << "0" << to_right(end, count - 1) << '\n';
  out << terminal.wrapped(legend_of(letters), Look::dim, 2) << "\n\n";
}

}  // namespace ddpsim
