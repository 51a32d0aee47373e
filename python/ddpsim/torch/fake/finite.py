"""Whether numbers are finite, which scripts ask before they step: they are."""
from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

_NO = frozenset(("isnan", "isinf", "isposinf", "isneginf"))
_ANY = frozenset(("logical_or", "logical_or_", "bitwise_or", "bitwise_or_", "maximum", "max", "amax", "any"))
_ALL = frozenset(("logical_and", "logical_and_", "bitwise_and", "bitwise_and_", "mul", "minimum", "min", "amin", "all"))
_SAME = frozenset("view _unsafe_view reshape permute transpose t _to_copy clone alias detach unsqueeze squeeze select slice stack cat".split())


def follow_finite(name: str, args: Any, inputs: list[torch.Tensor], out: Any, at_most: int) -> bool:
    """Whether `out` is an answer to the question, or made of such: all elements of it are then known to be the same."""
    if not isinstance(out, FakeTensor) or not inputs:
        return False
    value = _value(name, args, inputs)
    if value is None:
        return False
    out.truth = value
    if out.numel() > at_most:
        return False
    with unset_fake_temporarily():
        out.guess = torch.full(out.shape, value, dtype=out.dtype)
    return True


def _value(name: str, args: Any, inputs: list[torch.Tensor]) -> int | None:
    if name in _NO:
        return 0
    if name == "eq" and len(args) > 1 and args[0] is args[1] or name == "ne" and len(args) > 1 and args[1] == float("inf"):    # isfinite() is made of them
        return 1
    truths: list[int] = [tensor.truth for tensor in inputs if hasattr(tensor, "truth")]
    if len(truths) < len(inputs):
        return None
    if name in _ANY:
        return max(truths)
    if name in _ALL:
        return min(truths)
    if name == "logical_not":
        return 1 - truths[0]
    if name in _SAME or name == "sum" and not truths[0]:
        return truths[0] if len(set(truths)) == 1 else None
    return None
