#!/usr/bin/env python3
"""What the machine refuses - a standard stream, memory, processes, room on the disk - is reported for what it is: no crash, the exit code
of docs/reference/results.md, nothing half written, and what could be computed is there.

Not tested under AddressSanitizer: too little memory. Its shadow takes terabytes of address space, and its allocator ends the program
where others throw; what is thrown then is tested in every build (ForkedWorkers.ATaskWithoutMemoryIsLost,
RunAll.WithoutMemoryForOneScenarioTheOthersArePredicted, StartProgram.AnUncaughtExceptionIsReported).
"""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import ddpsim_cli as cli

NOBODY = 64321  # a user who runs nothing else: limits on processes are a user's
FOLDERS = ("configs", "topologies", "traces", "gpus", "calibrations", "measurements", "models")
ALONE = ["configs/ring-1024.yaml"]
LIBRARY = "libddpsim-simgrid.so"
CONTENDED = "configs/shared-nic.yaml"
SIMGRID = ("--set", "engine.network=simgrid")  # forks a worker a point
SIMULATED = [*ALONE, "--set", "engine.fidelity=lazy", *SIMGRID]
BAD_INPUT, ENVIRONMENT = 2, 6


def commands():
    for scenario in (ALONE, SIMULATED, [CONTENDED], [CONTENDED, *SIMGRID]):
        yield ["simulate", *scenario]
        yield ["sweep", *scenario]


def is_sanitized():
    return b"__asan_init" in cli.BINARY.read_bytes()


