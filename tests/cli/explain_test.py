#!/usr/bin/env python3
"""`simulate --explain` and `calibrate --overlap`. Usage: explain_test.py BINARY SOURCE_ROOT."""
import csv
import io
import re
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

    def test_findings_are_in_json(self):
        done = self.ok("simulate", "scenario.yaml", "--explain", "--json", "r.json")
        findings = self.read_json("r.json")["explanation"]
        changes = findings["changes"]
        self.assertEqual(changes, sorted(changes, key=lambda one: one["difference_s"]))
        flat = next(one for one in changes if one["change"] == "strategy flat")
        self.assertEqual((round(flat["difference_s"], 9), flat["set"], flat["fits"]), (0.012, ["strategy=flat"], None))    # a trace does not say what a GPU holds
        for one in changes:
            self.assertIn(one["change"], done.stdout)
        for one in findings["not_tried"]:
            self.assertIn(f"  not tried: {one['change']}: ", done.stdout)
        self.ok("simulate", "scenario.yaml", "--json", "r.json")
        self.assertNotIn("explanation", self.read_json("r.json"))
        # 64 samples of a 7B on 80 GB do not fit, whatever strategy holds them.
        self.ok("simulate", "llama-2-7b-64xh100", "--set", "workload.micro_batch=64", "--explain", "--json", "r.json")
        result = self.read_json("r.json")
        fits = {one["change"]: one["fits"] for one in result["explanation"]["changes"]}
        self.assertFalse(result["memory"]["fits"] or fits["strategy hsdp"] or fits["workload.recompute none"])

    def test_a_measured_table(self):
        """6 ms at no bytes, if a line is drawn through its points, and half of each all-reduce then. It knows no links."""
        self.write("table.csv", TABLE.replace("0.024", "0.018"))
        done = self.ok("simulate", "scenario.yaml", "--explain")
        self.assertIn("of 24 ms of all-reduces 12 ms would remain without latency, 12 ms with infinite bandwidth", done.stdout)
        self.assertIn("a measured table says what they take, so that no link is known to bound them", done.stdout)
        for left_out in ("other algorithms", "links of more bandwidth or less latency"):
            self.assertIn(f"  not tried: {left_out}: a measured table says what all-reduces take\n", done.stdout)

    def test_if_nothing_varied(self):
        settings = ("--iterations", "20", "--seed", "1", "--set", "variability.jitter=0.1")
        done = self.ok("simulate", "scenario.yaml", "--explain", "--json", "r.json", *settings)
        varied = self.read_json("r.json")["iteration_s"]
        self.assertGreater(varied, 0.042)
        self.assertRegex(done.stdout, rf"{1e3 * (0.042 - varied):+.3f} ms .*  nothing varies\n")

    def test_the_numbers_are_those_of_simulations(self):
        done = self.ok("simulate", "scenario.yaml", "--explain", "--set", "physics.interference=0.5")
        slowed = self.iteration("--set", "physics.interference=0.5")
        self.assertRegex(done.stdout, rf"{1e3 * (self.iteration() - slowed):+.3f} ms .*  no interference")


