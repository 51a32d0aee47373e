// Points of a grid by number, rows on disk, and what tells jobs apart.
#include "sim/study/study.hpp"

#include <filesystem>
#include <numeric>
#include <random>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sim/result/study_row.hpp"
#include "sim/study/results_file.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using testing::input_error;
using testing::TemporaryFolder;

constexpr const char* kTrace =
    "# ddpsim-trace: 1\n# forward: 2ms\ngradient,elements,dtype,ready_s\n"
    "a,1048576,float32,0.001\nb,1048576,float32,0.002\nc,524288,float32,0.003\n";

config::Value parse(const std::string& text) {
  return config::parse_yaml({make_source("scenario", text), text}, "a scenario");
}

class StudyTest : public ::testing::Test {
 protected:
  void SetUp() override { folder.write("trace.csv", kTrace); }

  [[nodiscard]] std::string file() const { return folder.path("scenario.yaml"); }
  [[nodiscard]] Study study(const std::string& sweep) const {
    return {file(),
            parse("workload: {trace: trace.csv}\ncluster: {topology: ring-100gbps, world_size: 8}\nsweep: {" +
                  sweep + "}\n")};
  }
  static std::vector<std::string> rows(const Study& study, const std::vector<std::size_t>& points) {
    std::vector<std::string> rows;
    study.run(points, 2, [&](std::size_t point, const std::string& row) {
      auto head = read_study_row(row);
      EXPECT_EQ(head.number, point);
      rows.push_back(row);
    });
    return rows;
  }
  static std::vector<std::size_t> all(const Study& study) {
    std::vector<std::size_t> points(study.size());
    std::iota(points.begin(), points.end(), std::size_t{0});
    return points;
  }

  TemporaryFolder folder;
};

TEST_F(StudyTest, CapsVaryFastestAndTheFirstAxisSlowest) {
  auto one =
      study("ddp.bucket_cap: [1MiB, 2MiB, 3MiB], cluster.world_size: [4, 8], strategy: [ddp, overlap]");
  ASSERT_EQ(one.size(), 12U);
  using Values = std::vector<std::string>;
  EXPECT_EQ(one.grid().values(0), (Values{"4", "ddp", "1MiB"}));
  EXPECT_EQ(one.grid().values(1), (Values{"4", "ddp", "2MiB"}));
  EXPECT_EQ(one.grid().values(3), (Values{"4", "overlap", "1MiB"}));
  EXPECT_EQ(one.grid().values(11), (Values{"8", "overlap", "3MiB"}));
}

TEST_F(StudyTest, RowsOfSomePointsAreThoseOfAll) {
  auto one = study("ddp.bucket_cap: [1MiB, 4MiB, 5MiB, 30MiB, 40MiB], cluster.world_size: [4, 8, 1, 16]");
  auto whole = rows(one, all(one));
  ASSERT_EQ(whole.size(), 20U);
  std::mt19937 random(3);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<std::size_t> some;
    std::vector<std::string> expected;
    for (auto point : all(one))
      if (random() % 3 == 0) {
        some.push_back(point);
        expected.push_back(whole[point]);
      }
    EXPECT_EQ(rows(one, some), expected);
  }
}

// An axis within another one's values changes none but its own point.
TEST_F(StudyTest, APointIsWhatItsOwnValuesMakeIt) {
  auto one =
      study("physics: [none, {passes: none}], physics.launch: [1us, 2us], cluster.world_size: [4, 0, 8]");
  auto whole = rows(one, all(one));
  ASSERT_EQ(whole.size(), 12U);
  for (auto point : all(one)) EXPECT_EQ(rows(one, {point}), std::vector{whole[point]});
  EXPECT_EQ(read_study_row(whole[0]).failure, PointFailure::input);  // 'physics' is none
  EXPECT_EQ(read_study_row(whole[6]).failure, std::nullopt);
}

TEST_F(StudyTest, ARefusedPointIsARowInItsPlace) {
  auto one = study("cluster.world_size: [0, 4, many, 8]");
  auto written = rows(one, all(one));
  ASSERT_EQ(written.size(), 4U);
  for (std::size_t i : {0U, 2U}) EXPECT_EQ(read_study_row(written[i]).failure, PointFailure::input);
  for (std::size_t i : {1U, 3U}) EXPECT_EQ(read_study_row(written[i]).failure, std::nullopt);
}

