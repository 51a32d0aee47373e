#!/usr/bin/env python3
"""Fits two numbers of Gloo's model to each of two machines and judges it on every other row, as the Markdown of
measurements/gloo/README.md, which says how and why.

Usage: fit.py. The formula is that of docs/model.md ("What Gloo would do"); sim/gloo/host.cpp has the results.
"""
import csv
import math
from pathlib import Path

HERE = Path(__file__).resolve().parent
MIB = 2**20
GB = 1e9

# Not fitted: sim/gloo/host.cpp says where each comes from.
REDUCTION, STEP_LATENCY, CACHE = 12 * GB, 100e-6, 32 * MIB


def rows(name):
    with open(HERE / name) as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def times(name):
    return [(int(row["ranks"]), float(row["bytes"]), float(row["time_s"])) for row in rows(name)]


def all_reduce(ranks, size, process, cached, machine=math.inf, cache=CACHE, on_machine=None, network=math.inf, copy=math.inf):
    on_machine = on_machine or ranks
    sent = 2 * (ranks - 1) / ranks * size
    share = min(1, cache / (size * on_machine))
    own = sent * (share / cached + (1 - share) / process + 0.5 / REDUCTION)
    return 2 * (ranks - 1) * STEP_LATENCY + max(own, sent * on_machine / machine, sent / network) + 2 * size / copy


def fit(measured, model, first_guess):
    """The two numbers of the least sum of squares of ln(predicted / measured), by steps that shrink."""
    def error(numbers):
        return sum(math.log(model(ranks, size, *numbers) / time) ** 2 for ranks, size, time in measured)

    best, step = list(first_guess), 1.5
    while step > 1 + 1e-7:
        tries = [[value * (factor if i == j else 1) for j, value in enumerate(best)] for i in (0, 1) for factor in (step, 1 / step)]
        least = min(tries, key=error)
        if error(least) < error(best):
            best = least
        else:
            step = math.sqrt(step)
    return best


def print_table(measured, fitted, predict, unit, unit_name):
    print(f"| processes | {unit_name} | measured ms | model ms | error | |\n|---|---|---|---|---|---|")
    for row in measured:
        ranks, size, time = row
        predicted = predict(ranks, size)
        print(f"| {ranks} | {size / unit:.0f} | {1e3 * time:.2f} | {1e3 * predicted:.2f} | {100 * (predicted / time - 1):+.0f} % "
              f"| {'fitted' if row in fitted else ''} |")
    print()


def macbook():
    measured = times("macbook_cs336.csv")
    fitted = [row for row in measured if row[0] in (2, 6) and row[1] >= 1e8]

    def model(ranks, size, process, machine):
        return all_reduce(ranks, size, process, process, machine)

    process, machine = fit(fitted, model, (GB, 3 * GB))
    print(f"MacBook: a process sends {process / GB:.2f} GB/s, all of them {machine / GB:.2f} GB/s.\n")
    print_table(measured, fitted, lambda ranks, size: model(ranks, size, process, machine), 1e6, "MB")


def server():
    measured = times("h20_host.csv")
    fitted = [row for row in measured if row[0] == 2]
    process, cached = fit(fitted, all_reduce, (GB, 3 * GB))
    print(f"Host of H20s: a process sends {process / GB:.2f} GB/s from memory, {cached / GB:.2f} GB/s from the cache.\n")
    print_table(measured, fitted, lambda ranks, size: all_reduce(ranks, size, process, cached), MIB, "MiB")
    print("The same numbers elsewhere (nothing fitted):\n\n| machines | MB | measured ms | model ms | error |\n|---|---|---|---|---|")
    for row in rows("elsewhere.csv"):
        size, time = float(row["bytes"]), float(row["time_s"])
        copy = float(row["copy_GBps"]) * GB if row["copy_GBps"] else math.inf
        predicted = all_reduce(int(row["ranks"]), size, process, cached, on_machine=int(row["ranks_per_machine"]),
                               network=float(row["network_GBps"]) * GB, copy=copy)
        print(f"| {row['name']} | {size / 1e6:.0f} | {1e3 * time:.1f} | {1e3 * predicted:.1f} | {100 * (predicted / time - 1):+.0f} % |")
    print("\n| a virtual machine of 2 cores, processes | KiB | measured ms, least and median | model ms | to the least | to the median |\n|---|---|---|---|---|---|")
    for row in rows("epyc_2_cores.csv"):
        ranks, size, least, median = int(row["ranks"]), float(row["bytes"]), float(row["least_s"]), float(row["median_s"])
        predicted = all_reduce(ranks, size, process, cached)
        print(f"| {ranks} | {size / 1024:.0f} | {1e3 * least:.2f}, {1e3 * median:.2f} | {1e3 * predicted:.2f} "
              f"| {100 * (predicted / least - 1):+.0f} % | {100 * (predicted / median - 1):+.0f} % |")


if __name__ == "__main__":
    macbook()
    server()
