#!/usr/bin/env python3
"""Results of a trace that nobody recorded say so, everywhere. Usage: synthetic_test.py BINARY SOURCE_ROOT."""
import json

import ddpsim_cli as cli

GRADIENTS = [("a", cli.MIB, 0.01), ("b", cli.MIB, 0.03)]
HOW = "operation counts"
MARK = f"estimated, not recorded ({HOW})"


class SyntheticTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write_scenario(cli.trace_text(GRADIENTS, synthetic=HOW), more="sweep: {ddp.bucket_cap: [1MiB, 8MiB]}\n")

    def test_simulate(self):
        done = self.ok("simulate", "scenario.yaml", "--explain", "--json", "r.json", "--csv", "r.csv", "--timeline", "t.json")
        self.assertRegex(done.stdout, rf"(?m)^trace +{MARK.replace('(', '[(]').replace(')', '[)]')}$")
        self.assertIn(f"  the trace it comes from is {MARK}\n", done.stdout)
        self.assertEqual(self.read_json("r.json")["trace_synthetic"], MARK)
        self.assertEqual({row["trace_synthetic"] for row in self.read_csv("r.csv")}, {MARK})
        timeline = self.read_json("t.json")
        self.assertEqual(timeline["otherData"], {"trace_synthetic": MARK})
        self.assertIn("ranks like 0 (8 ranks, times estimated)", [event["args"]["name"] for event in timeline["traceEvents"]
                                                                   if event["name"] == "process_name"])

    def test_sweep(self):
        done = self.ok("sweep", "scenario.yaml", "--json", "r.json", "--csv", "r.csv")
        self.assertIn(f"\ntrace: {MARK}\n", done.stdout)
        self.assertEqual({point["trace_synthetic"] for point in self.read_json("r.json")["points"]}, {MARK})
        self.assertEqual({row["trace_synthetic"] for row in self.read_csv("r.csv")}, {MARK})
        self.assertIn(f"\ntrace: {MARK}\n", self.ok("sweep", "scenario.yaml", "--exact-optimum").stdout)

    def test_pictures(self):
        self.ok("sweep", "scenario.yaml", "--plot", "r.svg")
        self.assertIn(f"trace: {MARK}", self.read("r.svg").decode())
        self.ok("trace", "show", "trace.csv", "--plot", "t.svg")
        self.assertIn(MARK, self.read("t.svg").decode())

    def test_validate(self):
        self.write("measured.csv", "bucket_cap_bytes,iteration_s\n1048576,0.05\n8388608,0.06\n")
        done = self.ok("validate", "scenario.yaml", "--measured", "measured.csv", "--json", "r.json", "--csv", "r.csv")
        self.assertIn(f"\ntrace: {MARK}\n", done.stdout)
        self.assertEqual({point["predicted"]["trace_synthetic"] for point in self.read_json("r.json")["points"]}, {MARK})
        self.assertEqual({row["trace_synthetic"] for row in self.read_csv("r.csv")}, {MARK})

    def test_calibrated_interference(self):
        plain = json.loads(self.ok("simulate", "scenario.yaml", "--json", "-").stdout)["iteration_s"]
        self.write("measured.csv", f"strategy,iteration_s\nddp,{1.01 * plain}\n")
        done = self.ok("calibrate", "--overlap", "scenario.yaml", "--measured", "measured.csv", "--out", "physics.yaml")
        self.assertIn(f"trace {MARK}\n", done.stdout)
        self.assertIn(f"; trace {MARK}\"", self.read("physics.yaml").decode())

    def test_a_rescaled_trace(self):
        """A recorded one is an estimate as well; an estimate says both."""
        result = self.simulate("workload.rescale={factor: 0.5}")
        self.assertEqual(result["trace_synthetic"], f"estimated, not recorded ({HOW}, rescaled by a stated factor of 0.5)")
        self.write("trace.csv", cli.trace_text(GRADIENTS))
        self.assertNotIn("trace_synthetic", self.simulate())
        gpus = cli.SOURCE_ROOT / "gpus"
        result = self.simulate(f"workload.rescale={{from: {gpus / 'a100-sxm4-40gb.yaml'}, to: {gpus / 'h100-sxm.yaml'}}}")
        self.assertEqual(result["trace_synthetic"],
                         "estimated, not recorded (rescaled from NVIDIA A100 SXM4 40GB to NVIDIA H100 SXM5 80GB by their float32 figures)")


if __name__ == "__main__":
    cli.main()
