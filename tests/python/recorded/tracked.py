"""Three models under fully_shard. --track: PyTorch's FSDPMemTracker follows the third step, and what it counted at its peak is written."""
import argparse
import contextlib
import json
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

parser = argparse.ArgumentParser()
parser.add_argument("model", choices=["linear", "transformer", "convolutions"])
parser.add_argument("--track", metavar="FILE")
args = parser.parse_args()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(512, 64)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True, norm_first=True) for _ in range(3))
        self.head = nn.Linear(64, 512, bias=False)

    def forward(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(x)


class Linear(nn.Sequential):
    def __init__(self):
        super().__init__(*(nn.Sequential(nn.Linear(96, 192), nn.GELU(), nn.Linear(192, 96)) for _ in range(4)))
        self.blocks = list(self)


class Convolutions(nn.Sequential):
    def __init__(self):
        super().__init__(*(nn.Sequential(nn.Conv2d(channels, 2 * channels, 3, padding=1), nn.BatchNorm2d(2 * channels), nn.ReLU()) for channels in (8, 16, 32)))
        self.blocks = list(self)


model, batch = {"linear": (Linear, lambda: torch.randn(32, 96, device="cuda")), "transformer": (Transformer, lambda: torch.randint(512, (4, 33), device="cuda")),
                "convolutions": (Convolutions, lambda: torch.randn(4, 8, 16, 16, device="cuda"))}[args.model]
model = model().cuda()
mesh = init_device_mesh("cuda", (dist.get_world_size(),))
policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if args.model == "transformer" else MixedPrecisionPolicy()
for block in model.blocks:
    fully_shard(block, mesh=mesh, mp_policy=policy)
fully_shard(model, mesh=mesh, mp_policy=policy)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
for step in range(3):
    optimizer.zero_grad()
    inputs = batch()
    tracker = FSDPMemTracker(model, optimizer) if args.track and step == 2 else None
    if tracker:
        tracker.track_inputs((inputs,))
    try:
        with tracker or contextlib.nullcontext():
            model(inputs).float().square().mean().backward()
            optimizer.step()
    finally:    # a recording ends the script in the step
        if tracker:
            counted = tracker.get_tracker_snapshot("peak")[torch.device("cuda", torch.cuda.current_device())]
            with open(args.track, "w") as file:
                json.dump({getattr(kind, "value", kind): size for kind, size in counted.items()}, file)
