#!/usr/bin/env python3
"""What attention kernels reach of a GPU's peak, by the law's form: what kernels/attention.yaml has. Markdown, for RESULTS.md.

Usage: judge_attention.py

A kernel's time is operations / (share x peak) (1 + ramp / length); share and ramp are least squares of predicted / measured - 1, a line in both. narrow_heads: the share with heads of 64 over that with
128. Rows: attention/kernels.csv from 4,096 tokens on (shorter ones leave a GPU's multiprocessors without work there, one sequence at a time), h100/ and h200/attention.csv from 512 on."""
import csv
import statistics
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent
PEAK = {"A100": 312, "H100": 989.4, "H200": 989.4, "B200": 2250, "GB200": 2500, "GB300": 2500}    # gpus/*.yaml, TFLOP/s in 16 bits
OWN = {"FLASH_ATTENTION": "fa2", "CUDNN_ATTENTION": "cudnn9", "default": "cudnn9"}    # PyTorch 2.11 takes cuDNN's
LEAST = 4096


def rows_of(path):
    with open(ROOT / path, newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def measured():
    """{(kernel, GPU, width): [(tokens, share of the peak over both passes)]}"""
    found = defaultdict(list)
    for row in rows_of("attention/kernels.csv"):
        if int(row["sequence"]) >= LEAST:
            rate = 3.5 / (1 / float(row["forward_tflops"]) + 2.5 / float(row["backward_tflops"]))
            found[row["kernel"], row["gpu"], 128].append((int(row["sequence"]), rate / PEAK[row["gpu"]]))
    for gpu in ("H100", "H200"):
        for row in rows_of(f"{gpu.lower()}/attention.csv"):
            rate = 3.5e-12 * float(row["causal_flop_forward"]) / (float(row["forward_s"]) + float(row["backward_s"]))
            found[OWN[row["kernel"]], gpu, int(row["width"])].append((int(row["sequence"]), rate / PEAK[gpu]))
    return found


def fit(rows):
    """(share, ramp, errors): 1 / share and ramp / share by least squares."""
    ones, slopes = [share for _, share in rows], [share / tokens for tokens, share in rows]
    def dot(left, right):
        return sum(a * b for a, b in zip(left, right))
    determinant = dot(ones, ones) * dot(slopes, slopes) - dot(ones, slopes) ** 2
    inverse = (sum(ones) * dot(slopes, slopes) - sum(slopes) * dot(ones, slopes)) / determinant
    slope = (dot(ones, ones) * sum(slopes) - dot(ones, slopes) * sum(ones)) / determinant
    return 1 / inverse, slope / inverse, [a * inverse + b * slope - 1 for a, b in zip(ones, slopes)]


def main():
    if len(sys.argv) != 1:
        sys.exit(__doc__)
    found = measured()
    print("| kernel | GPU | rows | share | ramp, tokens | mean error, % | worst | heads of 64 |\n|" + "---|" * 8)
    for (kernel, gpu, width), rows in sorted(found.items()):
        if width != 128:
            continue
        share, ramp, errors = fit(rows)
        narrow = f"{fit(found[kernel, gpu, 64])[0] / share:.2f}" if (kernel, gpu, 64) in found else ""
        print(f"| {kernel} | {gpu} | {len(rows)} | {share:.3f} | {ramp:.0f} | {100 * statistics.mean(map(abs, errors)):.1f} | {100 * max(errors, key=abs):+.1f} | {narrow} |")


if __name__ == "__main__":
    main()