class LinksTest(cli.CliTest):
    """A ring of 4: an all-reduce of 1 MiB takes 6 x (5 us + 262144 B / 100 MB/s) = 15.75864 ms over the slow link, and the last of two
    ends at 30 ms + that."""
    SLOW_RING = "kind: ring\nlink: {bandwidth: 12.5GB/s, latency: 5us}\noverrides: [{from: 2, bandwidth: 100MB/s}]\n"

    def explain(self, *arguments, topology=SLOW_RING, world_size=4):
        self.write_scenario(TRACE, more="ddp: {bucket_cap: 1MiB}\n", topology=topology, world_size=world_size)
        return self.ok("simulate", "scenario.yaml", "--explain", *arguments).stdout

    def test_latency_or_bandwidth_and_the_bottleneck(self):
        out = self.explain()
        self.assertIn("of 31.5173 ms of all-reduces 31.4573 ms would remain without latency, 60.03 us with infinite bandwidth: "
                      "bandwidth bounds them\n", out)
        self.assertIn("they keep the most loaded link, gpu2>gpu3, busy for 31.4573 ms\n", out)

    def test_other_links(self):
        out = self.explain()
        self.assertRegex(out, r"-7\.864 ms +-17\.2 %  all links of twice the bandwidth")
        self.assertRegex(out, r"-7\.864 ms +-17\.2 %  gpu2>gpu3 alone of twice the bandwidth")
        self.assertRegex(out, r"-0\.015 ms +-0\.0 %  all latencies halved")

    def test_a_bottleneck_that_is_overridden_already(self):
        """Both directions by one entry, of which one becomes wider: the other one still holds everything up. An all-reduce takes
        2 x (5 us + 524288 B / 50 MB/s) = 20.98152 ms, so the second waits 0.98152 ms for the first."""
        out = self.explain("--set", "cluster.overrides=[{link: gpu0-gpu1, bandwidth: 50MB/s}]", topology=cli.RING, world_size=2)
        self.assertIn("the most loaded link, gpu0>gpu1 (one of 2 as loaded), busy for 41.943 ms\n", out)
        self.assertRegex(out, r"no difference: .*gpu0>gpu1 alone of twice the bandwidth")
        self.assertRegex(out, r"-11\.467 ms .*  all links of twice the bandwidth")

    def test_another_algorithm_of_the_same_backend(self):
        """In nodes of one GPU hierarchical is a ring, and Gloo has both all-reduces in flight at once, that wait for 6 x 5 ms each."""
        out = self.explain("--set", "collective.backend=gloo", topology=cli.RING.replace("5us", "5ms"))
        self.assertRegex(out, r"no difference: .*collective\.algorithm hierarchical")

    def test_gloo_on_gpus(self):
        """4 GPUs of a node: 6 steps of 0.1 ms, and copies and a ring that no link is known to bound. NCCL's rings over NVLink are faster."""
        node = "kind: cluster\nnode: {gpus: 4, interconnect: {kind: nvswitch, bandwidth: 300GB/s, latency: 1us}}\nnccl: {gpu: ampere, cpu: amd}\n"
        out = self.explain("--set", "collective.backend=gloo", "--set", "collective.workers=1", topology=node)
        self.assertIn("Gloo's model says what they take, so that no link is known to bound them\n", out)
        self.assertRegex(out, r"  -\d+\.\d+ ms .*  backend nccl\n")
        self.assertRegex(out, r"  -\d+\.\d+ ms .*  all-reduces in half the time\n")
        self.assertIn("\n  not tried: other algorithms: Gloo has one ring\n", out)
        self.assertIn("\n  not tried: links of more bandwidth or less latency: Gloo's model says what all-reduces take\n", out)
        self.ok("simulate", "scenario.yaml", "--set", "collective.backend=gloo", "--json", "r.json")
        notes = {note["code"]: note["text"] for note in self.read_json("r.json")["notes"]}
        self.assertIn("fitted to 2 processes of one server", notes["gloo-estimated"])
        whole = "process_bandwidth: 2GB/s, reduction_bandwidth: 10GB/s, copy_bandwidth: 12GB/s, step_latency: 100us"
        self.ok("simulate", "scenario.yaml", "--set", f"collective={{backend: gloo, gloo: {{{whole}}}}}", "--json", "r.json")
        self.assertNotIn("gloo-estimated", {note["code"] for note in self.read_json("r.json")["notes"]})

    def test_says_what_it_leaves_out(self):
        out = self.explain()
        self.assertIn("\n  not tried: collective.algorithm tree: no link leads from gpu2 to gpu0\n", out)
        self.assertIn("\n  not tried: gradients as views of their buckets: without physics.pass_bandwidth copies cost nothing\n", out)
        out = self.explain("--set", "strategy=naive")
        self.assertIn("\n  not tried: other bucket caps: the strategy has none\n", out)

    def test_under_nccls_model(self):
        """Wider links are searched for channels again; NCCL's own algorithms are what it is compared with."""
        topology = str(cli.SOURCE_ROOT / "topologies/superpod-h100.yaml")
        settings = ("--set", f"cluster.topology={topology}", "--set", "cluster.world_size=64", "--set", "cluster.gpu=none")
        out = self.explain(*settings, "--json", "r.json")
        times = re.search(r"of (\S+) us of all-reduces (\S+) us would remain without latency, (\S+) us with infinite", out)
        total, no_latency, no_bytes = (float(time) for time in times.groups())
        self.assertAlmostEqual(total, 1e6 * self.read_json("r.json")["communication_s"], places=1)
        self.assertAlmostEqual(no_latency + no_bytes, total, delta=0.2)
        self.assertRegex(out, r"they keep the most loaded link, node\S+ [(]one of \d+ as loaded[)], busy for \S+ us; NCCL's own times bound them all\n")
        self.assertRegex(out, r"collective\.nccl\.algorithm ring\n")
        self.assertNotIn("collective.algorithm", out)
        self.assertIn("(under NCCL's model wider links are searched for channels anew", out)
        self.assertIn(" us would remain without latency (with infinite bandwidth is not tried: NCCL's model knows it of a group alone, in closed form)\n",
                      self.explain(*settings, "--set", "engine.fidelity=lazy"))


