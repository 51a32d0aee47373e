#!/usr/bin/env python3
"""steps.py steps|pace|sharded OUT.csv [--device cuda] [--quick]: times and memory of whole training steps of models.py; the host's pace where the device waits
for it; one rank of many whose collectives do nothing. Exit code 3: what it takes is not here."""
import gc
import statistics
import sys
import time
from typing import NamedTuple

import models
import sections
import sharding
import torch
import torch.distributed as dist
from clock import Clock

BF16 = torch.bfloat16
TIMES = "forward_s", "backward_s", "optimizer_s", "step_s", "host_forward_s", "host_backward_s", "host_optimizer_s"
WARM_UP_STEPS = 2


class Step(NamedTuple):
    model: str
    precision: str      # bf16: weights, too; autocast: float32 weights
    checkpoint: int
    batch: int
    sequence: int
    optimizer: str = "fused"
    compiled: int = 0


class Rank(NamedTuple):
    kind: str
    model: str
    batch: int
    sequence: int
    checkpoint: int
    world: int
    optimizer: str = "fused"


class Found(NamedTuple):
    times: list         # TIMES, medians
    static: int         # bytes between steps
    after_forward: int
    peak: int
    reserved: int


def timed(model, run, tokens, optimizer, autocast, count, backward=torch.Tensor.backward):
    """COUNT steps after those that warm up. RUN gives a loss, and BACKWARD takes it."""
    device = tokens.device.type
    clock, cuda = Clock(device), device == "cuda"
    rows, static, after_forward, peak, reserved = [], "", "", "", ""
    for i in range(WARM_UP_STEPS + count):
        if cuda and i == WARM_UP_STEPS:
            torch.cuda.reset_peak_memory_stats()
            static = torch.cuda.memory_allocated()
        marks, host = [clock.mark()], [time.perf_counter()]
        with torch.autocast(device, dtype=BF16, enabled=autocast):
            loss = run(tokens)
        if cuda:
            after_forward = torch.cuda.memory_allocated()
        host.append(time.perf_counter())
        marks.append(clock.mark())
        backward(loss)
        host.append(time.perf_counter())
        marks.append(clock.mark())
        if optimizer:
            optimizer.step()
        host.append(time.perf_counter())
        marks.append(clock.mark())
        (optimizer or model).zero_grad()
        clock.wait()
        whole = time.perf_counter() - host[0]
        if i >= WARM_UP_STEPS:
            rows.append((*map(clock.between, marks, marks[1:]), whole, *(end - begin for begin, end in zip(host, host[1:]))))
        del loss
    if cuda:
        peak, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
    return Found([statistics.median(column) for column in zip(*rows)], static, after_forward, peak, reserved)


def make_optimizer(model, kind):
    return torch.optim.AdamW(model.parameters(), lr=1e-4, **{kind: True}) if kind != "none" else None


def parameters_of(model):
    return sum(parameter.numel() for parameter in model.parameters())


def each(rows, columns, measure):
    """Measures one after the other. One that needs more memory than there is has no times; one that fails costs the others nothing."""
    failed = 0
    for row in rows:
        try:
            yield (*row, *measure(row))
        except Exception as error:
            fits = not isinstance(error, torch.OutOfMemoryError)
            failed += fits
            print(*row, f"{type(error).__name__}: {error}" if fits else "out of memory", flush=True)
            yield (*row, *[""] * (columns - len(row)))
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    if failed:
        sys.exit(f"error: {failed} of {len(rows)} steps failed")


