#!/usr/bin/env python3
"""Outputs are whole or absent: interrupts, kills, folders and devices that cannot be written."""
import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import ddpsim_cli as cli

# Thousands of points, each of which takes a worker a fraction of a second flow by flow: many minutes in all.
LONG_SWEEP = """sweep: {ddp.bucket_cap: {from: 1MiB, to: 1GiB, points: 2000}}
engine: {fidelity: exact, network: simgrid}
"""


def living_processes(session):
    """Processes of that session that still run; one that ended and was not collected yet does not."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, process_session = stat.read_text().rsplit(")", 1)[1].split()[:4]
        except OSError:
            continue  # it ended meanwhile
        if int(process_session) == session and state not in "ZX":
            found.append(stat.parent.name)
    return found


class InterruptTest(cli.CliTest):
    def interrupt(self, number):
        """Sends the signal once the first row is out; the exit code and standard error."""
        self.write_scenario(cli.small_trace(), LONG_SWEEP, world_size=64)
        self.write("out.json", "old")
        before = self.files()
        process = subprocess.Popen(
            [cli.BINARY, "sweep", "scenario.yaml", "--jobs", "2", "--json", "out.json", "--csv", "out.csv", "--plot", "out.svg", "--html", "out.html"],
            cwd=self.folder, env=cli.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            header, row = process.stdout.readline(), process.stdout.readline()
            self.assertTrue(header and row, (header, row))
            deadline = time.monotonic() + 20
            while len(living_processes(process.pid)) < 2 and time.monotonic() < deadline:
                time.sleep(0.001)  # between one worker's end and the next one's start there may be none
            self.assertGreater(len(living_processes(process.pid)), 1, "no worker runs")
            process.send_signal(number)
            _, stderr = process.communicate(timeout=cli.TIMEOUT_S)
        finally:
            process.kill()
        deadline = time.monotonic() + 20
        while living_processes(process.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(living_processes(process.pid), [], "workers outlive the sweep")
        self.assertEqual(self.files(), before)
        self.assertEqual(self.read("out.json"), b"old")
        return process.returncode, "".join(line for line in stderr.decode().splitlines(True) if not line.startswith("note: "))

    def test_control_c(self):
        self.assertEqual(self.interrupt(signal.SIGINT), (4, "interrupted\n"))

    def test_termination(self):
        self.assertEqual(self.interrupt(signal.SIGTERM), (4, "interrupted\n"))

    def test_kill(self):
        self.assertEqual(self.interrupt(signal.SIGKILL), (-signal.SIGKILL, ""))


class QuietTest(cli.CliTest):
    def test_neither_summary_nor_notes(self):
        """Of every command that has --quiet. Each has something to say without it, most on both."""
        self.link_data()
        table = ("calibrate", "measurements/kalavai_4xRTX4090.csv", "--topology", "topologies/pcie-8x4090.yaml")
        for command in (("simulate", "configs/quickstart.yaml"), ("sweep", "configs/quickstart.yaml"), ("memory", "configs/llama-2-7b-64xh100.yaml"),
                        ("scale", "configs/llama-2-7b-64xh100.yaml", "--gpus", "8,64"), table, (*table, "--out", "c.yaml"),
                        ("plan", "gpt2", "--topology", "superpod-h100", "--gpus", "8", "--global-batch", "64"),
                        ("calibrate", "--step", "1.05s", "configs/llama-2-7b-64xh100.yaml", "--set", "cluster.world_size=8")):
            with self.subTest(command):
                loud, quiet = self.ok(*command), self.ok(*command, "--quiet")
                self.assertNotEqual(loud.stdout + loud.stderr, "")
                self.assertEqual((quiet.stdout, quiet.stderr), ("", ""))


class WritingTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write_scenario(more="sweep: {ddp.bucket_cap: [4MiB, 16MiB]}")

    def test_an_old_output_is_replaced(self):
        self.write("out.json", "old " * 100_000)
        self.ok("sweep", "scenario.yaml", "--json", "out.json")
        self.assertEqual(len(self.read_json("out.json")["points"]), 2)

    def test_no_temporary_file_stays(self):
        before = self.files()
        self.ok("sweep", "scenario.yaml", "--json", "out.json", "--csv", "out.csv", "--plot", "out.svg", "--html", "out.html")
        self.assertEqual(self.files(), sorted([*before, "out.json", "out.csv", "out.svg", "out.html"]))

    def check_refused(self, arguments, message, command="sweep"):
        """An error before work starts: not one row of the table."""
        before = self.files()
        done = self.fails(2, command, "scenario.yaml", *arguments)
        self.assertEqual((done.stdout, done.stderr), ("", message))
        self.assertEqual(self.files(), before)

    def test_a_missing_folder_is_found_before_work_starts(self):
        for command, options in (("sweep", ["--json", "--csv", "--plot", "--html"]), ("simulate", ["--json", "--csv", "--timeline", "--plot"])):
            for option in options:
                with self.subTest(command=command, option=option):
                    self.check_refused([option, "nowhere/out.svg"],
                                       f"error: {option}: there is no folder 'nowhere'\nhint: create it first\n", command)

    def test_a_folder_as_output(self):
        (self.folder / "out.svg").mkdir()
        for option in ("--json", "--csv", "--plot", "--html"):
            self.check_refused([option, "out.svg"], f"error: {option}: 'out.svg' is a directory\nhint: name a file inside it\n")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_folder_that_is_not_writable(self):
        (self.folder / "locked").mkdir(mode=0o500)
        self.check_refused(["--json", "locked/out.json"],
                           "error: --json: folder 'locked' is not writable\nhint: choose another folder\n")

    def test_a_plot_of_another_kind(self):
        for name in ("out.pdf", "out.png"):
            self.check_refused(["--plot", name], f"error: plots are SVG, and '{name}' does not end in .svg\n"
                                                 "hint: write FILE.svg; for papers Python's ddpsim.plot draws with matplotlib (.pdf, .png)\n")

    def test_both_outputs_on_standard_output(self):
        self.check_refused(["--json", "-", "--csv", "-"],
                           "error: --json - and --csv - both want standard output\nhint: give each a file of its own\n")

    def test_a_full_device(self):
        message = "error: cannot write '/dev/full': No space left on device\nhint: check the disk and the permissions\n"
        for command, options in (("sweep", ["--json", "--csv"]), ("simulate", ["--json", "--csv", "--timeline"])):
            for option in options:
                with self.subTest(command=command, option=option):
                    done = self.fails(2, command, "scenario.yaml", "--quiet", option, "/dev/full")
                    self.assertEqual(done.stderr, message)

    def test_a_full_standard_output(self):
        trace = ["trace", "show", "trace.csv"]
        scenario = ["sweep", "scenario.yaml"]
        for arguments in (scenario, [*scenario, "--json", "-"], [*scenario, "--csv", "-"], ["simulate", *scenario[1:]], trace):
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                done = self.fails(2, *arguments, stdout=full)
                self.assertIn("error: standard output cannot be written to its end\nhint: is the disk full?\n", done.stderr)

    def test_a_device_that_takes_all(self):
        self.ok("sweep", "scenario.yaml", "--json", "/dev/null", "--csv", "/dev/null")
        self.assertTrue(Path("/dev/null").is_char_device())

    def test_pictures_need_no_other_program(self):
        with tempfile.TemporaryDirectory() as empty:
            self.ok("sweep", "scenario.yaml", "--plot", "out.svg", "--html", "out.html", env=cli.environment(PATH=empty))
        self.assertTrue(self.read("out.svg").startswith(b"<?xml"))


if __name__ == "__main__":
    cli.main()
