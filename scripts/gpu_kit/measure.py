#!/usr/bin/env python3
"""measure.py overheads|passes|interference OUT.csv [--device cuda] [--quick]: what the host pays for a launch, what a pass over memory reaches, how a kernel
that moves memory on few multiprocessors, as a collective does, and matrix products slow one another down. Exit code 3: what it takes is not here."""
import statistics

import sections
import torch
from clock import Clock

MIB = 2 ** 20


def overheads(device, quick):
    clock, small = Clock(device), torch.zeros(64, device=device)
    yield "what", "seconds"
    yield "launch_host", clock.of_host(lambda: small.add_(1))
    yield "launch_in_a_row", clock.of(lambda: small.add_(1))
    if device != "cuda":
        return
    event, side = torch.cuda.Event(), torch.cuda.Stream()
    yield "event_record_host", clock.of_host(event.record)
    yield "stream_wait_host", clock.of_host(lambda: side.wait_event(event))
    yield "synchronize_idle", clock.of_host(torch.cuda.synchronize)
    for size in (4, 4096, MIB, 64 * MIB, 256 * MIB)[:3 if quick else None]:
        here, there = torch.empty(size, dtype=torch.uint8, pin_memory=True), torch.empty(size, dtype=torch.uint8, device=device)
        yield f"copy_to_device_{size}_bytes", clock.of(lambda: there.copy_(here, non_blocking=True))
        yield f"copy_to_host_{size}_bytes", clock.of(lambda: here.copy_(there, non_blocking=True))


def passes(device, quick):
    """Bytes a pass moves, read and written, over its time."""
    clock = Clock(device)
    yield "pass", "dtype", "bytes", "seconds", "bytes_per_s"
    for name in ("float32", "bfloat16"):
        dtype = getattr(torch, name)
        for power in range(16, 20 if quick else 31):
            elements = 2 ** power // torch.finfo(dtype).bits * 8
            x, y = torch.ones(elements, dtype=dtype, device=device), torch.ones(elements, dtype=dtype, device=device)
            for what, call, moved in (("copy", lambda: y.copy_(x), 2), ("divide", lambda: y.div_(8), 2), ("add", lambda: y.add_(x), 3), ("fill", lambda: y.zero_(), 1)):
                seconds = clock.of(call, 0.01)
                yield what, name, 2 ** power, seconds, moved * 2 ** power / seconds


def interference(device, quick):
    """Both alone, then the products while the other runs on its own stream for longer than they."""
    yield "m", "n", "k", "blocks", "product_alone_s", "product_during_s", "move_alone_s", "move_during_s", "move_alone_bytes_per_s"
    try:
        if device != "cuda":
            raise ImportError("it needs a GPU")
        import triton
        import triton.language as tl
    except ImportError as missing:
        raise sections.Missing(f"no interference can be measured: {missing}")

    @triton.jit
    def move(source, target, elements, BLOCK: tl.constexpr):
        for start in range(tl.program_id(0) * BLOCK, elements, tl.num_programs(0) * BLOCK):
            at = start + tl.arange(0, BLOCK)
            tl.store(target + at, tl.load(source + at, mask=at < elements), mask=at < elements)

    clock, elements = Clock(device), 2 ** 28
    source, target = torch.empty(elements, device=device), torch.empty(elements, device=device)
    side = torch.cuda.Stream(priority=-1)
    for m, k in ((1024, 768), (4096, 1024), (4096, 1600), (8192, 4096), (16384, 8192))[:2 if quick else None]:
        a, b = (torch.randn(shape, device=device, dtype=torch.bfloat16) for shape in ((m, k), (k, k)))
        alone = clock.of(lambda: a @ b)
        for blocks in (4, 8, 16, 24, 32, 64):
            def move_once():
                move[(blocks,)](source, target, elements, BLOCK=4096, num_warps=16)
            move_alone = clock.of(move_once, 0.1, 3)
            products = max(4, int(move_alone * 0.5 / alone))
            found = []
            for _ in range(5):
                marks = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
                torch.cuda.synchronize()
                with torch.cuda.stream(side):
                    marks[0].record()
                    move_once()
                    marks[1].record()
                marks[2].record()
                for _ in range(products):
                    a @ b
                marks[3].record()
                torch.cuda.synchronize()
                found.append((marks[2].elapsed_time(marks[3]) * 1e-3 / products, marks[0].elapsed_time(marks[1]) * 1e-3))
            yield m, k, k, blocks, alone, statistics.median(f for f, _ in found), move_alone, statistics.median(s for _, s in found), 8 * elements / move_alone


if __name__ == "__main__":
    sections.main({"overheads": overheads, "passes": passes, "interference": interference}, __doc__)
