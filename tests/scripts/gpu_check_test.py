#!/usr/bin/env python3
"""The kit for a machine with a GPU: what gpu-check makes of programs that end, fail, miss a GPU or hang, and of two traces.

Usage: gpu_check_test.py SOURCE_ROOT
"""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

SOURCE_ROOT = Path()


def gpu_check():
    loader = importlib.machinery.SourceFileLoader("gpu_check", str(SOURCE_ROOT / "scripts/gpu_kit/gpu-check"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
    loader.exec_module(module)
    return module


def trace(forward, gradients):
    lines = ["# ddpsim-trace: 1", f"# forward: {forward}", "# optimizer: 0.002s", "gradient,elements,dtype,ready_s"]
    return "\n".join(lines + [f"{name},{elements},float32,{ready}" for name, elements, ready in gradients]) + "\n"


class GpuCheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.module = gpu_check()
        self.check = self.module.Check(argparse.Namespace(out=folder.name, minutes=1, slow=1))

    def step(self, script, limit_s=20, **options):
        with contextlib.redirect_stdout(io.StringIO()):
            ok = self.check.step("a-step", limit_s, [sys.executable, "-c", script], **options)
        (found,) = json.loads((self.folder / "results.json").read_text())
        self.assertEqual(ok, found["state"] == "ok")
        return found["state"], found["about"]

    def test_what_ends_well(self):
        self.assertEqual(self.step("print('hello')"), ("ok", ""))
        self.assertTrue((self.folder / "a-step.log").read_text().endswith("hello\n"))

    def test_what_fails_says_why(self):
        self.assertEqual(self.step("import sys; print('error: no such thing'); print('hint: none'); sys.exit(2)"), ("failed", "exit code 2: error: no such thing"))

    def test_a_result_that_is_missing(self):
        self.assertEqual(self.step("print('done')", result="rows.csv"), ("failed", "exit code 0: done"))

    def test_what_is_not_here_is_no_failure(self):
        self.assertEqual(self.step("import sys; print('error: no GPU', file=sys.stderr); sys.exit(3)"), ("not here", "error: no GPU"))

    def test_a_program_that_was_not_built(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertFalse(self.check.step("a-step", 20, ["/no/such/program"]))
        self.assertEqual(self.check.steps[0]["state"], "not here")

    def test_tests_that_skip_are_not_here(self):
        self.assertEqual(self.step("print('[  SKIPPED ] OnAGpu.HasAName (0 ms)')")[0], "not here")

    def test_what_hangs_is_ended_with_all_that_it_started(self):
        began = time.monotonic()
        script = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3); open(\"alive\", \"w\")'], cwd=%r); time.sleep(60)"
        self.assertEqual(self.step(script % str(self.folder), limit_s=1)[0], "timed out")
        self.assertLess(time.monotonic() - began, 15)
        time.sleep(3)
        self.assertFalse((self.folder / "alive").exists())

    def test_the_environment_of_a_step(self):
        script = "import os, sys; sys.exit(0 if os.environ['DDPSIM_SHARE_GPU'] == '1' and 'PATH' in os.environ else 1)"
        self.assertEqual(self.step(script, environment={"DDPSIM_SHARE_GPU": "1"})[0], "ok")
        self.assertTrue((self.folder / "a-step.log").read_text().startswith("$ DDPSIM_SHARE_GPU=1 "))

    def validate(self, gpus, nccl):
        """The command and environment of validate-nccl."""
        with unittest.mock.patch.object(self.check, "step") as step:
            self.module.validate_nccl(self.check, gpus, nccl)
        return " ".join(map(str, step.call_args.args[2])), step.call_args.kwargs["environment"]

    def test_several_gpus_keep_the_scenario(self):
        command, environment = self.validate(4, "")
        self.assertIn("--ranks 4 --set cluster.world_size=4 --repetitions 10", command)
        self.assertEqual(environment, {})

    def test_one_gpu_is_shared_and_its_times_are_not_judged(self):
        with unittest.mock.patch.dict("os.environ", LD_LIBRARY_PATH="/elsewhere"):
            command, environment = self.validate(1, "/nccl")
        self.assertIn("--ranks 2 --set cluster.world_size=2 --set ddp.bucket_cap=25MiB --set validation.thresholds={iteration_error: 1000000%} --repetitions 3", command)
        self.assertEqual(environment, {"DDPSIM_SHARE_GPU": "1", "LD_LIBRARY_PATH": "/nccl/lib:/elsewhere"})

    def test_without_time_nothing_starts(self):
        self.check.end = time.monotonic()
        self.assertEqual(self.step("print('hello')"), ("left out", "no time is left"))

    def compared(self, capture, record):
        (self.folder / "capture-x.csv").write_text(capture)
        (self.folder / "record-x.csv").write_text(record)
        with contextlib.redirect_stdout(io.StringIO()):
            row = self.module.compared(self.check, "x")
        return row, json.loads((self.folder / "results.json").read_text())[0]

    def test_traces_side_by_side(self):
        row, step = self.compared(trace("10ms", [("b", 2, 0.010), ("a", 1, 0.020)]), trace("0.011s", [("b", 2, 0.011), ("a", 1, 0.022)]))
        self.assertTrue(row["same_gradients"] and row["same_order"])
        # Of 20 ms 1 and 2 ms apart, 1.5 in the middle.
        self.assertAlmostEqual(row["ready_apart_of_backward"], 0.075)
        self.assertEqual((step["state"], step["about"]), ("ok", "record takes +10.0 % in backward, +10.0 % in forward; gradients are 7.5 % apart"))

    def test_traces_of_different_models(self):
        one = trace("10ms", [("b", 2, 0.010), ("a", 1, 0.020)])
        for other in (trace("10ms", [("a", 1, 0.010), ("b", 2, 0.020)]), trace("10ms", [("b", 3, 0.010), ("a", 1, 0.020)]), trace("10ms", [("b", 2, 0.010)])):
            self.assertEqual(self.compared(one, other)[1]["state"], "failed")
            self.check.steps.clear()


if __name__ == "__main__":
    SOURCE_ROOT = Path(sys.argv.pop(1))
    unittest.main()
