#!/usr/bin/env python3
"""The chapters of docs/accuracy.md on a shared fabric and on MLPerf's jobs are what measurements/judge_fabric.py and judge_mlperf.py get from this build.

Usage: judge_fabric_test.py DDPSIM SOURCE_ROOT"""
import csv
import math
import re
import subprocess
import sys
import unittest
from pathlib import Path

NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def answer_of(script):
    command = [sys.executable, "-B", str(ROOT / "measurements" / script), DDPSIM]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()


class Chapters(unittest.TestCase):
    def check(self, script):
        answer = answer_of(script)
        document = (ROOT / "docs/accuracy.md").read_text()
        start = f"<!-- measurements/{script} -->\n"
        begin = document.index(start) + len(start)
        written = document[begin:document.index("<!-- end -->", begin)].strip().splitlines()
        self.assertEqual(len(written), len(answer))
        for old, new in zip(written, answer):
            self.assertEqual(NUMBER.sub("0", old), NUMBER.sub("0", new))
            for a, b in zip(NUMBER.findall(old), NUMBER.findall(new)):
                self.assertLessEqual(abs(float(a) - float(b)), 0.11 if "." in a else 1, f"{old}\n{new}")    # the last digit may fall either way

    def test_fabric(self):
        self.check("judge_fabric.py")

    def test_mlperf(self):
        self.check("judge_mlperf.py")


class Fabric(unittest.TestCase):
    def test_the_shares_are_those_of_the_figure(self):
        """Of each row over the 95th percentile, the geometric mean of three operations."""
        lines = [line for line in (ROOT / "measurements/fabrics/playbook_256MB.csv").read_text().splitlines() if not line.startswith("#")]
        rows = list(csv.DictReader(lines))
        text = (ROOT / "fabrics/efa-shared.yaml").read_text()
        found = re.findall(r"nodes: (\d+), p5: ([\d.]+), median: ([\d.]+), p95: 1}", text)
        self.assertEqual([int(nodes) for nodes, *_ in found], [2, 4, 8, 16, 32, 64])
        for nodes, *shares in found:
            of_size = [row for row in rows if row["nodes"] == nodes]
            self.assertEqual(len(of_size), 3)
            for key, share in zip(("p5", "median"), shares):
                mean = math.prod(float(row[key]) / float(row["p95"]) for row in of_size) ** (1 / 3)
                self.assertAlmostEqual(float(share), mean, delta=6e-4, msg=nodes)

    def test_the_fall_to_256_gpus_is_between_the_two_types_of_gradients(self):
        """With the fabric's own curve, in the median."""
        cells = next([cell.strip() for cell in line.split("|")[1:-1]] for line in answer_of("judge_fabric.py") if line.startswith("| 256 |"))
        measured, _, _, fp32, bf16 = map(int, cells[1:])
        self.assertLess(fp32, measured)
        self.assertLessEqual(measured, bf16 + 1)    # in whole percent


if __name__ == "__main__":
    DDPSIM, ROOT = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
