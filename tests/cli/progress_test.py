#!/usr/bin/env python3
"""How far long work is: a line on standard error where that is a terminal, and nowhere else."""
import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import time

import ddpsim_cli as cli

VARIED = "variability={iterations: 1000, seed: 1, jitter: 0.03}"  # so many that a size, or a change, takes its time
PLAN = ("plan", "llama-3-70b", "--topology", "superpod-h100", "--gpus", "4096", "--global-batch", "4096", "--sequence", "8192")
SCALE = ("scale", "gpt2-xl-1024xh100", "--gpus", "8:1024", "--set", VARIED.replace("1000", "5000"))
EXPLAIN = ("simulate", "gpt2-xl-1024xh100", "--explain", "--set", VARIED.replace("1000", "5000"))


class ProgressTest(cli.CliTest):
    def at_a_terminal(self, *arguments, until=None, seconds=cli.TIMEOUT_S):
        """What a terminal gets of standard error: all of it, or what came before this was found or so much time had passed."""
        ours, its = pty.openpty()
        process = subprocess.Popen([cli.BINARY, *arguments], cwd=self.folder, env=cli.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=its, start_new_session=True)
        os.close(its)
        shown, ends = "", time.monotonic() + seconds
        while not (until and re.search(until, shown)):
            if not select.select([ours], [], [], max(0, ends - time.monotonic()))[0]:
                break
            try:
                shown += os.read(ours, 65536).decode()
            except OSError:  # nobody holds the other end any more
                self.assertEqual(process.wait(timeout=cli.TIMEOUT_S), 0, shown)
                break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=cli.TIMEOUT_S)
        os.close(ours)
        return shown

    def shows(self, line, *arguments, quiet=None):
        """This line, and under --quiet, for as long as that took and somewhat longer, none that has `quiet` in it."""
        started = time.monotonic()
        shown = self.at_a_terminal(*arguments, until=line)
        self.assertRegex(shown, line)
        if quiet:
            self.assertNotIn(quiet, self.at_a_terminal(*arguments, "--quiet", seconds=time.monotonic() - started + 0.5))
        return shown

    def check(self, arguments, noun):
        line = rf"\r(\d+) of (\d+) {noun}(?:, \d+ s, at most \d+ s left| after \d+ s(?:: [^\r]+?)?)\x1b\[K"
        lines = re.findall(line, self.shows(f"{line}[^\0]*{line}", *arguments, quiet=f" {noun}"))
        done = [int(done) for done, _ in lines]
        self.assertEqual(done, sorted(done))
        total = [int(all) for _, all in lines]
        self.assertEqual(total, sorted(total, reverse=True))    # what a bound rules out is no longer counted
        self.assertLessEqual(done[-1], int(lines[0][1]))

    def test_plan(self):
        self.check(PLAN, "plans that fit")

    def test_scale(self):
        self.check(SCALE, "sizes")

    def test_explain(self):
        self.check(EXPLAIN, "changes")
        self.assertNotIn("\r", self.ok(*EXPLAIN).stderr)

    def test_before_the_first_is_done(self):
        """Flow by flow, each point takes seconds: the line is there from the first second on, and once a point is done with the time left."""
        self.write_scenario(world_size=256, more="engine: {fidelity: exact, network: simgrid}\nsweep: {collective.channels: [1, 2]}\n")
        first_done = r"\r1 of 2 points, \d+ s, at most \d+ s left; best so far [\d.]+ ms\x1b\[K"
        shown = self.shows(first_done, "sweep", "scenario.yaml", "--jobs", "1")
        self.assertRegex(shown, r"\r0 of 2 points after [1-9]\d* s: simulating on SimGrid\x1b\[K")
        self.shows(r"\rsimulating on SimGrid after [1-9]\d* s\x1b\[K", "simulate", "scenario.yaml", quiet="simulating")

    def test_what_a_single_point_does(self):
        """A large cluster is read for longer than it is simulated; a ring of 1,024 flow by flow takes its time afterwards."""
        self.write_scenario(world_size=1024, more="engine: {fidelity: exact}\n")
        for line, arguments in ((r"simulating(, \d+ % done)?", ("scenario.yaml",)),
                                ("(working out what NCCL chooses|folding what shares links)", (
                                    "tensor-pipeline-175b", *cli.set_arguments(["cluster.world_size=65536", "batch.global=65536"])))):
            self.shows(rf"\r{line} after [1-9]\d* s\x1b\[K", "simulate", *arguments)

    def test_a_study(self):
        study = ("sweep", "gpt2-xl-1024xh100", "--set", VARIED.replace("1000", "300"), "--jobs", "1", "--results")
        self.shows(r"\r\d+ of \d+ points[ ,][^\r]*\x1b\[K", *study, "results")
        self.assertNotIn(" points", self.at_a_terminal(*study, "quiet", "--quiet", seconds=2))

    def test_check_fidelity(self):
        self.write_scenario(cli.small_trace(900), world_size=32, more="ddp: {bucket_cap: 4MiB}\ncollective: {channels: 2}\nengine: {network: simgrid}\n")
        self.shows(r"\r[01] of 2 simulations[ ,][^\r]*\x1b\[K", "simulate", "scenario.yaml", "--check-fidelity")

    def test_best_caps(self):
        self.shows(r"\r\d+ of \d+ caps[ ,][^\r]*\x1b\[K", "simulate", "gpt2-xl-1024xh100", "--best-caps", "--set", VARIED)

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
        self.shows(r"\r1 of 1: [^\r]*, repetition [^\r]*\x1b\[K", *arguments)


if __name__ == "__main__":
    cli.main()