EAGER = [
    *[Step("gpt2", precision, 0, batch, 1024) for precision in ("autocast", "bf16") for batch in (1, 4, 16, 32)],
    *[Step("medium", "autocast", 0, batch, 1024) for batch in (1, 4, 16)],
    *[Step("large", "autocast", 0, batch, sequence) for batch, sequence in ((1, 1024), (4, 1024), (8, 512), (2, 2048))],
    *[Step("xl", "autocast", 0, batch, 1024) for batch in (1, 4, 8)],
    Step("large", "tf32", 0, 4, 1024),
    Step("large", "float32", 0, 4, 1024),
    Step("xl", "autocast", 1, 8, 1024),
    Step("xl", "bf16", 0, 4, 1024, "foreach"),
    *[Step("llama-1b", "bf16", 0, batch, sequence) for batch, sequence in ((1, 2048), (2, 2048), (1, 4096), (1, 8192))],
    *[Step("llama-1b", "bf16", 1, batch, sequence) for batch, sequence in ((4, 2048), (1, 16384), (1, 32768))],
    Step("llama-1b", "autocast", 0, 2, 2048),
    Step("llama-1b", "autocast", 1, 2, 4096),
    Step("llama-3b", "bf16", 0, 1, 2048),
    Step("llama-3b", "bf16", 1, 2, 4096),
    Step("llama-3b", "bf16", 1, 1, 8192),
    Step("llama-3b", "autocast", 1, 1, 4096),
    *[Step("llama-8b-half", "bf16", 0, 1, sequence, "none") for sequence in (2048, 4096)],
    *[Step("llama-8b-half", "bf16", 1, batch, sequence, "none") for batch, sequence in ((2, 4096), (1, 8192), (1, 16384))],
    *[Step("llama-70b-4", "bf16", 0, 1, sequence, "none") for sequence in (2048, 4096)],
    *[Step("llama-70b-4", "bf16", 1, batch, sequence, "none") for batch, sequence in ((2, 4096), (1, 8192))],
    *[Step("llama-8b", "bf16", 1, batch, sequence, "none") for batch, sequence in ((1, 4096), (2, 2048))],
]
COMPILED = [
    Step("large", "autocast", 0, 4, 1024, "fused", 1),
    Step("llama-1b", "bf16", 0, 2, 2048, "fused", 1),
    Step("llama-8b-half", "bf16", 0, 1, 4096, "none", 1),
    Step("gpt2", "autocast", 0, 16, 1024, "fused", 1),
    Step("llama-70b-4", "bf16", 0, 1, 4096, "none", 1),
]
QUICK = [Step("tiny", "bf16", 0, 2, 32), Step("tiny", "autocast", 1, 2, 32, "foreach"), Step("tiny", "float32", 1, 2, 32, "none")]


def measure_step(step, device):
    model = models.build(step.model, device, BF16 if step.precision == "bf16" else torch.float32, bool(step.checkpoint))
    torch.backends.cuda.matmul.allow_tf32 = step.precision == "tf32"
    tokens = torch.randint(0, model.vocabulary, (step.batch, step.sequence), device=device)
    run = torch.compile(model) if step.compiled else model
    found = timed(model, run, tokens, make_optimizer(model, step.optimizer), step.precision == "autocast", 6 if step.compiled else 4)
    return parameters_of(model), *found.times, found.after_forward, found.peak, found.reserved


def steps(device, quick):
    columns = *Step._fields, "parameters", *TIMES, "after_forward_bytes", "peak_allocated_bytes", "peak_reserved_bytes"
    yield columns
    sections.need_torch(2, 7)
    yield from each(QUICK if quick else EAGER + COMPILED, len(columns), lambda step: measure_step(step, device))


