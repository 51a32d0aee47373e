#!/usr/bin/env python3
"""Times whole `ddpsim sweep` processes: wall-clock minimum, median and maximum, and the largest process's peak memory. First, in turns with
bench/analytic_model.py, the 30-line script of the same model: processor time of both, which give the same numbers.

Usage: bench/sweep_process.py DDPSIM [RUNS]      (from the repository's root; DDPSIM is the release binary)
"""
import csv
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Only waiting costs, unless a case says more: one run a point, where a range would be three.
TEXTBOOK = ["--set", "physics=none", "--set", "cluster.gpu=none"]
RING = ["configs/ring-1024.yaml", *TEXTBOOK]
H100 = [*RING, "--set", "cluster.topology=topologies/dgx-h100.yaml",
        "--set", "collective.algorithm=hierarchical"]
# The same with a NIC of 50 Gbit/s for every two GPUs, which belong to two groups that are never in step.
SHARED = [*H100, "--set", "cluster.topology={folder}/shared.yaml", "--set",
          "cluster.groups=[{ranks: {from: 0, to: 1022, step: 2}}, {ranks: {from: 1, to: 1023, step: 2}, offset: 2.5us}]"]
NCCL = [*RING, "--set", "cluster.topology=topologies/superpod-h100.yaml"]
JITTER = ["configs/jitter-1024xh100.yaml"]
CASES = {
    "ring, 1,024 GPUs x 30 caps": RING,
    "ring, 1,024 GPUs x 30 caps, with interference, copies, spread and their range": RING[:1],
    "ring, 65,536 GPUs x 30 caps": [*RING, "--set", "cluster.world_size=65536"],
    "ring, 1,024 GPUs, all 594 bucket assignments": [*RING, "--exact-optimum"],
    "ring, 1,024 GPUs x 30 caps, folded": [*RING, "--set", "engine.fidelity=folded"],
    "hierarchical, 1,024 H100 x 30 caps": H100,
    "hierarchical, 16,384 H100 x 30 caps": [*H100, "--set", "cluster.world_size=16384"],
    "hierarchical, 65,536 H100 x 30 caps": [*H100, "--set", "cluster.world_size=65536"],
    "NCCL, 8 to 1,024 H100, 256 points": ["configs/gpt2-xl-1024xh100.yaml", *TEXTBOOK],
    "NCCL, 1,024 H100 x 30 caps": NCCL,
    "NCCL, 16,384 H100 x 30 caps": [*NCCL, "--set", "cluster.world_size=16384"],
    "NCCL, 1,024 H100 in eight groups x 30 caps": [*NCCL, "--set", "cluster.groups={tensor_parallel: 8}"],
    "NCCL, 1,024 H100 x 30 caps x 200 iterations": [*JITTER, *TEXTBOOK],
    "the same with interference, copies and their range": JITTER,
    "NCCL, 16,384 H100 x 30 caps x 200 iterations": [*JITTER, *TEXTBOOK, "--set", "cluster.world_size=16384"],
    "two groups 2.5 us apart on shared NICs, hierarchical": SHARED,
    "the same on SimGrid": [*SHARED, "--set", "engine.network=simgrid"],
    "two groups 2.5 us apart on shared NICs, one ring": [*SHARED, "--set", "collective.algorithm=ring"],
}


def write_shared_topology(folder):
    text = Path("topologies/dgx-h100.yaml").read_text()
    for old, new in (("nics: {count: 8", "nics: {count: 4"), ("400Gbps", "50Gbps"), ("../calibrations", str(Path("calibrations").resolve()))):
        assert old in text
        text = text.replace(old, new)
    (Path(folder) / "shared.yaml").write_text(text)


def processor_time(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, output


def compare_with_the_script(binary, runs):
    print(f"{'processor time, medians':30} {'ddpsim':>9} {'script':>9} {'ratio (min to max)':>22}")
    for points in (30, 1000, 10000):
        sweep = [binary, "sweep", *RING, "--quiet", "--csv", "-", "--set",
                 f"sweep={{ddp.bucket_cap: {{from: 1MiB, to: 1GiB, points: {points}, spacing: log}}}}"]
        script = [sys.executable, "bench/analytic_model.py", "traces/gpt2-large-a100-bs4.csv", str(points)]
        ours, theirs = [], []
        for _ in range(runs):
            time_taken, output = processor_time(sweep)
            ours.append(time_taken)
            time_taken, expected = processor_time(script)
            theirs.append(time_taken)
            rows = list(csv.DictReader(output.splitlines()))
            for row, line in zip(rows, expected.splitlines(), strict=True):
                cap, iteration = line.split()
                assert row["bucket_cap_bytes"] == cap and math.isclose(float(row["iteration_s"]), float(iteration), rel_tol=1e-12)
        ratios = [a / b for a, b in zip(ours, theirs)]
        print(f"{points:8} caps, 1,024 GPUs      {statistics.median(ours):8.3f}s {statistics.median(theirs):8.3f}s "
              f"{statistics.median(ratios):8.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    print()


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_shared_topology(folder)
        compare_with_the_script(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 15)
        measure(folder)


def measure(folder):
    binary = sys.argv[1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    print(f"{'whole process':54} {'min':>8} {'median':>8} {'max':>8} {'peak memory so far':>20}")
    for name, options in CASES.items():
        options = [option.replace("{folder}", folder) for option in options]
        command = [binary, "sweep", *options, "--json", "/dev/null"]
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - start)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"{name:54} {min(times):7.3f}s {statistics.median(times):7.3f}s {max(times):7.3f}s {peak:17.1f} MB")


if __name__ == "__main__":
    main()
