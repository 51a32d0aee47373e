#!/usr/bin/env python3
"""What PyTorch's FSDPMemTracker counts of FSDP2's states and buffers on a CPU, as the CSV of fsdp_tracker.csv: rank 0 of eight whose collectives do nothing (PyTorch's fake process group).

Usage: track_fsdp.py > fsdp_tracker.csv    (needs a PyTorch of PyPI: 2.5 or newer)
"""
import csv
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore

RANKS = 8
# name: hidden, layers, heads, feed-forward, vocabulary, gated, mixed precision
MODELS = {"gated": (256, 4, 4, 1024, 1024, True, False), "gated-mixed": (512, 3, 8, 1408, 2048, True, True), "plain": (384, 5, 6, 1536, 768, False, False)}


class Block(nn.Module):
    def __init__(self, hidden, heads, ffn, gated):
        super().__init__()
        self.heads, self.gated = heads, gated
        norm = nn.RMSNorm if gated else nn.LayerNorm
        self.first, self.second = norm(hidden), norm(hidden)
        self.qkv, self.out = (nn.Linear(hidden, width, bias=not gated) for width in (3 * hidden, hidden))
        self.up = nn.Linear(hidden, ffn * (2 if gated else 1), bias=not gated)
        self.down = nn.Linear(ffn, hidden, bias=not gated)

    def forward(self, x):
        batch, tokens, hidden = x.shape
        q, k, v = (part.view(batch, tokens, self.heads, -1).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, tokens, hidden))
        inner = self.up(self.second(x))
        if self.gated:
            gate, value = inner.chunk(2, -1)
            return x + self.down(nn.functional.silu(gate) * value)
        return x + self.down(nn.functional.gelu(inner))


class Model(nn.Module):
    def __init__(self, hidden, layers, heads, ffn, vocab, gated):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads, ffn, gated) for _ in range(layers))
        self.norm = (nn.RMSNorm if gated else nn.LayerNorm)(hidden)
        self.head = nn.Linear(hidden, vocab, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def tracked(hidden, layers, heads, ffn, vocab, gated, mixed):
    mesh = init_device_mesh("cpu", (RANKS,))
    model = Model(hidden, layers, heads, ffn, vocab, gated)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32) if mixed else MixedPrecisionPolicy()
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    tokens = torch.randint(0, vocab, (1, 16))
    tracker = FSDPMemTracker(model, optimizer)
    tracker.track_inputs((tokens,))
    with tracker:
        model(tokens).float().sum().backward()
        optimizer.step()
    counters = 4 * sum(1 for _ in model.parameters())    # AdamW's step, a float32 a tensor
    current, peak = ({str(key).split(".")[-1].lower(): value for key, value in tracker.get_tracker_snapshot(when)[torch.device("cpu")].items()} for when in ("current", "peak"))
    return [current["sharded_param"], current["sharded_grad"], current["opt"] - counters, peak["unsharded_param"], peak["all_gather"], peak["reduce_scatter"]]


def main():
    dist.init_process_group("fake", rank=0, world_size=RANKS, store=FakeStore())
    print(f"# PyTorch {torch.__version__.split('+')[0]}: bytes after a step, and gathered and reduced at its peak; moments without AdamW's counters. Written by track_fsdp.py.")
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("model,hidden,layers,heads,ffn,vocab,gated,mixed,sharded_param,sharded_grad,opt,unsharded_param,all_gather,reduce_scatter".split(","))
    for name, (hidden, layers, heads, ffn, vocab, gated, mixed) in MODELS.items():
        out.writerow([name, hidden, layers, heads, ffn, vocab, str(gated).lower(), str(mixed).lower(), *tracked(hidden, layers, heads, ffn, vocab, gated, mixed)])


main()
