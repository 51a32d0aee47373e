"""Pipeline stages of torch.distributed.pipelining, one stage a rank, or two (interleaved); and replicas of them where there are more ranks than stages."""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B

p = argparse.ArgumentParser()
p.add_argument("--stages", type=int, default=4)
p.add_argument("--micro", type=int, default=4)
p.add_argument("--hidden", type=int, default=16)
p.add_argument("--layers", type=int, default=2)
p.add_argument("--seq", type=int, default=8)
p.add_argument("--schedule", default="1f1b", choices=["1f1b", "gpipe", "interleaved"])
args = p.parse_args()
cuda = torch.cuda.is_available()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
dist.init_process_group("nccl" if cuda else "gloo")
world, rank = dist.get_world_size(), dist.get_rank()
mesh = init_device_mesh(device.type, (world // args.stages, args.stages), mesh_dim_names=("dp", "pp"))
stage = mesh.get_local_rank("pp")


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(args.hidden), nn.Linear(args.hidden, 4 * args.hidden), nn.GELU(), nn.Linear(4 * args.hidden, args.hidden))
                                    for _ in range(args.layers))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


group = mesh["pp"].get_group()
models = nn.ModuleList(Layers() for _ in range(2 if args.schedule == "interleaved" else 1)).to(device)
pipes = [PipelineStage(model, stage + i * args.stages, len(models) * args.stages, device, group=group) for i, model in enumerate(models)]
kind = {"1f1b": Schedule1F1B, "gpipe": ScheduleGPipe, "interleaved": ScheduleInterleaved1F1B}[args.schedule]
schedule = kind(pipes if args.schedule == "interleaved" else pipes[0], args.micro, loss_fn=lambda y, t: F.mse_loss(y, t))
optimizer = torch.optim.AdamW(models.parameters(), lr=1e-4)
for step in range(3):
    x = torch.randn(args.micro, args.seq, args.hidden, device=device)
    if stage == 0:
        schedule.step(x)
    elif stage == args.stages - 1:
        schedule.step(target=torch.zeros_like(x), losses=[])
    else:
        schedule.step()
    for q in models.parameters():
        if q.grad is not None and world > args.stages:
            dist.all_reduce(q.grad, group=mesh["dp"].get_group())
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
