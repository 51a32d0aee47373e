#!/usr/bin/env python3
"""two_ranks.py OUT.csv [--backend nccl] [--quick]: collectives between two ranks on one GPU (ranks.py). Exit code 3: no GPU here, or this NCCL refuses
two ranks on one."""
import argparse
import csv
import sys
import time

import ranks
import sections
import torch
import torch.distributed as dist


def run(rank, backend, out, quick):
    dist.init_process_group(backend, init_method="tcp://127.0.0.1:29517", rank=rank, world_size=2)
    device = "cuda:0" if backend == "nccl" else "cpu"

    def wait():
        if backend == "nccl":
            torch.cuda.synchronize()
    rows = []
    for power in range(12, 18 if quick else 29, 2):
        whole, half = torch.full((2 ** power // 4,), rank + 1.0, device=device), torch.ones(2 ** power // 8, device=device)
        calls = {"all_reduce": lambda: dist.all_reduce(whole)}
        if backend == "nccl":   # Gloo has no other that takes one tensor
            gather = getattr(dist, "all_gather_into_tensor", None) or dist._all_gather_base
            scatter = getattr(dist, "reduce_scatter_tensor", None) or dist._reduce_scatter_base
            calls.update(all_gather=lambda: gather(whole, half), reduce_scatter=lambda: scatter(half, whole))
        for name, call in calls.items():
            if name == "all_reduce":
                call()
                wait()
                assert whole.eq(3).all(), f"1 + 2 is {whole.unique().tolist()}"
            for _ in range(3):
                call()
            wait()
            began = time.perf_counter()
            for _ in range(10):
                call()
            wait()
            rows.append((name, 2 ** power, (time.perf_counter() - began) / 10))
            whole.fill_(rank + 1.0)
    if rank == 0:
        with open(out, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("operation", "bytes", "seconds"), *rows])
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--backend", default="nccl", choices=("nccl", "gloo"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rank", type=int)
    options = parser.parse_args()
    if options.backend == "nccl" and not torch.cuda.is_available():
        print("error: PyTorch finds no GPU here", file=sys.stderr)
        sys.exit(sections.MISSING)
    if options.rank is not None:
        return run(options.rank, options.backend, options.out, options.quick)
    ranks.run_both()


if __name__ == "__main__":
    main()
