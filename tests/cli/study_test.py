#!/usr/bin/env python3
"""`ddpsim sweep --results`, shards and `ddpsim results`. Usage: study_test.py BINARY SOURCE_ROOT."""
import csv
import io
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import ddpsim_cli as cli

POINTS = 10_000


class StudyTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.link_data()
        self.write("study.yaml", "workload: {trace: traces/gpt2-large-a100-bs4.csv}\n"
                   "cluster: {topology: ring-100gbps, gpu: a100-sxm4-40gb}\n"
                   "sweep:\n  cluster.world_size: {from: 8, to: 1007, points: 100}\n"
                   "  ddp.bucket_cap: {from: 1MiB, to: 1GiB, points: 100, spacing: log}\n")
        self.write("few.yaml", "workload: {trace: traces/gpt2-cpu.csv}\ncluster: {topology: ring-100gbps}\n"
                   "sweep: {cluster.world_size: [4, 8, 0], ddp.bucket_cap: [1MiB, 25MiB]}\n")

    def lines(self, name):
        return [json.loads(line) for line in self.read(name).decode().splitlines()]

    def rows(self, name):
        return self.lines(name)[1:]

    def test_a_row_has_what_the_sweeps_json_has(self):
        sweep = ("sweep", "few.yaml", "--set", "sweep.cluster.world_size=[4,8]")
        done = self.ok(*sweep, "--results", "main.jsonl")
        self.assertEqual(done.stdout, "4 of 4 points are in main.jsonl\n")
        self.ok(*sweep, "--results", "all.jsonl", "--all-columns")
        self.ok(*sweep, "--json", "out.json")
        axes = ["cluster.world_size", "ddp.bucket_cap"]
        for name, columns in (("main", 4), ("all", 20)):
            head, *rows = self.lines(f"{name}.jsonl")
            self.assertEqual((head["points"], head["axes"], head["columns"]), (4, axes, name))
            self.assertEqual(len({row["key"] for row in rows}), 4)
            for number, (row, point) in enumerate(zip(rows, self.read_json("out.json")["points"], strict=True)):
                self.assertEqual(row.pop("point"), number)
                self.assertEqual(dict(zip(axes, row.pop("at"), strict=True)), point.pop("axes"))
                row.pop("key")
                self.assertGreaterEqual(len(row), columns)
                for odds in ("p_best", "regret", "tied"):
                    del point[odds]
                if name == "all":
                    self.assertEqual(list(row), list(point))
                else:
                    point["p10_s"], point["p90_s"] = point["evidence"]["interval_80_s"]
                self.assertEqual(row, {key: point[key] for key in row})
        self.assertIn("main.jsonl:1:1: error: its rows have other columns", self.fails(2, *sweep, "--results", "main.jsonl", "--resume", "--all-columns").stderr)
        self.assertIn("or have other columns", self.fails(2, "results", "merge", "main.jsonl", "all.jsonl", "--out", "m.jsonl").stderr)

    def test_a_row_of_a_model_says_whether_it_fits(self):
        self.ok("sweep", "configs/tensor-pipeline-175b.yaml", "--results", "r.jsonl", "--set", "sweep.batch.global=[1024, 2048]")
        for row in self.rows("r.jsonl"):
            self.assertEqual(row["memory_fits"], True)
            self.assertGreater(row["memory_peak_bytes"], 1e9)
            self.assertGreater(row["mfu"], 0.1)

    def test_what_fails_is_a_row_and_the_rest_goes_on(self):
        done = self.ok("sweep", "few.yaml", "--results", "r.jsonl")
        self.assertEqual(done.stdout, "6 of 6 points are in r.jsonl, 2 of them failed\n")
        rows = self.rows("r.jsonl")
        self.assertEqual([row.get("failed") for row in rows], [None] * 4 + ["input"] * 2)
        self.assertIn("error: 0 is out of range", rows[4]["error"])
        self.assertIn("few.yaml:3:36", rows[4]["error"])

    def test_killed_and_gone_on_with(self):
        self.ok("sweep", "study.yaml", "--results", "whole.jsonl")
        whole = self.read("whole.jsonl")
        self.assertEqual(whole.count(b"\n"), 1 + POINTS)
        path = self.folder / "r.jsonl"
        kills, rows, chance = 0, 0, random.Random(7)
        while kills < 4:
            process = subprocess.Popen([cli.BINARY, "sweep", "study.yaml", "--results", path, "--resume"], cwd=self.folder, stdout=subprocess.DEVNULL)
            while process.poll() is None and (path.read_bytes().count(b"\n") if path.exists() else 0) <= rows:
                time.sleep(0.005)
            time.sleep(chance.uniform(0, 0.2))
            process.kill()
            if process.wait() != -signal.SIGKILL:
                break
            kills += 1
            rows = path.read_bytes().count(b"\n")
        self.assertGreater(kills, 0)
        self.assertTrue(whole.startswith(path.read_bytes()))
        self.ok("sweep", "study.yaml", "--results", "r.jsonl", "--resume")
        self.assertEqual(self.read("r.jsonl"), whole)
        self.assertEqual(self.ok("sweep", "study.yaml", "--results", "r.jsonl", "--resume").stdout, f"{POINTS} of {POINTS} points are in r.jsonl\n")

    def test_shards(self):
        self.ok("sweep", "study.yaml", "--results", "whole.jsonl")
        for shard in range(1, 4):
            self.ok("sweep", "study.yaml", "--results", f"{shard}.jsonl", "--shard", f"{shard}/3")
        self.assertEqual([len(self.rows(f"{shard}.jsonl")) for shard in range(1, 4)], [3334, 3333, 3333])
        done = self.ok("results", "merge", "3.jsonl", "1.jsonl", "--out", "two.jsonl")
        self.assertEqual(done.stdout, f"6667 of {POINTS} points are in two.jsonl\n")
        self.ok("results", "merge", "two.jsonl", "2.jsonl", "1.jsonl", "--out", "all.jsonl")
        self.assertEqual(self.read("all.jsonl"), self.read("whole.jsonl"))

    def test_a_million_points_are_not_too_many(self):
        """Only some are run here; none is planned before its turn."""
        axes = ("--set", "sweep.cluster.world_size={from: 8, to: 1007, points: 1000}",
                "--set", "sweep.ddp.bucket_cap={from: 1MiB, to: 1GiB, points: 1000, spacing: log}")
        self.assertIn("more than 100000 points", self.fails(2, "sweep", "study.yaml", *axes).stderr)
        self.assertEqual(self.ok("sweep", "study.yaml", *axes, "--results", "r.jsonl", "--shard", "9000/10000").stdout,
                         "100 of 1000000 points are in r.jsonl\n")
        self.assertEqual([row["point"] for row in self.rows("r.jsonl")][:3], [8999, 18999, 28999])

    def test_shared_links_take_a_process_each(self):
        self.ok("sweep", "configs/shared-nic.yaml", "--results", "r.jsonl", "--set", "sweep.ddp.bucket_cap=[25MiB, 100MiB]", "--set", "engine.network=simgrid")
        self.ok("sweep", "configs/shared-nic.yaml", "--json", "out.json", "--set", "sweep.ddp.bucket_cap=[25MiB, 100MiB]", "--set", "engine.network=simgrid")
        self.assertEqual([row["iteration_s"] for row in self.rows("r.jsonl")], [point["iteration_s"] for point in self.read_json("out.json")["points"]])


