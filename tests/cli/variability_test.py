#!/usr/bin/env python3
"""Iterations that differ: `variability`, --iterations and --seed. Usage: variability_test.py BINARY SOURCE_ROOT."""
import csv
import io
import json
import unittest

import ddpsim_cli as cli

# One gradient of 4 MB at 80 ms of backward, 20 ms of forward: 100 ms of compute, whose spread is a tenth.
TRACE = ("# ddpsim-trace: 1\n# model: test\n# forward: 20ms\ngradient,elements,dtype,ready_s,ready_std_s\n"
         "a,1000000,float32,0.08,0.008\n")
# Two gradients: half of the compute lies before the first.
TWO = ("# ddpsim-trace: 1\n# model: test\ngradient,elements,dtype,ready_s\n"
       "a,1000000,float32,0.05\nb,1000000,float32,0.1\n")
NODES = """kind: cluster
node:
  gpus: 4
  interconnect: {kind: fully_connected, bandwidth: 200GB/s, latency: 0.5us}
  nics: {count: 4, bandwidth: 12.5GB/s, latency: 5us}
fabric: {kind: ring}
"""


class VariabilityTest(cli.CliTest):
    def varied(self, *arguments, jitter="0.1", file="scenario.yaml"):
        self.ok("simulate", file, "--iterations", "400", "--seed", "1", "--set", f"variability.jitter={jitter}",
                "--json", "r.json", *arguments)
        return self.read_json("r.json")


class JitterTest(VariabilityTest):
    def test_the_trace_says_how_much_varies(self):
        """Of 8 ranks the slowest is 1.42 standard deviations above the median, on average."""
        self.write_scenario(TRACE)
        one = self.varied(jitter="trace")
        iterations = one["iterations"]
        self.assertEqual([iterations["count"], iterations["seed"], iterations["reported"]], [400, 1, "median"])
        slowest = {entry["ranks"]: entry["slowdown"] for entry in iterations["slowest_of"]}
        self.assertEqual(list(slowest), [1, 2, 4, 8])
        self.assertAlmostEqual(slowest[8], 1.15, delta=0.02)
        self.assertAlmostEqual(iterations["mean_s"] - iterations["unvaried_s"], 0.1 * (slowest[8] - 1), places=9)
        self.assertEqual(one, self.varied(jitter="0.1"))

    def test_the_terms_are_those_of_the_reported_iteration(self):
        self.write_scenario(TRACE)
        for report in ("median", "p95"):
            one = self.varied("--set", f"variability.report={report}", "--timeline", "t.json")
            self.assertEqual(one["iteration_s"], one["iterations"][f"{report}_s"])
            self.assertAlmostEqual(sum(one[term] for term in cli.TERMS), one["iteration_s"], places=12)
            slowdown = one["forward_s"] / 0.02
            self.assertAlmostEqual(one["backward_compute_s"], 0.08 * slowdown, places=12)
            self.assertGreater(slowdown, 1.05)
            spread = [one["iterations"][key] for key in ("min_s", "p5_s", "median_s", "p95_s", "max_s")]
            self.assertEqual(spread, sorted(spread))
        self.assertIn(f"rank {one['reported_rank']}", self.read("t.json").decode())

    def test_none_is_as_without(self):
        self.write_scenario(TRACE)
        self.assertNotIn("iterations", self.varied(jitter="none"))

    def test_the_seed_says_it_to_the_byte(self):
        self.write_scenario(TRACE)

        def output(seed):
            return self.ok("simulate", "scenario.yaml", "--iterations", "50", "--seed", seed, "--json", "-").stdout
        self.assertEqual(output("5"), output("5"))
        self.assertNotEqual(output("5"), output("6"))

    def test_observed_times(self):
        """1, 1 or 3 times the median: of 8 ranks one is slow in 96 % of the iterations."""
        self.write_scenario(TRACE)
        self.write("steps.csv", "step,compute_s\n1,0.2\n2,0.2\n3,0.6\n")
        iterations = self.varied(jitter="{observed: steps.csv}")["iterations"]
        done = self.ok("simulate", "scenario.yaml", "--seed", "1", "--set", "variability.jitter={observed: steps.csv}")
        self.assertIn("8 ranks draw from 3 observed times", done.stderr)
        self.assertAlmostEqual(iterations["median_s"] - iterations["min_s"], 0.2, places=9)
        self.assertEqual(iterations["median_s"], iterations["max_s"])

    def test_interference_and_every_fidelity(self):
        self.write_scenario(TWO, "ddp: {bucket_cap: 1MiB}\nphysics: {interference: 0.5}\n")
        results = [self.varied("--set", f"engine.fidelity={fidelity}")["iterations"]
                   for fidelity in ("closed_form", "lazy", "exact")]
        for result in results[1:]:
            self.assertAlmostEqual(result["p95_s"], results[0]["p95_s"], places=9)
        plain = self.varied("--set", "physics.interference=0")["iterations"]
        self.assertLess(plain["median_s"], results[0]["median_s"])


