#include "sim/report/result_json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/report/small_case.hpp"

namespace ddpsim::test {
namespace {

using Json = nlohmann::json;

const ToolInfo kTool{"0.1.0", "3.32"};

// The terms are derived in metrics_test.cpp: 5.5 = 1 + 2 + 2 + 0.5.
TEST(ResultJson, Simulate) {
  auto metrics = measure_small({{plain_rank()}});
  metrics.scaling_efficiency.reset();
  metrics.samples_per_s = 2.5;
  EXPECT_EQ(simulate_json(metrics, kTool), R"({
  "world_size": 4,
  "strategy": "ddp",
  "bucket_cap_bytes": 1024,
  "n_buckets": 2,
  "forward_s": 1.0,
  "backward_compute_s": 2.0,
  "interference_s": 0.0,
  "overhead_s": 0.0,
  "communication_s": 3.0,
  "exposed_communication_s": 2.0,
  "parallelism": {
    "tensor": 1,
    "context": 1,
    "pipeline": 1,
    "data": 4
  },
  "optimizer_s": 0.5,
  "iteration_s": 5.5,
  "losses": [
    {
      "cause": "ends",
      "seconds": 2.0
    },
    {
      "cause": "optimizer",
      "seconds": 0.5
    }
  ],
  "algorithm": "ring",
  "fidelity": "exact",
  "network": "simgrid",
  "simulated_flows": 7,
  "communication": [
    {
      "axis": "data",
      "operation": "all_reduce",
      "count": 2,
      "bytes": 3000,
      "busy_s": 3.0,
      "exposed_s": 2.0
    }
  ],
  "algbw_Bps": 1000.0,
  "busbw_Bps": 1500.0,
  "samples_per_s": 2.5,
  "scaling_efficiency": null,
  "comm_frac": 0.36363636363636365,
  "reported_rank": 0,
  "group_size": 4,
  "buckets": [
    {
      "index": 0,
      "bytes": 1000,
      "n_gradients": 1,
      "ready_s": 1.0,
      "start_s": 1.0,
      "end_s": 2.0
    },
    {
      "index": 1,
      "bytes": 2000,
      "n_gradients": 1,
      "ready_s": 2.0,
      "start_s": 2.0,
      "end_s": 4.0
    }
  ],
  "notes": [],
  "tool": {
    "version": "0.1.0",
    "simgrid": "3.32"
  }
}
)");
}

TEST(ResultJson, TheBitmapOnlyWhereThereIsOne) {
  auto metrics = measure_small({{plain_rank()}});
  EXPECT_FALSE(Json::parse(simulate_json(metrics, kTool)).contains("used_parameter_bitmap"));
  metrics.used_parameter_bitmap = BucketMetrics{0, Bytes(8), 0, Seconds(2), Seconds(4), Seconds(4.25)};
  EXPECT_EQ(Json::parse(simulate_json(metrics, kTool))["used_parameter_bitmap"],
            Json({{"bytes", 8}, {"ready_s", 2.0}, {"start_s", 4.0}, {"end_s", 4.25}}));
}

TEST(ResultJson, LargeByteCountsStayWhole) {
  auto metrics = point({}, 9007199254740991.0, 5).metrics;
  EXPECT_NE(simulate_json(metrics, kTool).find("\"bucket_cap_bytes\": 9007199254740991,"), std::string::npos);
}

SweepResult two_strategies() {
  SweepResult result;
  result.axes = {"strategy"};
  result.points = {point({"naive"}, std::nullopt, 8), point({"ddp"}, 1024, 4)};
  result.points[1].measured = MeasuredIteration{"ddp", {}, {}, Seconds(5), Seconds(0.25)};
  for (auto& p : result.points) p.metrics.samples_per_s = p.metrics.scaling_efficiency = std::nullopt;
  return result;
}

TEST(ResultJson, Sweep) {
  ScenarioInfo scenario{"configs/a.yaml", {"strategy=[naive,ddp]"}, {{"strategy", {"naive", "ddp"}}}};
  // relative_error: 4 / 5 - 1
  const std::string ddp_fields = R"("axes": {
IN  "strategy": "ddp"
IN},
IN"world_size": 4,
IN"strategy": "ddp",
IN"bucket_cap_bytes": 1024,
IN"n_buckets": 2,
IN"forward_s": 1.0,
IN"backward_compute_s": 2.0,
IN"interference_s": 0.0,
IN"overhead_s": 0.0,
IN"communication_s": 3.0,
IN"exposed_communication_s": 0.5,
IN"parallelism": {
IN  "tensor": 1,
IN  "context": 1,
IN  "pipeline": 1,
IN  "data": 4
IN},
IN"optimizer_s": 0.5,
IN"iteration_s": 4.0,
IN"losses": [
IN  {
IN    "cause": "ends",
IN    "seconds": 2.0
IN  },
IN  {
IN    "cause": "optimizer",
IN    "seconds": 0.5
IN  }
IN],
IN"algorithm": "ring",
IN"fidelity": "exact",
IN"network": "simgrid",
IN"simulated_flows": 7,
IN"communication": [
IN  {
IN    "axis": "data",
IN    "operation": "all_reduce",
IN    "count": 2,
IN    "bytes": 3000,
IN    "busy_s": 3.0,
IN    "exposed_s": 2.0
IN  }
IN],
IN"algbw_Bps": 1000.0,
IN"busbw_Bps": 1500.0,
IN"samples_per_s": null,
IN"scaling_efficiency": null,
IN"comm_frac": 0.5,
IN"reported_rank": 0,
IN"group_size": 4,
IN"measured_iteration_s": 5.0,
IN"measured_iteration_std_s": 0.25,
IN"relative_error": -0.19999999999999996
)";
  auto ddp_at = [&](const std::string& indent) {
    std::string text = indent + ddp_fields;
    for (auto at = text.find("IN"); at != std::string::npos; at = text.find("IN"))
      text.replace(at, 2, indent);
    return text;
  };
  EXPECT_EQ(sweep_json(two_strategies(), scenario, kTool), R"({
  "scenario": {
    "file": "configs/a.yaml",
    "set": [
      "strategy=[naive,ddp]"
    ],
    "axes": {
      "strategy": [
        "naive",
        "ddp"
      ]
    }
  },
  "points": [
    {
      "axes": {
        "strategy": "naive"
      },
      "world_size": 4,
      "strategy": "naive",
      "bucket_cap_bytes": null,
      "n_buckets": 2,
      "forward_s": 1.0,
      "backward_compute_s": 2.0,
      "interference_s": 0.0,
      "overhead_s": 0.0,
      "communication_s": 3.0,
      "exposed_communication_s": 4.5,
      "parallelism": {
        "tensor": 1,
        "context": 1,
        "pipeline": 1,
        "data": 4
      },
      "optimizer_s": 0.5,
      "iteration_s": 8.0,
      "losses": [
        {
          "cause": "ends",
          "seconds": 2.0
        },
        {
          "cause": "optimizer",
          "seconds": 0.5
        }
      ],
      "algorithm": "ring",
      "fidelity": "exact",
      "network": "simgrid",
      "simulated_flows": 7,
      "communication": [
        {
          "axis": "data",
          "operation": "all_reduce",
          "count": 2,
          "bytes": 3000,
          "busy_s": 3.0,
          "exposed_s": 2.0
        }
      ],
      "algbw_Bps": 1000.0,
      "busbw_Bps": 1500.0,
      "samples_per_s": null,
      "scaling_efficiency": null,
      "comm_frac": 0.25,
      "reported_rank": 0,
      "group_size": 4
    },
    {
)" + ddp_at("      ") + R"(    }
  ],
  "best": {
)" + ddp_at("    ") + R"(  },
  "best_by_group": [
    {
)" + ddp_at("      ") + R"(    }
  ],
  "verdict": [
    "best: strategy ddp, 4.00 s, 50.0 % shorter than the longest"
  ],
  "notes": [],
  "tool": {
    "version": "0.1.0",
    "simgrid": "3.32"
  }
}
)");
}

TEST(ResultJson, NotesOfASimulationAndOfASweep) {
  std::vector<Note> notes{{"plain-rings", "rings there"}};
  auto sweep = two_strategies();
  sweep.notes = notes;
  auto expected = Json::parse(R"([{"code": "plain-rings", "text": "rings there"}])");
  EXPECT_EQ(Json::parse(simulate_json(measure_small({{plain_rank()}}), kTool, {}, notes))["notes"], expected);
  EXPECT_EQ(Json::parse(sweep_json(sweep, {}, kTool))["notes"], expected);
}

TEST(ResultJson, BestIsOneOfThePoints) {
  auto json = Json::parse(sweep_json(two_strategies(), {}, kTool));
  EXPECT_EQ(json["best"], json["points"][1]);
}

TEST(ResultJson, FileNamesNeedNotBeUtf8) {
  auto json = Json::parse(sweep_json(two_strategies(), {"a\xff.yaml", {}, {}}, kTool));
  EXPECT_EQ(json["scenario"]["file"], "a\xEF\xBF\xBD.yaml");
}

}  // namespace
}  // namespace ddpsim::test