class OfVariabilityTest(PhysicsTest):
    def test_the_slowest_rank(self):
        """20 % longer than 30 ms, by a straggler or by a draw."""
        for settings in (["workload.stragglers=[{rank: 1, slowdown: 1.2}]"],
                         ["variability={seed: 1, jitter: none, slow: [{of: ranks, probability: 1, slowdown: 1.2}]}"]):
            done = self.ok("simulate", "scenario.yaml", "--explain", *cli.set_arguments(settings))
            self.assertRegex(done.stdout, r"rank [01] computes 20\.0 % longer than the trace says: 6 ms of that")
        self.assertRegex(done.stdout, r"-6\.000 ms +-12\.5 %  nothing varies")


EVIDENCE = """kind: evidence
name: mine
compute: {measured: {sigma: 0.000001, families: 1}}
network: {table: {sigma: 0.000001, families: 1}, links: {sigma: 0.000001, families: 1}}
choice: {cap: {sigma: 0.000001, families: 1}}
"""


class GpuTest(PhysicsTest):
    """A GPU's description leaves interference open: s = r = 0.1 to 0.65, and the iteration takes 42 + 12 s ms. Without copies."""

    def test_an_interval(self):
        """Interference of 0.29 +- 0.15, not below 0, is all that is in doubt of 42 + 12 s ms: 80 % from s = 0.098 to 0.482."""
        self.write("mine.yaml", EVIDENCE)
        settings = ("--set", f"cluster.gpu={cli.SOURCE_ROOT}/gpus/h100-sxm.yaml", "--set", "physics.passes=none", "--set", "spread=none", "--set", "evidence=mine.yaml")
        done = self.ok("simulate", "scenario.yaml", *settings, "--json", "r.json")
        self.assertRegex(done.stdout, r"46\.5 ms a step \(43\.\d–47\.\d, 80 % sure\)(?s:.)*\nin doubt +interference\n")
        result = self.read_json("r.json")
        self.assertAlmostEqual(result["iteration_s"], 0.0465, places=9)
        self.assertAlmostEqual(result["evidence"]["interval_80_s"][0], 0.0431731, delta=2e-5)
        self.assertAlmostEqual(result["evidence"]["interval_80_s"][1], 0.0477869, delta=2e-5)
        self.assertEqual(result["evidence"]["classes"]["interference"]["families"], 6)
        self.ok("simulate", "scenario.yaml", *settings, "--set", "evidence=none", "--json", "r.json")
        self.assertNotIn("evidence", self.read_json("r.json"))
        self.ok("simulate", "scenario.yaml", *settings, "--set", "physics.interference=0", "--json", "r.json")
        self.assertNotIn("interference", self.read_json("r.json")["evidence"]["classes"])
        self.assertAlmostEqual(self.read_json("r.json")["iteration_s"], 0.042, places=9)

    def test_compute_times_stay_the_traces(self):
        settings = ("--set", f"cluster.gpu={cli.SOURCE_ROOT}/gpus/h100-sxm.yaml")
        for device, said in (("NVIDIA A100-SXM4-40GB", True), ("NVIDIA H100 80GB HBM3", False)):
            self.write("trace.csv", TRACE.replace("# model: test", f"# model: test\n# device: {device}"))
            done = self.ok("simulate", "scenario.yaml", *settings)
            self.assertEqual(f"compute times are those of the trace's device, {device}" in done.stderr, said)

    def test_a_sweep_of_intervals(self):
        """Two all-reduces of 12 ms take 42 + 12 s ms, one of 17 ms after 30 ms 47: best is the one whose time is shorter in a draw. With s = 0.29 +- 0.15 two are
        shorter in Phi((5/12 - 0.29) / 0.15) = 80 % of them, which is just enough not to tell them apart."""
        self.write("mine.yaml", EVIDENCE)
        self.write("table.csv", TABLE.replace("0.024", "0.017"))
        settings = ("--set", f"cluster.gpu={cli.SOURCE_ROOT}/gpus/h100-sxm.yaml", "--set", "physics.passes=none", "--set", "spread=none",
                    "--set", "evidence=mine.yaml", "--set", "sweep.ddp.bucket_cap=[1MiB, 100MiB]")
        done = self.ok("sweep", "scenario.yaml", *settings, "--csv", "s.csv")
        self.assertRegex(done.stdout, r"1 MiB +46\.5 +43\.\d–47\.\d ")
        self.assertRegex(done.stdout, r"Keep the default, 25 MiB .*\nddp\.bucket_cap 1MiB: (80|79) % sure that it is the fastest; it loses 0\.\d % on average")
        rows = list(csv.DictReader(io.StringIO(self.read("s.csv").decode())))
        self.assertAlmostEqual(float(rows[1]["p10_s"]), 0.047, delta=1e-6)
        self.assertAlmostEqual(float(rows[0]["p_best"]), 0.8, delta=0.01)
        self.assertAlmostEqual(float(rows[0]["p_best"]) + float(rows[1]["p_best"]), 1)

    def test_a_topology_may_name_it(self):
        self.write("ring.yaml", cli.RING + f"gpu: {cli.SOURCE_ROOT}/gpus/h100-sxm.yaml\n")
        settings = ("--set", "cluster.topology=ring.yaml", "--set", "physics.passes=none", "--set", "spread=none", "--json", "r.json")
        self.ok("simulate", "scenario.yaml", *settings)
        self.assertAlmostEqual(self.read_json("r.json")["iteration_s"], 0.0465, places=9)
        self.ok("simulate", "scenario.yaml", "--set", "cluster.gpu=none", "--set", "cluster.topology=ring.yaml", "--json", "r.json")
        self.assertAlmostEqual(self.read_json("r.json")["iteration_s"], 0.042, places=9)

    def test_passes_reach_its_bandwidth(self):
        """Four passes over 1 MiB: 2 x 1 MiB / (0.67 x 3.35 TB/s) and 5 us each."""
        self.ok("simulate", "scenario.yaml", "--set", f"cluster.gpu={cli.SOURCE_ROOT}/gpus/h100-sxm.yaml", "--set", "spread=none", "--json", "r.json")
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

    def test_refuses_what_no_run_ever_showed(self):
        self.write("measured.csv", "strategy,iteration_s\nddp,0.06\n")  # 42 + 12 s: 1.5
        arguments = ("calibrate", "--overlap", "scenario.yaml", "--measured", "measured.csv", "--out", "physics.yaml")
        done = self.fails(2, *arguments)
        self.assertIn("interference would have to be 1.5 (compute) and 1.5 (collectives)", done.stderr)
        self.assertIn("an input pipeline", done.stderr)
        self.assertFalse((self.folder / "physics.yaml").exists())
        self.ok(*arguments, "--accept")
        self.assertTrue((self.folder / "physics.yaml").exists())

    CAPS, SIZES = (4, 8, 16, 40, 160), (8, 64)

    def measure(self, sizes, *physics):
        """Rows as a machine with that physics would give, to 0.05 %: of both sizes, or of the first."""
        self.write_scenario(cli.small_trace(60, forward="40ms"), f"sweep: {{cluster.world_size: {list(sizes)}, ddp.bucket_cap: {[f'{cap}MiB' for cap in self.CAPS]}}}\n")
        rows = ["strategy,bucket_cap_bytes,world_size,iteration_s"]
        for k, point in enumerate(self.sweep(sets=physics)["points"]):
            rows.append(f"ddp,{point['bucket_cap_bytes']},{point['world_size']},{point['iteration_s'] * (1 + 5e-4 * (-1) ** k)!r}")
        self.write("measured.csv", "\n".join(rows) + "\n")
        return self.ok("calibrate", "--overlap", "scenario.yaml", "--measured", "measured.csv", "--all-rows", "--out", "physics.yaml").stdout

    def fitted(self):
        text = (self.folder / "physics.yaml").read_text()
        value = lambda key: float(found[1]) if (found := re.search(rf"{key}: ([\d.e-]+)", text)) else None
        return value("compute"), value("launch"), value("spread")

    def test_all_rows_tell_interference_launch_and_spread_apart(self):
        said = self.measure(self.SIZES, "physics={interference: 0.3, launch: 190us}", "spread={ranks: 0.03}")
        compute, launch, spread = self.fitted()
        self.assertAlmostEqual(compute, 0.3, delta=0.03)
        self.assertAlmostEqual(launch, 190, delta=30)
        self.assertAlmostEqual(spread, 0.03, delta=0.004)
        self.assertIn("10 rows, 0.", said)
        # And what is written gives the measured iterations back.
        for point in self.sweep(sets=["physics.calibration=physics.yaml"])["points"]:
            row = next(line for line in self.read("measured.csv").decode().splitlines() if line.startswith(f"ddp,{point['bucket_cap_bytes']},{point['world_size']},"))
            self.assertAlmostEqual(point["iteration_s"] / float(row.rsplit(",", 1)[1]), 1, delta=3e-3)

    def test_a_step_on_one_gpu_says_what_compute_is_off(self):
        """6 % more compute is taken for interference, unless a step without communication is there to say it."""
        off = "workload.rescale={factor: 1.06}"
        self.measure(self.SIZES[:1], "physics={interference: 0.3}", "spread=none", off)
        self.assertGreater(self.fitted()[0], 0.4)
        alone = self.simulate("physics=none", "spread=none", off)
        compute = sum(alone[key] for key in ("forward_s", "backward_compute_s", "optimizer_s"))
        self.write("measured.csv", self.read("measured.csv").decode() + f",,1,{compute!r}\n")
        fit = ("calibrate", "--overlap", "scenario.yaml", "--measured", "measured.csv", "--all-rows", "--out", "physics.yaml")
        self.assertIn("one GPU's step takes 1.0600 of the scenario's compute", self.ok(*fit).stdout)
        self.assertAlmostEqual(self.fitted()[0], 0.3, delta=0.03)
        self.assertIn("compute x 1.0600, by one GPU's step", self.read("physics.yaml").decode())
        self.write("measured.csv", self.read("measured.csv").decode().replace(f",,1,{compute!r}", f",,1,{2 * compute!r}"))
        self.assertIn("a step on one GPU takes", self.fails(2, *fit).stderr)

    def test_all_rows_say_what_they_cannot_tell(self):
        said = self.measure(self.SIZES[:1], "physics={interference: 0.3}", "spread=none")
        compute, launch, spread = self.fitted()
        self.assertAlmostEqual(compute, 0.3, delta=0.03)
        self.assertEqual((launch, spread), (None, None))
        self.assertIn("launch: not fitted: the rows fit about as well without", said)
        self.assertIn("spread: not fitted: all rows have as many GPUs", said)
        self.assertIn("collectives apart from compute: not fitted: fewer than two rows have a tail or a time in flight", said)

    def test_all_rows_refuse_a_fit_that_misses_its_own(self):
        self.measure(self.SIZES[:1], "physics={interference: 0.3}")
        text = self.read("measured.csv").decode().splitlines()
        head, last = text[-1].rsplit(",", 1)
        self.write("measured.csv", "\n".join([*text[:-1], f"{head},{2 * float(last)!r}"]))
        done = self.fails(2, "calibrate", "--overlap", "scenario.yaml", "--measured", "measured.csv", "--all-rows", "--accept")
        self.assertIn("% off its own row", done.stderr)
        self.write("measured.csv", "\n".join(text[:2]))
        done = self.fails(2, "calibrate", "--overlap", "scenario.yaml", "--measured", "measured.csv", "--all-rows")
        self.assertIn("1 row cannot tell interference apart: 2 are needed", done.stderr)

    def test_a_row_that_is_not_there(self):
        self.write("measured.csv", "strategy,iteration_s\nnaive,0.048\n")
        done = self.fails(2, "calibrate", "--overlap", "scenario.yaml", "--measured", "measured.csv")
        self.assertIn("measured.csv has no iteration of strategy ddp", done.stderr)



