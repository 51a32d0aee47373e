"""SyncBatchNorm: kernels of CUDA whose shapes PyTorch does not work out, and sizes that depend on which ranks have samples."""
from __future__ import annotations

from typing import Any, Callable

import torch
from torch.nn.modules import _functions

from ddpsim.torch.fake.kernels import Kernel
from ddpsim.torch.fake.patches import Patches
from ddpsim.torch.fake.values import Values


def _channels(tensor: torch.Tensor, count: int) -> tuple[torch.Tensor, ...]:
    kind = torch.float32 if tensor.dtype in (torch.float16, torch.bfloat16) else tensor.dtype
    return tuple(tensor.new_empty((tensor.shape[1],), dtype=kind) for _ in range(count))


#: What they return, by the arguments in ATen's native_functions.yaml.
_RESULTS: dict[str, Callable[..., Any]] = {
    "batch_norm_stats": lambda tensor, eps: _channels(tensor, 2),
    "batch_norm_gather_stats_with_counts": lambda tensor, *_: _channels(tensor, 2),
    "batch_norm_elemt": lambda tensor, *_: torch.empty_like(tensor),
    "batch_norm_backward_reduce": lambda gradient, tensor, *_: _channels(tensor, 4),
    "batch_norm_backward_elemt": lambda gradient, tensor, *_: torch.empty_like(tensor)}


def install(patches: Patches, recorder: Any, values: Values) -> None:
    for name, result in _RESULTS.items():
        recorder.kernels[f"aten::{name}"] = Kernel(name, result, None, None)
    kind: Any = _functions.SyncBatchNorm
    forward = kind.forward

    def all_have_samples(*args: Any) -> Any:
        values.all_are_true = True    # its mask of ranks that have samples
        try:
            return forward(*args)
        finally:
            values.all_are_true = False

    patches.set(kind, "forward", staticmethod(all_have_samples))
