#include "sim/report/shown_table.hpp"

#include <array>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/figures.hpp"

namespace ddpsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Figures, HaveThreeDigitsAndFourAfterAOne) {
  EXPECT_EQ(time_text(1.47691), "1.477 s");
  EXPECT_EQ(time_text(0.0025), "2.50 ms");
  EXPECT_EQ(time_text(1.182, 1.1213, 1.2429, "80 % sure"), "1.182 s (1.121–1.243, 80 % sure)");
  EXPECT_EQ(time_text(3 * 86400.), "3.00 days");
  EXPECT_EQ(short_text(59700, Measure::number), "59.7k");
  EXPECT_EQ(short_text(3.541e6, Measure::number), "3.54M");
  EXPECT_EQ(short_text(512 * 0x1p20, Measure::binary_bytes), "512 MiB");
  EXPECT_EQ(short_text(23446000, Measure::binary_bytes), "22.4 MiB");
  EXPECT_EQ(short_text(0, Measure::number), "0");
  EXPECT_EQ(decimal_text(1234567.5, 1), "1,234,567.5");
  EXPECT_EQ(decimal_text(-1234, 0), "-1,234");
  EXPECT_EQ(decimal_text(999, 0), "999");
}

// The smallest says how many decimals, unless the largest would get more digits than it needs.
TEST(Figures, OfAColumnHaveTheDecimalsOfTheSmallest) {
  EXPECT_EQ(decimals_of(std::array{1.5, 2.5}), 3);
  EXPECT_EQ(decimals_of(std::array{2.5, 30.}), 2);
  EXPECT_EQ(decimals_of(std::array{0.0025, 500.}), 1);
  EXPECT_EQ(decimals_of(std::array{0., 0.}), 0);
}

struct Row {
  std::string name;
  Seconds time;
  std::optional<double> share;
};
const std::vector<Row> kRows{{"a", Seconds(1.5), 0.25}, {"long name", Seconds(2.25), {}}};

ShownTable small_table() {
  ShownTable table;
  table.add("name", kRows, &Row::name, 0, Form::plain, true);
  table.add("time", kRows, &Row::time);
  table.add(
      "share", kRows, [](const Row& row) { return Cell(row.share); }, 2, Form::share);
  table.add("nothing", kRows, [](const Row&) { return Cell(); });
  table.add(
      "from", kRows,
      [](const Row& row) {
        return Cell(Cell::List{row.time, row.time * 10});
      },
      1);
  table.marks = {Mark::best, Mark::none};
  return table;
}

std::string printed(const Terminal& terminal) {
  std::ostringstream out;
  print_shown(out, terminal, small_table());
  return out.str();
}

TEST(ShownTable, HasAUnitAndDecimalsAColumn) {
  EXPECT_EQ(printed({}),
            "  name       time s  share %      from s\n"
            "▶ a           1.500     25.0  1.50–15.00\n"
            "  long name   2.250           2.25–22.50\n");
}

// Those that may be left out, the largest number first; the last line names them in their own order.
TEST(ShownTable, LeavesColumnsOutUntilALineFits) {
  EXPECT_THAT(printed({40}), Not(HasSubstr("not shown")));
  EXPECT_THAT(printed({38}), HasSubstr("\nnot shown at 38 columns: share (--csv\n- has all)\n"));
  EXPECT_THAT(printed({24}), HasSubstr("columns:\nshare, from ("));
  EXPECT_THAT(printed({4}), HasSubstr("  name       time s\n"));
}

TEST(ShownTable, GivesEachCellItsUnitWhereAColumnSpansMuch) {
  ShownTable table;
  table.add("bytes", std::vector{Bytes(1000), Bytes(5e9)}, [](Bytes bytes) { return bytes; });
  auto column = text_of(table).columns.at(0);
  EXPECT_EQ(column.title, "bytes");
  EXPECT_THAT(column.cells, ElementsAre("1 kB", "5 GB"));
  EXPECT_THAT(column.numbers, ElementsAre(1000, 5e9));
}

TEST(ShownTable, OfMarkdownHasAllColumns) {
  std::ostringstream out;
  print_markdown(out, small_table());
  EXPECT_EQ(out.str(),
            "|      name | time s | share % |     from s |\n"
            "|----------:|-------:|--------:|-----------:|\n"
            "|       ▶ a |  1.500 |    25.0 | 1.50–15.00 |\n"
            "| long name |  2.250 |         | 2.25–22.50 |\n");
}

}  // namespace
}  // namespace ddpsim
