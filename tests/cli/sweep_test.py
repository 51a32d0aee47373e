#!/usr/bin/env python3
"""`ddpsim sweep`: points, the best of them, axes and their replacement, the exact optimum, the same bytes every time."""
import csv
import io
import itertools
import json
import re
import xml.etree.ElementTree

import ddpsim_cli as cli


def key_of(point, axes):
    return tuple(point["axes"][axis] for axis in axes)


class SweepTest(cli.CliTest):
    def test_draws_are_simulations(self):
        """The same for any number of workers, and near what curves say; odds and PyTorch's default are of as many draws."""
        self.write("caps.yaml", f"workload: {{trace: {cli.SOURCE_ROOT}/traces/gpt2-large-a100-bs4.csv}}\ncluster: {{topology: p4d, world_size: 64}}\n"
                                "sweep: {ddp.bucket_cap: [50MiB, 200MiB, 800MiB]}\n")
        curves = json.loads(self.ok("sweep", "caps.yaml", "--json", "-").stdout)["points"]
        found = [json.loads(self.ok("sweep", "caps.yaml", "--draws", "256", "--jobs", jobs, "--json", "-").stdout) for jobs in ("1", "3")]
        self.assertEqual(found[0], found[1])
        for point, other in zip(found[0]["points"], curves, strict=True):
            self.assertEqual((point["evidence"]["draws"], point["iteration_s"]), (256, other["iteration_s"]))
            for end, expected in zip(point["evidence"]["interval_80_s"], other["evidence"]["interval_80_s"]):
                self.assertAlmostEqual(end / expected, 1, delta=0.04)
            self.assertAlmostEqual(point["p_best"], other["p_best"], delta=0.15)
        self.assertIn("p_best", found[0]["bucket_caps"][0]["default"])

    def test_draws_of_nothing_are_refused(self):
        for command in ("simulate", "sweep"):
            self.assertIn("--draws draws what is in doubt", self.fails(2, command, "quickstart", "--draws", "16", "--set", "evidence=none").stderr)
            self.assertIn("not in range 16 to 4096", self.fails(2, command, "quickstart", "--draws", "5000").stderr)
        self.assertIn("leave one of them out", self.fails(2, "sweep", "quickstart", "--draws", "16", "--results", "r.jsonl").stderr)

    def test_quickstart(self):
        """The scenario's 30 caps from 1 MiB to 1 GiB: a row each, and one of them is the best."""
        self.link_data()
        done = self.ok("sweep", "configs/quickstart.yaml", "--json", "out.json", "--csv", "out.csv")
        table, footer = done.stdout.rstrip("\n").split("\n\n")
        caps = [re.match(r"[▶≈ ] +(.*iB)  ", line)[1] for line in table.splitlines()[1:]]
        self.assertIn("default, 25 MiB", caps)
        self.assertLess(len(caps), 25)  # caps that make the same buckets are one row
        self.assertEqual([line[0] for line in table.splitlines()].count("▶"), 1)
        best, odds, sure, usual, caps, use = footer.splitlines()
        self.assertRegex(best, r"^Worth 2\.\d %: bucket_cap_mb=\d+\. 1\.4\d+ s \(1\.4\d+–1\.\d+, 80 % sure\) against 1\.5\d+ s with PyTorch's 25 MiB \(first 1 MiB\)\.$")
        self.assertRegex(odds, r"^ddp\.bucket_cap \d+B \([\d.]+ MiB\): \d+ % sure that it is the fastest; it loses \d\.\d % on average; not told apart: [\d.]+ MiB(, [\d.]+ MiB)*( and \d+ more)?$")
        self.assertRegex(sure, r"^in doubt: .*EFA, such collectives took 1\.3 times as long")
        self.assertRegex(usual, r"^PyTorch's default: \d\d % sure that it takes longer, \d\.\d % on average$")
        self.assertRegex(caps, r"^swept caps within 0\.5 % of the best: [\d.]+ MiB(, [\d.]+ MiB)+$")
        # A round number of MiB, and the buckets of the best point.
        cap = re.search(r"bucket_cap_mb=(\d+)\)", use)[1]
        self.ok("simulate", "configs/quickstart.yaml", "--set", f"ddp.bucket_cap={cap}MiB", "--json", "one.json")
        self.assertEqual(self.read_json("one.json")["iteration_s"], self.read_json("out.json")["best"]["iteration_s"])
        result = self.read_json("out.json")
        self.assertEqual(len(result["points"]), 30)
        caps = [point["bucket_cap_bytes"] for point in result["points"]]
        self.assertEqual((caps[0], caps[-1]), (2**20, 2**30))
        self.assertEqual(caps, sorted(set(caps)))
        self.check_best(result)
        rows = self.read_csv("out.csv")
        self.assertEqual([row["best"] for row in rows].count("1"), 1)
        best_row = next(row for row in rows if row["best"] == "1")
        self.assertEqual(float(best_row["iteration_s"]), result["best"]["iteration_s"])
        self.assertEqual(set(list(rows[0])) - set(cli.POINT_KEYS), {"best", "p10_s", "p25_s", "p75_s", "p90_s", "p_best", "regret"})

    def test_the_textbook_ring(self):
        """As it was before anything but waiting was known: 1.3812 s at 119.1 MiB, 2151.354 ms with PyTorch's default."""
        self.link_data()
        done = self.ok("sweep", "configs/ring-1024.yaml", "--set", "physics=none", "--set", "evidence=none", "--csv", "out.csv")
        self.assertEqual(done.stdout.rstrip("\n").split("\n\n")[1],
                         "Worth 36 %: bucket_cap_mb=125. 1.381 s against 2.15 s with PyTorch's 25 MiB (first 1 MiB).\n"
                         "swept caps within 0.5 % of the best: 93.81 MiB, 119.1 MiB\n"
                         "use it: DistributedDataParallel(model, bucket_cap_mb=125)")
        self.assertEqual(done.stderr, "")
        self.assertEqual(list(self.read_csv("out.csv")[0]), cli.POINT_KEYS + ["best"])

    def check_best(self, result):
        points = result["points"]
        self.assertIn(result["best"], points)
        if "regret" in points[0]:
            least = min(point["regret"] for point in points)
            self.assertAlmostEqual(result["best"]["regret"], least)
            self.assertAlmostEqual(sum(point["p_best"] for point in points), 1)
            return
        shortest = min(point["iteration_s"] for point in points)
        self.assertAlmostEqual(result["best"]["iteration_s"] / shortest, 1, delta=1e-12)
        equals = [p["bucket_cap_bytes"] for p in points if p["iteration_s"] <= shortest * (1 + 1e-12)]
        if None not in equals:  # among equals the default cap, then the smallest
            self.assertEqual(result["best"]["bucket_cap_bytes"], 25 * cli.MIB if 25 * cli.MIB in equals else min(equals))

    def test_json_has_the_keys_of_the_contract_in_their_order(self):
        self.write_scenario(more="sweep: {ddp.bucket_cap: [4MiB, 16MiB]}")
        result = self.sweep(sets=["cluster.world_size=16"])
        self.assertEqual(list(result), ["scenario", "points", "best", "best_by_group", "bucket_caps", "verdict", "notes", "tool"])
        self.assertEqual(result["scenario"], {"file": "scenario.yaml", "set": ["cluster.world_size=16"],
                                              "axes": {"ddp.bucket_cap": ["4MiB", "16MiB"]}})
        for point in result["points"]:
            self.assertEqual(list(point), ["axes"] + cli.JSON_KEYS)
            self.assertAlmostEqual(sum(point[term] for term in cli.TERMS), point["iteration_s"], delta=1e-12)

    def test_the_default_cap_is_beside_the_best_one(self):
        self.write_scenario(more="sweep: {ddp.bucket_cap: [4MiB, 16MiB], cluster.world_size: [8, 64]}")
        caps = self.sweep()["bucket_caps"]
        self.assertEqual([one["axes"]["cluster.world_size"] for one in caps], ["8", "64"])
        for one in caps:
            self.ok("simulate", "scenario.yaml", "--set", f"cluster.world_size={one['axes']['cluster.world_size']}", "--json", "usual.json")
            self.assertEqual(one["default"]["iteration_s"], self.read_json("usual.json")["iteration_s"])
            self.assertEqual(one["default"]["as_good"], one["default"]["iteration_s"] <= 1.005 * one["iteration_s"])
            self.assertEqual(one["bucket_cap_mb"] * 2**20, one["bucket_cap_bytes"])

    def test_markdown_tables_have_as_many_cells_in_every_row(self):
        self.write_scenario(more="sweep: {ddp.bucket_cap: [4MiB, 16MiB], strategy: [ddp, flat]}")
        for arguments in (["sweep"], ["scale", "--gpus", "8:64"]):
            lines = self.ok(arguments[0], "scenario.yaml", *arguments[1:], "--markdown").stdout.split("\n")
            tables = [list(rows) for is_row, rows in itertools.groupby(lines, lambda line: line.startswith("|")) if is_row]
            self.assertTrue(tables)
            for table in tables:
                self.assertGreater(len(table), 2)
                self.assertEqual(len({row.count("|") for row in table}), 1, table)
                self.assertRegex(table[1], r"^(\|-+:)+\|$")

    def test_measured_iterations_stand_beside_the_predictions(self):
        self.write_scenario(more="sweep: {ddp.bucket_cap: [4MiB, 16MiB]}\nvalidation: {measured: measured.csv}")
        self.write("measured.csv", "bucket_cap_bytes,iteration_s,iteration_std_s\n4194304,0.1,0.01\n")
        first, second = self.sweep("--csv", "out.csv")["points"]
        keys = ["measured_iteration_s", "measured_iteration_std_s", "relative_error"]
        self.assertEqual(list(first), ["axes"] + cli.JSON_KEYS + keys)
        self.assertEqual((first["measured_iteration_s"], first["measured_iteration_std_s"]), (0.1, 0.01))
        self.assertAlmostEqual(first["relative_error"], first["iteration_s"] / 0.1 - 1, delta=1e-12)
        self.assertEqual(list(second), ["axes"] + cli.JSON_KEYS)
        self.assertEqual(list(self.read_csv("out.csv")[0]), cli.POINT_KEYS + ["best"] + keys)

    def test_axes_multiply_and_caps_vary_fastest(self):
        self.write_scenario(more="sweep:\n  ddp.bucket_cap: [4MiB, 16MiB]\n  strategy: [flat, ddp]\n  cluster.world_size: [8, 64]")
        result = self.sweep("--csv", "out.csv")
        axes = ["strategy", "cluster.world_size", "ddp.bucket_cap"]
        expected = [("flat", "8", "-"), ("flat", "64", "-")]  # flat has no cap: one row
        expected += [("ddp", world, cap) for world, cap in itertools.product(["8", "64"], ["4MiB", "16MiB"])]
        self.assertEqual([key_of(point, axes) for point in result["points"]], expected)
        for point in result["points"]:
            self.assertEqual((point["strategy"], str(point["world_size"])), key_of(point, axes)[:2])
        self.check_best(result)
        # One best a group: the points that agree on all but the cap.
        groups = {}
        for point in result["points"]:
            groups.setdefault(key_of(point, axes)[:2], []).append(point)
        self.assertEqual([key_of(point, axes)[:2] for point in result["best_by_group"]], list(groups))
        for best, group in zip(result["best_by_group"], groups.values()):
            self.assertIn(best, group)
            self.assertEqual(best["iteration_s"], min(point["iteration_s"] for point in group))
        self.assertEqual([row["best"] for row in self.read_csv("out.csv")].count("1"), len(groups))

    def test_an_axis_that_no_result_key_names_gets_a_column(self):
        self.write_scenario(more="sweep: {ddp.accumulation_steps: [1, 2, 4]}")
        self.sweep("--csv", "out.csv")
        self.assertEqual([row["ddp.accumulation_steps"] for row in self.read_csv("out.csv")], ["1", "2", "4"])

    def test_axes_of_lists(self):
        """Overrides and stragglers as axes, `[]` for none: each point is what simulate says of it, in every kind of output."""
        overrides = ["[]", "[{link: gpu3>gpu4, bandwidth: 1GB/s}]"]
        stragglers = ["[]", "[{rank: 3, slowdown: 1.2}]", "[{rank: 3, slowdown: 1.2}, {rank: 5, slowdown: 1.4}]"]
        self.write_scenario(more=f"physics: none\nsweep:\n  cluster.overrides: [{', '.join(overrides)}]\n"
                                 f"  workload.stragglers: [{', '.join(stragglers)}]")
        points = self.sweep("--csv", "out.csv", "--html", "out.html", "--plot", "out.svg")["points"]
        axes = ["cluster.overrides", "workload.stragglers"]
        self.assertEqual([key_of(point, axes) for point in points], list(itertools.product(overrides, stragglers)))
        self.assertEqual([key_of({"axes": row}, axes) for row in self.read_csv("out.csv")], list(itertools.product(overrides, stragglers)))
        self.assertIn(stragglers[2], self.read("out.html").decode())
        for point in points:
            sets = [text for axis in axes for text in ("--set", f"{axis}={point['axes'][axis]}")]
            one = json.loads(self.ok("simulate", "scenario.yaml", *sets, "--json", "-").stdout)
            for key in ("iteration_s", "backward_compute_s", "exposed_communication_s", "algbw_Bps"):
                self.assertEqual(point[key], one[key], f"{point['axes']}: {key}")
        self.assertEqual(len({point["iteration_s"] for point in points}), 6)

    def test_an_axis_of_a_section(self):
        """Settings that belong together, as one axis."""
        self.write_scenario(more="physics: none\nsweep:\n  ddp: [{bucket_cap: 4MiB}, {bucket_cap: 25MiB, comm_hook: fp16}]")
        points = self.sweep()["points"]
        self.assertEqual([point["bucket_cap_bytes"] for point in points], [4 * cli.MIB, 25 * cli.MIB])
        self.assertEqual(points[1]["axes"], {"ddp": "{bucket_cap: 25MiB, comm_hook: fp16}"})

    def test_an_impossible_combination_is_a_row_with_its_error(self):
        """Rank 7 computes twice as long: among 4 there is none. '3' is no size of a bucket, whatever the strategy. In the order of the axes, and no other point
        changes for it."""
        self.write_scenario(more="sweep: {cluster.world_size: [4, 8], strategy: [naive, ddp], ddp.bucket_cap: [1MiB, 25MiB, 3]}\n")
        self.write("scenario.yaml", self.read("scenario.yaml").decode().replace("trace.csv", "trace.csv, stragglers: [{rank: 7, slowdown: 2}]"))
        done = self.ok("sweep", "scenario.yaml", "--json", "out.json", "--csv", "out.csv", "--markdown")
        of_4, of_3 = "there is no rank 7 among 4", "'3' has no unit"
        rows = [(row["world_size"], row["strategy"], row["bucket_cap_bytes"], row["iteration_s"] != "", row["best"], row["error"])
                for row in self.read_csv("out.csv")]
        self.assertEqual(rows, [("4", "naive", "1MiB", False, "", of_4), ("4", "naive", "25MiB", False, "", of_4), ("4", "naive", "3", False, "", of_3),
                                ("4", "ddp", "1MiB", False, "", of_4), ("4", "ddp", "25MiB", False, "", of_4), ("4", "ddp", "3", False, "", of_3),
                                ("8", "naive", "", True, "1", ""), ("8", "naive", "3", False, "", of_3),
                                ("8", "ddp", str(2**20), True, "1", ""), ("8", "ddp", str(25 * 2**20), True, "0", ""), ("8", "ddp", "3", False, "", of_3)])
        table = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.split("\n\n")[0].splitlines()]
        self.assertEqual([row[3] != "" for row in table[2:]], [row[3] for row in rows])
        self.assertEqual({len(row) for row in table}, {len(table[0])})
        self.assertIn("\n8 of 11 points could not be simulated; best is among the rest\n"
                      "- 4, naive, 1MiB: there is no rank 7 among 4: the last rank is 3\n- 4, naive, 3: '3' has no unit: write", done.stdout)
        result = self.read_json("out.json")
        self.assertEqual(len(result["points"]), 3)
        self.assertEqual([point["error"] for point in result["failed_points"] if point["axes"]["strategy"] == "ddp"][0],
                         "scenario.yaml:1:43: error: there is no rank 7 among 4\n"
                         "  1 | workload: {trace: trace.csv, stragglers: [{rank: 7, slowdown: 2}]}\n"
                         "    |                                           ^\nhint: the last rank is 3")
        self.assertEqual({point["failed"] for point in result["failed_points"]}, {"input"})
        self.ok("sweep", "scenario.yaml", "--json", "few.json", *cli.set_arguments(["sweep.cluster.world_size=[8]", "sweep.ddp.bucket_cap=[1MiB, 25MiB]"]))
        self.assertEqual(self.read_json("few.json")["points"], result["points"])

    def test_gpus_that_do_not_split_as_a_point_says(self):
        """12 GPUs of a node of 8: 3 data-parallel ranks have no equal part of 64 samples, and no 8 shares of a layer are 12."""
        self.link_data()
        self.ok("sweep", "configs/tensor-parallel-7b.yaml", *cli.set_arguments(["sweep.cluster.world_size=[8, 12, 16]", "sweep.parallelism.tensor=[4, 8]"]), "--csv", "out.csv")
        rows = {(row["parallelism.tensor"], row["world_size"]): row["error"] for row in self.read_csv("out.csv")}
        self.assertEqual(rows.pop(("4", "12")), "a batch of 64 samples cannot be split into micro-batches of 1 on 3 data-parallel ranks")
        self.assertEqual(rows.pop(("8", "12")), "12 GPUs are not a multiple of 8 x 1 (tensor x pipeline)")
        self.assertEqual(set(rows.values()), {""})
        self.assertEqual(len(rows), 4)

    def test_an_axis_over_the_ring_and_a_measured_table(self):
        self.write_scenario(more="collective: {measured: allreduce.csv}\nsweep: {collective.algorithm: [ring, measured]}")
        self.write("allreduce.csv", "# ddpsim-allreduce: 1\n# world_size: 8\nbytes,time_s\n1024,0.0001\n104857600,0.01\n")
        points = self.sweep()["points"]
        self.assertEqual([(p["algorithm"], p["fidelity"]) for p in points], [("ring", "closed_form"), ("measured", "closed_form")])

    def test_set_replaces_a_key_and_its_axis(self):
        self.write_scenario(more="sweep:\n  ddp.bucket_cap: [4MiB, 16MiB]\n  cluster.world_size: [8, 64]")
        result = self.sweep(sets=["cluster.world_size=16"])
        self.assertEqual([point["world_size"] for point in result["points"]], [16, 16])
        self.assertEqual(list(result["scenario"]["axes"]), ["ddp.bucket_cap"])
        result = self.sweep(sets=["sweep.cluster.world_size=[4]"])  # the axis itself
        self.assertEqual([point["world_size"] for point in result["points"]], [4, 4])
        result = self.sweep(sets=["strategy=naive"])  # no axis: both stay, but naive has no cap
        self.assertEqual([point["world_size"] for point in result["points"]], [8, 64])

    def test_keys_of_other_strategies_make_no_points(self):
        """Of each strategy with as many points as its own keys make, each what simulate says."""
        self.write("own.yaml", "workload: {model: gpt2, micro_batch: 1, sequence: 1024}\ncluster: {topology: dgx-a100, world_size: 16}\n"
                               "sweep: {strategy: [fsdp, hsdp, zero2, ddp], fsdp.unit: ['{layers: 1}', '{layers: 4}'], fsdp.shard_group: [8, 16]}\n".replace("'", ""))
        self.ok("sweep", "own.yaml", "--json", "out.json", "--csv", "out.csv", "--html", "out.html", "--plot", "out.svg", "--quiet")
        points = self.read_json("out.json")["points"]
        self.assertEqual([tuple(point["axes"].values()) for point in points],
                         [("fsdp", "{layers: 1}", "-"), ("fsdp", "{layers: 4}", "-"), *itertools.product(["hsdp"], ["{layers: 1}", "{layers: 4}"], ["8", "16"]),
                          ("zero2", "-", "-"), ("ddp", "-", "-")])
        for point in points:
            sets = cli.set_arguments([f"{axis}={value}" for axis, value in point["axes"].items() if value != "-"])
            one = json.loads(self.ok("simulate", "own.yaml", *sets, "--set", "sweep={}", "--json", "-").stdout)
            self.assertEqual(point["iteration_s"], one["iteration_s"], point["axes"])

    def test_the_same_job_in_other_words_is_one_point(self):
        self.write_scenario(more="sweep: {physics: [{launch: 1us}, {first_start: 0s, launch: 1us}, {launch: 1ms}], ddp.bucket_cap: [25MiB, 1MiB, 26214400B, 25600KiB]}")
        self.assertEqual([tuple(point["axes"].values()) for point in self.sweep()["points"]],
                         list(itertools.product(["{launch: 1us}", "{launch: 1ms}"], ["25MiB", "1MiB"])))

    def test_the_best_of_equals_has_the_default_cap_or_the_smallest(self):
        self.write_scenario(cli.trace_text([("weight", cli.MIB, 0.01)]), "sweep: {ddp.bucket_cap: [1GiB, 1MiB, 25MiB]}")
        self.assertEqual(self.sweep()["best"]["axes"]["ddp.bucket_cap"], "25MiB")
        self.assertEqual(self.sweep(sets=["sweep.ddp.bucket_cap=[1GiB, 1MiB]"])["best"]["axes"]["ddp.bucket_cap"], "1MiB")

    def test_each_point_is_what_simulate_says(self):
        """Also where caps give the same buckets, which are simulated once."""
        self.write_scenario(cli.gpt2_small_trace(), "sweep: {ddp.bucket_cap: [1MiB, 25MiB, 25.001MiB, 25.002MiB, 100MiB]}", world_size=64)
        points = self.sweep()["points"]
        self.assertEqual(points[1]["iteration_s"], points[2]["iteration_s"])
        for point in points:
            cap = point["axes"]["ddp.bucket_cap"]
            one = json.loads(self.ok("simulate", "scenario.yaml", "--set", f"ddp.bucket_cap={cap}", "--json", "-").stdout)
            for key in ("bucket_cap_bytes", "n_buckets", "iteration_s", "exposed_communication_s", "algbw_Bps", "simulated_flows"):
                self.assertEqual(point[key], one[key], f"{cap}: {key}")

    def test_nothing_else_on_standard_output(self):
        self.write_scenario(more="physics: none\nsweep: {ddp.bucket_cap: [4MiB, 16MiB]}")
        for quiet in ([], ["--quiet"]):
            done = self.ok("sweep", "scenario.yaml", "--json", "-", *quiet)
            self.assertEqual(len(json.loads(done.stdout)["points"]), 2)
            done = self.ok("sweep", "scenario.yaml", "--csv", "-", *quiet)
            self.assertEqual(len(list(csv.DictReader(io.StringIO(done.stdout)))), 2)
            self.assertEqual(done.stderr, "")
        quiet = self.ok("sweep", "scenario.yaml", "--quiet")
        self.assertEqual((quiet.stdout, quiet.stderr), ("", ""))


