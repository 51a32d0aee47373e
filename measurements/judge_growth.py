#!/usr/bin/env python3
"""How much longer a step takes on more GPUs, measured and predicted (training/growth.csv), as the Markdown of docs/accuracy.md.

Usage: judge_growth.py DDPSIM [--set KEY=VALUE ...] [--rows]

Time is GPU seconds a sample, so a series with one global batch counts like one whose batch grows; growth is that of a number of GPUs over that of the fewest of
its series, in %. --rows prints every row with the error of its step. The protocol is training/SOURCE.md.
"""
import argparse
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path

from judge_parallel import TOPOLOGIES
from judge_steps import CARDS, Error, Judge, Row, coverage, mean_error, read_rows, table

GROWTH = Path(__file__).resolve().parent / "training/growth.csv"
NEMOTRON = {"kind": "transformer", "hidden": 18432, "layers": 96, "heads": 96, "kv_heads": 8, "ffn": 73728, "vocab": 256000, "tied": False, "gated": False,
            "positions": 0}    # arxiv.org/abs/2406.11704, table 1
LAYERS = {("llama-3-405b", 64): [1] + 62 * [2] + [1]}    # embedding and loss count as a block each


class Step(Row):
    @property
    def name(self):
        strong = ", one batch" if self.set == "dgxc-strong" else ""
        return f"{self.model} in {self.dtype}, {CARDS[self.gpu]}, {self.release}{strong}"

    @property
    def work(self):
        """GPU seconds a sample take of a second of the step."""
        return int(self.gpus) / int(self.global_batch)

    def scenario(self):
        stages = int(self.pipeline) * int(self.virtual)
        layers = {"layers": LAYERS[self.model, stages]} if (self.model, stages) in LAYERS else {}
        pipeline = {"pipeline": {"virtual": int(self.virtual), **layers}} if stages > 1 else {}
        return {"workload": {"model": NEMOTRON if self.model == "nemotron-340b" else self.model, "micro_batch": 1, "sequence": int(self.cells["sequence"]),
                             "dtype": self.dtype, "framework": "te-2025"},
                "cluster": {"topology": TOPOLOGIES[self.gpu], "world_size": int(self.gpus)}, "batch": {"global": int(self.global_batch)}, "strategy": "megatron",
                "megatron": {"grad_reduce_in_fp32": False},
                "parallelism": {axis: int(self.cells[axis]) for axis in ("tensor", "context", "pipeline") if self.cells[axis] != "1"}
                | ({"sequence": True} if self.tensor != "1" else {}), **pipeline}


def judge_series(errors, show_rows):
    """errors: [(row, error)]. Lines of the table, and every series' difference of growth in points, of its most GPUs."""
    series = defaultdict(list)
    for row, error in errors:
        series[row.name].append((row, error))
    lines, points = [], []
    for name, steps in series.items():
        steps.sort(key=lambda step: int(step[0].gpus))
        first, first_error = steps[0]
        for row, error in steps[1:]:
            measured = row.measured * row.work / (first.measured * first.work)
            predicted = measured * (1 + error) / (1 + first_error)
            last = row is steps[-1][0]
            if last:
                points.append(100 * (predicted - measured))
            if last or show_rows:
                lines.append([name, f"{first.gpus} to {row.gpus}", f"{100 * (measured - 1):+.1f}", f"{100 * (predicted - 1):+.1f}",
                              f"{100 * (predicted - measured):+.1f}", f"{100 * first_error:+.1f}", f"{100 * error:+.1f}"])
    return lines, points


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("ddpsim", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--only")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(arguments.ddpsim, folder, arguments.settings)
        errors = [(row, judge.error(row)) for row in read_rows(GROWTH, Step) if not arguments.only or arguments.only in row.name]
    lines, points = judge_series(errors, arguments.rows)
    lines.append(["mean of absolute values", "", "", "", f"{statistics.mean(map(abs, points)):.1f}", "", f"{mean_error([error for _, error in errors]):.1f}"])
    print("\n".join(table(["job", "GPUs", "measured longer, %", "predicted, %", "difference, points", "error of the first step, %", "of the last"], lines)))
    print(f"\nSteps in their range: {coverage([error for _, error in errors])}.")


if __name__ == "__main__":
    main()