def children_of(process):
    try:
        return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def state_of(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


def limited(which, soft):
    return lambda: resource.setrlimit(which, (soft, soft))


class StreamsTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        for folder in FOLDERS:
            (self.folder / folder).symlink_to(cli.SOURCE_ROOT / folder)

    def through_shell(self, redirection, *arguments, **options):
        """As a user types it."""
        return subprocess.run(["bash", "-c", f'exec "$0" "$@" {redirection}', cli.BINARY, *arguments], cwd=self.folder, env=cli.environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=cli.TIMEOUT_S, check=False, **options)

    def test_standard_error_closed_or_full(self):
        for redirection in ("2>&-", "2>/dev/full"):
            for arguments in commands():
                with self.subTest(redirection, arguments=arguments):
                    expected = self.ok(*arguments)
                    done = self.through_shell(redirection, *arguments)
                    self.assertEqual((done.returncode, done.stdout.decode()), (0, expected.stdout))

    def test_an_error_with_standard_error_closed_or_full(self):
        for redirection in ("2>&-", "2>/dev/full", ">&- 2>&-", "<&- >&- 2>&-"):
            with self.subTest(redirection):
                self.assertEqual(self.through_shell(redirection, "simulate", "no.yaml").returncode, BAD_INPUT)

    def test_messages_do_not_end_up_in_outputs(self):
        """The first file that is opened gets the number of the closed stream, if nobody minds."""
        self.through_shell("2>&-", "sweep", CONTENDED, *SIMGRID, "--json", "first.json")
        self.ok("sweep", CONTENDED, *SIMGRID, "--json", "second.json")
        self.assertEqual(self.read("first.json"), self.read("second.json"))

    def test_explanations_are_lost_as_notes_are(self):
        for option in ("--explain", "--check-fidelity"):
            done = self.through_shell("2>/dev/full", "simulate", "configs/ring-1024.yaml", option, "--json", "-")
            self.assertEqual(done.returncode, 0)
            json.loads(done.stdout)

    def test_standard_output_closed_or_full(self):
        message = b"error: standard output cannot be written to its end\nhint: is the disk full?\n"
        more = [["--help"], ["--version"], ["sweep", "--help"], ["topology", "show", "topologies/dgx-h100.yaml", "--world-size", "64"]]
        for redirection in (">&-", ">/dev/full"):
            for arguments in [*commands(), *more]:
                with self.subTest(redirection, arguments=arguments):
                    done = self.through_shell(redirection, *arguments)
                    self.assertEqual(done.returncode, BAD_INPUT, done.stderr.decode())
                    self.assertTrue(done.stderr.endswith(message), done.stderr)

    def test_whoever_reads_has_seen_enough(self):
        """`| head -1`: the end of any program whose reader is gone, and no file that is not finished. The table of 2,000 steps that differ is more than a pipe holds."""
        self.write_scenario(more="sweep: {collective.scale.latency: {from: 1, to: 2000, points: 2000}}\n", world_size=16)
        before = self.files()
        process = subprocess.Popen([cli.BINARY, "sweep", "scenario.yaml", "--json", "out.json"], cwd=self.folder, env=cli.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        _, stderr = process.communicate(timeout=cli.TIMEOUT_S)
        self.assertEqual(process.returncode, -signal.SIGPIPE, stderr)
        self.assertEqual(self.files(), before)

    def test_a_file_that_may_not_grow(self):
        self.write("old.json", "old")
        before = self.files()
        for option, name in (("--json", "old.json"), ("--csv", "new.csv"), ("--plot", "out.svg")):
            done = self.fails(BAD_INPUT, "sweep", *ALONE, option, name, preexec_fn=limited(resource.RLIMIT_FSIZE, 200))
            self.assertTrue(done.stderr.endswith(f"error: cannot write '{name}': File too large\nhint: check the disk and the permissions\n"), done.stderr)
        self.assertEqual(self.read("old.json"), b"old")
        self.assertEqual(self.files(), before)


class InputsTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write_scenario()

    def refused(self, name, message):
        done = self.fails(BAD_INPUT, "simulate", name)
        self.assertEqual(done.stderr, f"{name}: error: {message}\n")

    def test_a_pipe_that_nobody_writes_to(self):
        os.mkfifo(self.folder / "pipe")
        self.refused("pipe", "is a pipe that nobody writes to\nhint: start the program that writes to it, or name a file")
        done = self.fails(BAD_INPUT, "trace", "import", "--format", "pytorch-profiler", "pipe", "--out", "out.csv")
        self.assertIn("is a pipe that nobody writes to", done.stderr)

    def test_links_that_lead_back(self):
        (self.folder / "a.yaml").symlink_to("b.yaml")
        (self.folder / "b.yaml").symlink_to("a.yaml")
        self.refused("a.yaml", "too many levels of symbolic links\nhint: a link on this path leads back to itself")
        for key in ("workload.trace", "cluster.topology"):
            done = self.fails(BAD_INPUT, "simulate", "scenario.yaml", "--set", f"{key}=a.yaml")
            self.assertIn("too many levels of symbolic links", done.stderr.lower())

    def test_pipes_that_somebody_writes_to(self):
        expected = self.ok("simulate", "scenario.yaml").stdout
        run = lambda script: subprocess.run(["bash", "-c", script, cli.BINARY], cwd=self.folder, env=cli.environment(), capture_output=True, text=True,
                                            timeout=cli.TIMEOUT_S, check=False)
        for script in ("$0 simulate scenario.yaml --set workload.trace=<(cat trace.csv)", "$0 simulate scenario.yaml --set workload.trace=<(sleep 1; cat trace.csv)",
                       "$0 simulate scenario.yaml --set workload.trace=/dev/stdin < trace.csv", "cat trace.csv | $0 simulate scenario.yaml --set workload.trace=/dev/stdin",
                       "mkfifo late; (sleep 1; cat trace.csv > late) & $0 simulate scenario.yaml --set workload.trace=late"):
            with self.subTest(script):
                done = run(script)
                self.assertEqual((done.returncode, done.stdout), (0, expected), done.stderr)


class ProcessesTest(cli.CliTest):
    """Processes are refused to a user who is not root, so the program and its data go where he can read them."""

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        for folder in FOLDERS:
            shutil.copytree(cli.SOURCE_ROOT / folder, self.folder / folder)
        self.program = shutil.copy(cli.BINARY, self.folder / "ddpsim")
        shutil.copy(cli.BINARY.with_name(LIBRARY), self.folder)
        subprocess.run(["chmod", "-R", "a+rX", self.folder], check=True)

    def as_somebody(self, processes, *arguments):
        if os.geteuid() != 0 and processes > 1:
            self.skipTest("needs root, to become a user who runs nothing else")

        def become():
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))

        return subprocess.run([self.program, *arguments], cwd=self.folder, env=cli.environment(ASAN_OPTIONS="detect_leaks=0"), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=cli.TIMEOUT_S, preexec_fn=become, check=False)

    def test_no_process_at_all(self):
        for arguments in commands():
            with self.subTest(arguments=arguments):
                done = self.as_somebody(1, *arguments)
                if SIMGRID[1] not in arguments:
                    self.assertEqual(done.returncode, 0, done.stderr)
                    continue
                self.assertEqual(done.returncode, ENVIRONMENT, done.stderr)
                self.assertIn("a worker process was refused: Resource temporarily unavailable\n", done.stderr)
                self.assertIn("\nhint: use fewer --jobs, end other programs, or raise the limit", done.stderr)

    def test_fewer_processes_than_jobs(self):
        expected = self.ok("sweep", CONTENDED, *SIMGRID).stdout
        done = self.as_somebody(2, "sweep", CONTENDED, *SIMGRID, "--jobs", "8")
        self.assertEqual((done.returncode, done.stdout), (0, expected), done.stderr)


