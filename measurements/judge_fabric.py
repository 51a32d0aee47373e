#!/usr/bin/env python3
"""A shared fabric of EFA nodes: what its collectives and a job on it lose with nodes, against ddpsim. Markdown, for RESULTS.md.

Usage: judge_fabric.py DDPSIM"""
import csv
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
FABRIC = ROOT / "fabrics/playbook_256MB.csv"
CALIBRATED = "all_gather"    # its 95th percentiles on 4 to 64 nodes: one number, the latency between nodes
# Tokens a second and GPU of data-parallel training on 8 to 256 GPUs: huggingface.co/spaces/nanotron/ultrascale-playbook, fragments/dp_scaling.html.
# Which model it was is not beside the figure; its memory, 36.66 GB, is that of 1.24 billion parameters and one sequence of 4096 tokens.
RATES = {8: 40149.94, 16: 37609.69, 32: 35367.61, 64: 31112.23, 128: 26446.44, 256: 15700.38}
JOB = """workload:
  model: {kind: transformer, hidden: 2048, layers: 16, heads: 32, kv_heads: 8, ffn: 8192, gated: true, vocab: 128256, tied: true}
  micro_batch: 1
  sequence: 4096
cluster: {topology: p5, world_size: 8}
strategy: ddp
variability: {seed: 1, iterations: 2000, jitter: none, weather: WEATHER}
sweep: {cluster.world_size: [8, 16, 32, 64, 128, 256]}
"""


def table(header, rows):
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(row) + " |" for row in rows)]


def answer(*arguments):
    return json.loads(subprocess.run(list(map(str, arguments)), capture_output=True, text=True, check=True).stdout)


def collectives(ddpsim):
    """Bus bandwidths in good weather: the 95th percentile, and ours."""
    rows, errors = [], {}
    with open(FABRIC) as file:
        measured = [row for row in csv.DictReader(line for line in file if not line.startswith("#")) if int(row["nodes"]) > 1]
    for row in measured:
        cost = answer(ddpsim, "topology", "costs", "p5", "--world-size", 8 * int(row["nodes"]), "--bytes", "256MB", "--operation", row["operation"], "--json", "-")["costs"][0]
        ours, best = cost["busbw_Bps"] / 1e9, float(row["p95"])
        fitted = row["operation"] == CALIBRATED and int(row["nodes"]) > 2
        errors.setdefault("fitted" if fitted else row["operation"], []).append(100 * (best / ours - 1))
        rows.append([row["operation"], row["nodes"], f"{best:.0f}", f"{ours:.0f}", f"{100 * (best / ours - 1):+.0f}", "fitted" if fitted else ""])
    means = [[name, str(len(found)), f"{statistics.mean(map(abs, found)):.1f}"] for name, found in errors.items()]
    return table(["times of", "rows", "mean error, %"], means), table(["operation", "nodes", "measured, GB/s (p95)", "predicted", "time, % off", ""], rows)


def job(ddpsim, folder):
    """Of the rate on 8 GPUs, what is left on more: in good weather and in the median's, for gradients of two types."""
    left = []
    for weather in ("none", "efa-shared"):
        for hook in ("none", "bf16"):
            path = Path(folder) / "job.yaml"
            path.write_text(JOB.replace("WEATHER", weather))
            points = answer(ddpsim, "sweep", path, "--set", f"ddp.comm_hook={hook}", "--json", "-")["points"]
            times = [point["iterations"]["median_s"] if "iterations" in point else point["iteration_s"] for point in points]
            left.append([times[0] / time for time in times])
    percent = lambda share: f"{100 * share:.0f}"
    rows = [[str(gpus), percent(rate / RATES[8]), *(percent(one[k]) for one in left)] for k, (gpus, rate) in enumerate(RATES.items())]
    return table(["GPUs", "measured, % of 8 GPUs' rate", "good weather, fp32", "good weather, bf16", "median weather, fp32", "median weather, bf16"], rows)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    ddpsim = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        means, rows = collectives(ddpsim)
        print("\n".join([*means, "", *rows, "", *job(ddpsim, folder)]))


if __name__ == "__main__":
    main()
