#!/usr/bin/env python3
"""The blocks of measurements/RESULTS.md on a shared fabric and on MLPerf's jobs are what measurements/judge_fabric.py and judge_mlperf.py get from this build.

Usage: judge_fabric_test.py DDPSIM SOURCE_ROOT"""
import csv
import math
import re

from chapter import Chapter, main


class Chapters(Chapter):
    def check(self, script):
        self.assert_same(self.written(script=script), self.answer_to(script=script), count_tolerance=1)

    def test_fabric(self):
        self.check("judge_fabric.py")

    def test_mlperf(self):
        self.check("judge_mlperf.py")


class Fabric(Chapter):
    def test_the_shares_are_those_of_the_figure(self):
        """Of each row over the 95th percentile, the geometric mean of three operations."""
        lines = [line for line in (self.root / "measurements/fabrics/playbook_256MB.csv").read_text().splitlines() if not line.startswith("#")]
        rows = list(csv.DictReader(lines))
        text = (self.root / "fabrics/efa-shared.yaml").read_text()
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
        cells = next([cell.strip() for cell in line.split("|")[1:-1]] for line in self.answer_to(script="judge_fabric.py") if line.startswith("| 256 |"))
        measured, _, _, fp32, bf16 = map(int, cells[1:])
        self.assertLess(fp32, measured)
        self.assertLessEqual(measured, bf16 + 1)    # in whole percent


if __name__ == "__main__":
    main()
