#include "validate/comparison/report_json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/validate/comparison/report_case.hpp"

namespace ddpsim::validate::test {
namespace {

using Json = nlohmann::ordered_json;

const ToolInfo kTool{"0.1.0", "3.32"};
const ScenarioInfo kScenario{"configs/a.yaml", {"a=b"}, {{"ddp.bucket_cap", {"1KiB", "2KiB"}}}};

Json json_of(const ValidationReport& report) {
  return Json::parse(validation_json(report, kScenario, kTool));
}

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

TEST(ReportJson, Keys) {
  auto json = json_of(full_report());
  EXPECT_EQ(keys(json), (std::vector<std::string>{"scenario", "measurement", "prediction", "environment",
                                                  "points", "choices", "largest_error", "largest_regret",
                                                  "thresholds", "missed", "too_noisy", "tool"}));
  EXPECT_EQ(keys(json["points"][0]),
            (std::vector<std::string>{"axes", "predicted", "measured", "relative_error",
                                      "exposed_relative_error", "buckets"}));
}

// As in the other results.
TEST(ReportJson, ScenarioPredictionsAndToolAsInASweep) {
  auto sweep = Json::parse(sweep_json(wrong_choice(), kScenario, kTool));
  auto json = json_of(full_report());
  EXPECT_EQ(json["scenario"].dump(), sweep["scenario"].dump());
  EXPECT_EQ(json["tool"].dump(), sweep["tool"].dump());
  ASSERT_EQ(json["points"].size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    auto point = sweep["points"][i];
    EXPECT_EQ(json["points"][i]["axes"].dump(), point["axes"].dump());
    for (const char* key : {"axes", "measured_iteration_s", "measured_iteration_std_s", "relative_error"})
      EXPECT_EQ(point.erase(key), 1U);
    EXPECT_EQ(json["points"][i]["predicted"].dump(), point.dump());
  }
}

TEST(ReportJson, WhatWasMeasuredAndWithWhat) {
  auto json = json_of(full_report());
  EXPECT_EQ(json["measurement"], "gloo, 4 ranks, compute replayed");
  EXPECT_EQ(json["prediction"], "all-reduces measured before");
  EXPECT_EQ(json["environment"].dump(), R"({"processor":"some","gloo":"1.2"})");
  auto measured = json["points"][0]["measured"];
  EXPECT_EQ(keys(measured),
            (std::vector<std::string>{"iteration_s", "std_s", "least_s", "most_s", "samples_s", "settled"}));
  EXPECT_EQ(measured["iteration_s"], 5.0);
  EXPECT_EQ(measured["std_s"], 0.25);
  EXPECT_NEAR(measured["least_s"], 4.3789, 1e-4);
  EXPECT_NEAR(measured["most_s"], 5.6211, 1e-4);
  EXPECT_EQ(measured["samples_s"].dump(), "[4.75,5.0,5.25]");
  EXPECT_EQ(measured["settled"], false);
  EXPECT_EQ(json["points"][0]["predicted"]["iteration_s"], 5.5);
}

// Somebody's median alone says nothing about samples, spreads and environments.
TEST(ReportJson, OnlyAMedian) {
  auto json = json_of(compare(sweep_of({}, {measured_point({}, 1024, 5.5, 5)}), {}));
  EXPECT_EQ(json["environment"].dump(), "{}");
  const auto& point = json["points"][0];
  EXPECT_EQ(point["axes"].dump(), "{}");
  EXPECT_EQ(point["measured"].dump(),
            R"({"iteration_s":5.0,"std_s":null,"least_s":null,"most_s":null,"samples_s":[],"settled":null})");
  EXPECT_EQ(point["buckets"].dump(), "[]");
  EXPECT_TRUE(json["largest_regret"].is_null());
  EXPECT_TRUE(json["choices"][0]["pairs_in_order"].is_null());
  EXPECT_EQ(json["thresholds"].dump(), R"({"iteration_error":null,"regret":null})");
  EXPECT_EQ(json["missed"].dump(), "[]");
  EXPECT_EQ(json["too_noisy"].dump(), "[]");
}

// wrong_choice() derives them. The medians differ by 1.25 s, more than twice 0.5 s, and the order is wrong.
TEST(ReportJson, ErrorsAndChoices) {
  auto json = json_of(full_report());
  EXPECT_NEAR(json["points"][0]["relative_error"], 0.1, 1e-15);
  EXPECT_DOUBLE_EQ(json["points"][0]["exposed_relative_error"], 1.0 / 3);
  EXPECT_EQ(json["choices"].dump(),
            R"([{"group":"","n_points":2,"predicted_best":1,"measured_best":0,"regret":0.25,)"
            R"("pairs_in_order":0.0}])");
  EXPECT_DOUBLE_EQ(json["largest_error"], 0.2);
  EXPECT_EQ(json["largest_regret"], 0.25);
  EXPECT_EQ(json["thresholds"].dump(), R"({"iteration_error":0.05,"regret":0.01})");
  EXPECT_EQ(json["missed"], Json(full_report().missed()));
  EXPECT_EQ(json["missed"].size(), 2U);
  EXPECT_EQ(json["too_noisy"], Json(full_report().too_noisy()));
  EXPECT_EQ(json["too_noisy"].size(), 1U);
}

TEST(ReportJson, NoExposedErrorWhereNothingWasExposed) {
  auto json = json_of(compare(sweep_of({}, {measured_point({}, 1024, 3.5, 3.5)}), {}));
  EXPECT_TRUE(json["points"][0]["exposed_relative_error"].is_null());
}

TEST(ReportJson, Buckets) {
  auto buckets = json_of(full_report())["points"][0]["buckets"];
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[1].dump(),
            R"({"index":1,"bytes":2000,"predicted":{"ready_s":2.0,"start_s":2.0,"end_s":4.0},)"
            R"("measured":{"launch_s":2.0,"start_s":2.5,"end_s":3.2},"end_relative_error":0.25})");
}

}  // namespace
}  // namespace ddpsim::validate::test
