#!/usr/bin/env python3
"""outside.py memory|offload OUT.csv [--device cuda] [--quick]: what a process takes of a GPU beside its tensors; an optimizer's step on the host, and what brings
its gradients there and its weights back. Exit code 3: what it takes is not here."""
import sections
import torch
import torch.distributed as dist
from clock import Clock

GIB = 2 ** 30


def memory(device, quick):
    """Bytes of the GPU in use and not handed out by PyTorch's allocator, after each thing that takes some. Nothing else may run on the GPU."""
    yield "after", "beside_tensors_bytes"
    if device != "cuda":
        raise sections.Missing("only a GPU's memory is counted")

    def beside():
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        return total - free - torch.cuda.memory_reserved()
    x = torch.randn(1024, 1024, device=device, dtype=torch.bfloat16)
    yield "context", beside()
    x @ x
    yield "matrix product", beside()
    x.float() @ x.float()
    yield "matrix product in float32", beside()
    heads = x.view(1, 1024, 16, 64).transpose(1, 2).contiguous().requires_grad_()
    torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True).sum().backward()
    yield "attention", beside()
    with torch.cuda.stream(torch.cuda.Stream()):
        x @ x
    yield "matrix product of a second stream", beside()
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29541", rank=0, world_size=1)
    dist.all_reduce(x)
    yield "communicator of one rank", beside()
    for group in range(2):
        dist.all_reduce(x, group=dist.new_group([0]))
        yield f"communicator {group + 2}", beside()
    dist.destroy_process_group()


def adam_on_host(parameters):
    """Name and step of each AdamW that this machine's processors have, on float32."""
    weight = torch.nn.Parameter(torch.zeros(parameters))
    weight.grad = torch.full_like(weight, 1e-3)
    yield "adamw_fused", torch.optim.AdamW([weight], fused=True).step
    yield "adamw_foreach", torch.optim.AdamW([weight], foreach=True).step
    yield "adamw_single", torch.optim.AdamW([weight], foreach=False).step
    try:
        from deepspeed.ops.adam import DeepSpeedCPUAdam
        yield "deepspeed_cpu_adam", DeepSpeedCPUAdam([weight], adamw_mode=True).step
    except Exception as error:   # absent, or its extension does not build here
        print(f"deepspeed_cpu_adam: {type(error).__name__}: {error}", flush=True)


def offload(device, quick):
    yield "what", "threads", "count", "seconds", "per_second"
    sections.need_torch(2, 7)
    parameters, clock = 2 ** 20 if quick else 2 ** 28, Clock("cpu")
    for name, step in adam_on_host(parameters):
        seconds = clock.of(step, 0.02, 3)
        yield name, torch.get_num_threads(), parameters, seconds, parameters / seconds
    if device != "cuda":
        return
    size, clock = GIB // 64 if quick else GIB, Clock(device)
    here, there = [torch.empty(size, dtype=torch.uint8, pin_memory=True) for _ in range(2)], [torch.empty(size, dtype=torch.uint8, device=device) for _ in range(2)]
    pageable, side = torch.empty(size, dtype=torch.uint8), torch.cuda.Stream()

    def both():
        with torch.cuda.stream(side):
            here[0].copy_(there[0], non_blocking=True)
        there[1].copy_(here[1], non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        side.wait_stream(torch.cuda.current_stream())
    for name, copy, moved in (("to_host", lambda: here[0].copy_(there[0], non_blocking=True), size), ("to_device", lambda: there[1].copy_(here[1], non_blocking=True), size),
                              ("both_ways", both, 2 * size), ("to_host_pageable", lambda: pageable.copy_(there[0]), size),
                              ("on_host", lambda: pageable.copy_(here[0]), size)):
        seconds = clock.of(copy, 0.1, 3)
        yield name, torch.get_num_threads() if name == "on_host" else "", moved, seconds, moved / seconds


if __name__ == "__main__":
    sections.main({"memory": memory, "offload": offload}, __doc__)
