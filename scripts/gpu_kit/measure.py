#!/usr/bin/env python3
"""measure.py overheads|passes|interference OUT.csv [--device cuda] [--quick]: what the host pays for a launch, what a pass over memory reaches, how a kernel
that moves memory on few multiprocessors, as a collective does, and matrix products slow one another down. Exit code 3: what it takes is not here."""
import argparse
import csv
import statistics
import sys
import time

import torch

MIB = 2 ** 20


class Clock:
    """Medians of what calls take: by events on a GPU, by the host's clock on a CPU."""

    def __init__(self, device):
        self.cuda = device == "cuda"

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()

    def mark(self):
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, begin, end):
        return begin.elapsed_time(end) * 1e-3 if self.cuda else end - begin

    def of(self, call, batch_s=0.02, batches=7):
        """Seconds of one call on the device, among many in a row."""
        for _ in range(3):
            call()
        self.wait()
        began = time.perf_counter()
        call()
        self.wait()
        calls = max(1, min(500, int(batch_s / max(time.perf_counter() - began, 1e-6))))
        found = []
        for _ in range(batches):
            begin = self.mark()
            for _ in range(calls):
                call()
            end = self.mark()
            self.wait()
            found.append(self.between(begin, end) / calls)
        return statistics.median(found)

    def of_host(self, call, calls=2000):
        """Seconds that the host is busy with a call, while the device has time to keep up."""
        found = []
        for _ in range(7):
            self.wait()
            began = time.perf_counter()
            for _ in range(calls // 7):
                call()
            found.append((time.perf_counter() - began) / (calls // 7))
            self.wait()
        return statistics.median(found)


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
    try:
        if device != "cuda":
            raise ImportError("it needs a GPU")
        import triton
        import triton.language as tl
    except ImportError as missing:
        print(f"error: no interference can be measured: {missing}", file=sys.stderr)
        sys.exit(3)

    @triton.jit
    def move(source, target, elements, BLOCK: tl.constexpr):
        for start in range(tl.program_id(0) * BLOCK, elements, tl.num_programs(0) * BLOCK):
            at = start + tl.arange(0, BLOCK)
            tl.store(target + at, tl.load(source + at, mask=at < elements), mask=at < elements)

    clock, elements = Clock(device), 2 ** 28
    source, target = torch.empty(elements, device=device), torch.empty(elements, device=device)
    side = torch.cuda.Stream(priority=-1)
    yield "m", "n", "k", "blocks", "product_alone_s", "product_during_s", "move_alone_s", "move_during_s", "move_alone_bytes_per_s"
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("overheads", "passes", "interference"))
    parser.add_argument("out")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("error: PyTorch finds no GPU here", file=sys.stderr)
        sys.exit(3)
    with open(options.out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in {"overheads": overheads, "passes": passes, "interference": interference}[options.what](options.device, options.quick):
            writer.writerow(row)
            file.flush()    # what a time limit cuts off is not lost


if __name__ == "__main__":
    main()
