"""What all-reduces take between the processes that call this."""
from __future__ import annotations

import os
from pathlib import Path
from statistics import median
from typing import Any, Sequence

import torch
import torch.distributed

from ddpsim.torch.clocks import clock_of
from ddpsim.torch.files import write_table

_SIZES = tuple(1 << bits for bits in range(12, 28))    # 4 KiB to 128 MiB
_LEAST_S, _MOST_S = 0.2, 5.0    # spent on each size


def measure_all_reduces(out: str | os.PathLike[str] = "allreduce.csv", sizes: Sequence[int] = _SIZES, *, device: Any = "cpu",
                        group: Any = None) -> Path | None:
    """Times all-reduces of float32, one at a time, and writes them as a table: {"collective": {"algorithm": "measured", "measured": out}}.

    Every process of the group calls it, with the same sizes (in bytes); rank 0 writes, and gets the path. A time is the median of the slowest
    rank's: from 5 runs and 0.2 s up to 5 s a size. On a GPU's device it is the stream's, from the first kernel to the last.
    """
    if not torch.distributed.is_initialized() or torch.distributed.get_world_size(group) < 2:
        raise ValueError("measure_all_reduces() is for processes that have called torch.distributed.init_process_group(), two or more")
    for size in sizes:
        if size < 4 or size % 4:
            raise ValueError(f"sizes are in bytes of float32 elements, and {size} is no multiple of 4")
    if not sizes:
        raise ValueError("there is no size to measure")
    clock = clock_of(torch.device(device))
    rows = [{"bytes": size, "alone_s": _slowest(clock, torch.ones(size // 4, device=device), group)} for size in sorted(set(sizes))]
    if torch.distributed.get_rank(group) != 0:
        return None
    path = Path(out).absolute()
    backend = "nccl" if torch.distributed.get_backend(group) == "nccl" else "gloo"
    write_table(path, rows, torch.distributed.get_world_size(group), backend, source="ddpsim.torch.measure_all_reduces",
                pooling="monotone")
    return path


def _slowest(clock: Any, tensor: Any, group: Any) -> float:
    times: list[float] = []
    longest = torch.zeros(1, device=tensor.device)
    for attempt in range(10_000):
        torch.distributed.barrier(group)
        begin = clock.mark()
        torch.distributed.all_reduce(tensor, group=group)
        end = clock.mark()
        clock.settle()
        tensor.fill_(1.0)
        # All ranks stop at the same time, whatever their clocks say; the first run warms up.
        longest[0] = clock.seconds(begin, end)
        torch.distributed.all_reduce(longest, torch.distributed.ReduceOp.MAX, group=group)
        if attempt > 0:
            times.append(float(longest))
        if (len(times) >= 5 and sum(times) >= _LEAST_S) or sum(times) >= _MOST_S:
            break
    return median(times)