def kernels_of(call, clock):
    """What it returns, how many kernels it launches, and the seconds they take."""
    activity = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[activity.CPU, activity.CUDA] if clock.cuda else [activity.CPU]) as profile:
        result = call()
        clock.wait()
    kernels = [event for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    return result, len(kernels), sum(kernel.self_device_time_total for kernel in kernels) * 1e-6


def pace(device, quick):
    """Of so few tokens that the device waits for the host."""
    yield ("model", "precision", "forward_s", "backward_s", "optimizer_s", "kernels_forward", "kernels_backward", "kernels_optimizer",
           "device_forward_s", "device_backward_s", "device_optimizer_s")
    sections.need_torch(2, 7)
    clock = Clock(device)

    def host_seconds(call):
        clock.wait()
        began = time.perf_counter()
        result = call()
        return result, time.perf_counter() - began

    for name in ("tiny",) if quick else ("medium", "llama-1b"):
        for precision in ("bf16", "autocast", "float32"):
            model = models.build(name, device, BF16 if precision == "bf16" else torch.float32)
            optimizer = make_optimizer(model, "fused")
            tokens = torch.randint(0, 500, (1, 32), device=device)

            def forward():
                with torch.autocast(device, dtype=BF16, enabled=precision == "autocast"):
                    return model(tokens)

            rows = []
            for _ in range(12):
                loss, forward_s = host_seconds(forward)
                _, backward_s = host_seconds(loss.backward)
                _, optimizer_s = host_seconds(optimizer.step)
                clock.wait()
                optimizer.zero_grad(set_to_none=True)
                rows.append((forward_s, backward_s, optimizer_s))
            loss, *of_forward = kernels_of(forward, clock)
            _, *of_backward = kernels_of(loss.backward, clock)
            _, *of_optimizer = kernels_of(optimizer.step, clock)
            counts, device_seconds = zip(of_forward, of_backward, of_optimizer)
            yield name, precision, *(statistics.median(column) for column in zip(*rows[3:])), *counts, *device_seconds


# mixed: gathered in bfloat16; keep: gathered from forward to backward; view: gradients are views of buckets.
KINDS = ("plain", "plain-autocast", "ddp", "ddp-autocast", "ddp-view-autocast", "fsdp2", "fsdp2-mixed", "fsdp2-mixed-keep", "fsdp1-mixed", "fsdp1-mixed-keep")
SHARDED = [
    *[Rank(kind, "large", 4, 1024, 0, 8) for kind in KINDS],
    *[Rank(kind, "llama-1b", 2, 2048, checkpoint, world) for kind in ("fsdp2-mixed", "fsdp1-mixed") for checkpoint in (0, 1) for world in (8, 64)],
    Rank("plain", "llama-1b", 2, 2048, 1, 1),
    Rank("fsdp2-mixed-keep", "llama-1b", 2, 2048, 1, 8),
    *[Rank("fsdp2-mixed", "llama-8b", batch, sequence, 1, world) for batch, sequence, world in ((1, 4096, 8), (2, 4096, 16), (1, 8192, 16), (1, 2048, 64))],
    Rank("ddp-view-autocast", "gpt2", 16, 1024, 0, 8),
    Rank("ddp-view-autocast", "medium", 4, 1024, 0, 8),
    Rank("fsdp2-mixed", "gpt2", 1, 1024, 0, 8),
    Rank("fsdp2-mixed", "xl", 4, 1024, 1, 8),
]
QUICK_SHARDED = [Rank(kind, "tiny", 2, 32, checkpoint, 8) for kind in KINDS for checkpoint in (0, 1)]


def join(kind, world, device):
    """DDP asks for results of its collectives, which the fake group lacks: it is alone in a real one."""
    if dist.is_initialized():
        dist.destroy_process_group()
    if kind == "ddp":
        dist.init_process_group("nccl" if device == "cuda" else "gloo", init_method="tcp://127.0.0.1:29521", rank=0, world_size=1)
    else:
        from torch.testing._internal.distributed.fake_pg import FakeStore
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)


def measure_rank(rank, device):
    kind, *words = rank.kind.split("-")
    autocast, mixed, keep = "autocast" in words, "mixed" in words, "keep" in words
    join(kind, rank.world, device)
    model = models.build(rank.model, device, torch.float32 if autocast or mixed else BF16, bool(rank.checkpoint))
    parameters, vocabulary = parameters_of(model), model.vocabulary
    if kind == "ddp":
        model = sharding.ddp(model, device, gradient_as_bucket_view="view" in words)
    elif kind == "fsdp1":
        model = sharding.fsdp1(model, mixed, device, keep)
    elif kind == "fsdp2":
        mesh = dist.device_mesh.init_device_mesh(device, (rank.world,))
        model = sharding.fsdp2(model, mixed, mesh=mesh, reshard_after_forward=not keep)
    tokens = torch.randint(0, vocabulary, (rank.batch, rank.sequence), device=device)
    found = timed(model, model, tokens, make_optimizer(model, rank.optimizer), autocast, 4)
    return parameters, *found.times, found.static, found.peak, found.reserved


def sharded(device, quick):
    columns = *Rank._fields, "parameters", *TIMES, "static_bytes", "peak_allocated_bytes", "peak_reserved_bytes"
    yield columns
    sections.need_torch(2, 7)
    yield from each(QUICK_SHARDED if quick else SHARDED, len(columns), lambda rank: measure_rank(rank, device))
    dist.destroy_process_group()


if __name__ == "__main__":
    sections.main({"steps": steps, "pace": pace, "sharded": sharded}, __doc__)
