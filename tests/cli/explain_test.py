#!/usr/bin/env python3
"""`simulate --explain` and `calibrate --overlap`. Usage: explain_test.py BINARY SOURCE_ROOT."""
import csv
import io
import unittest

import ddpsim_cli as cli

# Two gradients of 1 MiB at 10 and 30 ms; an all-reduce of either takes 12 ms, of both 24.
TABLE = f"# ddpsim-allreduce: 1\n# world_size: 2\n# run_set: one day\nbytes,time_s\n{cli.MIB},0.012\n{2 * cli.MIB},0.024\n"
TRACE = (f"# ddpsim-trace: 1\n# model: test\ngradient,elements,dtype,ready_s\n"
         f"a,{cli.MIB // 4},float32,0.01\nb,{cli.MIB // 4},float32,0.03\n")


class PhysicsTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write("trace.csv", TRACE)
        self.write("table.csv", TABLE)
        self.write("scenario.yaml", "workload: {trace: trace.csv}\ncluster: {world_size: 2}\n"
                   "collective: {algorithm: measured, measured: table.csv}\nddp: {bucket_cap: 1MiB}\n")

    def iteration(self, *arguments):
        self.ok("simulate", "scenario.yaml", "--json", "r.json", *arguments)
        return self.read_json("r.json")["iteration_s"]


class ExplainTest(PhysicsTest):
    def test_what_bounds_it_and_what_would_change_it(self):
        """30 ms of backward; the second all-reduce ends at 42 ms. In half the time it ends at 36; in one bucket at 54."""
        done = self.ok("simulate", "scenario.yaml", "--explain")
        self.assertIn("it waits 12 ms (28.6 %) for all-reduces after backward", done.stdout)
        self.assertIn("the last bucket (1 of 2, 1 MiB) is ready at 30 ms and takes 12 ms", done.stdout)
        self.assertRegex(done.stdout, r"-6\.000 ms +-14\.3 %  all-reduces in half the time")
        self.assertRegex(done.stdout, r"\+12\.000 ms +\+28\.6 %  caps twice as large, 2 MiB")
        self.assertRegex(done.stdout, r"\+12\.000 ms +\+28\.6 %  strategy flat")

    def test_the_numbers_are_those_of_simulations(self):
        done = self.ok("simulate", "scenario.yaml", "--explain", "--set", "physics.interference=0.5")
        slowed = self.iteration("--set", "physics.interference=0.5")
        self.assertRegex(done.stdout, rf"{1e3 * (self.iteration() - slowed):+.3f} ms .*  no interference")


class GpuTest(PhysicsTest):
    """A GPU's description leaves interference open: s = r = 0.1 to 0.65, and the iteration takes 42 + 12 s ms. Without copies."""

    def test_a_range(self):
        settings = ("--set", f"cluster.gpu={cli.SOURCE_ROOT}/gpus/h100-sxm.yaml", "--set", "physics.passes=none")
        done = self.ok("simulate", "scenario.yaml", *settings, "--json", "r.json")
        self.assertRegex(done.stdout, r"uncalibrated, from +43\.2 ms to 49\.8 ms\n")
        result = self.read_json("r.json")
        self.assertAlmostEqual(result["iteration_s"], 0.0465, places=9)
        self.assertAlmostEqual(result["iteration_range_s"][0], 0.0432, places=9)
        self.assertAlmostEqual(result["iteration_range_s"][1], 0.0498, places=9)
        done = self.ok("simulate", "scenario.yaml", *settings, "--set", "physics.interference=0", "--json", "r.json")
        self.assertNotIn("iteration_range_s", self.read_json("r.json"))
        self.assertAlmostEqual(self.read_json("r.json")["iteration_s"], 0.042, places=9)

    def test_a_sweep_of_ranges(self):
        """One all-reduce of 17 ms after 30 ms is best with the most interference, two of 12 ms otherwise."""
        self.write("table.csv", TABLE.replace("0.024", "0.017"))
        settings = ("--set", f"cluster.gpu={cli.SOURCE_ROOT}/gpus/h100-sxm.yaml", "--set", "physics.passes=none",
                    "--set", "sweep.ddp.bucket_cap=[1MiB, 100MiB]")
        done = self.ok("sweep", "scenario.yaml", *settings, "--csv", "s.csv")
        self.assertRegex(done.stdout, r"1 MiB +46\.500 .* 43\.200 +49\.800\n")
        self.assertRegex(done.stdout, r"best with the least interference: ddp\.bucket_cap 1MiB, iteration 43\.2 ms\n"
                         r"best with the most interference: ddp\.bucket_cap 100MiB, iteration 47 ms\n"
                         r"best: ddp\.bucket_cap 1MiB, iteration 46\.5 ms")
        rows = list(csv.DictReader(io.StringIO(self.read("s.csv").decode())))
        self.assertEqual([round(float(row["iteration_least_s"]), 9) for row in rows], [0.0432, 0.047])
        self.assertEqual([round(float(row["iteration_most_s"]), 9) for row in rows], [0.0498, 0.047])

    def test_passes_reach_its_bandwidth(self):
        """Four passes over 1 MiB: 2 x 1 MiB / (0.67 x 3.35 TB/s) and 5 us each."""
        self.ok("simulate", "scenario.yaml", "--set", f"cluster.gpu={cli.SOURCE_ROOT}/gpus/h100-sxm.yaml", "--json", "r.json")
        self.assertAlmostEqual(self.read_json("r.json")["overhead_s"], 4 * (2 * cli.MIB / (0.67 * 3.35e12) + 5e-6), places=12)


class OverlapTest(PhysicsTest):
    """With s = r the first all-reduce lasts from 10 to 22 (1+s) ms, in which compute does 12 of its 20 ms, and the second ends at 42 + 12 s."""

    def test_calibrates_what_it_then_predicts(self):
        self.write("measured.csv", "# run_set: one day\nstrategy,iteration_s\nddp,0.048\n")
        done = self.ok("calibrate", "--overlap", "scenario.yaml", "--measured", "measured.csv", "--out", "physics.yaml")
        self.assertIn("beside collectives compute takes 50.0 % longer", done.stdout)
        self.assertAlmostEqual(self.iteration("--set", "physics.calibration=physics.yaml"), 0.048, places=7)
        self.assertAlmostEqual(self.read_json("r.json")["interference_s"], 0.006, places=6)

    def test_refuses_to_mix_run_sets(self):
        self.write("measured.csv", "# run_set: another\nstrategy,iteration_s\nddp,0.048\n")
        done = self.fails(2, "calibrate", "--overlap", "scenario.yaml", "--measured", "measured.csv", "--out", "physics.yaml")
        self.assertIn("the iteration is of the run set 'another', and the all-reduces are of 'one day'", done.stderr)
        self.assertFalse((self.folder / "physics.yaml").exists())

    def test_a_row_that_is_not_there(self):
        self.write("measured.csv", "strategy,iteration_s\nnaive,0.048\n")
        done = self.fails(2, "calibrate", "--overlap", "scenario.yaml", "--measured", "measured.csv")
        self.assertIn("measured.csv has no iteration of strategy ddp", done.stderr)


if __name__ == "__main__":
    cli.main()
