#!/usr/bin/env python3
"""How many points a second the Python package gives one by one, as an optimizer asks for them: each another job.

Usage: PYTHONPATH=BUILD/python python3 bench/python_points.py     (from the repository's root)
"""
import time

import ddpsim

SECONDS = 2
JOBS = {
    "ring, quickstart": ("configs/quickstart.yaml", "ddp.bucket_cap", lambda i: f"{1 + i % 400}MiB"),
    "NCCL, 1,024 H100s": ("configs/gpt2-xl-1024xh100.yaml", "ddp.bucket_cap", lambda i: f"{1 + i % 400}MiB"),
    "FSDP, 7B on 64": ("configs/llama-2-7b-64xh100.yaml", "workload.micro_batch", lambda i: 1 + i % 4),
    "175B, tensor and pipeline, 1,024": ("configs/tensor-pipeline-175b.yaml", "workload.micro_batch", lambda i: 1 + i % 2),
}

print("| points a second of processor time | the same | another |\n|---|---|---|")
for name, (path, key, value) in JOBS.items():
    rates = []
    job = ddpsim.Job.load(path)
    for simulate in (lambda i: job.simulate(), lambda i: job.set({key: value(i)}).simulate()):
        simulate(0)
        began, points = time.process_time(), 0
        while time.process_time() - began < SECONDS:
            points += 1
            simulate(points)
        rates.append(points / (time.process_time() - began))
    print(f"| {name} | {rates[0]:.0f} | {rates[1]:.0f} |", flush=True)
