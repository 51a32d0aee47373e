#include "sim/result/columns.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/csv_parts.hpp"
#include "sim/result/iteration_columns.hpp"
#include "sim/result/json_parts.hpp"

namespace ddpsim::test {
namespace {

using namespace literals;

struct Thing {
  std::string name;
  int count = 0;
  std::optional<Seconds> time;
  std::vector<Bytes> sizes;
};

const Columns<Thing> kThings{{"name", &Thing::name},
                             {"count", &Thing::count, kCsv},
                             {"time_s", &Thing::time},
                             {"half_s", of(&Thing::time, [](Seconds time) { return time / 2; }), kSome},
                             {"sizes", &Thing::sizes, kJson},
                             {"shown", &Thing::count, kTables}};

TEST(Columns, JsonHasWhatARowSays) {
  EXPECT_EQ(json::line_of(fields(kThings, {"a", 1, {}, {}})),
            "{\"name\":\"a\",\"time_s\":null,\"sizes\":[]}\n");
  EXPECT_EQ(json::line_of(fields(kThings, {"b", 2, 3_s, {1024_B, 2_B}})),
            "{\"name\":\"b\",\"time_s\":3.0,\"half_s\":1.5,\"sizes\":[1024,2]}\n");
}

TEST(Columns, CsvHasWhatSomeRowSays) {
  std::vector<Thing> things{{"a", 1, {}, {}}, {"b, c", 2, {}, {}}};
  EXPECT_EQ(csv::table(kThings, things), "name,count,time_s\na,1,\n\"b, c\",2,\n");
  things[1].time = 3_s;
  EXPECT_EQ(csv::table(kThings, things), "name,count,time_s,half_s\na,1,,\n\"b, c\",2,3,1.5\n");
}

TEST(Columns, EveryKeyIsInTheDocs) {
  std::ostringstream text;
  for (const auto& page : std::filesystem::directory_iterator(DDPSIM_SOURCE_DIR "/docs/reference"))
    text << std::ifstream(page.path()).rdbuf();
  for (const auto& column : kPointColumns) {
    if (column.in == kTables) continue;
    EXPECT_THAT(text.str(), ::testing::HasSubstr(std::string(column.key)));
  }
}

}  // namespace
}  // namespace ddpsim::test
