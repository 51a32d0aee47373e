#!/usr/bin/env python3
"""Recorded scripts (recorded/*.jsonl.gz, each a row of h200/steps.csv or h200/sharded.csv) against the steps that were measured, as the Markdown of RESULTS.md: forward and
backward pass together, without communication, and memory at its peak. The protocol is recorded/SOURCE.md.

Usage: judge_recorded.py DDPSIM [--rows]    (--rows: a line each)
"""
import argparse
import csv
import gzip
import json
import subprocess
import tempfile
from pathlib import Path

from judge_gpu import HOST_PACED, figures

ROOT = Path(__file__).resolve().parent
RECORDED = ROOT / "recorded"
SOFTWARE = "pytorch-2026"


def set_of(name):
    words = name.split("-")
    if "compiled" in words:
        return "torch.compile"
    if words[0] == "fsdp2" and "large" in words:
        return "FSDP2, seen before"
    kinds = {"fsdp2": "FSDP2", "fsdp1": "FSDP1", "ddp": "DistributedDataParallel"}
    precisions = {"bf16": "bf16", "autocast": "autocast", "float32": "float32 and TF32", "tf32": "float32 and TF32"}
    return kinds.get(words[0]) or next(precisions[word] for word in words if word in precisions)


def measured(gpu):
    """Rows that have times, by the name of their recording; with how many ranks."""
    rows = {}
    for file, ranks in (("steps.csv", 1), ("sharded.csv", 8)):
        path = ROOT / gpu / file
        for row in csv.DictReader(path.open(newline="")) if path.exists() else ():
            if not row["forward_s"] or int(row.get("world", 1)) not in (1, ranks):
                continue
            words = [row["kind"], row["model"]] if "kind" in row else [row["model"], row["precision"]]
            words += ["checkpoint"] * int(row["checkpoint"]) + ["foreach"] * (row["optimizer"] == "foreach") + ["compiled"] * int(row.get("compiled", 0))
            rows["-".join([*words, f"{row['batch']}x{row['sequence']}"])] = ranks, row
    return rows


class Judge:
    def __init__(self, ddpsim, folder):
        self.ddpsim, self.scenario = ddpsim, Path(folder) / "recorded.yaml"

    def ask(self, command, name, ranks, gpu):
        self.scenario.write_text(json.dumps({
            "workload": {"recording": str(RECORDED / f"{name}.jsonl.gz"), "framework": SOFTWARE}, "physics": "none", "evidence": "none",
            "cluster": {"topology": "superpod-h100", "gpu": f"{gpu}-sxm", "world_size": ranks}}))
        return json.loads(subprocess.run([self.ddpsim, command, self.scenario, "--json", "-", "--quiet"], check=True, capture_output=True, text=True).stdout)

    def passes(self, name, ranks, gpu):
        step = self.ask("simulate", name, ranks, gpu)
        return step["forward_s"] + step["backward_compute_s"] + step["overhead_s"]

    def allocated(self, name, ranks, gpu):
        """With workspaces, and without."""
        memory = self.ask("memory", name, ranks, gpu)["memory"]
        return memory["allocated_bytes"], memory["allocated_bytes"] - memory["workspaces_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ddpsim", type=Path)
    parser.add_argument("--rows", action="store_true")
    options = parser.parse_args()
    recorded = sorted(path.name.removesuffix(".jsonl.gz") for path in RECORDED.glob("*.jsonl.gz"))
    sets, lines = {}, []
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(options.ddpsim.resolve(), folder)
        for gpu in ("h200", "h100"):
            for name, (ranks, row) in measured(gpu).items():
                if name not in recorded:
                    continue
                of = sets.setdefault(set_of(name), {"h200": [], "h100": [], "host": [], "memory": []})
                error = judge.passes(name, ranks, gpu) / (float(row["forward_s"]) + float(row["backward_s"])) - 1
                paced = gpu == "h100" and float(row["host_forward_s"]) > HOST_PACED * float(row["forward_s"])
                of["host" if paced else gpu].append(error)
                line = [name, gpu, f"{100 * error:+.1f}", ""]
                if gpu == "h200" and row["optimizer"] != "none":
                    allocated, storages = judge.allocated(name, ranks, gpu)
                    with gzip.open(RECORDED / f"{name}.jsonl.gz", "rt") as file:
                        assert json.loads(file.readline())["memory"]["peak"] == storages, f"{name}: the recorder counts other storages"
                    of["memory"].append(allocated / float(row["peak_allocated_bytes"]) - 1)
                    line[3] = f"{100 * of['memory'][-1]:+.1f}"
                lines.append("| " + " | ".join(line) + " |")
    if options.rows:
        print("\n".join(["| recording | GPU | passes, % | memory, % |", "|" + "---|" * 4, *lines]))
        return
    print("| set | H200: rows | bias | mean error | worst | H100: rows | bias | mean error | worst | memory: rows | bias | mean error | worst |")
    print("|" + "---|" * 13)
    for name, of in sets.items():
        print("| " + " | ".join([name, *figures(of["h200"]), *figures(of["h100"]), *figures(of["memory"])]) + " |")


if __name__ == "__main__":
    main()