class KilledWorkerTest(cli.CliTest):
    """Points that need a process each: one that is killed, and one that crashes, are rows, and the others go on."""

    def rows(self, name):
        return [json.loads(line) for line in self.read(name).decode().splitlines()[1:]]

    def test_the_rest_goes_on(self):
        self.write_scenario(more="sweep: {ddp.bucket_cap: [4MiB, 8MiB, 16MiB, 32MiB]}\nengine: {fidelity: exact, network: simgrid}\n", world_size=64)
        sweep = ("sweep", "scenario.yaml", "--jobs", "1", "--results")
        self.ok(*sweep, "whole.jsonl")
        process = subprocess.Popen([cli.BINARY, *sweep, "r.jsonl"], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        seen = []
        while len(seen) < 2 and process.poll() is None:
            children = [int(child) for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
            for child in children:
                if child not in seen:
                    seen.append(child)
                    os.kill(child, (signal.SIGKILL, signal.SIGSEGV)[len(seen) - 1])
        self.assertEqual(process.communicate(timeout=cli.TIMEOUT_S)[0], "4 of 4 points are in r.jsonl, 2 of them failed\n")
        whole, rows = (self.rows(name) for name in ("whole.jsonl", "r.jsonl"))
        self.assertEqual([row.get("failed") for row in rows], ["machine", "defect", None, None])
        self.assertEqual(rows[2:], whole[2:])
        self.ok(*sweep, "r.jsonl", "--resume")
        rows = self.rows("r.jsonl")
        self.assertEqual([row.get("failed") for row in rows], [None, "defect", None, None])
        self.assertEqual(rows[0], whole[0])


class RefusedTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write_scenario(more="sweep: {ddp.bucket_cap: [1MiB, 25MiB]}\n")

    def refused(self, message, *arguments):
        self.assertIn(message, self.fails(2, *arguments).stderr)

    def test_files(self):
        sweep = ("sweep", "scenario.yaml", "--results")
        self.ok(*sweep, "r.jsonl")
        self.refused("error: 'r.jsonl' has results already\nhint: go on with them (--resume", *sweep, "r.jsonl")
        self.refused("r.jsonl:1:1: error: these are results of another study, or its scenario has changed", *sweep, "r.jsonl", "--resume",
                     "--set", "cluster.world_size=16")
        self.refused("r.jsonl:1:1: error: these are results of another study", *sweep, "r.jsonl", "--resume", "--set", "sweep.ddp.bucket_cap=[1MiB, 2MiB]")
        self.write("trace.csv", cli.small_trace(41))
        self.refused("its scenario has changed", *sweep, "r.jsonl", "--resume")
        self.write("text.jsonl", "a line\n")
        self.refused("text.jsonl:1:1: error: a study's results do not begin with this line", *sweep, "text.jsonl", "--resume")
        self.refused("there is no folder 'none'", *sweep, "none/r.jsonl")

    def test_two_writers(self):
        import fcntl
        with open(self.folder / "r.jsonl", "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.refused("another process writes to 'r.jsonl'", "sweep", "scenario.yaml", "--results", "r.jsonl")

    def test_what_a_crash_leaves_is_cut_and_said(self):
        sweep = ("sweep", "scenario.yaml", "--results", "r.jsonl", "--resume")
        self.ok(*sweep)
        whole = self.read("r.jsonl")
        first = b"".join(whole.splitlines(True)[:2])
        for rest, why in ((b"\0" * 4096, " but NULs, as after a crash of the machine"), (whole[len(first):-9], "")):
            self.write("r.jsonl", first + rest)
            done = self.ok("results", "merge", "r.jsonl", "--out", "m.jsonl")
            self.assertEqual(done.stderr, f"note: the last {len(rest)} bytes of r.jsonl are no whole row{why}: left out\n")
            self.assertEqual(self.read("m.jsonl"), first)
            done = self.ok(*sweep)
            self.assertIn(f"note: the last {len(rest)} bytes of r.jsonl are no whole row{why}: cut, and what is missing runs again\n", done.stderr)
            self.assertEqual(self.read("r.jsonl"), whole)

    def test_links(self):
        """A results file that is a link stays one, and no link beside it is followed."""
        self.write("victim", "precious")
        for name in ("r.jsonl.tmp", "m.jsonl.tmp"):
            (self.folder / name).symlink_to("victim")
        (self.folder / "r.jsonl").symlink_to("target.jsonl")
        self.ok("sweep", "scenario.yaml", "--results", "r.jsonl", "--shard", "2/2")
        self.ok("sweep", "scenario.yaml", "--results", "r.jsonl", "--resume")    # the second point comes first: put in order
        self.ok("results", "merge", "r.jsonl", "--out", "m.jsonl")
        self.assertTrue((self.folder / "r.jsonl").is_symlink())
        self.assertFalse((self.folder / "m.jsonl").is_symlink())
        self.assertEqual(self.read("target.jsonl"), self.read("m.jsonl"))
        self.assertEqual(self.read("victim"), b"precious")

    def test_options(self):
        sweep = ("sweep", "scenario.yaml", "--results", "r.jsonl")
        for shard in ("0/3", "4/3", "3", "/3", "1/", "a/b", "1/0"):
            self.refused("--shard:1:", *sweep, "--shard", shard)
        for more in (("--json", "-"), ("--csv", "-"), ("--plot", "p.svg"), ("--html", "p.html"), ("--exact-optimum",)):
            self.fails(2, *sweep, *more)
        self.fails(2, "sweep", "scenario.yaml", "--resume")
        self.fails(2, "sweep", "scenario.yaml", "--shard", "1/2")
        self.refused("there is nothing to sweep", *sweep, "--set", "ddp.bucket_cap=1MiB")

    def test_merge(self):
        self.ok("sweep", "scenario.yaml", "--results", "a.jsonl")
        self.ok("sweep", "scenario.yaml", "--results", "b.jsonl", "--set", "cluster.world_size=16")
        self.refused("b.jsonl:1:1: error: these are results of another study", "results", "merge", "a.jsonl", "b.jsonl", "--out", "c.jsonl")
        self.refused("would overwrite the input", "results", "merge", "a.jsonl", "--out", "a.jsonl")
        self.refused("none.jsonl: error: no such file (expected the results of a study)", "results", "merge", "none.jsonl", "--out", "c.jsonl")
        self.fails(2, "results", "merge", "a.jsonl")
        rows = self.read("a.jsonl").decode().splitlines(True)
        self.write("b.jsonl", "".join(rows[:2]) + rows[2].replace('"iteration_s":', '"iteration_s":1'))
        self.refused("b.jsonl:3:1: error: point 1 has another result here than at a.jsonl:3\nhint: equal points give equal rows",
                     "results", "merge", "a.jsonl", "b.jsonl", "--out", "c.jsonl")
        self.write("b.jsonl", "".join(rows[:2]) + rows[2].replace('"iteration_s":', '"iteration_s":x'))
        column = rows[2].index('"iteration_s":') + len('"iteration_s":') + 1
        damaged = f"b.jsonl:3:{column}: error: this row is damaged, it is no JSON: "
        self.refused(damaged, "results", "merge", "b.jsonl", "--out", "c.jsonl")
        self.refused(damaged, "sweep", "scenario.yaml", "--results", "b.jsonl", "--resume")
        self.assertEqual(self.files(), sorted(["a.jsonl", "b.jsonl", "ring.yaml", "scenario.yaml", "trace.csv"]))

    def test_the_best_of_each_job(self):
        """What a sweep's table says, from its rows, and from those that are there so far; the sizes in their order, points without results left out."""
        study = ("sweep", "scenario.yaml", "--set", "sweep={cluster.world_size: [64, 8], strategy: [naive, flat, ddp], ddp.bucket_cap: [4MiB, 16MiB, 3]}")
        self.ok(*study, "--json", "s.json")
        self.ok(*study, "--results", "r.jsonl")
        points = self.read_json("s.json")["points"]
        lines = self.ok("results", "best", "r.jsonl", "--top", "1").stdout.splitlines()
        self.assertRegex(lines[-1], r"^18 rows of 18 points, \d+ of them without results$")
        for line, gpus in zip(lines[1:3], ("64", "8"), strict=True):
            best = min((point for point in points if point["axes"]["cluster.world_size"] == gpus), key=lambda point: point["iteration_s"])
            self.assertEqual(line.split()[:3], ["▶", gpus, best["strategy"]])
        table = list(csv.DictReader(io.StringIO(self.ok("results", "csv", "r.jsonl").stdout)))
        self.assertEqual(len(table), 18)
        of_sweep = {(p["axes"]["cluster.world_size"], p["axes"]["strategy"], p["axes"]["ddp.bucket_cap"]): p for p in points}
        for row in table:
            if row["error"]:
                self.assertEqual(row["iteration_s"], "")
                continue
            point = of_sweep.get((row["cluster.world_size"], row["strategy"], row["ddp.bucket_cap"]))
            if point:  # of strategies without caps a sweep has one
                self.assertEqual(float(row["iteration_s"]), point["iteration_s"])
        whole = self.read("r.jsonl").splitlines(True)
        self.write("r.jsonl", b"".join(whole[:4]) + whole[4][:-9])
        done = self.ok("results", "best", "r.jsonl")
        self.assertIn("3 rows of 18 points", done.stdout)
        self.assertIn("are no whole row: left out", done.stderr)
        self.refused("is it the right file?", "results", "best", "trace.csv")

    def test_old_spelling(self):
        self.ok("sweep", "scenario.yaml", "--results", "a.jsonl")
        done = self.ok("merge", "a.jsonl", "--out", "b.jsonl")
        self.assertEqual(done.stderr, "note: 'ddpsim merge' is 'ddpsim results merge' now\n")
        self.assertEqual(self.read("a.jsonl"), self.read("b.jsonl"))


if __name__ == "__main__":
    cli.main()
