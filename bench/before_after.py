#!/usr/bin/env python3
"""Two builds of ddpsim in turn: processor time of each, the ratio, the largest process, and whether they say the same.

Usage: bench/before_after.py OLD NEW [RUNS] [--only TEXT] [--limit SECONDS]     (from the repository's root; OLD and NEW are release binaries)

Processor time is user and system time of the process and its children, the median of RUNS (3). A case that takes longer than the limit (120 s) is not
run again. The last column is by how much iterations differ at most.
"""
import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import tempfile
from pathlib import Path

from sweep_process import SHARED, write_shared_topology

RACKS = ["simulate", "bench/racks-405b.yaml"]
AXES = ["simulate", "configs/tensor-pipeline-175b.yaml"]


def with_gpus(gpus, batch):
    return ["--set", f"cluster.world_size={gpus}", "--set", f"batch.global={batch}"]


CASES = {
    "405B, 512 GB200s in racks of 72": RACKS,
    "405B, 1,024 GB200s": RACKS + with_gpus(1024, 768),
    "405B, 2,048 GB200s": RACKS + with_gpus(2048, 1280),
    "175B, tensor and pipeline, 1,024 H100s": AXES,
    "the same, 8,192": AXES + with_gpus(8192, 8192),
    "the same, 16,384": AXES + with_gpus(16384, 16384),
    "the same, 65,536": AXES + with_gpus(65536, 65536),
    "the same, 2,048 on GPUs drawn at random": AXES + with_gpus(2048, 2048) + ["--set", "cluster.placement={random: 1}"],
    "175B, 96 stages": AXES + ["--set", "parallelism.pipeline=96", *with_gpus(1536, 1024)],
    "two groups of 512 on shared NICs, 30 caps": ["sweep", *SHARED],
    "the same, one ring": ["sweep", *SHARED, "--set", "collective.algorithm=ring"],
    **{f"{path.stem}, {command}": [command, str(path)] for path in sorted(Path("configs").glob("*.yaml")) for command in ("simulate", "sweep")},
}


def run(command, limit):
    """Processor time, peak memory in MB and the result; None where it was too long, or is no command for this file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        process = subprocess.Popen([*command, "--json", out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, limit)
        _, status, usage = os.wait4(process.pid, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        process.returncode = status
        if os.WIFSIGNALED(status):
            return None
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, json.loads(out.read_text()) if status == 0 else None


def iterations(result):
    """Of all points."""
    if isinstance(result, dict):
        own = [result["iteration_s"]] if isinstance(result.get("iteration_s"), float) else []
        return own + [one for value in result.values() for one in iterations(value)]
    return [one for value in result for one in iterations(value)] if isinstance(result, list) else []


def difference(one, other):
    one, other = iterations(one), iterations(other)
    return max((abs(a / b - 1) for a, b in zip(one, other)), default=0) if len(one) == len(other) else math.inf


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", nargs=2, metavar="BINARY")
    parser.add_argument("runs", nargs="?", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=120)
    arguments = parser.parse_args()
    print("| | before, s | after, s | ratio | MB | differ by |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        write_shared_topology(folder)
        for name, case in CASES.items():
            if arguments.only in name:
                compare(arguments, name, [word.replace("{folder}", folder) for word in case])


def compare(arguments, name, case):
    runs, alive = ([], []), [True, True]
    for _ in range(arguments.runs):
        for i, binary in enumerate(arguments.binaries):
            if alive[i]:
                done = run([binary, *case], arguments.limit)
                alive[i] = done is not None
                runs[i].extend([done] if done else [])
    if alive == [True, True] and runs[0][-1][2] is None and runs[1][-1][2] is None:
        return    # no command for this file
    times = [statistics.median(time for time, *_ in of) if of else math.inf for of in runs]
    seconds = [f"{time:.3f}" if ok else f"> {arguments.limit:.0f}" for time, ok in zip(times, alive)]
    ratio = f"{times[0] / times[1]:.2f}" if all(alive) else ""
    memory = ", ".join(f"{max(peak for _, peak, _ in of):.0f}" if of else "" for of in runs)
    results = [of[-1][2] if of else None for of in runs]
    differ = f"{difference(*results):.0e}" if all(alive) else ""
    if all(alive) and None in results:
        differ = f"the one {'before' if results[0] is None else 'after'} fails"
    print(f"| {name} | {seconds[0]} | {seconds[1]} | {ratio} | {memory} | {differ} |", flush=True)


if __name__ == "__main__":
    main()