class ResultsFileTest : public StudyTest {
 protected:
  [[nodiscard]] std::string text() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string row(std::size_t point, std::optional<PointFailure> failure = {}) const {
    StudyPoint about{point, "a job", {std::to_string(point)}};
    IterationMetrics metrics;
    metrics.iteration = Seconds(1 + static_cast<double>(point));
    return failure ? study_row(about, *failure, "why \"it\" failed") : study_row(about, metrics);
  }
  ResultsFile open(bool resume) const { return {path, resume, kStudy}; }

  const StudyHead kStudy{"a study", 5, {"x"}};
  const std::string head = study_line(kStudy);
  std::string path = folder.path("r.jsonl");
};

TEST_F(ResultsFileTest, RowsOutOfOrderArePutInOrder) {
  {
    auto results = open(false);
    results.append(row(3) + row(1));
    results.append(row(4));
    EXPECT_TRUE(results.has(1) && !results.has(0));
    results.append(row(0));
    results.finish();
    EXPECT_EQ(results.rows(), 4U);
  }
  EXPECT_EQ(text(), head + row(0) + row(1) + row(3) + row(4));
}

TEST_F(ResultsFileTest, WhatTheMachineMadeFailIsRunAgainAndWhatIsWrongIsNot) {
  {
    auto results = open(false);
    results.append(row(0) + row(1, PointFailure::machine) + row(2, PointFailure::input) +
                   row(3, PointFailure::defect));
    EXPECT_EQ(results.failed(), 3U);
  }
  auto results = open(true);
  EXPECT_TRUE(results.has(0) && !results.has(1) && results.has(2) && results.has(3) && !results.has(4));
  results.append(row(1));
  results.finish();
  EXPECT_EQ(results.failed(), 2U);
  EXPECT_EQ(text(), head + row(0) + row(1) + row(2, PointFailure::input) + row(3, PointFailure::defect));
}

TEST_F(ResultsFileTest, CutOffAnywhereItGoesOnWithTheSameBytes) {
  auto whole = head + row(0) + row(1) + row(2);
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    folder.write("r.jsonl", whole.substr(0, length));
    auto results = open(true);
    for (std::size_t point = 0; point < 3; ++point)
      if (!results.has(point)) results.append(row(point));
    results.finish();
    ASSERT_EQ(text(), whole) << length;
  }
}

TEST_F(ResultsFileTest, RefusedFiles) {
  folder.write("r.jsonl", head + row(0) + "{\"point\": 9}\n");
  EXPECT_EQ(folder.without_folder(input_error([&] { open(true); })),
            "r.jsonl:3:1: error: this is no row of a study's results\nhint: is it the right file?");
  folder.write("r.jsonl", head + row(5));
  EXPECT_EQ(folder.without_folder(input_error([&] { open(true); })),
            "r.jsonl:2:1: error: the study has 5 points, and no point 5\nhint: is it the right file?");
  for (const auto& line :
       {row(0), std::string("{}\n"), std::string("[]\n"), " " + head, std::string("no row\n")}) {
    folder.write("r.jsonl", line + row(0));
    EXPECT_EQ(
        folder.without_folder(input_error([&] { open(true); })),
        "r.jsonl:1:1: error: a study's results do not begin with this line\nhint: is it the right file?");
  }
  folder.write("r.jsonl", head + row(0));
  EXPECT_EQ(folder.without_folder(input_error([&] {
    ResultsFile(path, true, {"another", 5, {"x"}});
  })),
            "r.jsonl:1:1: error: these are results of another study, or its scenario has changed\nhint: "
            "name another file");
  EXPECT_EQ(
      folder.without_folder(input_error([&] {
        ResultsFile(path, true, {"a study", 5, {"x"}, true});
      })),
      "r.jsonl:1:1: error: its rows have other columns\nhint: leave out --all-columns (all_columns=True)");
  EXPECT_EQ(folder.without_folder(input_error([&] { open(false); })),
            "error: 'r.jsonl' has results already\nhint: go on with them (--resume, resume=True), or name "
            "another file");
  auto first = open(true);
  EXPECT_EQ(folder.without_folder(input_error([&] { open(true); })),
            "error: another process writes to 'r.jsonl'\n"
            "hint: give each shard a file of its own; 'ddpsim results merge' joins them");
}