class LibraryTest(cli.CliTest):
    """SimGrid's own library is not beside the program."""

    def test_only_what_asks_for_it_fails(self):
        self.link_data()
        program = shutil.copy(cli.BINARY, self.folder / "ddpsim")

        def run(*arguments):
            return subprocess.run([program, *arguments], cwd=self.folder, env=cli.environment(), stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=cli.TIMEOUT_S, check=False)

        self.assertEqual(run("sweep", *ALONE).returncode, 0)
        for more in (("simulate", *SIMGRID), ("sweep", *SIMGRID), ("simulate", "--check-network")):
            done = run(more[0], CONTENDED, *more[1:])
            self.assertEqual(done.returncode, ENVIRONMENT, done.stderr)
            self.assertIn(f"error: SimGrid cannot be loaded: {LIBRARY}: cannot open shared object file", done.stderr)
            self.assertIn("\nhint: without it the builtin network shares links out (engine.network: builtin, the default)\n", done.stderr)
        builtin, simulated = (json.loads(run("simulate", CONTENDED, "--json", "-").stdout),
                              json.loads(self.ok("simulate", CONTENDED, "--json", "-", *SIMGRID).stdout))
        self.assertEqual((builtin["network"], simulated["network"]), ("builtin", "simgrid"))
        self.assertEqual(builtin["simulated_flows"], simulated["simulated_flows"])
        self.assertGreater(builtin["simulated_flows"], 0)
        self.assertAlmostEqual(builtin["iteration_s"], simulated["iteration_s"], delta=1e-9)


