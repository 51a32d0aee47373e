#!/usr/bin/env python3
"""How far long work is: a line on standard error where that is a terminal, and nowhere else."""
import os
import pty
import re
import subprocess

import ddpsim_cli as cli

VARIED = "variability={iterations: 1000, seed: 1, jitter: 0.03}"  # so many that a size, or a change, takes its time
PLAN = ("plan", "llama-3-70b", "--topology", "superpod-h100", "--gpus", "1024", "--global-batch", "1024", "--sequence", "8192")
SCALE = ("scale", "gpt2-xl-1024xh100", "--gpus", "8:1024", "--set", VARIED.replace("1000", "5000"))
EXPLAIN = ("simulate", "gpt2-xl-1024xh100", "--explain", "--set", VARIED)


class ProgressTest(cli.CliTest):
    def at_a_terminal(self, *arguments):
        """What a terminal gets of standard error."""
        ours, its = pty.openpty()
        process = subprocess.Popen([cli.BINARY, *arguments], cwd=self.folder, env=cli.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=its)
        os.close(its)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # nobody holds the other end any more
                break
            if not part:
                break
            shown += part
        os.close(ours)
        self.assertEqual(process.wait(timeout=cli.TIMEOUT_S), 0, shown)
        return shown.decode()

    def check(self, arguments, noun):
        lines = re.findall(rf"\r(\d+) of (\d+) {noun}(?:, [\d.e+-]+ a second, \d+ s left| after \d+ s(?:: [^\r]+?)?)\x1b\[K", self.at_a_terminal(*arguments))
        self.assertTrue(lines, "no line of progress")
        done = [int(done) for done, _ in lines]
        self.assertEqual(done, sorted(done))
        self.assertEqual(len({all for _, all in lines}), 1)
        self.assertLessEqual(done[-1], int(lines[0][1]))
        self.assertNotIn(f" {noun}", self.at_a_terminal(*arguments, "--quiet"))

    def test_plan(self):
        self.check(PLAN, "plans that fit")
        self.assertNotIn("\r", self.ok(*PLAN).stderr)

    def test_scale(self):
        self.check(SCALE, "sizes")

    def test_explain(self):
        self.check(EXPLAIN, "changes")

    def test_before_the_first_is_done(self):
        """Flow by flow, each point takes seconds: the line is there from the first second on, and once a point is done with the time left."""
        self.write_scenario(world_size=256, more="engine: {fidelity: exact, network: simgrid}\nsweep: {collective.channels: [1, 2]}\n")
        shown = self.at_a_terminal("sweep", "scenario.yaml", "--jobs", "1")
        self.assertRegex(shown, r"\r0 of 2 points after [1-9]\d* s: simulating on SimGrid\x1b\[K")
        self.assertRegex(shown, r"\r1 of 2 points, [\d.e+-]+ a second, \d+ s left\x1b\[K")
        shown = self.at_a_terminal("simulate", "scenario.yaml")
        self.assertRegex(shown, r"\rsimulating on SimGrid after [1-9]\d* s\x1b\[K")
        self.assertNotIn("simulating", self.at_a_terminal("simulate", "scenario.yaml", "--quiet"))

    def test_what_a_single_point_does(self):
        """A large cluster is read for longer than it is simulated; a ring of 1,024 flow by flow takes its time afterwards."""
        self.write_scenario(world_size=1024, more="engine: {fidelity: exact}\n")
        self.assertRegex(self.at_a_terminal("simulate", "scenario.yaml"), r"\rsimulating(, \d+ % done)? after [1-9]\d* s\x1b\[K")
        shown = self.at_a_terminal("simulate", "tensor-pipeline-175b", "--set", "cluster.world_size=65536", "--set", "batch.global=65536")
        self.assertRegex(shown, r"\r(working out what NCCL chooses|folding what shares links) after [1-9]\d* s\x1b\[K")

    def test_a_study(self):
        study = ("sweep", "gpt2-xl-1024xh100", "--set", VARIED.replace("1000", "300"), "--jobs", "1", "--results")
        self.assertRegex(self.at_a_terminal(*study, "results"), r"\r\d+ of \d+ points[ ,][^\r]*\x1b\[K")
        self.assertNotIn(" points", self.at_a_terminal(*study, "quiet", "--quiet"))

    def test_check_fidelity(self):
        self.write_scenario(cli.small_trace(900), world_size=32, more="ddp: {bucket_cap: 4MiB}\ncollective: {channels: 2}\nengine: {network: simgrid}\n")
        self.assertRegex(self.at_a_terminal("simulate", "scenario.yaml", "--check-fidelity"), r"\r[01] of 2 simulations[ ,][^\r]*\x1b\[K")

    def test_best_caps(self):
        self.assertRegex(self.at_a_terminal("simulate", "gpt2-xl-1024xh100", "--best-caps", "--set", VARIED), r"\r\d+ of \d+ caps[ ,][^\r]*\x1b\[K")

    def test_fitting_rows(self):
        """Fits say how many steps they have simulated: nobody knows how many it will take."""
        self.write_scenario(cli.small_trace(60, forward="40ms"), world_size=12, more="engine: {fidelity: exact, network: simgrid}\n"
                                                                                     "sweep: {ddp.bucket_cap: [4MiB, 40MiB, 160MiB]}\n")
        points = self.sweep(sets=["physics={interference: 0.3}", "spread=none"])["points"]
        self.write("measured.csv", "bucket_cap_bytes,iteration_s\n" + "".join(f"{p['bucket_cap_bytes']},{p['iteration_s']!r}\n" for p in points))
        arguments = ("calibrate", "--overlap", "scenario.yaml", "--measured", "measured.csv", "--all-rows")
        shown = self.at_a_terminal(*arguments)
        self.assertRegex(shown, r"\r[1-9]\d* steps simulated\x1b\[K")
        self.assertIn("\r\x1b[K", shown)  # gone before anything is printed
        self.assertNotIn("simulated", self.at_a_terminal(*arguments, "--quiet"))

    def test_runs_for_real(self):
        """Which of the steps the ranks are at, and what they do there."""
        if not (cli.BINARY.parent / "ddpsim-validate-gloo").exists():
            self.skipTest("built without LibTorch")
        self.write_scenario(cli.small_trace(4, elements=1024, forward="300ms"), world_size=2)
        arguments = ("validate", "scenario.yaml", "--backend", "gloo", "--repetitions", "4", "--precision", "0.01")
        self.assertRegex(self.at_a_terminal(*arguments), r"\r1 of 1: [^\r]*, repetition [^\r]*\x1b\[K")


if __name__ == "__main__":
    cli.main()
