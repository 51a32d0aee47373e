#!/usr/bin/env python3
"""A training script of one row of measurements/h200/steps.csv or sharded.csv, for `ddpsim record`: the models of scripts/gpu_kit, wrapped as they were measured.

step.py KIND MODEL BATCH SEQUENCE [--checkpoint] [--optimizer fused|foreach|none] [--compile]"""
import argparse
import sys
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/gpu_kit"))
import models  # noqa: E402
import sharding  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("kind", help="plain, ddp, fsdp1 or fsdp2, with -bf16, -autocast, -tf32, -mixed, -keep, -view")
parser.add_argument("model")
parser.add_argument("batch", type=int)
parser.add_argument("sequence", type=int)
parser.add_argument("--checkpoint", action="store_true")
parser.add_argument("--compile", action="store_true")
parser.add_argument("--optimizer", default="fused", choices=["fused", "foreach"])
args = parser.parse_args()

kind, *words = args.kind.split("-")
if kind != "plain":
    dist.init_process_group("nccl")
torch.backends.cuda.matmul.allow_tf32 = "tf32" in words
model = models.build(args.model, "cuda", torch.bfloat16 if "bf16" in words else torch.float32, args.checkpoint)
vocabulary = model.vocabulary
if kind == "ddp":
    model = sharding.ddp(model, "cuda", gradient_as_bucket_view="view" in words)
elif kind == "fsdp1":
    model = sharding.fsdp1(model, "mixed" in words, "cuda", "keep" in words)
elif kind == "fsdp2":
    mesh = dist.device_mesh.init_device_mesh("cuda", (dist.get_world_size(),))
    model = sharding.fsdp2(model, "mixed" in words, mesh=mesh, reshard_after_forward="keep" not in words)
run = torch.compile(model) if args.compile else model
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **{args.optimizer: True})
for _ in range(3):
    tokens = torch.randint(0, vocabulary, (args.batch, args.sequence), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled="autocast" in words):
        loss = run(tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
