#!/usr/bin/env python3
"""The model of configs/ring-1024.yaml in 30 lines: PyTorch's buckets, a ring all-reduce, one lane, first in first out. What a script of
one's own would be, to compare speed with: bench/analytic_model.py TRACE POINTS prints cap and iteration of POINTS caps from 1 MiB to 1 GiB."""
import csv
import sys

RANKS, LATENCY, BANDWIDTH = 1024, 5e-6, 12.5e9  # topologies/ring-100gbps.yaml
UNITS = {"ms": 1e-3, "us": 1e-6, "s": 1.0}

header, rows = {}, []
with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        if not line.startswith("#"):
            rows = list(csv.DictReader([line, *file]))
        elif ": " in line:
            key, value = line[2:].split(": ", 1)
            header[key] = value.strip()
seconds = {key: float(header[key][:-2]) * UNITS[header[key][-2:]] for key in ("forward", "optimizer")}
gradients = [(4 * int(row["elements"]), float(row["ready_s"])) for row in rows]
points = int(sys.argv[2])
for point in range(points):
    cap = round(2 ** 20 * 1024 ** (point / (points - 1)))
    free, size = 0.0, 0
    for number, (bytes_, ready) in enumerate(gradients):
        size += bytes_
        if size >= cap or number == len(gradients) - 1:
            free = max(free, ready) + 2 * (RANKS - 1) * (LATENCY + size / RANKS / BANDWIDTH)
            size = 0
    print(cap, seconds["forward"] + max(free, gradients[-1][1]) + seconds["optimizer"])
