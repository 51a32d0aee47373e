// Every key of a scenario, held to what the table says of it.
#include "tests/support/key_rows.hpp"

#include "sim/config/overrides.hpp"
#include "sim/job/rows/table.hpp"

namespace ddpsim::testing {
namespace {

constexpr const char* kInLists = R"(workload.stragglers[].rank: integer 0 to 1048575
workload.stragglers[].node: integer 0 to 1048575
workload.stragglers[].slowdown: number 1 to 1000000, required
cluster.groups[].ranks: [integer 0 to 1048575] | map, required
cluster.groups[].ranks.from: integer 0 to 1048575, 0
cluster.groups[].ranks.to: integer 0 to 1048575, required
cluster.groups[].ranks.step: integer 1 to 1048576, 1
cluster.groups[].offset: 5us, 0s
cluster.overrides[].link: text
cluster.overrides[].node: integer 0 to 1048575
cluster.overrides[].bandwidth: 12.5GB/s
cluster.overrides[].latency: 5us
cluster.overrides[].broken: bool, false
cluster.background[].links: some [text], required
cluster.background[].start: 5us, 0s
cluster.background[].size: 25MiB
cluster.background[].end: 5us
variability.slow[].of: ranks nodes, required
variability.slow[].probability: number 0 to 1, required
variability.slow[].slowdown: number 1 to 1000000, required
variability.slow[].lasts: run iteration, run
)";

TEST(JobRows, AreReadAsTheTableSays) {
  auto read = [](const config::Value& root) {
    auto given = read_job(root);
    return config::to_flow_text(keys::write_all(job_table(), &given.job));
  };
  KeyRows rows(
      {.section = &job_table(),
       .read = read,
       .needs = {{"workload.rescale", {{"from", "t"}}},
                 {"workload.stragglers[]", {{"rank", "1"}}},
                 {"cluster.overrides[]", {{"link", "t"}, {"bandwidth", "1GB/s"}}},
                 {"cluster.background[]", {{"end", "1s"}}},
                 {"variability", {{"seed", "1"}}}},
       .but = {{"workload.rescale.factor", "0"}, {"ddp.broadcast_buffers", "true"}},
       .silent = {"workload.recompute", "batch", "expert.seed", "expert.dispatch_sms", "expert.dtype"}});
  EXPECT_GT(rows.rows, 250);
  EXPECT_GT(rows.refused, 3000);
  EXPECT_GT(rows.accepted, 400);
  EXPECT_GT(rows.defaults, 110);
  // docs/reference/scenario.md holds the others.
  std::istringstream all(rows.lines);
  std::string in_lists;
  for (std::string line; std::getline(all, line);)
    if (line.substr(0, line.find(':')).find('[') != std::string::npos) in_lists += line + "\n";
  EXPECT_EQ(in_lists, kInLists);
}

}  // namespace
}  // namespace ddpsim::testing
