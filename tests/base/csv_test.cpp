#include "sim/base/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using testing::brief_error;
using ::testing::ElementsAre;

CsvTable parse(const std::string& text) {
  return parse_csv({make_source("t.csv", text), text}, "a table");
}
std::string parse_error(const std::string& text) {
  return brief_error([&] { parse(text); });
}

std::vector<std::string> texts(const std::vector<Located>& fields) {
  std::vector<std::string> out;
  for (const auto& field : fields) out.push_back(field.text);
  return out;
}

TEST(Csv, CommentsHeaderRows) {
  auto table = parse(
      "# ddpsim-trace: 1\n"
      "#source : a:b \n"
      "#remark\n"
      "\n"
      "name,elements\n"
      "a,1\n"
      "  \t\n"
      "# between: rows\n"
      "b,2\n");
  ASSERT_EQ(table.comments.size(), 4U);
  EXPECT_EQ(table.comments[0].key.text, "ddpsim-trace");
  EXPECT_EQ(table.comments[0].value.text, "1");
  EXPECT_EQ(table.comments[1].key.text, "source");
  EXPECT_EQ(table.comments[1].value.text, "a:b");
  EXPECT_EQ(table.comments[2].key.text, "remark");
  EXPECT_EQ(table.comments[2].value.text, "");
  EXPECT_EQ(table.comments[3].key.text, "between");
  EXPECT_THAT(texts(table.header), ElementsAre("name", "elements"));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(texts(table.rows[0]), ElementsAre("a", "1"));
  EXPECT_THAT(texts(table.rows[1]), ElementsAre("b", "2"));
}

TEST(Csv, BlanksAroundFieldsAreNoPartOfThem) {
  auto table = parse("name , elements\n\ta\t,  \n");
  EXPECT_THAT(texts(table.header), ElementsAre("name", "elements"));
  EXPECT_THAT(texts(table.rows[0]), ElementsAre("a", ""));
}

TEST(Csv, EmptyFields) {
  EXPECT_THAT(texts(parse("a,b,c\n,,\n").rows.at(0)), ElementsAre("", "", ""));
}

TEST(Csv, Quotes) {
  auto table = parse(
      "name,remark\n"
      "\"a,b\",\"he said \"\"yes\"\"\"\n"
      "\" c \",\"\"\n"
      "d,5\" wide\n"
      "\"#e\",\n");
  EXPECT_THAT(texts(table.rows[0]), ElementsAre("a,b", "he said \"yes\""));
  EXPECT_THAT(texts(table.rows[1]), ElementsAre(" c ", ""));
  EXPECT_THAT(texts(table.rows[2]), ElementsAre("d", "5\" wide"));
  EXPECT_THAT(texts(table.rows[3]), ElementsAre("#e", ""));
}

TEST(Csv, EveryFieldKnowsItsPlace) {
  auto table = parse("# key: value\na,b\n  1 ,\"x,y\"\n");
  auto expect_place = [](const Located& field, int line, int column, int length) {
    EXPECT_EQ(field.span.line, line) << field.text;
    EXPECT_EQ(field.span.column, column) << field.text;
    EXPECT_EQ(field.span.length, length) << field.text;
  };
  expect_place(table.comments[0].key, 1, 3, 3);
  expect_place(table.comments[0].value, 1, 8, 5);
  expect_place(table.header[1], 2, 3, 1);
  expect_place(table.rows[0][0], 3, 3, 1);
  expect_place(table.rows[0][1], 3, 6, 5);  // with its quotes
}

TEST(Csv, ByteOrderMarkAndWindowsLineEnds) {
  auto table = parse("\xEF\xBB\xBF# key: value\r\nname,elements\r\na,1\r\n");
  EXPECT_EQ(table.comments.at(0).key.text, "key");
  EXPECT_EQ(table.comments.at(0).value.text, "value");
  EXPECT_THAT(texts(table.header), ElementsAre("name", "elements"));
  EXPECT_THAT(texts(table.rows.at(0)), ElementsAre("a", "1"));
  EXPECT_THAT(texts(parse("\xEF\xBB\xBFname\n1\n").header), ElementsAre("name"));
}

TEST(Csv, Refused) {
  EXPECT_EQ(parse_error("a,b\n1,\"x\n2,y\n"),
            "t.csv:2:3-4: a quote is never closed; close it with \" on the same line");
  EXPECT_EQ(parse_error("a,b\n1,\"x\"\"\n"),
            "t.csv:2:3-6: a quote is never closed; close it with \" on the same line");
  EXPECT_EQ(parse_error("a,b\n1,\"x\"y\n"), "t.csv:2:6: text after a closing quote; quote the whole field");
  EXPECT_EQ(parse_error("a,b\n1,2\n3\n"),
            "t.csv:3:1: 1 field where the header has 2; is the file cut off, or a comma missing?");
  EXPECT_EQ(parse_error("a,b\n1,2,\n"),
            "t.csv:2:1-4: 3 fields where the header has 2; is the file cut off, or a comma missing?");
  EXPECT_EQ(parse_error("a,b, a\n"), "t.csv:1:6: column 'a' appears twice; remove one");
  EXPECT_EQ(parse_error("# only: comments\n"),
            "t.csv: has no header line; it is not a table; is it the right file?");
}

TEST(Csv, ColumnsByName) {
  auto table = parse("name,elements\n");
  EXPECT_EQ(table.column("elements"), 1U);
  EXPECT_EQ(table.find_column("elements"), 1U);
  EXPECT_EQ(table.find_column("element"), std::nullopt);
  EXPECT_EQ(brief_error([&] { (void)table.column("element"); }),
            "t.csv:1:1: no column 'element'; did you mean 'elements'?; the columns here are name, elements");
}

TEST(Csv, ReadsAFile) {
  testing::TemporaryFolder folder;
  auto table = read_csv(folder.write("t.csv", "a,b\n1,2"), "a table");
  EXPECT_THAT(texts(table.rows.at(0)), ElementsAre("1", "2"));
  EXPECT_EQ(folder.without_folder(brief_error([&] { read_csv(folder.path("none.csv"), "a table"); })),
            "none.csv: no such file (expected a table); check the path");
}

}  // namespace
}  // namespace ddpsim
