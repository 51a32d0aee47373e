"""An operator as an item of the tape: what it computes, reads and writes."""
from __future__ import annotations

import functools
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

#: Make or rename a tensor without a kernel.
_FREE = frozenset(
    "_reshape_alias _unsafe_view alias as_strided chunk detach detach_ diagonal empty empty_like empty_permuted empty_strided expand is_same_size lift "
    "lift_fresh narrow new_empty new_empty_strided permute record_stream resize_ select set_ slice split split_with_sizes squeeze squeeze_ sym_numel sym_size "
    "sym_storage_offset sym_stride t t_ transpose transpose_ unbind unfold unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_ view view_as_complex "
    "view_as_real _has_compatible_shallow_copy_type _local_scalar_dense".split())
#: Write their first argument without reading it.
_OVERWRITE = frozenset("bernoulli_ cauchy_ copy_ exponential_ fill_ geometric_ log_normal_ normal_ random_ uniform_ zero_ _foreach_copy_ _foreach_zero_".split())
#: Read as much of their first argument as they write.
_GATHER = frozenset("embedding gather index index_select take nll_loss_forward nll_loss2d_forward".split())
#: Change no more of their first argument than the last one says.
_SCATTER = frozenset("index_add_ index_copy_ index_fill_ index_put_ scatter_ scatter_add_ scatter_reduce_".split())


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Every tensor in arguments or results, however nested."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in tensors_in(part)]
    if isinstance(value, dict):
        return [tensor for part in value.values() for tensor in tensors_in(part)]
    return []


def bytes_of(tensors: list[torch.Tensor]) -> int:
    """Bytes that reading each once takes; a dimension that is expanded is in memory once."""
    total = 0
    for tensor in tensors:
        elements = 1
        for size, stride in zip(tensor.shape, tensor.stride()) if tensor.layout == torch.strided else ((tensor.numel(), 1),):
            elements *= size if stride or not size else 1
        total += elements * tensor.element_size()
    return total


def dtype_of(tensors: list[torch.Tensor]) -> str:
    """The type of the first floating-point tensor, else of the first."""
    chosen = next((tensor for tensor in tensors if tensor.dtype.is_floating_point or tensor.dtype.is_complex), tensors[0] if tensors else None)
    return "" if chosen is None else str(chosen.dtype).removeprefix("torch.")


def name_of(func: Any) -> str:
    """"mm" of aten's, "space::name" of others'."""
    space, name = func._schema.name.split("::")
    return str(name) if space == "aten" else f"{space}::{name}"


def is_free(func: Any) -> bool:
    """Whether it launches no kernel."""
    return _is_free(func)


@functools.lru_cache(maxsize=None)
def _is_free(func: Any) -> bool:
    return func.namespace in ("aten", "prim") and (func._schema.name.split("::")[1] in _FREE or bool(getattr(func, "is_view", False)))


@functools.lru_cache(maxsize=None)
def is_composite(func: Any) -> bool:
    """Whether it is made of other operators on every device."""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"))


@functools.lru_cache(maxsize=None)
def _written_arguments(func: Any) -> tuple[tuple[int, str, bool], ...]:
    """Those that the schema says are written: position, name, whether they are only that (out=)."""
    return tuple((i, argument.name, argument.kwarg_only) for i, argument in enumerate(func._schema.arguments)
                 if argument.alias_info is not None and argument.alias_info.is_write)


def written_tensors(func: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """What the operator changes in place, or gets as out=."""
    return [tensor for position, argument, keyword in _written_arguments(func)
            for tensor in tensors_in(kwargs.get(argument) if keyword or position >= len(args) else args[position])]


def flops_of(func: Any, args: Any, kwargs: Any, out: Any) -> int:
    """By PyTorch's own formulas (torch.utils.flop_counter), which FlopCounterMode uses; 0 where it has none."""
    formula = flop_registry.get(func._overloadpacket)
    return int(formula(*args, **kwargs, out_val=out)) if formula else 0


def describe(func: Any, args: Any, kwargs: Any, out: Any) -> dict[str, Any]:
    """The operator's name, dtype, operations, shapes where it has operations, bytes read and written."""
    name, base = name_of(func), func._schema.name.split("::")[1]
    inputs, outputs = tensors_in(args) + tensors_in(kwargs), tensors_in(out)
    written: dict[int, torch.Tensor] = {}
    unread: set[int] = set()
    for position, argument, keyword in _written_arguments(func):
        for tensor in tensors_in(kwargs.get(argument) if keyword or position >= len(args) else args[position]):
            written[id(tensor)] = tensor
            if keyword or base in _OVERWRITE:
                unread.add(id(tensor))
    changed = list(written.values())
    for tensor in outputs:
        written.setdefault(id(tensor), tensor)
    read = [tensor for tensor in {id(tensor): tensor for tensor in inputs}.values() if id(tensor) not in unread]
    read_bytes, written_bytes = bytes_of(read), bytes_of(list(written.values()))
    if base in _GATHER and read:
        read_bytes += min(bytes_of(outputs), bytes_of(read[:1])) - bytes_of(read[:1])
    elif base in _SCATTER and changed:
        part = min(bytes_of(tensors_in(args[-1])[:1]) or written_bytes, written_bytes)
        read_bytes, written_bytes = read_bytes - bytes_of(changed) + part, part
    item: dict[str, Any] = {"operator": name, "dtype": dtype_of(inputs if base in _PRODUCTS else outputs or changed or inputs)}
    flops = flops_of(func, args, kwargs, out)
    if flops:
        item["flops"] = flops
        item["shapes"] = [list(tensor.shape) for tensor in inputs]
        if _is_causal(func, args, kwargs):
            item["causal"] = True
    return {**item, "read": read_bytes, "written": written_bytes}


_PRODUCTS = frozenset(packet.__name__ for packet in flop_registry if hasattr(packet, "__name__"))


def _is_causal(func: Any, args: Any, kwargs: Any) -> bool:
    for i, argument in enumerate(func._schema.arguments):
        if argument.name == "is_causal":
            return bool(args[i] if i < len(args) else kwargs.get("is_causal", argument.default_value))
    return False
