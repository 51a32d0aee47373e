// Files of evidence/.
#include "sim/text/evidence_file.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/text/presets.hpp"

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using ::testing::HasSubstr;
using testing::input_error;

class EvidenceFileTest : public ::testing::Test {
 protected:
  std::string file(const std::string& lines) {
    return folder_.write("mine.yaml", "kind: evidence\nname: mine\n" + lines);
  }
  std::string error(const std::string& lines) {
    auto path = file(lines);
    return folder_.without_folder(input_error([&] { read_evidence(path); }));
  }
  testing::TemporaryFolder folder_;
};

// Every class that a scenario may be of has figures, with what they are from where they are no declaration.
TEST_F(EvidenceFileTest, TheDefaultKnowsAllClasses) {
  auto usual = read_evidence(*find_preset(PresetKind::evidence, "default"));
  for (const auto& one : kEvidenceClasses) {
    SCOPED_TRACE(name_of(one));
    const auto* line = usual.find(one);
    ASSERT_TRUE(line);
    EXPECT_FALSE(line->states.empty());
    EXPECT_EQ(line->row > 0, one.of == Subject::compute);
  }
}

TEST_F(EvidenceFileTest, AddsToWhatIsKnown) {
  Evidence known{"usual",
                 {{"network efa", {{{1, 0.3, 0.3}}, 0, 2}}, {"network roce", {{{1, 0, 0.1}}, 0, 0}}}};
  auto found = read_evidence(file("network: {efa: {sigma: 0.1, families: 4}}\n"), known);
  EXPECT_EQ(found.name, "mine");
  EXPECT_EQ(found.lines.at("network efa"), (Evidence::Line{{{1, 0, 0.1}}, 0, 4}));
  EXPECT_EQ(found.lines.at("network roce"), known.lines.at("network roce"));
}

TEST_F(EvidenceFileTest, States) {
  auto found =
      read_evidence(file("network: {pcie: {families: 3, states: [{chance: 0.25, middle: -1, sigma: 0.2}, "
                         "{chance: 0.75, middle: 1, sigma: 0.5}]}}\n"));
  EXPECT_EQ(found.lines.at("network pcie"), (Evidence::Line{{{0.25, -1, 0.2}, {0.75, 1, 0.5}}, 0, 3}));
}

// A calibration's section says again what it was written from, and networks' lines are about what was found.
TEST_F(EvidenceFileTest, WhatWasMeasuredIsReadBack) {
  Evidence known;
  known.lines["network efa"] = {{{0.5, -1, 0.2}, {0.5, 0.5, 0.3}}, 0, 2};
  known.lines["compute named"] = {{{1, 0, 0.02}}, 0.07, 5};
  known.lines["compute calibrated"] = {{{1, 0, 0.03}}, 0.05, 3};
  Evidence measured = known;
  measured.calibrated = "named";
  measured.found["network efa"] = 1.5;
  measured.measured = {{"a job", Seconds(2), 0.05, {Seconds(1.9), {}}}};
  measured.measured[0].response.curves["network efa"].points = {{1, Seconds(1.9)}, {2, Seconds(2.5)}};
  auto section =
      config::load_yaml(folder_.write("section.yaml", write_evidence_section(measured, "")), "software");
  auto read = read_evidence_section(section, known);
  EXPECT_EQ(read.calibrated, "named");
  EXPECT_EQ(read.found, measured.found);
  EXPECT_EQ(read.measured, measured.measured);
  EXPECT_EQ(read.lines.at("network efa"), (Evidence::Line{{{1, std::log(1.5), 0.3}}, 0, 2}));
  EXPECT_EQ(read.lines.at("compute named").row, 0.05);
}

TEST_F(EvidenceFileTest, Refused) {
  const std::string job = "measured: [{job: a, took: 1s, predicted: 1s, row: 0.1, moves: [";
  EXPECT_THAT(error(job + "{class: network lan, at: [1, 2], takes: [1s, 2s]}]}]\n"),
              HasSubstr("no class of evidence is called 'network lan'"));
  EXPECT_THAT(error(job + "{class: network efa, at: [2, 1], takes: [1s, 2s]}]}]\n"), HasSubstr("which rise"));
  EXPECT_THAT(error(job + "{class: network efa, at: [1, 2], takes: [1s]}]}]\n"), HasSubstr("which rise"));
  EXPECT_THAT(error("found: {efa: 0}\n"), HasSubstr("no time is 0"));
  EXPECT_THAT(error("network: {tokenring: {sigma: 1, families: 0}}\n"), HasSubstr("unknown key 'tokenring'"));
  EXPECT_THAT(error("network: {efa: {sigma: 0, families: 0}}\n"), HasSubstr("no sigma is 0"));
  EXPECT_THAT(error("network: {efa: {sigma: 0.1, families: 1.5}}\n"), HasSubstr("not a whole number"));
  EXPECT_THAT(error("network: {efa: {sigma: 0.1}}\n"), HasSubstr("lacks the key 'families'"));
  EXPECT_THAT(error("network: {efa: {families: 1}}\n"), HasSubstr("neither sigma nor states"));
  EXPECT_THAT(error("network: {efa: {families: 1, states: [{chance: 1, middle: 0, sigma: 1}]}}\n"),
              HasSubstr("a state is one of several"));
  EXPECT_THAT(
      error("network: {efa: {families: 1, states: [{chance: 0.5, middle: 0, sigma: 1}, {chance: 0.4, middle: "
            "0, sigma: 1}]}}\n"),
      HasSubstr("chances add up to 0.9"));
}

}  // namespace
}  // namespace ddpsim
