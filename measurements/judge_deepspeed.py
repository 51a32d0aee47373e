#!/usr/bin/env python3
"""Steps of one rank of eight under DeepSpeed's ZeRO (h100/deepspeed.csv, whose collectives did nothing) against `ddpsim simulate` of 8 H100s under pytorch-2026 without
interference and spread, what communication is waited for left out of it; as the Markdown of docs/accuracy.md. The protocol is h100/SOURCE.md.

Usage: judge_deepspeed.py DDPSIM
"""
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from judge_gpu import ROOT, config_of

JOB = """workload: {{model: ./model.json, micro_batch: {batch}, sequence: {sequence}, dtype: bf16, framework: pytorch-2026, recompute: {recompute}}}
cluster: {{topology: dgx-h100, world_size: 8}}
strategy: {stage}
zero: {{overlap_comm: true}}
physics: {{interference: 0}}
spread: none
evidence: none
"""


def rows():
    with open(ROOT / "h100/deepspeed.csv", newline="") as file:
        return [row for row in csv.DictReader(file) if row["forward_s"] and row["stage"] in ("zero1", "zero2", "zero3")]


def predicted(ddpsim, row, folder):
    """Seconds of a step, without what it waits for communication."""
    (folder / "model.json").write_text(json.dumps(config_of(row["model"])))
    (folder / "job.yaml").write_text(JOB.format(**row, recompute="full" if row["checkpoint"] == "1" else "none"))
    step = json.loads(subprocess.run([ddpsim, "simulate", folder / "job.yaml", "--json", "-"], capture_output=True, check=True).stdout)
    return step["iteration_s"] - step["exposed_communication_s"]


def main():
    ddpsim = Path(sys.argv[1]).resolve()
    print("| model | tokens | recomputed | stage | measured, ms | predicted, ms | error |\n|" + "---|" * 7)
    with tempfile.TemporaryDirectory() as folder:
        for row in rows():
            measured = sum(float(row[f"{part}_s"]) for part in ("forward", "backward", "optimizer"))
            time = predicted(ddpsim, row, Path(folder))
            tokens = int(row["batch"]) * int(row["sequence"])
            print(f"| {row['model']} | {tokens} | {'yes' if row['checkpoint'] == '1' else ''} | {row['stage']} | {1e3 * measured:.0f} | {1e3 * time:.0f} | {100 * (time / measured - 1):+.0f} |")


if __name__ == "__main__":
    main()
