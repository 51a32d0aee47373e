"""Operators that take functions: FlexAttention is one kernel, those that only set a random state are what they run."""
from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ddpsim.torch.fake.operators import bytes_of, dtype_of, tensors_in
from ddpsim.torch.fake.patches import Patches
from ddpsim.torch.fake.refusals import place, refuse
from ddpsim.torch.fake.tape import Tape

_FLEX = ("flex_attention", "flex_attention_backward")


def install(patches: Patches, recorder: type[TorchDispatchMode]) -> None:
    """Lets them come to the recorder in releases of PyTorch in which each must be told."""
    if hasattr(TorchDispatchMode, "supports_higher_order_operators"):
        return
    for func in list(torch._ops._higher_order_ops.values()):
        table = getattr(func, "python_key_table", getattr(func, "python_key_mode_table", None))
        if table is not None:
            table[recorder] = lambda mode, *args, _func=func, **kwargs: mode.__torch_dispatch__(_func, (), args, kwargs)
            patches.callback(table.pop, recorder, None)


def run(tape: Tape, assume: dict[str, float], func: Any, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """Its result, and the item of the tape that it is. Called with the recorder off, fake tensors on."""
    if func.name() not in _FLEX:
        raise refuse(f"the higher-order operator {func.name()} is not recorded", "leave torch.compile's own control flow out of what is recorded")
    out = func(*args, **kwargs)
    query, key, value = args[:3]
    batch, heads, queries, width = query.shape
    scores = batch * heads * queries * key.shape[2]
    # As torch.utils.flop_counter counts scaled_dot_product_attention: two products forward; five backward, with the scores made again.
    backward = func.name() == "flex_attention_backward"
    flops = 2 * scores * (3 * width + 2 * value.shape[3] if backward else width + value.shape[3])
    share = assume.get("flex_attention")
    if share is None:
        tape.note("flex-attention", f"{place()}: what its mask leaves out is not known; {func.name()} counts all scores (--assume flex_attention=0.5 counts half)")
    else:
        tape.note("assumed", f"{place()}: {func.name()} computes {share:g} of the scores (--assume)")
        flops = round(flops * share)
    read = [query, key, value, *(tensors_in(args[3:6]) if backward else ())]    # the result, its logarithms of sums, and the gradient
    return out, {"operator": func.name(), "dtype": dtype_of([query]), "flops": flops, "shapes": [list(part.shape) for part in (query, key, value)],
                 "read": bytes_of(read), "written": bytes_of(tensors_in(out))}


def within(func: Any, args: Any, kwargs: Any) -> Any:
    """Of an operator that gives another one the state of a generator: that one, and its arguments. None of others."""
    if not (func.name().startswith("run_") and "rng" in func.name()):
        return None
    inner = next(argument for argument in args if isinstance(argument, torch._ops.OpOverload))
    return inner, args[args.index(inner) + 1:], kwargs
