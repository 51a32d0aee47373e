"""A GPT-2 as training scripts are written: one file, torchrun's environment, each way of sharding behind a flag. On GPUs by NCCL, else on Gloo."""
import argparse
import functools
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--mode", default="ddp", choices=["ddp", "fsdp1", "fsdp2", "hsdp", "tp"])
parser.add_argument("--hidden", type=int, default=32)
parser.add_argument("--layers", type=int, default=2)
parser.add_argument("--vocab", type=int, default=128)
parser.add_argument("--sequence", type=int, default=16)
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--tp", type=int, default=2)
parser.add_argument("--shard", type=int, default=2)
parser.add_argument("--bucket-mb", type=float, default=25)
parser.add_argument("--bf16", action="store_true")
parser.add_argument("--autocast", action="store_true")
parser.add_argument("--scaler", action="store_true")
parser.add_argument("--checkpoint", action="store_true")
parser.add_argument("--compile", action="store_true")
parser.add_argument("--bucket-view", action="store_true")
parser.add_argument("--hook", action="store_true", help="gradients are compressed to 16 bits")
parser.add_argument("--fused", action="store_true")
parser.add_argument("--sequence-parallel", action="store_true")
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--clip", type=float, default=1.0)
parser.add_argument("--steps", type=int, default=3)
args = parser.parse_args()

cuda = torch.cuda.is_available()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
if cuda:
    torch.cuda.set_device(device)
dist.init_process_group("nccl" if cuda else "gloo")
rank, world = dist.get_rank(), dist.get_world_size()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(args.hidden, args.hidden) for _ in range(4))

    def forward(self, x):
        batch, sequence, _ = x.shape
        q, k, v = (w(x).view(batch, sequence, -1, 8).transpose(1, 2) for w in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(batch, sequence, -1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(args.hidden), nn.LayerNorm(args.hidden)
        self.attn = Attention()
        self.up, self.down = nn.Linear(args.hidden, 4 * args.hidden), nn.Linear(4 * args.hidden, args.hidden)

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.down(F.gelu(self.up(self.n2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(args.vocab, args.hidden), nn.Embedding(args.sequence, args.hidden)
        self.blocks = nn.ModuleList(Block() for _ in range(args.layers))
        self.norm, self.head = nn.LayerNorm(args.hidden), nn.Linear(args.hidden, args.vocab, bias=False)
        if args.mode == "ddp":
            self.head.weight = self.tok.weight

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) if args.checkpoint else block(x)
        return self.head(self.norm(x))


def sharded(model):
    """fully_shard and tensor parallelism, over a mesh of devices."""
    from torch.distributed.device_mesh import init_device_mesh
    try:
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    except ImportError:
        from torch.distributed._composable.fsdp import MixedPrecisionPolicy, fully_shard
    if args.mode == "tp":
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
        mesh = init_device_mesh(device.type, (world // args.tp, args.tp), mesh_dim_names=("dp", "tp"))
        plan = {"attn.q": ColwiseParallel(), "attn.k": ColwiseParallel(), "attn.v": ColwiseParallel(), "attn.o": RowwiseParallel(), "up": ColwiseParallel(),
                "down": RowwiseParallel()}
        if args.sequence_parallel:
            from torch.distributed.tensor import Replicate, Shard
            from torch.distributed.tensor.parallel import PrepareModuleInput
            plan.update({"n1": SequenceParallel(), "n2": SequenceParallel(), "attn": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate()),
                         "up": ColwiseParallel(input_layouts=Shard(1)), "attn.o": RowwiseParallel(output_layouts=Shard(1)),
                         "down": RowwiseParallel(output_layouts=Shard(1))})
            parallelize_module(model, mesh["tp"], {"tok": RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate()), "norm": SequenceParallel(),
                                                   "blocks.0": PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(1),
                                                                                  use_local_output=True),
                                                   "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())})
        for block in model.blocks:
            parallelize_module(block, mesh["tp"], plan)
        mesh = mesh["dp"]
    elif args.mode == "hsdp":
        mesh = init_device_mesh(device.type, (world // args.shard, args.shard), mesh_dim_names=("replicate", "shard"))
    else:
        mesh = init_device_mesh(device.type, (world,))
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if args.bf16 else MixedPrecisionPolicy()
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model


def wrapped(model):
    if args.mode == "ddp":
        model = nn.parallel.DistributedDataParallel(model, device_ids=[device.index] if cuda else None, bucket_cap_mb=args.bucket_mb,
                                                    gradient_as_bucket_view=args.bucket_view)
        if args.hook:
            from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook, fp16_compress_hook
            model.register_comm_hook(None, bf16_compress_hook if args.bf16 else fp16_compress_hook)
        return model
    if args.mode == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision
        from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
        return FSDP(model, auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block}), use_orig_params=True,
                    mixed_precision=MixedPrecision(torch.bfloat16, torch.float32, torch.bfloat16) if args.bf16 else None,
                    device_id=device)
    return sharded(model)


torch.manual_seed(0)
model = wrapped(GPT().to(device))
if args.compile:
    model = torch.compile(model)
# Before PyTorch 2.7 one foreach kernel takes no parameters of several meshes.
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=args.fused or None, foreach=False if args.mode == "tp" else None)
scaler = torch.amp.GradScaler(device.type, enabled=args.scaler)
generator = torch.Generator().manual_seed(rank)
for step in range(args.steps):
    for micro in range(args.accumulate):
        ids = torch.randint(args.vocab, (args.batch, args.sequence + 1), generator=generator).to(device)
        if args.mode == "ddp":
            model.require_backward_grad_sync = micro == args.accumulate - 1
        with torch.autocast(device.type, torch.bfloat16, enabled=args.autocast):
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1)) / args.accumulate
        scaler.scale(loss).backward()
    if args.clip:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
dist.destroy_process_group()