class SlowTest(VariabilityTest):
    def test_a_slow_node(self):
        """Each of 4 nodes is slow with probability 0.1 in each iteration: all are well in 66 % of them, so half but not 95 %."""
        self.write_scenario(TRACE, world_size=16, topology=NODES)
        slow = "variability.slow=[{of: nodes, probability: 0.1, slowdown: 2, lasts: iteration}]"
        iterations = self.varied("--set", slow, jitter="none")["iterations"]
        self.assertAlmostEqual(iterations["median_s"], iterations["unvaried_s"], places=12)
        self.assertAlmostEqual(iterations["p95_s"] - iterations["median_s"], 0.1, places=9)

    def test_slow_ones_of_this_seed_and_of_others(self):
        self.write_scenario(TRACE)
        one = self.varied("--set", "variability.slow=[{of: ranks, probability: 0.5, slowdown: 2}]", jitter="none")
        (slow,) = one["iterations"]["slow_for_the_run"]
        self.assertEqual([slow["of"], slow["slowdown"], slow["candidates"]], ["ranks", 2, 8])
        self.assertEqual(slow["chance_of_any"], 1 - 0.5**8)
        self.assertGreater(slow["drawn"], 0)
        done = self.ok("simulate", "scenario.yaml", "--seed", "1", "--set", "variability.jitter=none", "--set",
                       "variability.slow=[{of: ranks, probability: 0.5, slowdown: 2}]")
        self.assertIn(f"slow for the run         {slow['drawn']} of 8 ranks, by this seed; at least one in 100 % of runs", done.stdout)

    def test_slow_for_the_run(self):
        self.write_scenario(TRACE, world_size=16, topology=NODES)
        iterations = self.varied("--set", "variability.ranks=0.2", jitter="none")["iterations"]
        self.assertEqual(iterations["min_s"], iterations["max_s"])
        self.assertGreater(iterations["min_s"], iterations["unvaried_s"] + 0.02)

    def test_stragglers_of_the_scenario_are_slower_still(self):
        self.write_scenario(TRACE)
        with_straggler = self.varied("--set", "workload.stragglers=[{rank: 2, slowdown: 3}]")
        self.assertEqual(with_straggler["reported_rank"], 2)
        self.assertAlmostEqual(with_straggler["iterations"]["median_s"] / with_straggler["iterations"]["unvaried_s"], 1,
                               delta=0.02)

    def test_groups_that_wait_for_one_another(self):
        """Tensor-parallel groups stay in step: all wait for the slowest of 16 ranks, as one group would."""
        self.write_scenario(TRACE, world_size=16, topology=NODES)
        one = self.varied()
        groups = self.varied("--set", "cluster.groups={tensor_parallel: 4}")
        self.assertEqual(one["iterations"]["slowest_of"], groups["iterations"]["slowest_of"])
        self.assertEqual(one["forward_s"], groups["forward_s"])

    def test_groups_that_nccl_treats_differently(self):
        """Equal groups that NCCL's model tells apart draw from the same ranks all the same."""
        self.link_data()
        self.write("g.yaml", """workload: {model: gpt2, micro_batch: 4, sequence: 1024}
strategy: fsdp
cluster:
  topology: topologies/superpod-h100.yaml
  world_size: 16
  gpu: h100-sxm
  groups: [{ranks: [0, 1, 2, 3]}, {ranks: [4, 5, 8, 9]}, {ranks: [6, 7, 10, 11]}, {ranks: [12, 13, 14, 15]}]
variability: {iterations: 20, jitter: 0.05, seed: 3}
""")
        self.ok("simulate", "g.yaml", "--timeline", "t.json", "--json", "r.json")
        result = self.read_json("r.json")
        self.assertLess(result["reported_rank"], 16)
        names = [event["args"]["name"] for event in json.loads(self.read("t.json"))["traceEvents"] if event["name"] == "process_name"]
        slower = [float(name.split(", ")[1].split("x")[0]) for name in names if "x slower" in name]
        self.assertTrue(all(0.8 < slowdown < 1.5 for slowdown in slower), names)


