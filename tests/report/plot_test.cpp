#include "sim/report/plot.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/check.hpp"
#include "sim/process/external_program.hpp"

#include "tests/report/small_case.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SweepResult caps_and_worlds() {
  SweepResult result;
  result.title = "it's a_title";
  result.axes = {"ddp.bucket_cap", "cluster.world_size"};
  for (double cap : {1048576.0, 4194304.0, 16777216.0}) {
    result.points.push_back(point({"cap", "4"}, cap, 5 + cap / 1e7));
    result.points.push_back(point({"cap", "8"}, cap, 8 - cap / 1e7));
    result.points.back().metrics.world_size = 8;
  }
  return result;
}

SweepResult strategies() {
  SweepResult result;
  result.axes = {"strategy"};
  result.points = {point({"naive"}, std::nullopt, 8), point({"ddp"}, 1024, 5)};
  return result;
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Tags open and close in order: enough to see that nothing was cut off or left unescaped.
bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while ((at = xml.find('<', at)) != std::string::npos) {
    auto end = xml.find('>', at);
    if (end == std::string::npos) return false;
    auto tag = xml.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.starts_with("?") || tag.starts_with("!") || tag.ends_with("/")) continue;
    auto name = tag.substr(tag.starts_with("/") ? 1 : 0);
    name = name.substr(0, name.find_first_of(" \t\n"));
    if (!tag.starts_with("/")) {
      open.push_back(name);
      continue;
    }
    if (open.empty() || open.back() != name) return false;
    open.pop_back();
  }
  return open.empty() && xml.find("<svg") != std::string::npos;
}