class ShardingTest(cli.CliTest):
    """Unit sizes, shard groups and ZeRO's buckets: each tried is a simulation of its own, and the best is named with what to set."""

    def setUp(self):
        super().setUp()
        self.write("m.yaml", "workload: {model: gpt2, micro_batch: 4, sequence: 1024, dtype: bf16}\nstrategy: fsdp\n"
                             "cluster: {topology: dgx-h100, world_size: 32, gpu: h100-sxm}\n")

    def explained(self, *sets):
        out = self.ok("simulate", "m.yaml", "--explain", *cli.set_arguments(sets)).stdout
        changes = {m[2]: float(m[1]) for m in re.finditer(r"^ +([+-][0-9.]+) ms +[+-][0-9.]+ %  (.*)$", out, re.M)}
        return out, changes

    def test_units_and_groups(self):
        out, changes = self.explained()
        base = self.simulate(file="m.yaml")["iteration_s"]
        for name, sets in [("units of 4 layers", ["fsdp.unit={layers: 4}"]), ("units of 12 layers", ["fsdp.unit={layers: 12}"]),
                           ("shard group of 16 ranks", ["strategy=hsdp", "fsdp.shard_group=16"]),
                           ("reduce-scatters in bf16", ["fsdp.reduce_dtype=bf16"])]:
            with self.subTest(name):
                other = self.simulate(*sets, file="m.yaml")["iteration_s"]
                self.assertAlmostEqual(changes[name], 1e3 * (other - base), delta=6e-4)
        best = min((ms, name) for name, ms in changes.items() if name.startswith("units of "))
        layers = best[1].split()[2]
        self.assertIn(f"best unit size of 5 tried: --set 'fsdp.unit={{layers: {layers}}}' ({100 * best[0] / base / 1e3:+.1f} %)", out)
        self.assertRegex(out, r"best shard group of 3 tried: --set strategy=hsdp --set fsdp.shard_group=\d+ \(-")

    def test_the_best_one_stays(self):
        """What is set as advised is what is advised."""
        out, _ = self.explained()
        unit = re.search(r"best unit size of 5 tried: --set '(.+?)' \(", out)[1]
        self.assertIn("best unit size of 5 tried: the one in use", self.explained(unit)[0])

    def test_zero(self):
        base = self.simulate("strategy=zero2", file="m.yaml")["iteration_s"]
        _, changes = self.explained("strategy=zero2")
        for key, value in [("overlap_comm", "true"), ("reduce_bucket_size", "5e+07"), ("allgather_bucket_size", "5e+07")]:
            with self.subTest(key):
                other = self.simulate("strategy=zero2", f"zero.{key}={value}", file="m.yaml")["iteration_s"]
                self.assertAlmostEqual(changes[f"zero.{key} {value}"], 1e3 * (other - base), delta=6e-4)
        self.assertIn("zero.prefetch_bucket_size 1e+08", self.explained("strategy=zero3")[1])

