#!/usr/bin/env python3
"""How far predicted steps of BERT on V100s are from published throughput (training/bert.csv), as the Markdown of RESULTS.md.

Usage: judge_bert.py DDPSIM [--set KEY=VALUE ...]

What a prediction is given: the model, the batch per GPU, the type, software apex-2019, of several GPUs gradients all-reduced at once after backward (`flat`, as the code does), a DGX-1 with V100s; of the rows
named dlperf an ND40rs, the preset with one NIC of 100 Gb/s. Steps are as if gradients were reduced and stepped each time; rows of several GPUs in one node may have accumulated."""
import argparse
import tempfile
from collections import defaultdict
from pathlib import Path

from judge_steps import Error, Judge, figures, read_rows, table

ROWS = Path(__file__).resolve().parent / "training/bert.csv"
SETS = {"dgx1": "BERT-large, DGX-1", "dgx2": "BERT-large, one GPU of a DGX-2", "dlperf": "BERT-base, DLPerf's V100s"}


def scenario(row):
    return {"workload": {"model": row.model, "micro_batch": int(row.batch), "sequence": int(row.sequence), "dtype": row.dtype, "framework": "apex-2019"},
            "cluster": {"topology": "azure-nd40rs" if row.set == "dlperf" else "dgx1-v100", "gpu": row.gpu, "world_size": int(row.gpus)}, "strategy": "ddp" if row.gpus == "1" else "flat"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ddpsim", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of every scenario (repeatable)")
    options = parser.parse_args()
    groups, lines = defaultdict(list), []
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(str(options.ddpsim.resolve()), folder, options.set)
        for row in read_rows(ROWS):
            answer = judge.simulate(scenario(row))
            error = Error(answer["iteration_s"] * float(row.sequences_per_s) / (int(row.batch) * int(row.gpus)) - 1)
            least, most = answer["evidence"]["interval_80_s"] if "evidence" in answer else [answer["iteration_s"]] * 2
            measured = answer["iteration_s"] / (1 + error)
            error.inside = least <= measured <= most
            size = "one GPU" if row.gpus == "1" else "one node" if int(row.gpus) <= 8 else "several nodes"
            groups[SETS[row.set.split("-")[0]], row.dtype, size, row.judged].append(error)
    for (name, dtype, size, judged), errors in groups.items():
        lines.append([name, dtype, size, "" if judged else "fitted", *figures(errors), f"{sum(error.inside for error in errors)} of {len(errors)}"])
    print("\n".join(table(["steps", "type", "on", "", "n", "bias", "mean error", "worst", "in their range"], lines)))


if __name__ == "__main__":
    main()