TEST(PlotScript, OneLineAGroupAlongTheCap) {
  auto script = sweep_plot_script(caps_and_worlds(), "out.svg");
  EXPECT_THAT(script, HasSubstr("set terminal svg size 900,560 "));
  EXPECT_THAT(script, HasSubstr("set label \"it's a_title\" "));
  EXPECT_THAT(script, HasSubstr("set logscale x\n"));
  EXPECT_THAT(script, HasSubstr("'4 MiB' 4194304"));
  // 5 s + 1048576 / 10^7 s, in ms
  EXPECT_THAT(script, HasSubstr("$predicted0 << EOD\n1048576 5104.8576 0\n4194304 5419.4304 0\n"));
  EXPECT_THAT(script, HasSubstr("title 'cluster.world_size = 8'"));
  EXPECT_THAT(script, HasSubstr("$best1 << EOD\n16777216 6322.2784 0\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("set label '16 MiB: 6322 ms' at screen "));
  EXPECT_THAT(script, HasSubstr("plot 3500 with lines "));  // compute only: 1 + 2 + 0.5 s
  EXPECT_THAT(script, Not(HasSubstr("measured")));
}

TEST(PlotScript, MeasuredCapsAreDrawnWhereTheyWereMeasured) {
  auto result = caps_and_worlds();
  result.measured = {{"ddp", 8, Bytes(26214400), Seconds(7), Seconds(0.5)},
                     {"ddp", std::nullopt, Bytes(1048576), Seconds(6), std::nullopt},
                     {"ddp", 2, Bytes(1048576), Seconds(6), std::nullopt}};
  auto script = sweep_plot_script(result, "out.svg");
  EXPECT_THAT(script, HasSubstr("$measured1 << EOD\n26214400 7000 500\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("$measured1 using 1:2:3 with yerrorbars "));
  EXPECT_THAT(script, HasSubstr("$measured << EOD\n1048576 6000 0\nEOD\n"));  // of both worlds
}

TEST(PlotScript, WhatTimesMayAsWellBeIsABand) {
  auto result = caps_and_worlds();
  EXPECT_THAT(sweep_plot_script(result, "out.svg"), Not(HasSubstr("filledcurves")));
  result.points[0].metrics.range = IterationRange{Seconds(4), Seconds(6.5)};
  auto script = sweep_plot_script(result, "out.svg");
  EXPECT_THAT(script, HasSubstr("$band0 << EOD\n1048576 4000 6500\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("$band0 using 1:2:3 with filledcurves"));
  EXPECT_THAT(script, HasSubstr("title 'least to most, not measured'"));
}

TEST(PlotScript, StrategiesWithoutCapsAreLevels) {
  SweepResult result;
  result.axes = {"strategy", "ddp.bucket_cap"};
  result.points = {point({"naive", "1KiB"}, std::nullopt, 8), point({"ddp", "1KiB"}, 1024, 5),
                   point({"ddp", "2KiB"}, 2048, 6)};
  EXPECT_THAT(sweep_plot_script(result, "out.svg"),
              HasSubstr("     8000 with lines linewidth 2 dashtype 2 "));
}

TEST(PlotScript, NumbersMakeALine) {
  SweepResult result;
  result.axes = {"cluster.world_size"};
  result.points = {point({"2"}, 1024, 5), point({"1024"}, 1024, 6)};
  auto script = sweep_plot_script(result, "out.svg");
  EXPECT_THAT(script, HasSubstr("$predicted0 << EOD\n2 5000 0\n1024 6000 0\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("set xtics ('2' 2, '1024' 1024)"));
  EXPECT_THAT(script, Not(HasSubstr("$best")));
}

TEST(PlotScript, AnythingElseMakesStackedBars) {
  auto result = strategies();
  result.points[1].measured = MeasuredIteration{{}, {}, {}, Seconds(4), Seconds(0.5)};
  auto script = sweep_plot_script(result, "out.png");
  EXPECT_THAT(script, HasSubstr("set terminal pngcairo size 900,560 "));
  EXPECT_THAT(script, HasSubstr("set xtics ('naive' 0, 'ddp' 1)"));
  // backward: from 1 s to 3 s
  EXPECT_THAT(script,
              HasSubstr("$term1 << EOD\n0 3000 -0.32 0.32 1000 3000\n1 3000 0.68 1.32 1000 3000\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("$measured << EOD\n1.41 4000 500\nEOD\n"));
  EXPECT_THAT(script, Not(HasSubstr("interference")));
}

TEST(PlotScript, VersionsAreNoNumbers) {
  auto result = strategies();
  result.axes = {"ddp.torch"};
  result.points[0].axis_values = {"1.13"};
  result.points[1].axis_values = {"2.6"};
  EXPECT_THAT(sweep_plot_script(result, "out.svg"), HasSubstr("boxxyerror"));
}

TEST(PlotScript, LongTimesAreInSeconds) {
  auto result = strategies();
  result.points[0] = point({"naive"}, std::nullopt, 80);
  EXPECT_THAT(sweep_plot_script(result, "out.svg"), HasSubstr("'iteration time (s)'"));
}

TEST(PlotScript, TheExtensionIsTheFormat) {
  EXPECT_EQ(ddpsim::testing::input_error([] { sweep_plot_script(strategies(), "out.pdf"); }),
            "error: cannot tell the format of the plot 'out.pdf'\nhint: end its name in .svg or .png");
}

class Plot : public ::testing::Test {
 protected:
  void SetUp() override {
    require_program(
        gnuplot());  // scripts/test installs it: without it these tests fail, they are not skipped
    folder_ = std::filesystem::temp_directory_path() / ("ddpsim_plot_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

TEST_F(Plot, SvgIsWellFormedAndTheSameEveryTime) {
  auto result = caps_and_worlds();
  result.title = "a < b & c";
  result.measured = {{"ddp", 8, Bytes(4194304), Seconds(7), Seconds(0.5)}};
  for (const auto& sweep : {result, strategies()}) {
    write_sweep_plot(sweep, path("first.svg"));
    write_sweep_plot(sweep, path("second.svg"));
    auto svg = read(path("first.svg"));
    EXPECT_TRUE(is_well_formed(svg)) << svg;
    EXPECT_EQ(svg, read(path("second.svg")));
    EXPECT_THAT(svg, HasSubstr("iteration time (ms)"));
  }
  EXPECT_THAT(read(path("first.svg")), HasSubstr("exposed communication"));
}

// Names of files and values of axes may hold anything: what gnuplot draws is what was written.
TEST_F(Plot, TextIsDrawnAsItStands) {
  const std::string commands = "`touch " + path("ran") + "`";
  for (const std::string text : {"'", "''", "'a'", "a''b", "\"a\"", "a\\", "'a\\", "\\n'", "50 %", "'50%d",
                                 "@a_b^{c} & d", "# {'", "$x; y'"})
    for (const auto& name : {text, text + commands}) {
      auto result = strategies(), line = caps_and_worlds();
      result.title = line.title = name;
      result.points[0].axis_values = {name};
      for (auto& point : line.points) point.axis_values[1] = "x" + name;
      for (const auto& sweep : {result, line}) {
        write_sweep_plot(sweep, path("out.svg"));
        auto svg = read(path("out.svg"));
        EXPECT_TRUE(is_well_formed(svg)) << svg;
        std::string escaped;
        for (char c : name) escaped += c == '&' ? "&amp;" : std::string(1, c);
        EXPECT_THAT(svg, HasSubstr("<text>" + escaped + "</text>")) << sweep_plot_script(sweep, "out.svg");
      }
    }
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

TEST_F(Plot, SmallAndLargeSweeps) {
  SweepResult one_cap, no_axis, many_lines, many_bars;
  one_cap.axes = {"ddp.bucket_cap"};
  one_cap.points = {point({"1KiB"}, 1024, 3.5)};  // nothing exposed: on the line of compute alone
  no_axis.points = {point({}, 1024, 5)};
  many_lines.axes = {"ddp.bucket_cap", "ddp.first_bucket_cap"};
  many_bars.axes = {"workload.trace"};
  for (int i = 0; i < 200; ++i) {
    auto name = "a rather long name of file " + std::to_string(i);
    if (i < 40)
      for (double cap : {1e6, 1e9}) many_lines.points.push_back(point({"cap", name}, cap, 5 + i + cap / 1e8));
    many_bars.points.push_back(point({name}, 1024, 5 + i));
  }
  for (const auto& sweep : {one_cap, no_axis, many_lines, many_bars}) {
    write_sweep_plot(sweep, path("out.svg"));
    EXPECT_TRUE(is_well_formed(read(path("out.svg"))));
  }
  EXPECT_THAT(sweep_plot_script(many_lines, "out.svg"),
              HasSubstr("title '... 28 more'"));  // 40 lines, 12 named
}

TEST_F(Plot, Png) {
  write_sweep_plot(caps_and_worlds(), path("out.png"));
  EXPECT_EQ(read(path("out.png")).substr(0, 8), "\x89PNG\r\n\x1a\n");
}

TEST_F(Plot, AScriptLongerThanAPipe) {
  std::string script = "set terminal svg\n$data << EOD\n";
  for (int i = 0; i < 50000; ++i) script += std::to_string(i) + "\n";
  script += "EOD\nplot $data with dots\n";
  EXPECT_TRUE(is_well_formed(run_program(gnuplot(), script)));
}

TEST_F(Plot, WhatGnuplotRefusesIsAnInternalError) {
  try {
    run_program(gnuplot(), "set terminal svg\nplot nonsense(x)\n");
    FAIL() << "no error";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("undefined function"));
  }
}

TEST(Gnuplot, MissingSaysHowToInstallIt) {
  try {
    auto missing = gnuplot();
    missing.name = "no-such-gnuplot";
    run_program(missing, "");
    FAIL() << "no error";
  } catch (const BackendMissing& error) {
    EXPECT_STREQ(error.what(),
                 "plots are drawn by 'no-such-gnuplot', which is not installed\n"
                 "hint: on Debian or Ubuntu: apt-get install gnuplot-nox");
  }
}

}  // namespace
}  // namespace ddpsim::test
