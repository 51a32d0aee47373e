"""Counts by a router, which depend on values: every expert is taken to get as many tokens."""
from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

_COUNTS = frozenset(("histc", "bincount"))
_SCATTERS = frozenset(("scatter", "scatter_"))
_SAME_ELEMENTS = frozenset("view _unsafe_view reshape permute transpose t _to_copy clone alias detach unsqueeze squeeze".split())


def even_counts(name: str, args: Any, inputs: list[torch.Tensor], out: Any, at_most: int) -> int | None:
    """How many values `out` has counted, which now holds equal counts; None where it is no count. Ones that scatter() writes into a mask,
    as one_hot() does, are counted by the sum of the mask. Of no more than `at_most` counts."""
    if not isinstance(out, FakeTensor) or not inputs:
        return None
    if name in _COUNTS and out.numel() <= at_most:
        return _fill(out, inputs[0].numel())
    if name in _SCATTERS and len(args) > 3 and not isinstance(args[3], torch.Tensor) and args[3] == 1:
        out.marks = args[0].marks = args[2].numel()
        return None
    marks = getattr(inputs[0], "marks", None)
    if marks is None:
        return None
    if name == "sum" and out.numel() <= at_most:
        return _fill(out, marks)
    if name in _SAME_ELEMENTS and out.numel() == inputs[0].numel():
        out.marks = marks
    return None


def _fill(out: Any, values: int) -> int:
    share, rest = divmod(values, max(out.numel(), 1))
    with unset_fake_temporarily():
        out.guess = torch.full((out.numel(),), share, dtype=out.dtype)
        out.guess[:rest] += 1
        out.guess = out.guess.reshape(out.shape)
    return values