TEST_F(ResultsFileTest, RowsOfOtherAxes) {
  StudyPoint about{1, "a job", {"1", "2"}};
  folder.write("r.jsonl", head + row(0) + study_row(about, PointFailure::input, "why"));
  EXPECT_EQ(
      folder.without_folder(input_error([&] { open(true); })),
      "r.jsonl:3:1: error: this row has 2 values, and the study sweeps 1 key\nhint: is it the right file?");
}

// What has no line yet is only cut where it can be the beginning of this study's.
TEST_F(ResultsFileTest, AFileOfSomethingElseIsLeftAlone) {
  for (const auto& text : {std::string("{\"precious\": 1}"), std::string("x"), head.substr(1, 5),
                           std::string("\0\0precious", 10), head.substr(0, 9) + std::string("\0x", 2)}) {
    folder.write("r.jsonl", text);
    EXPECT_EQ(folder.without_folder(input_error([&] { open(true); })),
              "r.jsonl: error: a study's results do not begin with this line\nhint: is it the right file?");
    EXPECT_EQ(this->text(), text);
  }
  for (const auto& text :
       {std::string(), head.substr(0, 9), head.substr(0, 9) + std::string(99, '\0'), std::string(9, '\0')}) {
    folder.write("r.jsonl", text);
    open(true);
    EXPECT_EQ(this->text(), head);
  }
}

TEST_F(ResultsFileTest, MergedRowsPreferWhatDidNotFail) {
  auto a = folder.write("a", head + row(4) + row(0, PointFailure::machine) + row(2, PointFailure::input));
  auto b = folder.write("b", head + row(0) + row(3) + "{\"point\":1,");
  auto merged = merge_results({a, b}, path);
  EXPECT_EQ(text(), head + row(0) + row(2, PointFailure::input) + row(3) + row(4));
  EXPECT_EQ(merged.rows, 4U);
  EXPECT_EQ(merged.points, 5U);
  EXPECT_EQ(merged.failed, 1U);
}