class SharedLinksTest(cli.CliTest):
    """Two jobs on one set of NICs, with interference: every draw is simulated."""
    def predicted(self, *arguments):
        return json.loads(self.ok("simulate", f"{cli.SOURCE_ROOT}/configs/shared-nic.yaml", "--set", "cluster.gpu=none", "--set", "physics={}", "--json", "-", "--quiet", *arguments).stdout)

    def test_without_interference_and_jitter_it_is_as_ever(self):
        plain = self.predicted()
        self.assertAlmostEqual(plain["iteration_s"], 1.572716189, places=8)  # before any of this was known of shared links
        self.assertEqual(self.predicted("--set", "physics.interference=0")["iteration_s"], plain["iteration_s"])

    def test_iterations_that_differ(self):
        slowed = ("--set", "physics.interference=0.3")
        once = self.predicted(*slowed)
        self.assertGreater(once["iteration_s"], 1.6)
        for network in ("simgrid", "builtin"):
            result = self.predicted(*slowed, "--iterations", "4", "--seed", "1", "--set", f"engine.network={network}")
            iterations = result["iterations"]
            self.assertEqual(iterations["count"], 4)
            self.assertAlmostEqual(iterations["unvaried_s"], once["iteration_s"], places=8)
            self.assertLess(iterations["min_s"], iterations["max_s"])
            self.assertGreaterEqual(result["simulated_flows"], 5 * 70_000)
            self.assertEqual(result["network"], network)


class WeatherTest(VariabilityTest):
    HALF = "variability={seed: 1, iterations: 20, jitter: none, weather: {p5: 0.5, median: 0.5, p95: 0.5}}"

    def communicated(self, *sets, world_size=8):
        self.write("nodes.yaml", NODES)
        self.write("trace.csv", TWO)
        self.write("scenario.yaml", f"workload: {{trace: trace.csv}}\ncluster: {{topology: nodes.yaml, world_size: {world_size}}}\n"
                                    "collective: {algorithm: ring}\nphysics: none\nddp: {bucket_cap: 1MiB}\n")
        return self.simulate(*sets)

    def test_half_of_the_bandwidth_between_nodes_is_twice_the_time(self):
        usual, halved = self.communicated(), self.communicated(self.HALF)
        self.assertAlmostEqual(halved["communication_s"], 2 * usual["communication_s"], places=12)
        self.assertAlmostEqual(halved["iterations"]["unvaried_s"], usual["iteration_s"], places=12)
        self.assertEqual(halved["iterations"]["min_s"], halved["iterations"]["max_s"])

    def test_within_a_node_there_is_none(self):
        usual, halved = self.communicated(world_size=4), self.communicated(self.HALF, world_size=4)
        self.assertAlmostEqual(halved["communication_s"], usual["communication_s"], places=12)

    def test_a_fabric_by_name_is_another_one_in_every_iteration(self):
        by_name = "variability={seed: 1, iterations: 400, jitter: none, weather: efa-shared}"
        usual, drawn = self.communicated(world_size=64), self.communicated(by_name, world_size=64)
        exposed = lambda seconds: seconds - 0.1
        share = lambda key: exposed(usual["iteration_s"]) / exposed(drawn["iterations"][key])
        self.assertAlmostEqual(share("p95_s"), 0.184, delta=0.02)    # of 16 nodes
        self.assertAlmostEqual(share("median_s"), 0.438, delta=0.05)
        self.assertAlmostEqual(share("p5_s"), 1, delta=0.02)
        self.assertEqual(self.communicated(by_name, world_size=64), drawn)
        self.assertNotEqual(self.communicated(by_name.replace("seed: 1", "seed: 2"), world_size=64)["iterations"], drawn["iterations"])

    def test_explain_says_what_the_fabric_to_oneself_would_give(self):
        by_name = "variability={seed: 1, iterations: 50, jitter: none, weather: efa-shared}"
        usual, drawn = self.communicated(world_size=64), self.communicated(by_name, world_size=64)
        out = self.ok("simulate", "scenario.yaml", "--set", by_name, "--set", "cluster.world_size=64", "--explain").stdout
        self.assertIn(f"{1e3 * (usual['iteration_s'] - drawn['iteration_s']):+.3f} ms", next(line for line in out.splitlines() if "the fabric to oneself" in line))

    def test_on_a_shared_fabric_results_say_so(self):
        self.write("trace.csv", TWO)
        self.write("scenario.yaml", "workload: {trace: trace.csv}\ncluster: {topology: p5, world_size: 64}\n")
        codes = lambda *sets: [note["code"] for note in self.simulate(*sets)["notes"]]
        self.assertIn("fabric-weather", codes())
        self.assertNotIn("fabric-weather", codes("cluster.world_size=8"))
        self.assertNotIn("fabric-weather", codes("cluster.topology=superpod-h100"))
        efa = "variability={seed: 1, jitter: none, weather: efa-shared}"
        self.assertNotIn("fabric-weather", codes(efa))
        self.assertNotIn("weather-other-network", codes(efa))
        self.assertIn("weather-other-network", codes(efa, "cluster.topology=superpod-h100"))
        own = "variability={seed: 1, jitter: none, weather: {p5: 0.3, median: 0.5, p95: 1}}"
        self.assertNotIn("weather-other-network", codes(own, "cluster.topology=superpod-h100"))

    def test_a_calibrated_spread_gives_way_to_drawn_ranks_with_a_note(self):
        self.write("trace.csv", TWO)
        self.write("fit.yaml", "interference: {compute: 0.3, collective: 0.1}\nspread: 0.013\n")
        self.write("scenario.yaml", "workload: {trace: trace.csv}\ncluster: {topology: dgx-h100, world_size: 8, gpu: h100-sxm}\n"
                                    "physics: {calibration: fit.yaml}\n")
        notes = lambda *sets: {note["code"]: note["text"] for note in self.simulate(*sets)["notes"]}
        self.assertNotIn("spread-replaced", notes())
        self.assertIn("spread of 1.3 %", notes("variability={seed: 1, jitter: none, ranks: 0.05}")["spread-replaced"])
        self.assertNotIn("spread-replaced", notes("variability={seed: 1, jitter: none, ranks: 0.05}", "physics={}"))


