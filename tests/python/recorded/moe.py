"""A mixture of experts with expert parallelism: all_to_all_single with split sizes that depend on the router (default) or fixed ones (--capacity)."""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed._functional_collectives import all_to_all_single_autograd

p = argparse.ArgumentParser()
p.add_argument("--hidden", type=int, default=16)
p.add_argument("--experts", type=int, default=8)
p.add_argument("--top", type=int, default=2)
p.add_argument("--tokens", type=int, default=64)
p.add_argument("--layers", type=int, default=2)
p.add_argument("--capacity", action="store_true")
args = p.parse_args()
cuda = torch.cuda.is_available()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
dist.init_process_group("nccl" if cuda else "gloo")
world, rank = dist.get_world_size(), dist.get_rank()
group = dist.group.WORLD
assert args.experts % world == 0


class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(args.hidden, args.experts, bias=False)
        self.local = args.experts // world
        self.w1 = nn.Parameter(torch.randn(self.local, args.hidden, 4 * args.hidden) * 0.02)
        self.w2 = nn.Parameter(torch.randn(self.local, 4 * args.hidden, args.hidden) * 0.02)

    def forward(self, x):
        weight, expert = self.router(x).softmax(-1).topk(args.top, -1)
        flat = expert.flatten()
        order = flat.argsort(stable=True)
        sent = x[order // args.top]
        if args.capacity:
            splits_in = splits_out = [sent.shape[0] // world] * world
            local = [sent.shape[0] // self.local] * self.local
        else:
            counts = torch.histc(flat.float(), bins=args.experts, min=0, max=args.experts - 1).to(torch.int64)
            arriving = torch.empty_like(counts)
            dist.all_to_all_single(arriving, counts)
            splits_in = counts.view(world, -1).sum(1).tolist()
            splits_out = arriving.view(world, -1).sum(1).tolist()
            local = arriving.view(world, -1).sum(0).tolist()
        y = all_to_all_single_autograd(sent, splits_out, splits_in, group)
        parts = y.split(local)
        y = torch.cat([F.silu(part @ self.w1[i]) @ self.w2[i] for i, part in enumerate(parts)])
        back = all_to_all_single_autograd(y, splits_in, splits_out, group)
        out = torch.zeros_like(x).repeat_interleave(args.top, 0).index_copy(0, order, back)
        return (out.view(-1, args.top, x.shape[-1]) * weight.unsqueeze(-1)).sum(1)


torch.manual_seed(rank)
model = nn.ModuleList(MoE() for _ in range(args.layers)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(3):
    x = torch.randn(args.tokens, args.hidden, device=device)
    for layer in model:
        x = x + layer(x)
    x.square().mean().backward()
    for q in (layer.router.weight for layer in model):
        dist.all_reduce(q.grad)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