class KilledWorkerTest(cli.CliTest):
    CAPS = "[4MiB, 16MiB, 64MiB]"

    def setUp(self):
        super().setUp()
        self.write_scenario(more=f"sweep: {{ddp.bucket_cap: {self.CAPS}}}\nengine: {{fidelity: exact, network: simgrid}}\n", world_size=96)

    def run_and_kill_one(self, *arguments):
        """Kills one worker at work with the signal that the kernel sends when memory runs out."""
        process = subprocess.Popen([cli.BINARY, *arguments], cwd=self.folder, env=cli.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        killed = False
        while not killed and process.poll() is None:
            for child in children_of(process.pid):
                os.kill(child, signal.SIGSTOP)
                while state_of(child) not in ("T", "Z", "gone"):
                    time.sleep(0.001)
                if state_of(child) == "T":  # it had not ended yet
                    os.kill(child, signal.SIGKILL)
                    killed = True
                    break
        stdout, stderr = process.communicate(timeout=cli.TIMEOUT_S)
        self.assertTrue(killed, "no worker was seen at work")
        return process.returncode, stdout, stderr

    def test_the_other_points_of_a_sweep_are_there(self):
        before = self.files()
        code, stdout, stderr = self.run_and_kill_one("sweep", "scenario.yaml", "--jobs", "3", "--json", "out.json", "--csv", "out.csv", "--plot", "out.svg")
        self.assertEqual(code, ENVIRONMENT, stderr)
        self.assertEqual(self.files(), sorted([*before, "out.csv", "out.json", "out.svg"]))
        result = self.read_json("out.json")
        (lost,) = result["failed_points"]
        self.assertEqual((lost["failed"], lost["error"]), ("machine", "a worker process was ended from outside (signal 9: Killed)"))
        caps = [point["axes"]["ddp.bucket_cap"] for point in result["points"]]
        self.assertEqual(sorted([*caps, lost["axes"]["ddp.bucket_cap"]]), sorted(self.CAPS[1:-1].split(", ")))
        rows = self.read_csv("out.csv")
        self.assertEqual([row["error"] for row in rows if row["iteration_s"] == ""], [lost["error"]])
        self.assertEqual([row["bucket_cap_bytes"] == lost["axes"]["ddp.bucket_cap"] for row in rows], [row["error"] != "" for row in rows])
        self.assertEqual(sum("MiB " in line and line.startswith(" ") for line in stdout.splitlines()), 2, stdout)
        self.assertIn("\n1 of 3 points could not be simulated; best is among the rest\n", stdout)
        self.assertIn("error: 1 of 3 points could not be simulated; best is among the rest\n"
                      f"  ddp.bucket_cap = {lost['axes']['ddp.bucket_cap']}: a worker process was ended from outside (signal 9: Killed)\n"
                      "hint: the kernel does that when memory runs out; give it more memory, or make the work smaller: ", stderr)

    def test_a_lone_simulation(self):
        code, stdout, stderr = self.run_and_kill_one("simulate", "scenario.yaml")
        self.assertEqual((code, stdout), (ENVIRONMENT, ""), stderr)
        self.assertIn("error: a worker process was ended from outside (signal 9: Killed)\nhint: the kernel does that", stderr)


class MemoryTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        if is_sanitized():
            self.skipTest("AddressSanitizer takes terabytes of address space")
        for folder in FOLDERS:
            (self.folder / folder).symlink_to(cli.SOURCE_ROOT / folder)

    def run_within(self, megabytes, *arguments):
        """As after `ulimit -v`, which counts 1024 bytes."""
        return self.run_ddpsim(*arguments, preexec_fn=limited(resource.RLIMIT_AS, megabytes * 1000 * 1024))

    def test_200_megabytes_are_enough_for_these(self):
        for arguments in commands():
            with self.subTest(arguments=arguments):
                done = self.run_within(200, *arguments)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_points_of_an_exact_optimum_are_not_held_at_once(self):
        """4000 plans of 4000 gradients and their metrics would be 300 MB."""
        self.write_scenario(cli.small_trace(4000, elements=1000), "engine: {fidelity: closed_form}\n")
        # Each thread's heap takes 64 MiB of the address space, used or not.
        done = self.run_within(200, "sweep", "scenario.yaml", "--exact-optimum", "--jobs", "2", "--json", "out.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(len(self.read_json("out.json")["points"]), 3000)

    def test_too_little_for_the_work(self):
        self.write_scenario(cli.small_trace(200, elements=1000), "engine: {fidelity: exact, network: simgrid}\n", world_size=100_000)
        done = self.fails(ENVIRONMENT, "simulate", "scenario.yaml", preexec_fn=limited(resource.RLIMIT_AS, 200_000 * 1024))
        self.assertTrue(done.stderr.endswith("error: out of memory\nhint: give it more memory, or make the work smaller: fewer ranks, fewer points of "
                                             "a sweep, fewer --jobs\n"), done.stderr)


if __name__ == "__main__":
    cli.main()