class WorkTest(cli.CliTest):
    """Iterations that do different amounts of work are not compared by how long they take."""

    def footer(self, *sets):
        self.link_data()
        done = self.ok("sweep", "configs/ring-1024.yaml", "--set", "physics=none", "--set", "sweep={}", *(f"--set={one}" for one in sets))
        return done.stdout.rstrip("\n").split("\n\n")[-1].splitlines()

    def test_accumulation(self):
        """4 x 4 samples of 1024 GPUs take longer than 4, and hide more: the step is longer, and so is what it does in a second."""
        extent, most = self.footer("sweep.ddp.accumulation_steps=[1, 4]", "ddp.bucket_cap=25MiB")
        self.assertRegex(extent, r"^iteration: .* \(ddp.accumulation_steps 1\) to .* \(ddp.accumulation_steps 4\)$")
        self.assertRegex(most, r"^iterations do different amounts of work; most samples a second: ddp.accumulation_steps 4 \(\d+\.?\d*\)$")

    def test_beside_a_choice(self):
        lines = self.footer("sweep.ddp.accumulation_steps=[1, 4]", "sweep.strategy=[naive, flat]")
        self.assertTrue(lines[0].startswith("best everywhere: strategy flat"), lines)
        self.assertIn("most samples a second: ddp.accumulation_steps 4, strategy flat (", lines[1])

    def test_micro_batches(self):
        """Of one global batch they are a choice; else they are different amounts of work."""
        self.write("own.yaml", "workload: {model: gpt2, sequence: 1024}\ncluster: {topology: dgx-a100, world_size: 8}\nsweep: {workload.micro_batch: [1, 4]}\n")
        verdict = self.ok("sweep", "own.yaml", "--set", "batch.global=64").stdout.rstrip("\n").split("\n\n")[-1]
        self.assertTrue(verdict.startswith("best: workload.micro_batch 4, "), verdict)
        verdict = self.ok("sweep", "own.yaml").stdout.rstrip("\n").split("\n\n")[-1].splitlines()
        self.assertTrue(verdict[0].startswith("iteration: "), verdict)
        self.assertIn("most samples a second: workload.micro_batch 4 (", verdict[1])

    def test_the_same_work(self):
        self.assertTrue(self.footer("sweep.strategy=[naive, flat]")[0].startswith("best: strategy flat, "))


class ExactOptimumTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write_scenario(cli.gpt2_small_trace(), "sweep: {ddp.bucket_cap: [25MiB]}", world_size=64)

    def test_no_grid_is_better(self):
        exact = self.sweep("--exact-optimum")["best"]["iteration_s"]
        for spacing, end in (("log", "1GiB"), ("linear", "200MiB")):
            grid = self.sweep(sets=[f"sweep.ddp.bucket_cap={{from: 1B, to: {end}, points: 60, spacing: {spacing}}}"])
            for point in grid["points"]:
                self.assertLessEqual(exact, point["iteration_s"] * (1 + 1e-12), point["axes"])

    def test_its_cap_gives_its_iteration(self):
        best = self.sweep("--exact-optimum")["best"]
        again = self.simulate(f"ddp.bucket_cap={best['bucket_cap_bytes']}B")
        self.assertEqual(again["iteration_s"], best["iteration_s"])
        self.assertEqual(again["n_buckets"], best["n_buckets"])

    def test_group_by_group(self):
        result = self.sweep("--exact-optimum", sets=["sweep.cluster.world_size=[8, 64]"])
        self.assertEqual([point["world_size"] for point in result["best_by_group"]], [8, 64])

    def test_needs_no_axis(self):
        self.write_scenario()
        self.assertGreater(len(self.sweep("--exact-optimum")["points"]), 1)

    def test_every_assignment_once(self):
        """Of n equal gradients, with k of them a bucket: one assignment for each k from 1 to n."""
        self.write_scenario(cli.small_trace(25), more="ddp: {first_bucket_cap: 1B}\n")
        points = self.sweep("--exact-optimum")["points"]
        # The first bucket is one gradient; the other 24 are buckets of 1 to 24.
        self.assertEqual([point["n_buckets"] for point in points], [1 + -(-24 // k) for k in range(1, 25)])

    def test_as_many_points_as_any_sweep_may_have(self):
        sizes = ", ".join(str(n) for n in range(2, 2603))
        self.write_scenario(cli.small_trace(40), more=f"ddp: {{first_bucket_cap: 1B}}\nsweep: {{cluster.world_size: [{sizes}]}}\n")
        self.assertEqual(self.fails(2, "sweep", "scenario.yaml", "--exact-optimum").stderr,
                         "error: --exact-optimum finds more than 100000 bucket assignments to try\n"
                         "hint: sweep over a list of ddp.bucket_cap instead, or over fewer values of the other axes\n")


class DeterminismTest(cli.CliTest):
    OUTPUTS = ("json", "csv", "svg")

    def outputs(self, name, jobs):
        paths = {kind: f"{name}.{kind}" for kind in self.OUTPUTS}
        done = self.ok("sweep", "scenario.yaml", "--jobs", str(jobs), "--json", paths["json"], "--csv", paths["csv"],
                       "--plot", paths["svg"])
        return {"stdout": done.stdout.encode(), **{kind: self.read(path) for kind, path in paths.items()}}

    def test_the_same_bytes_for_any_number_of_workers_and_every_time(self):
        trace = cli.small_trace(forward="30ms", batch_size=4)
        self.write_scenario(trace, "sweep:\n  strategy: [naive, ddp]\n  ddp.bucket_cap: {from: 1MiB, to: 1GiB, points: 10, spacing: log}\n"
                            "engine: {fidelity: exact}")
        first = self.outputs("first", 1)
        xml.etree.ElementTree.fromstring(first["svg"])
        for name, jobs in (("again", 1), ("four", 4), ("sixteen", 16)):
            for kind, text in self.outputs(name, jobs).items():
                self.assertEqual(text, first[kind], f"{kind} differs with --jobs {jobs}")

    def test_the_same_bytes_from_simulate(self):
        self.write_scenario(cli.small_trace(forward="30ms"))
        texts = set()
        for name in ("first", "second"):
            done = self.ok("simulate", "scenario.yaml", "--set", "engine.fidelity=exact", "--json", f"{name}.json",
                           "--csv", f"{name}.csv", "--timeline", f"{name}.trace")
            texts.add((done.stdout, *(self.read(f"{name}.{kind}") for kind in ("json", "csv", "trace"))))
        self.assertEqual(len(texts), 1)


class ConfigsTest(cli.CliTest):
    """The scenarios of configs/ run as they are."""

    def setUp(self):
        super().setUp()
        self.link_data()

    def test_every_config_runs(self):
        configs = sorted(path.name for path in (self.folder / "configs").glob("*.yaml"))
        self.assertIn("quickstart.yaml", configs)
        for config in configs:
            with self.subTest(config):
                command = "sweep" if b"\nsweep:" in self.read(f"configs/{config}") else "simulate"
                self.ok(command, f"configs/{config}", "--json", "out.json", "--csv", "out.csv")
                self.check_network(command, config)

    def check_network(self, command, config):
        """Where nobody shares a link nothing is simulated, and simulation would give the same."""
        def points():
            result = self.read_json("out.json")
            return result.get("points", [result])

        alone = points()
        for point in alone:
            self.assertEqual(point["network"], "alone" if point["fidelity"] == "closed_form" else "builtin")
            if "stages" not in point.get("parallelism", {}):    # axes share links there, and may never meet
                self.assertEqual(point["simulated_flows"] == 0, point["network"] == "alone")
        if {point["network"] for point in alone} != {"alone"} or alone[0]["algorithm"] in ("measured", "gloo"):
            return
        self.ok(command, f"configs/{config}", "--json", "out.json", "--set", "engine.fidelity=lazy", timeout=900)    # with sanitizers, on a busy machine
        for point, simulated in zip(alone, points(), strict=True):
            self.assertEqual(simulated["network"], "builtin")
            self.assertAlmostEqual(simulated["iteration_s"] / point["iteration_s"], 1, delta=1e-12)

    def test_gpt2_large_on_8_a100(self):
        done = self.ok("sweep", "configs/gpt2-large-8xa100.yaml", "--json", "out.json")
        result = self.read_json("out.json")
        self.assertEqual(len(result["points"]), 37)
        self.assertEqual({(p["algorithm"], p["fidelity"], p["world_size"]) for p in result["points"]},
                         {("measured", "closed_form", 8)})
        # The table's times fall where a larger message was faster: two of those points, as the file has them.
        self.assertRegex(done.stderr, r"^note: \d+ of 19 measured all-reduce times fall with size")
        self.assertIn("17.479 ms", done.stderr)

    def test_strategies_on_2_gpus(self):
        result = self.sweep(file="configs/strategies-2gpu.yaml")
        times = {point["strategy"]: point["iteration_s"] for point in result["points"]}
        self.assertEqual(list(times), ["naive", "flat", "overlap", "ddp"])
        # After backward nothing is hidden; one all-reduce of everything has the fewest latencies.
        self.assertEqual(max(times, key=times.get), "naive")
        self.assertLess(times["ddp"], times["flat"])
        self.assertEqual([p["n_buckets"] for p in result["points"]][:3], [436, 1, 436])  # the trace's gradients


class ScaleTest(cli.CliTest):
    """collective.scale: what if collectives had another latency, another bandwidth?"""

    def communication(self, config, *settings):
        self.ok("simulate", config, "--quiet", "--json", "r.json", *(f"--set={setting}" for setting in settings))
        return self.read_json("r.json")["communication_s"]

    def test_a_ring_by_hand(self):
        """109 buckets over a ring of 1024: 2 x 1023 hops of 5 us each are the latency, and 2 x 1023 / 1024 of the bytes at 12.5 GB/s the rest."""
        self.link_data()
        settings = ("physics=none", "ddp.bucket_cap=25MiB")
        latency = 109 * 2 * 1023 * 5e-6
        usual = self.communication("configs/ring-1024.yaml", *settings)
        for times, rate in ((0, 1), (2, 1), (1, 0.5), (3, 4)):
            scaled = self.communication("configs/ring-1024.yaml", *settings, f"collective.scale={{latency: {times}, bandwidth: {rate}}}")
            self.assertAlmostEqual(scaled, times * latency + (usual - latency) / rate, delta=1e-9 * scaled)

    def test_whoever_says_what_they_take(self):
        """NCCL's model, a measured table and a sharded strategy: latency and what grows with size add up, and nothing changes at 1 and 1."""
        self.link_data()
        for config, settings in (("configs/gpt2-xl-1024xh100.yaml", ["cluster.world_size=64"]), ("configs/gpt2-large-8xa100.yaml", []), ("configs/llama-2-7b-64xh100.yaml", [])):
            with self.subTest(config):
                def of(scale):
                    return self.communication(config, "physics=none", *settings, *scale)
                usual = of([])
                self.assertEqual(of(["collective.scale={latency: 1, bandwidth: 1}"]), usual)
                latency = of(["collective.scale.latency=2"]) - usual
                self.assertGreater(latency, 0)
                self.assertAlmostEqual(of(["collective.scale.latency=0"]), usual - latency, delta=1e-9)
                self.assertAlmostEqual(of(["collective.scale={latency: 3, bandwidth: 2}"]), 3 * latency + (usual - latency) / 2, delta=1e-9)

    def test_an_axis_is_no_choice(self):
        self.link_data()
        done = self.ok("sweep", "configs/ring-1024.yaml", "--set", "sweep.ddp.bucket_cap=[25MiB, 100MiB]", "--set", "sweep.collective.scale.latency=[0, 1]")
        best = [line.split()[1:3] for line in done.stdout.splitlines() if line.startswith("▶")]
        self.assertEqual(best, [["0", "25"], ["1", "100"]])
        self.assertNotIn("\nbest: ", done.stdout)


class FormulaTest(cli.CliTest):
    """The textbook's b*, beside the simulation (--formula)."""

    def test_by_hand(self):
        """Ten gradients of 1 MB every 10 ms; two GPUs whose all-reduces take 2 x 1 ms and bytes / (1 GB/s): A = 2 ms, W = 1 GB/s. B = 10 MB,
        G = 100 ms: b* = min(10 MB sqrt(0.02) = 1.414 MB, 2 ms 10 MB / (100 - 10) ms = 222,222 B)."""
        rows = "".join(f"g{i},250000,float32,{0.01 * (i + 1)}\n" for i in range(10))
        self.write_scenario("# ddpsim-trace: 1\n# model: t\ngradient,elements,dtype,ready_s\n" + rows, world_size=2,
                            topology="kind: ring\nlink: {bandwidth: 1GB/s, latency: 1ms}\n")
        done = self.ok("sweep", "scenario.yaml", "--formula", "--json", "r.json", "--plot", "p.svg", "--set", "physics=none", "--set",
                       "sweep.ddp.bucket_cap=[0.5MB, 1MB, 2MB, 5MB]", "--set", "ddp.torch=2.6")
        formula, = self.read_json("r.json")["formulas"]
        self.assertAlmostEqual(formula["latency_s"], 0.002, delta=1e-12)
        self.assertAlmostEqual(formula["bandwidth_Bps"], 1e9, delta=1)
        self.assertEqual((formula["backward_s"], formula["gradients_bytes"], formula["rest_s"], formula["axes"]), (0.1, 1e7, 0, {}))
        self.assertAlmostEqual(formula["best_bytes"], 1e7 * 2 / 90, delta=1)
        self.assertAlmostEqual(formula["iteration_s"], 0.1 + 0.002 + 1e-3 * 20 / 90, delta=1e-9)
        # Buckets of whole gradients are the formula's own case: at 1, 2 and 5 MB both say G + A + b / W.
        for cap, ms in (("977 KiB", "103.0"), ("1.91 MiB", "104.0"), ("4.77 MiB", "107.0")):
            self.assertRegex(done.stdout, rf"{cap} +{ms} +{ms} +[+-]0\.0\n")
        self.assertIn("alpha = 1 ms, links of 1 GB/s", done.stdout)
        self.assertIn(b"textbook", self.read("p.svg"))

    def test_a_hook_halves_the_bytes(self):
        """Caps and b* count gradients: W doubles in their bytes, and A stays."""
        self.link_data()
        plain, half = ({}, {})
        for hook, into in (("none", plain), ("fp16", half)):
            done = self.ok("sweep", "configs/ring-1024.yaml", "--formula", "--json", "r.json", "--set", "physics=none", "--set", f"ddp.comm_hook={hook}",
                    "--set", "sweep.ddp.bucket_cap=[100MiB, 1GiB]")
            into.update(self.read_json("r.json")["formulas"][0])
            self.assertIn("alpha = 5 us, links of 12.5 GB/s", done.stdout)
        self.assertAlmostEqual(half["latency_s"], plain["latency_s"], delta=1e-6)
        self.assertAlmostEqual(half["bandwidth_Bps"] / plain["bandwidth_Bps"], 2, delta=1e-4)
        self.assertEqual(half["gradients_bytes"], plain["gradients_bytes"])
        self.assertLess(half["best_bytes"], plain["best_bytes"])

    def test_for_each_group(self):
        self.link_data()
        self.ok("sweep", "configs/ring-1024.yaml", "--formula", "--json", "r.json", "--set", "physics=none",
                "--set", "sweep.cluster.world_size=[64, 1024]", "--set", "sweep.ddp.bucket_cap=[25MiB, 100MiB]")
        formulas = self.read_json("r.json")["formulas"]
        self.assertEqual([one["axes"] for one in formulas], [{"cluster.world_size": "64"}, {"cluster.world_size": "1024"}])
        for one, ranks in zip(formulas, (64, 1024)):
            self.assertAlmostEqual(one["latency_s"], 2 * (ranks - 1) * 5e-6, delta=1e-9)

    def test_where_it_says_nothing(self):
        self.link_data()
        for config, says in (("configs/strategies-2gpu.yaml", "none are swept"), ("configs/mpt-1b-64xh100.yaml", "strategy ddp")):
            sets = ["--set", "sweep.ddp.bucket_cap=[1MiB, 25MiB]"] if "mpt" in config else []
            self.assertIn(says, self.fails(2, "sweep", config, "--formula", *sets).stderr)
        self.assertIn("PowerSGD", self.fails(2, "sweep", "configs/ring-1024.yaml", "--formula", "--set", "ddp.comm_hook={powersgd: {rank: 2}}").stderr)
        self.assertIn("--results", self.fails(2, "sweep", "configs/ring-1024.yaml", "--formula", "--results", "r.jsonl").stderr)


if __name__ == "__main__":
    cli.main()