// As a crash of the machine leaves a file whose length was on disk before its contents.
TEST_F(ResultsFileTest, NulsAtTheEndAreCut) {
  auto whole = head + row(0) + row(1) + row(2);
  for (const auto& rest : {std::string(5000, '\0'), row(1).substr(0, 9) + std::string(70'000, '\0'),
                           std::string("\0\0\n\0", 4), std::string("\0\n", 2)}) {
    folder.write("r.jsonl", head + row(0) + rest);
    auto results = open(true);
    ASSERT_EQ(results.notes().size(), 1U);
    EXPECT_EQ(results.notes()[0].code, "results-cut");
    EXPECT_EQ(folder.without_folder(results.notes()[0].text),
              fmt::format("the last {} bytes of r.jsonl are no whole row but NULs, as after a crash of the "
                          "machine: cut, and what is missing runs again",
                          rest.size()));
    EXPECT_EQ(text(), head + row(0));
    results.append(row(1) + row(2));
    results.finish();
    EXPECT_EQ(text(), whole);
  }
  folder.write("r.jsonl", head + row(0) + std::string(3, '\0') + row(1));  // rows after them are not given up
  auto message = folder.without_folder(input_error([&] { open(true); }));
  EXPECT_TRUE(message.starts_with("r.jsonl:3:1: error: this is no row")) << message;
}

TEST_F(ResultsFileTest, ALastLineWithoutItsEndIsCutWithANote) {
  folder.write("r.jsonl", head + row(0) + "{\"point\":1,");
  {
    auto results = open(true);
    ASSERT_EQ(results.notes().size(), 1U);
    EXPECT_EQ(folder.without_folder(results.notes()[0].text),
              "the last 11 bytes of r.jsonl are no whole row: cut, and what is missing runs again");
  }
  EXPECT_TRUE(open(true).notes().empty());
}

TEST_F(ResultsFileTest, TwoResultsOfAPointAreRefused) {
  auto other = row(1);
  other.replace(other.find("\"iteration_s\":2"), 15, "\"iteration_s\":3");
  folder.write("r.jsonl", head + row(0) + row(1) + row(2) + other);
  const std::string hint =
      "hint: equal points give equal rows: one of the two was changed or damaged; remove it";
  EXPECT_EQ(folder.without_folder(input_error([&] { open(true); })),
            "r.jsonl:5:1: error: point 1 has another result here than at r.jsonl:3\n" + hint);
  auto a = folder.write("a", head + row(2) + row(1)), b = folder.write("b", head + row(3) + other);
  EXPECT_EQ(folder.without_folder(input_error([&] {
    merge_results({a, b}, folder.path("c"));
  })),
            "b:3:1: error: point 1 has another result here than at a:3\n" + hint);
  EXPECT_FALSE(std::filesystem::exists(folder.path("c")));
  // The same twice is no contradiction.
  folder.write("r.jsonl", head + row(1) + row(0) + row(1));
  auto results = open(true);
  results.finish();
  EXPECT_EQ(text(), head + row(0) + row(1));
}

TEST_F(ResultsFileTest, ALinkStaysOne) {
  auto target = folder.write("target", "");
  std::filesystem::create_symlink(target, path);
  {
    auto results = open(false);
    results.append(row(1) + row(0));
    results.finish();
  }
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  EXPECT_EQ(text(), head + row(0) + row(1));
  auto merged = folder.path("merged");
  std::filesystem::create_symlink(folder.write("of_merged", "old"), merged);
  merge_results({target}, merged);
  EXPECT_TRUE(std::filesystem::is_symlink(merged));
  EXPECT_EQ(std::filesystem::file_size(folder.path("of_merged")), (head + row(0) + row(1)).size());
}

TEST_F(ResultsFileTest, NoTemporaryFileFollowsALink) {
  auto victim = folder.write("victim", "precious");
  for (const char* name : {"r.jsonl.tmp", "m.jsonl.tmp"})
    std::filesystem::create_symlink(victim, folder.path(name));
  {
    auto results = open(false);
    results.append(row(1) + row(0));
    results.finish();
  }
  merge_results({path}, folder.path("m.jsonl"));
  EXPECT_EQ(std::filesystem::file_size(victim), 8U);
  EXPECT_FALSE(std::filesystem::is_symlink(folder.path("m.jsonl")));
}

TEST(StudyRow, LinesThatAreNoRows) {
  const std::string start = R"({"point":1,"key":"k",)";
  for (const std::string& line :
       {std::string(), std::string("{}"), std::string("[]"), std::string("1"), std::string("[[["),
        std::string(R"({"point":1})"), std::string(R"({"at":[]})"), std::string(R"({"point":{"point":1}})"),
        start + R"("at":[]})", start + R"("iteration_s":1})", start + R"("at":[],"iteration_s":0})",
        start + R"("at":[],"iteration_s":"1"})", start + R"("at":[{"iteration_s":1}]})",
        start + R"("failed":"input","at":[]})", start + R"("failed":"nobody","at":[],"error":"x"})",
        std::string(R"({"point":-1,"at":[],"iteration_s":1})")})
    EXPECT_EQ(input_error([&] { read_study_row(line); }),
              "error: this is no row of a study's results\nhint: is it the right file?")
        << line;
  EXPECT_EQ(read_study_row(start + R"("at":[],"iteration_s":1})").number, 1U);
  EXPECT_EQ(read_study_row(start + R"("failed":"input","at":[],"error":"x"})").failure, PointFailure::input);
}

TEST(StudyRow, DamagedRowsNameThePlace) {
  const std::string start = R"({"point":1,"at":[],"iteration_s":)";
  for (const auto& [rest, column] : {std::pair{std::string("xyz}"), 34},
                                     {std::string("1,}"), 36},
                                     {std::string("1} {}"), 37},
                                     {std::string("1"), 35},
                                     {std::string("1,\"x\":\"\0\"}", 10), 41}}) {
    SourceSpan place{make_source("r.jsonl", ""), 7, 1, 1};
    auto message = input_error([&, rest = rest] { read_study_row(start + rest, place); });
    EXPECT_TRUE(
        message.starts_with(fmt::format("r.jsonl:7:{}: error: this row is damaged, it is no JSON: ", column)))
        << rest << message;
  }
}

}  // namespace
}  // namespace ddpsim
