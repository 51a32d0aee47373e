#include "sim/report/bars.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "sim/report/shown_table.hpp"

namespace ddpsim {

void print_bars(std::ostream& out, const Terminal& terminal, const std::vector<Bar>& bars, double whole) {
  constexpr std::size_t kBeforeBars = kBarNames + 24, kLongestBar = 50;
  auto room = terminal.width.value_or(kBeforeBars + kLongestBar);
  auto longest = static_cast<double>(std::min(kLongestBar, room > kBeforeBars ? room - kBeforeBars : 0));
  ShownTable table;
  table.add("", bars, &Bar::amount);
  auto amounts = text_of(table).columns.at(0);
  double most = 0;
  for (const auto& number : amounts.numbers) most = std::max(most, number.value_or(0));
  for (std::size_t i = 0; i < bars.size(); ++i) {
    double amount = amounts.numbers[i].value_or(0);
    auto cells = most > 0 ? std::max(0.0, std::round(longest * amount / most)) : 0;
    std::string bar;
    for (double cell = 0; cell < cells; ++cell) bar += "█";
    auto line =
        fmt::format("{}{} {} {:>6.1f} %  {}", to_left("  " + bars[i].name, kBarNames),
                    to_right(amounts.cells[i], 9), to_left(amounts.title, 2), 100 * amount / whole, bar);
    out << terminal.shown(line.substr(0, line.find_last_not_of(' ') + 1)) << '\n';
  }
}

}  // namespace ddpsim
