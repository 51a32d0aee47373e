#!/usr/bin/env python3
"""The modelled trace under traces/: what its generator makes, and what its formulas say.

Usage: modelled_trace_test.py SOURCE_ROOT [unittest arguments]
"""
import csv
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path()
RATE = 989.4e12 * 0.4


def generate(*arguments):
    done = subprocess.run([sys.executable, "-B", ROOT / "traces/model_gpt2.py", *arguments], capture_output=True, check=True)
    assert done.stderr == b"", done.stderr
    return done.stdout


def rows(text):
    return list(csv.DictReader(line for line in text.decode().splitlines() if not line.startswith("#")))


def header(text):
    return dict(line[2:].split(": ", 1) for line in text.decode().splitlines() if line.startswith("# ") and ": " in line)


class ModelledTraceTest(unittest.TestCase):
    def setUp(self):
        self.stored = (ROOT / "traces/gpt2-xl-h100-modelled.csv").read_bytes()

    def test_the_generator_makes_the_trace_byte_for_byte(self):
        self.assertEqual(generate(), self.stored)
        command = header(self.stored)["source"].split("traces/model_gpt2.py ", 1)[1].split(". ", 1)[0]
        self.assertEqual(generate(*command.split()), self.stored)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(generate("--out", f"{folder}/trace.csv"), b"")
            self.assertEqual(Path(folder, "trace.csv").read_bytes(), self.stored)

    def test_it_says_that_it_is_modelled(self):
        self.assertTrue(header(self.stored)["source"].startswith("MODELLED, not recorded: "))
        self.assertIn(b"\n# MODELLED TRACE. ", self.stored)
        self.assertEqual(header(self.stored)["synthetic"], "operation counts at 40 % of 989.4 TFLOP/s")

    def test_tensors_are_those_of_the_recorded_gpt2_large(self):
        """Names, sizes, order of arrival and place in registration; the recorded trace got them from sim/model."""
        keys = ("gradient", "elements", "dtype", "parameter")
        recorded = rows((ROOT / "traces/gpt2-large-a100-bs4.csv").read_bytes())
        modelled = rows(generate("--model", "gpt2-large"))
        self.assertEqual([[r[k] for k in keys] for r in modelled], [[r[k] for k in keys] for r in recorded])

    def test_elements_of_the_four_models(self):
        """1557611200 = 50257 * 1600 + 1024 * 1600 + 48 * (12 * 1600^2 + 13 * 1600) + 2 * 1600."""
        for model, elements in {"gpt2": 124439808, "gpt2-medium": 354823168, "gpt2-large": 774030080, "gpt2-xl": 1557611200}.items():
            with self.subTest(model=model):
                self.assertEqual(sum(int(row["elements"]) for row in rows(generate("--model", model))), elements)

    def test_times_by_hand(self):
        """T = 8192 tokens. The lm_head's backward: 4 T * 50257 * 1600 operations. A block's: 4 T * 12 * 1600^2 of its matrices and
        8 T * 1024 * 1600 of attention, which lies between c_proj and c_attn."""
        tokens, width = 8192, 1600
        lm_head, square, attention = 4 * tokens * 50257 * width, 4 * tokens * width**2, 8 * tokens * 1024 * width
        block = 12 * square + attention
        self.assertEqual((lm_head, block), (2634914201600, 1114007142400))
        ready = {row["gradient"]: float(row["ready_s"]) for row in rows(self.stored)}
        for name, operations in {
            "transformer.ln_f.weight": lm_head,
            "transformer.h.47.mlp.c_proj.weight": lm_head + 4 * square,
            "transformer.h.47.ln_2.bias": lm_head + 8 * square,
            "transformer.h.47.attn.c_proj.bias": lm_head + 9 * square,
            "transformer.h.47.attn.c_attn.weight": lm_head + 12 * square + attention,
            "transformer.h.46.mlp.c_fc.weight": lm_head + block + 8 * square,
            "transformer.wte.weight": lm_head + 48 * block,
        }.items():
            with self.subTest(name=name):
                self.assertAlmostEqual(ready[name], operations / RATE, delta=1e-9)
        # Forward is half of backward; the optimizer moves 28 * 1557611200 B at 3.35 TB/s.
        self.assertEqual(header(self.stored)["forward"], f"{1e3 * (lm_head + 48 * block) / 2 / RATE:.6f}ms")
        self.assertEqual(header(self.stored)["optimizer"], "13.018840ms")

    def test_arrival_never_goes_back(self):
        times = [float(row["ready_s"]) for row in rows(self.stored)]
        self.assertEqual(times, sorted(times))

    def test_arguments_out_of_range(self):
        for arguments in (["--batch-size", "0"], ["--sequence-length", "1025"], ["--utilisation", "0"], ["--utilisation", "1.1"]):
            with self.subTest(arguments=arguments), self.assertRaises(subprocess.CalledProcessError):
                generate(*arguments)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ROOT = Path(sys.argv.pop(1))
    unittest.main()