class SweepTest(VariabilityTest):
    def sweep_rows(self, *arguments):
        self.ok("sweep", "scenario.yaml", "--csv", "s.csv", *arguments)
        return list(csv.DictReader(io.StringIO(self.read("s.csv").decode())))

    def test_a_sweep_is_of_the_median_or_the_p95(self):
        self.write_scenario(TRACE, "variability: {seed: 1, iterations: 100}\nsweep: {cluster.world_size: [2, 4, 8]}\n")
        rows = self.sweep_rows()
        for row in rows:
            self.assertEqual(row["iteration_s"], row["median_s"])
            self.assertEqual(row["iterations"], "100")
            self.assertLess(float(row["p5_s"]), float(row["median_s"]))
            self.assertLess(float(row["median_s"]), float(row["p95_s"]))
        for row, tail in zip(rows, self.sweep_rows("--set", "variability.report=p95")):
            self.assertEqual(tail["iteration_s"], row["p95_s"])
        done = self.ok("sweep", "scenario.yaml")
        self.assertRegex(done.stdout.splitlines()[0], r"5–95 % of steps ms .* median ms")
        self.assertIn("iterations are the median of 100 (seed 1), terms those of that iteration", done.stdout)
        done = self.ok("sweep", "scenario.yaml", "--set", "sweep.cluster.world_size=[8]", "--set", "sweep.variability.jitter=[none, 0.1]")
        self.assertNotIn("best:", done.stdout)

    def test_what_is_best_may_depend_on_it(self):
        """Slow iterations are rare: half the ranks' speed in 10 % of them. Two buckets pay when compute is slow."""
        self.write_scenario(TWO, "collective: {algorithm: measured, measured: table.csv}\n"
                            "variability: {seed: 1, jitter: none, slow: [{of: ranks, probability: 0.05, slowdown: 3, lasts: "
                            "iteration}]}\nstrategy: ddp\nsweep: {ddp.bucket_cap: [1MiB, 100MiB]}\n", world_size=2)
        # Two all-reduces of 4 MB take 60 ms each, one of 8 MB 70 ms: 170 in one bucket. In two, the second one ends at
        # max(100, 110) + 60 = 170.5 ms; three times slower, at 300 + 60 instead of 300 + 70.
        self.write("table.csv", "# ddpsim-allreduce: 1\n# world_size: 2\nbytes,time_s\n4000000,0.0605\n8000000,0.07\n")
        best = {report: self.sweep("--set", f"variability.report={report}")["best"]["axes"]["ddp.bucket_cap"]
                for report in ("median", "p95")}
        self.assertEqual(best, {"median": "100MiB", "p95": "1MiB"})

    def test_workers_do_not_change_the_result(self):
        self.write_scenario(TRACE, "variability: {seed: 1}\nsweep: {cluster.world_size: [2, 4, 8]}\n")
        outputs = [self.ok("sweep", "scenario.yaml", "--jobs", jobs, "--json", "-").stdout for jobs in ("1", "2")]
        self.assertEqual(*outputs)

    def test_an_interval_over_interference(self):
        self.write_scenario(TWO, evidence="default")
        one = self.varied("--set", f"cluster.gpu={cli.SOURCE_ROOT}/gpus/h100-sxm.yaml")
        least, most = one["evidence"]["interval_80_s"]
        self.assertLess(least, one["iteration_s"])
        self.assertLess(one["iteration_s"], most)


if __name__ == "__main__":
    cli.main()
