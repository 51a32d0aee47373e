// Every key of a scenario, held to what the table says of it.
#include "tests/support/key_rows.hpp"

#include "sim/config/overrides.hpp"
#include "sim/job/rows/table.hpp"

namespace ddpsim::testing {
namespace {

TEST(JobRows, AreReadAsTheTableSays) {
  auto read = [](const config::Value& root) {
    auto given = read_job(root);
    return config::to_flow_text(keys::write_all(job_table(), &given.job));
  };
  KeyRows rows({.section = &job_table(),
                .read = read,
                .needs = {{"workload.rescale", {{"from", "t"}}},
                          {"workload.stragglers[]", {{"rank", "1"}}},
                          {"cluster.overrides[]", {{"link", "t"}, {"bandwidth", "1GB/s"}}},
                          {"cluster.background[]", {{"end", "1s"}}},
                          {"variability", {{"seed", "1"}}}},
                .but = {{"workload.rescale.factor", "0"}, {"ddp.broadcast_buffers", "true"}},
                .silent = {"workload.recompute", "batch", "expert.seed"}});
  EXPECT_GT(rows.rows, 250);
  EXPECT_GT(rows.refused, 3000);
  EXPECT_GT(rows.accepted, 400);
  EXPECT_GT(rows.defaults, 110);
}

}  // namespace
}  // namespace ddpsim::testing
