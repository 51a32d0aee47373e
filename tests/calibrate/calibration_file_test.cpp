// Calibration files: what is written is read, and what cannot be read is told where it stands.
#include "sim/calibrate/calibration_file.hpp"

#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "sim/calibrate/calibration_json.hpp"
#include "sim/text/nccl_calibration.hpp"

#include "tests/calibrate/measured_machines.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::calibrate {
namespace {

using nccl::Algorithm;

nccl::Calibration read_text(const std::string& text) {
  testing::TemporaryFolder folder;
  return read_calibration(folder.write("c.yaml", text));
}

// Place and message. Whole messages: tests/cli/bad_input/calibration.txt.
std::string error_of(const std::string& text) {
  testing::TemporaryFolder folder;
  auto path = folder.write("c.yaml", text);
  auto message = folder.without_folder(testing::input_error([&] { read_calibration(path); }));
  return message.substr(0, message.find('\n'));
}

const std::string kCurve =
    "curves:\n"
    "  - algorithm: nvls_tree\n"
    "    across_nodes: true\n"
    "    latency_scale: 1.25\n"
    "    efficiency: 0.9\n"
    "    ramp: 12.5us\n";

const std::string kFitted =
    "    fitted_to:\n"
    "      - {table: t.csv, ranks: 8, nodes: 1, rows: 12, smallest: 262144B, largest: 512MiB,\n"
    "         mean_error_percent: 3.1, worst_error_percent: 9.4, distrusted_rows: 1}\n";

TEST(CalibrationFile, ReadsACurve) {
  auto calibration = read_text(kCurve + kFitted);
  ASSERT_EQ(calibration.entries.size(), 1U);
  const auto& entry = calibration.entries.front();
  EXPECT_EQ(entry.algorithm, Algorithm::nvls_tree);
  EXPECT_TRUE(entry.across_nodes);
  EXPECT_EQ(entry.curve.latency_scale, 1.25);
  EXPECT_EQ(entry.curve.efficiency, 0.9);
  EXPECT_DOUBLE_EQ(entry.curve.ramp.value(), 12.5e-6);
  EXPECT_EQ(calibration.find(Algorithm::nvls_tree, false), nullptr);
  ASSERT_EQ(entry.fitted_to.size(), 1U);
  const auto& rows = entry.fitted_to.front();
  EXPECT_EQ(rows.table, "t.csv");
  EXPECT_EQ(std::tuple(rows.ranks, rows.nodes, rows.rows, rows.distrusted), std::tuple(8, 1, 12, 1));
  EXPECT_EQ(rows.smallest, Bytes(262144));
  EXPECT_EQ(rows.largest, Bytes(536870912));
  EXPECT_DOUBLE_EQ(rows.mean_error, 0.031);
  EXPECT_DOUBLE_EQ(rows.worst_error, 0.094);
}

// What nothing was fitted of stands in the new file as it stood in the old one.
TEST(CalibrationFile, WhatIsTakenOverKeepsWhatItWasFittedTo) {
  auto known = read_text(kCurve + kFitted);
  auto written = write_calibration(with_rest_of(known, {}));
  EXPECT_NE(written.find("    fitted_to:\n      - table: \"t.csv\"\n        ranks: 8\n"), std::string::npos)
      << written;
  EXPECT_NE(written.find("        mean_error_percent: 3.1\n        worst_error_percent: 9.4\n"
                         "        distrusted_rows: 1\n"),
            std::string::npos)
      << written;
  EXPECT_EQ(write_calibration(read_text(written)), written);
}

TEST(CalibrationFile, ReadsCurvesOfOneScale) {
  std::string text = "curves:\n";
  for (const char* algorithm : {"ring", "tree", "nvls", "nvls_tree"})
    for (const char* across : {"true", "false"})
      text += std::string("  - {algorithm: ") + algorithm + ", across_nodes: " + across +
              ", latency_scale: 1, efficiency: 1, ramp: 1us}\n";
  EXPECT_EQ(read_text(text).entries.size(), 8U);
}

// Four digits: to within 0.05 %.
TEST(CalibrationFile, WhatIsWrittenIsRead) {
  auto pcie = a100s();
  pcie.nvlink = false;
  pcie.nvlink_peak = {};
  Measurement within = measured(pcie, {1.23456, 0.987654, Seconds(12.3456e-6)});
  Measurement across = measured(a100s(2), {1, 1, Seconds(1e-6)});
  within.table.title = R"(odd "name" \ of a table, 8 GPUs)";
  nccl::Calibration calibration;
  calibration.entries = {{Algorithm::ring, false, {1.23456, 0.987654, Seconds(12.3456e-6)}},
                         {Algorithm::ring, true, {0.0123456, 12.3456, Seconds(1.23456e-9)}, 4}};
  auto judgement = [](const Measurement& m) {
    return judge(points_of(m.table), [](Bytes bytes) { return Seconds(1e-12 * bytes.value()); });
  };
  note_fit(calibration, {{&within, judgement(within)}, {&across, judgement(across)}});
  auto text = write_calibration(calibration);
  auto again = read_text(text);
  ASSERT_EQ(again.entries.size(), calibration.entries.size());
  for (std::size_t i = 0; i < again.entries.size(); ++i) {
    const auto &one = calibration.entries[i], &other = again.entries[i];
    EXPECT_EQ(other.algorithm, one.algorithm);
    EXPECT_EQ(other.across_nodes, one.across_nodes);
    EXPECT_EQ(other.nodes, one.nodes);
    EXPECT_NEAR(other.curve.latency_scale / one.curve.latency_scale, 1, 5e-4);
    EXPECT_NEAR(other.curve.efficiency / one.curve.efficiency, 1, 5e-4);
    EXPECT_NEAR(other.curve.ramp / one.curve.ramp, 1, 5e-4);
  }
  // What was read is written as it was.
  EXPECT_EQ(write_calibration(again), text);
}

// Lines of every operation and parameter, to six digits.
TEST(CalibrationFile, LinesThatAreWrittenAreRead) {
  const auto& known = nccl::class_lines(nccl::NodeClass::hopper);
  nccl::Calibration calibration;
  calibration.node = {{Operation::all_reduce, known.all_reduce},
                      {Operation::all_gather, known.all_gather},
                      {Operation::reduce_scatter, known.reduce_scatter},
                      {Operation::all_to_all, {}, known.all_to_all}};
  calibration.node[3].identified = {false, false, true,  false, false,
                                    false, false, false, true,  true};  // ll_rate, link, memory
  auto machine = on_lines(h100s(), Operation::all_reduce, calibration);
  auto peers = on_lines(h100s(4), Operation::all_to_all, calibration);
  auto judgement = [&](const Measurement& m) { return judge(points_of(m.table), predictor(m, calibration)); };
  std::vector<FittedTable> tables{{&machine, judgement(machine)}, {&peers, judgement(peers)}};
  note_fit(calibration, tables);
  auto text = write_calibration(calibration);
  auto again = read_text(text);
  EXPECT_TRUE(again.entries.empty());
  ASSERT_EQ(again.node.size(), 4U);
  for (std::size_t i = 0; i < again.node.size(); ++i) {
    const auto &one = calibration.node[i], &other = again.node[i];
    EXPECT_EQ(other.operation, one.operation);
    EXPECT_EQ(largest_ranks(other.fitted_to), largest_ranks(one.fitted_to));
    EXPECT_EQ(other.identified, one.identified);
    if (one.operation == Operation::all_to_all)
      for (const auto& p : nccl::kPeerParameters)
        EXPECT_NEAR(other.peers.*p.value / (one.peers.*p.value), 1, 5e-6) << p.name;
    else
      for (const auto& p : nccl::kRingParameters)
        EXPECT_NEAR(other.ring.*p.value / (one.ring.*p.value), 1, 5e-6) << p.name;
  }
  EXPECT_EQ(largest_ranks(again.node[0].fitted_to), 8);
  EXPECT_EQ(largest_ranks(again.node[3].fitted_to), 4);
  EXPECT_EQ(write_calibration(again), text);
  EXPECT_NE(text.find("    identified: [ll_rate, link, memory]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("rows: 21\n        smallest: 512B\n        largest: 536870912B\n"
                      "        mean_error_percent: 0.0"),
            std::string::npos)
      << text;
}

// 13 rows from 256 KiB to 1 GiB, measured 10 % slower than predicted throughout.
TEST(CalibrationFile, SaysWhatWasFitted) {
  Measurement table = measured(a100s(2), {1, 1, Seconds(1e-6)});
  nccl::Calibration calibration;
  calibration.entries = {{Algorithm::ring, true, {1.5, 0.97, Seconds(8e-6)}}};
  auto judgement = judge(points_of(table.table), [&](Bytes bytes) {
    return (1 / 1.1) * CurveSample(table).time({1, 1, Seconds(1e-6)}, bytes);
  });
  note_fit(calibration, {{&table, judgement}});
  EXPECT_EQ(write_calibration(calibration),
            "# What NCCL's collectives take, fitted to measured tables by `ddpsim calibrate`. What it means: "
            "docs/model.md.\n"
            "curves:\n"
            "  - algorithm: ring\n"
            "    across_nodes: true\n"
            "    latency_scale: 1.5\n"
            "    efficiency: 0.97\n"
            "    ramp: 8us\n"
            "    fitted_to:\n"
            "      - table: \"made up\"\n"
            "        ranks: 16\n"
            "        nodes: 2\n"
            "        rows: 13\n"
            "        smallest: 262144B\n"
            "        largest: 1073741824B\n"
            "        mean_error_percent: 10.0\n"
            "        worst_error_percent: 10.0\n");
}

TEST(CalibrationJson, HoldsCurvesAndPoints) {
  nccl::Calibration calibration;
  calibration.entries = {{Algorithm::ring, true, {1.5, 0.75, Seconds(0.5)}}};
  calibration.node = {{Operation::all_to_all}};
  for (const auto& p : nccl::kPeerParameters) calibration.node[0].peers.*p.value = 0.5;
  calibration.node[0].identified = {true, false, false, false, true, false, false, false, false, false};
  JudgedTable table{"t", Operation::all_gather, 16, 2, "ring", true, {}};
  table.judgement = {
      {{Bytes(4), Seconds(4), Seconds(4), {}, ""}, {Bytes(8388608), Seconds(2), Seconds(1), {}, "odd"}},
      {0.25, 1}};
  EXPECT_EQ(calibration_json(calibration, {table}),
            R"({
  "curves": [
    {
      "algorithm": "ring",
      "across_nodes": true,
      "latency_scale": 1.5,
      "efficiency": 0.75,
      "ramp_s": 0.5
    }
  ],
  "lines": [
    {
      "operation": "all_to_all",
      "parameters": {
        "ll_base": 0.5,
        "ll_rank": 0.5,
        "ll_rate": 0.5,
        "ll_link": 0.5,
        "base": 0.5,
        "rank": 0.5,
        "first_link": 0.5,
        "first_memory": 0.5,
        "link": 0.5,
        "memory": 0.5
      },
      "identified": [
        "ll_base",
        "base"
      ]
    }
  ],
  "tables": [
    {
      "table": "t",
      "operation": "all_gather",
      "ranks": 16,
      "nodes": 2,
      "algorithm": "ring",
      "fitted": true,
      "mean_error": 0.25,
      "worst_error": 1.0,
      "bands": [
        {
          "below": 262144,
          "mean_error": 0.0
        },
        {
          "mean_error": 1.0
        }
      ],
      "points": [
        {
          "bytes": 4,
          "measured_s": 4.0,
          "predicted_s": 4.0
        },
        {
          "bytes": 8388608,
          "measured_s": 2.0,
          "predicted_s": 1.0,
          "doubt": "odd"
        }
      ]
    }
  ]
}
)");
}