class SharedModelTest(cli.CliTest):
    """Models that GPUs share: what a step is lost to, and each change is the scenario with that set, for as many samples."""

    def setUp(self):
        super().setUp()
        self.write("p.yaml", "workload: {model: gpt2, micro_batch: 2, sequence: 1024, dtype: bf16}\nstrategy: megatron\n"
                             "cluster: {topology: dgx-h100, world_size: 16, gpu: h100-sxm}\n"
                             "parallelism: {tensor: 2, pipeline: 4}\nbatch: {global: 32}\n")

    def test_losses_and_changes(self):
        out = self.ok("simulate", "p.yaml", "--explain").stdout
        base = self.simulate(file="p.yaml")
        lost = sum(loss["seconds"] for loss in base["losses"])
        kept = re.search(r"of ([0-9.]+) ms, ([0-9.]+) ms \(", out)
        self.assertAlmostEqual(float(kept[1]), 1e3 * base["iteration_s"], delta=1e-3)
        self.assertAlmostEqual(float(kept[2]), 1e3 * (base["iteration_s"] - lost), delta=1e-3)
        self.assertRegex(out, r"stages of the pipeline that wait for one another: 4 stages, 8 micro-batches")
        changes = {m[2]: float(m[1]) for m in re.finditer(r"^ +([+-][0-9.]+) ms +[+-][0-9.]+ %  (.*)$", out, re.M)}
        for name, sets in [("pipeline.schedule zero_bubble", ["pipeline.schedule=zero_bubble"]),
                           ("pipeline.schedule interleaved, virtual 3", None),
                           ("tensor 1, pipeline 8", None), ("pipeline 2", ["parallelism.pipeline=2"]),
                           ("workload.micro_batch 1", ["workload.micro_batch=1"]), ("parallelism.sequence true", ["parallelism.sequence=true"]),
                           ("strategy ddp", ["strategy=ddp"]), ("workload.recompute full", ["workload.recompute=full"])]:
            with self.subTest(name):
                if sets is None:
                    self.assertNotIn(name, changes)
                    continue
                other = self.simulate(*sets, file="p.yaml")
                self.assertAlmostEqual(other["samples_per_s"] * other["iteration_s"], base["samples_per_s"] * base["iteration_s"])
                self.assertAlmostEqual(changes[name], 1e3 * (other["iteration_s"] - base["iteration_s"]), delta=6e-4)
        self.assertRegex(out, r"not tried: tensor 1, pipeline 8: ")

    def test_for_as_many_samples(self):
        """Without a global batch half as many stages are twice as many copies, which share the same work."""
        self.write("p.yaml", "workload: {model: gpt2, micro_batch: 2, sequence: 1024, dtype: bf16}\nstrategy: megatron\n"
                             "cluster: {topology: dgx-h100, world_size: 16, gpu: h100-sxm}\n"
                             "parallelism: {tensor: 2, pipeline: 4}\nddp: {accumulation_steps: 8}\n")
        out = self.ok("simulate", "p.yaml", "--explain").stdout
        base, other = self.simulate(file="p.yaml"), self.simulate("parallelism.pipeline=2", file="p.yaml")
        saved = float(re.search(r"^ +([+-][0-9.]+) ms +[+-][0-9.]+ %  pipeline 2$", out, re.M)[1])
        self.assertAlmostEqual(saved, 1e3 * base["iteration_s"] * (base["samples_per_s"] / other["samples_per_s"] - 1), delta=6e-4)


if __name__ == "__main__":
    cli.main()
