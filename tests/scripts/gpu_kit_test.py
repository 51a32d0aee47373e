#!/usr/bin/env python3
"""A rehearsal of the kit's tables on a CPU: they have the columns of measurements/h200 or h100, or say what this PyTorch lacks. Skipped where no Python has PyTorch
(DDPSIM_PYTHON names another one).

Usage: gpu_kit_test.py SOURCE_ROOT
"""
import csv
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE_ROOT = Path()
MISSING = 3
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def python_with_torch():
    for python in filter(None, (os.environ.get("DDPSIM_PYTHON"), sys.executable, "/usr/bin/python3")):
        try:
            if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
                return python
        except OSError:
            pass
    return None


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


class GpuKitTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = python_with_torch()
        if not cls.python:
            raise unittest.SkipTest("no Python here has PyTorch")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_kit(self, program, *arguments):
        """Whether it ran; otherwise it has said what is missing."""
        command = [self.python, SOURCE_ROOT / "scripts/gpu_kit" / program, *arguments]
        ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=ENVIRONMENT)
        self.assertIn(ran.returncode, (0, MISSING), ran.stdout + ran.stderr)
        if ran.returncode == MISSING:
            self.assertRegex(ran.stderr, "(?m)^error: .")
            self.assertNotIn("Traceback", ran.stderr)
        return ran.returncode == 0

    def check_tables(self, program, names, measured="h200"):
        for name in names:
            with self.subTest(name):
                ran = self.run_kit(program, name, self.folder / f"{name}.csv", "--device", "cpu", "--quick")
                columns, *rows = rows_of(self.folder / f"{name}.csv")
                self.assertEqual(columns, rows_of(SOURCE_ROOT / f"measurements/{measured}/{name}.csv")[0])
                self.assertEqual(bool(rows), ran)
                self.assertEqual({len(row) for row in rows} - {len(columns)}, set())

    def test_measure(self):
        self.check_tables("measure.py", ("overheads", "passes", "interference"))

    def test_kernels(self):
        self.check_tables("kernels.py", ("products", "attention", "elementwise", "optimizer", "grouped", "float8"))

    def test_steps(self):
        self.check_tables("steps.py", ("pace", "steps", "sharded"))

    def test_outside(self):
        self.check_tables("outside.py", ("memory", "offload"), "h100")

    def test_libraries(self):
        self.check_tables("libraries.py", ("deepspeed", "transformers"), "h100")

    def test_profiles(self):
        if self.run_kit("profiles.py", self.folder, "--backend", "gloo", "--quick"):
            self.assertEqual({file.name for file in self.folder.iterdir()},
                             {f"{kind}-rank{rank}.json.gz" for kind in ("ddp", "fsdp1", "fsdp2") for rank in range(2)})


if __name__ == "__main__":
    SOURCE_ROOT = Path(sys.argv.pop(1))
    unittest.main()
