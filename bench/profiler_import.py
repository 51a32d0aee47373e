#!/usr/bin/env python3
"""How fast a large trace of the PyTorch profiler is read, and in how much memory.

Usage: profiler_import.py BINARY [MEGABYTES [RUNS]]. Makes a trace of that size (515) of the recorded one in tests/trace/import/data: its
steps over and over, each time later, and Python frames as with_stack=True records them. Reads it plain and gzipped.
"""
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RECORDED = Path(__file__).resolve().parent.parent / "tests/trace/import/data/resnet50-ddp-2xa100.json.gz"
FRAMES = 60_000  # Python frames after each repetition: some 12 MB


def make_trace(path, size):
    recorded = json.loads(gzip.decompress(RECORDED.read_bytes()))
    events = [e for e in recorded["traceEvents"] if e["ph"] == "X" and e["cat"] != "Trace"]
    first = min(e["ts"] for e in events)
    span = max(e["ts"] + e["dur"] for e in events) - first + 1000
    with path.open("w") as out:
        head = {"deviceProperties": recorded["deviceProperties"][:1], "distributedInfo": recorded["distributedInfo"]}
        out.write(json.dumps(head)[:-1] + ', "traceEvents": [\n')
        separator = ""
        repetition = 0
        while out.tell() < size:
            for event in events:
                event = {**event, "ts": round(event["ts"] + repetition * span, 3), "args": dict(event.get("args", {}))}
                if "correlation" in event["args"]:
                    event["args"]["correlation"] += repetition * 10**6
                if event["name"].startswith("ProfilerStep#"):
                    event["name"] = f"ProfilerStep#{int(event['name'][13:]) + 3 * repetition}"
                out.write(separator + json.dumps(event, indent=1))
                separator = ",\n"
            for i in range(FRAMES):
                frame = {"ph": "X", "cat": "python_function", "name": f"torch/nn/modules/module.py(1511): _call_impl_{i % 977}",
                         "pid": 1, "tid": 1, "ts": round(first + repetition * span + i, 3), "dur": 12.5,
                         "args": {"Python id": i, "Python parent id": i - 1, "Python module id": 3, "Ev Idx": i}}
                out.write(separator + json.dumps(frame))
            repetition += 1
        out.write("]}\n")
    return repetition


def read(binary, trace):
    """Seconds, and MiB at its largest."""
    start = time.monotonic()
    child = subprocess.Popen([binary, "trace", "import", "--format", "pytorch-profiler", trace, "--out", trace.with_name("t.csv")],
                             stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{trace} was not imported")
    return time.monotonic() - start, usage.ru_maxrss / 1024


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    binary = Path(sys.argv[1]).resolve()
    size = int(float(sys.argv[2] if len(sys.argv) > 2 else 515) * 1e6)
    runs = int(sys.argv[3] if len(sys.argv) > 3 else 3)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "trace.json"
        steps = 3 * make_trace(plain, size)
        zipped = plain.with_name("trace.json.gz")
        with plain.open("rb") as source, gzip.open(zipped, "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target)
        for trace in (plain, zipped):
            times, memory = zip(*(read(binary, trace) for _ in range(runs)))
            print(f"{trace.suffix[1:]:4} {trace.stat().st_size / 1e6:6.0f} MB, {steps} steps: {min(times):.2f} to {max(times):.2f} s, median "
                  f"{statistics.median(times):.2f} s ({plain.stat().st_size / 1e6 / statistics.median(times):.0f} MB/s of text), "
                  f"{max(memory):.1f} MiB")


if __name__ == "__main__":
    main()
