#!/usr/bin/env python3
"""How far predicted steps of one job on several numbers of GPUs are from published ones (training/growth.csv), and how much longer they take on more, as the
Markdown of RESULTS.md.

Usage: judge_growth.py DDPSIM [--set KEY=VALUE ...] [--only WORD] [--rows]

Errors are predicted / measured - 1 in %. Growth is GPU seconds a sample on a number of GPUs over those on the fewest of its series, less 1, so that a series with
one global batch counts like one whose batch grows; a series is one model with all layers in one release. --rows prints every number of GPUs, and not the most
alone. --only: of series whose name has the word. The protocol is training/SOURCE.md.
"""
import argparse
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path

from judge_parallel import TOPOLOGIES
from judge_steps import CARDS, Judge, Row, coverage, figures, read_rows, table

GROWTH = Path(__file__).resolve().parent / "training/growth.csv"
MODELS = {
    # arxiv.org/abs/2406.11704, table 1
    "nemotron-340b": {"hidden": 18432, "layers": 96, "heads": 96, "kv_heads": 8, "ffn": 73728, "vocab": 256000},
    # grok1/grok1_314b.yaml of the rows' source; vocabulary of the tokenizer it names
    "grok-1": {"hidden": 6144, "layers": 64, "heads": 48, "kv_heads": 8, "ffn": 32768, "vocab": 128256, "gated": True, "experts": 8, "top_k": 2},
}
LAYERS = {("llama-3-405b", 64): [1] + 62 * [2] + [1]}    # embedding and loss count as a block each


class Step(Row):
    @property
    def job(self):
        return f"{self.model} in {self.dtype}, {CARDS[self.gpu]}"

    @property
    def name(self):
        return f"{self.job}, {self.release}" + (", one batch" if self.set == "dgxc-strong" else "")

    @property
    def is_whole(self):
        return not self.layers or int(self.layers) == MODELS[self.model]["layers"]

    @property
    def work(self):
        """GPU seconds a sample takes of a second of the step."""
        return int(self.gpus) / int(self.global_batch)

    def workload(self):
        model = self.model
        if model in MODELS:
            model = {"kind": "transformer", "gated": False, "tied": False, "positions": 0, **MODELS[model]} | ({"layers": int(self.layers)} if self.layers else {})
        kernel = {"attention": {"kernel": "fa2"}} if self.model == "grok-1" else {}    # NVTE_FUSED_ATTN=0
        return {"model": model, "micro_batch": 1, "sequence": int(self.cells["sequence"]), "dtype": self.dtype, "framework": "te-2025", **kernel}

    def scenario(self):
        stages = int(self.pipeline) * int(self.virtual)
        layers = {"layers": LAYERS[self.model, stages]} if (self.model, stages) in LAYERS else {}
        pipeline = {"pipeline": {"virtual": int(self.virtual), **layers}} if stages > 1 else {}
        degrees = {axis: int(self.cells[axis]) for axis in ("tensor", "context", "pipeline", "expert") if self.cells[axis] != "1"}
        expert = {"expert": {"capacity": 1, "tensor": int(self.tensor)}} if "expert" in degrees else {}
        return {"workload": self.workload(), "cluster": {"topology": TOPOLOGIES[self.gpu], "world_size": int(self.gpus)},
                "batch": {"global": int(self.global_batch)}, "strategy": "megatron", "megatron": {"grad_reduce_in_fp32": False},
                "parallelism": degrees | ({"sequence": True} if self.tensor != "1" else {}), **pipeline, **expert}


def judge_jobs(errors):
    groups = defaultdict(list)
    for row, error in errors:
        groups[row.job].append(error)
    rows = [[job, *figures(found), coverage(found)] for job, found in groups.items()]
    return table(["steps", "n", "bias", "mean error", "worst", "in their range"], [*rows, ["all", *figures([e for _, e in errors]), coverage([e for _, e in errors])]])


def judge_series(errors, of_all):
    """errors: [(row, error)]."""
    series = defaultdict(list)
    for row, error in errors:
        if row.is_whole:
            series[row.name].append((row, error))
    lines, points = [], []
    for name, steps in series.items():
        steps.sort(key=lambda step: int(step[0].gpus))
        first, first_error = steps[0]
        for row, error in steps[1:]:
            measured = row.measured * row.work / (first.measured * first.work)
            predicted = measured * (1 + error) / (1 + first_error)
            is_last = row is steps[-1][0]
            if is_last:
                points.append(100 * (predicted - measured))
            if is_last or of_all:
                lines.append([name, f"{first.gpus} to {row.gpus}", f"{100 * (measured - 1):+.1f}", f"{100 * (predicted - 1):+.1f}", f"{100 * (predicted - measured):+.1f}"])
    lines.append(["mean of absolute values", "", "", "", f"{statistics.mean(map(abs, points)):.1f}"])
    return table(["job", "GPUs", "measured longer, %", "predicted, %", "difference, points"], lines)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    parser.add_argument("ddpsim", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", action="store_true")
    arguments = parser.parse_args()
    rows = list(read_rows(GROWTH, Step))
    chosen = [row for row in rows if arguments.only in row.name]
    if not chosen:
        parser.error(f"--only {arguments.only}: no series has it in its name; there are {'; '.join(dict.fromkeys(row.name for row in rows))}")
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(arguments.ddpsim, folder, arguments.settings)
        errors = [(row, judge.error(row)) for row in chosen]
    print("\n".join([*judge_jobs(errors), "", *judge_series(errors, arguments.rows)]))


if __name__ == "__main__":
    main()
