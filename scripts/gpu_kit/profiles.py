#!/usr/bin/env python3
"""profiles.py OUT_FOLDER [--backend nccl] [--quick]: two steps of DDP, FSDP2 and FSDP1 on two ranks of one GPU (ranks.py), as PyTorch's profiler writes them, one file
a rank. Exit code 3: what it takes is not here."""
import argparse
import sys
import traceback
from pathlib import Path

import models
import ranks
import sections
import sharding
import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule

WARM_UP_STEPS, PROFILED_STEPS = 4, 2
# Everything over sockets, and what NCCL itself says of its collectives.
NCCL = {"NCCL_NET": "Socket", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_DEBUG": "INFO"}


def profile_steps(model, tokens, autocast, path):
    device = tokens.device.type
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        with torch.autocast(device, dtype=torch.bfloat16, enabled=autocast):
            loss = model(tokens)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if device == "cuda":
            torch.cuda.synchronize()

    for _ in range(WARM_UP_STEPS):
        step()
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA] if device == "cuda" else [ProfilerActivity.CPU]
    with profile(activities=activities, record_shapes=True, schedule=schedule(wait=0, warmup=1, active=PROFILED_STEPS),
                 on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path))) as profiler:
        for _ in range(1 + PROFILED_STEPS):
            step()
            profiler.step()


def run(rank, backend, folder, quick):
    """Returns the exit code: one wrapper that fails costs the others nothing."""
    dist.init_process_group(backend, init_method="tcp://127.0.0.1:29519", rank=rank, world_size=2)
    device = "cuda" if backend == "nccl" else "cpu"
    name, batch, sequence = ("tiny", 2, 32) if quick else ("gpt2", 2, 256)
    wrappers = {"ddp": lambda model: sharding.ddp(model, device), "fsdp2": lambda model: sharding.fsdp2(model, mixed=True),
                "fsdp1": lambda model: sharding.fsdp1(model, True, device)}
    code = 0
    for kind, wrap in wrappers.items():
        try:
            model = models.build(name, device)
            tokens = torch.randint(0, model.vocabulary, (batch, sequence), device=device)
            profile_steps(wrap(model), tokens, kind == "ddp", folder / f"{kind}-rank{rank}.json.gz")
        except Exception as error:
            traceback.print_exc()
            print(f"error: {kind}: {error}", flush=True)
            code = 1
    dist.destroy_process_group()
    return code


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--backend", default="nccl", choices=("nccl", "gloo"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rank", type=int)
    options = parser.parse_args()
    try:
        if options.backend == "nccl" and not torch.cuda.is_available():
            raise sections.Missing("PyTorch finds no GPU here")
        sections.need_torch(2, 7)
    except sections.Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        sys.exit(sections.MISSING)
    if options.rank is not None:
        sys.exit(run(options.rank, options.backend, options.out, options.quick))
    options.out.mkdir(parents=True, exist_ok=True)
    ranks.run_both(lambda rank: {**NCCL, "NCCL_DEBUG_FILE": str(options.out / f"nccl-rank{rank}.log")})


if __name__ == "__main__":
    main()
