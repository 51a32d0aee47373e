#!/usr/bin/env python3
"""The chapter of docs/accuracy.md on a shared fabric is what measurements/judge_fabric.py gets from this build.

Usage: judge_fabric_test.py DDPSIM SOURCE_ROOT"""
import re
import subprocess
import sys
import unittest
from pathlib import Path

NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


class Fabric(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        command = [sys.executable, "-B", str(ROOT / "measurements/judge_fabric.py"), DDPSIM]
        cls.answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()

    def test_the_document_is_up_to_date(self):
        document = (ROOT / "docs/accuracy.md").read_text()
        start = "<!-- measurements/judge_fabric.py -->\n"
        begin = document.index(start) + len(start)
        written = document[begin:document.index("<!-- end -->", begin)].strip().splitlines()
        self.assertEqual(len(written), len(self.answer))
        for old, new in zip(written, self.answer):
            self.assertEqual(NUMBER.sub("0", old), NUMBER.sub("0", new))
            for a, b in zip(NUMBER.findall(old), NUMBER.findall(new)):
                self.assertLessEqual(abs(float(a) - float(b)), 0.11 if "." in a else 1, f"{old}\n{new}")    # the last digit may fall either way

    def test_the_fall_to_256_gpus_is_between_the_two_types_of_gradients(self):
        """With the fabric's own curve, in the median."""
        cells = next([cell.strip() for cell in line.split("|")[1:-1]] for line in self.answer if line.startswith("| 256 |"))
        measured, _, _, fp32, bf16 = map(int, cells[1:])
        self.assertLess(fp32, measured)
        self.assertLess(measured, bf16)


if __name__ == "__main__":
    DDPSIM, ROOT = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
