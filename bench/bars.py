#!/usr/bin/env python3
"""Holds a release build to the processor time that it may take.

Usage: bench/bars.py BINARY [--package FOLDER] [--only TEXT] [--runs N]     (from the repository's root; FOLDER: a build's `python`)

A bar is said in seconds on the machine of README.md. There the reference, a loop of CPython 3.11, takes REFERENCE_S; a run may take as many times
the reference, which is timed before and after it, as its bar has of REFERENCE_S. Processor time is user and system time of the process and its
children, the median of N runs (3). Exits 1 where a bar is missed.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sweep_process import SHARED, write_shared_topology

REFERENCE_S = 0.063
BARE = ["--set", "evidence=none"]    # a bar is of simulations, not of how sure they are
AXES = ["simulate", "configs/tensor-pipeline-175b.yaml", *BARE]
RACKS = ["simulate", "bench/racks-405b.yaml", *BARE]


def with_gpus(gpus, batch):
    return ["--set", f"cluster.world_size={gpus}", "--set", f"batch.global={batch}"]


def plan(gpus):
    return ["plan", "llama-3-70b", "--topology", "superpod-h100", "--gpus", str(gpus), "--global-batch", str(gpus), "--sequence", "8192"]


STUDY = """workload: {trace: %s}
cluster: {topology: ring-100gbps, gpu: a100-sxm4-40gb}
evidence: none
sweep:
  cluster.world_size: {from: 8, to: 1007, points: 100}
  ddp.bucket_cap: {from: 1MiB, to: 1GiB, points: 100, spacing: log}
""" % Path("traces/gpt2-large-a100-bs4.csv").resolve()

# Seconds, and megabytes where memory has a bar.
COMMANDS = {
    "plan, 70B on 1,024 H100s": (plan(1024), 3, None),
    "plan, 70B on 4,096 H100s": (plan(4096), 10, None),
    "175B, all axes, 16,384 H100s": (AXES + with_gpus(16384, 16384), 1, None),
    "the same, 65,536": (AXES + with_gpus(65536, 65536), 6, 300),
    "405B, 512 GB200s in racks of 72": (RACKS, 1.2, None),
    "the same, 1,024": (RACKS + with_gpus(1024, 768), 1.2, None),
    "the same, 2,048": (RACKS + with_gpus(2048, 1280), 1.2, None),
    "two groups of 512 on shared NICs, 30 caps": (["sweep", *SHARED, *BARE], 0.5, None),
    "the same, one ring": (["sweep", *SHARED, *BARE, "--set", "collective.algorithm=ring"], 0.5, None),
    "10,000 points of a study": (["sweep", "{folder}/study.yaml", "--results", "{folder}/rows.jsonl"], 1, None),
}
# Points a second, one by one from Python, each another job.
POINTS = {
    "ring, quickstart, one by one": ("configs/quickstart.yaml", "ddp.bucket_cap", "f'{1 + i % 400}MiB'", 3000),
    "175B, tensor and pipeline, 1,024, one by one": ("configs/tensor-pipeline-175b.yaml", "workload.micro_batch", "1 + i % 2", 30),
}
ONE_BY_ONE = """import time, ddpsim
job = ddpsim.Job.load("{path}").set({{"evidence": "none"}})
i = points = 0
job.set({{"{key}": {value}}}).simulate()
began = time.process_time()
while time.process_time() - began < 2:
    i = points = points + 1
    job.set({{"{key}": {value}}}).simulate()
print((time.process_time() - began) / points)
"""


def reference():
    began = time.process_time()
    total = 0
    for i in range(3_000_000):
        total += i & 7
    return time.process_time() - began


def process(command):
    """Processor time and megabytes."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measured(run, runs):
    """What runs take of the reference, and megabytes at most."""
    found = []
    for _ in range(runs):
        before = reference()
        seconds, megabytes = run()
        found.append((seconds / ((before + reference()) / 2), megabytes))
    return statistics.median(ratio for ratio, _ in found), max(megabytes for _, megabytes in found)


def row(name, seconds, bar, text, bar_text, megabytes="", kept=True):
    ok = seconds <= bar and kept
    print(f"| {name} | {text} | {bar_text} | {megabytes} | {'' if ok else 'missed'} |", flush=True)
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--package")
    parser.add_argument("--only", default="")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print("| | took | bar | MB | |\n|---|---|---|---|---|")
    ok = True
    with tempfile.TemporaryDirectory() as folder:
        write_shared_topology(folder)
        (Path(folder) / "study.yaml").write_text(STUDY)
        rows = Path(folder) / "rows.jsonl"
        for name, (command, bar, most) in COMMANDS.items():
            if arguments.only not in name:
                continue
            words = [arguments.binary, *(word.replace("{folder}", folder) for word in command), "--quiet"]

            def run(words=words):
                rows.unlink(missing_ok=True)
                return process(words)

            ratio, megabytes = measured(run, arguments.runs)
            seconds = ratio * REFERENCE_S
            memory = f"{megabytes:.0f}" + (f" of {most}" if most else "")
            ok &= row(name, seconds, bar, f"{seconds:.2f} s", f"{bar} s", memory, not most or megabytes <= most)
        if rows.exists() and arguments.only in "a million points":
            size = rows.stat().st_size / 1e7
            ok &= row("a million points", size, 0.4, f"{size:.2f} GB", "0.4 GB")
    environment = dict(os.environ, PYTHONPATH=arguments.package or "")
    for name, (path, key, value, bar) in POINTS.items() if arguments.package else ():
        if arguments.only in name:
            code = ONE_BY_ONE.format(path=path, key=key, value=value)

            def run(code=code):
                return float(subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True).stdout), 0

            ratio, _ = measured(run, arguments.runs)
            seconds = ratio * REFERENCE_S
            ok &= row(name, seconds, 1 / bar, f"{1 / seconds:.0f} a second", f"{bar} a second")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