struct Broken {
  const char* name;
  std::string text, error;
};

class BrokenCalibration : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenCalibration, SaysWhere) {
  EXPECT_EQ(error_of(GetParam().text), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    CalibrationFile, BrokenCalibration,
    ::testing::Values(
        Broken{"empty", "", "c.yaml: error: is empty (expected a calibration)"},
        Broken{"no_curves", "{}\n", "c.yaml:1:1: error: 'calibration' lacks the key 'curves'"},
        Broken{"two_curves_for_the_same", kCurve + kCurve.substr(8),
               "c.yaml:7:5: error: a second curve for nvls_tree across nodes"},
        Broken{"two_within_a_node",
               "curves: [&c {algorithm: ring, across_nodes: false, latency_scale: 1, efficiency: 1, ramp: "
               "1us}, *c]\n",
               "c.yaml:1:10: error: a second curve for ring within a node"},
        Broken{"nodes_of_what_is_no_ring", kCurve + "    nodes: 4\n",
               "c.yaml:7:12: error: only a ring across nodes falls with the number of nodes"},
        Broken{"identified_of_another_operation",
               "lines:\n  - operation: all_to_all\n    parameters: {ll_base: 7, ll_rank: 1, ll_rate: 7, "
               "ll_link: "
               "0.25, base: 11, rank: 0.5, first_link: 0.75, first_memory: 1.5, link: 1.5, memory: 1.2}\n"
               "    identified: [simple_link]\n",
               "c.yaml:4:18: error: unknown value 'simple_link'"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ddpsim::calibrate
