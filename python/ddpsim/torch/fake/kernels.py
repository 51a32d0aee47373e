"""Kernels that PyTorch knows nothing of: what they return and cost, as the user says."""
from __future__ import annotations

import importlib
import sys
import types
from dataclasses import dataclass
from typing import Any, Callable

import torch

from ddpsim.torch.fake.operators import bytes_of, dtype_of, tensors_in
from ddpsim.torch.fake.patches import Patches


@dataclass(frozen=True)
class Kernel:
    """A kernel by name: `result` makes its outputs from its arguments, `flops` counts its operations, `backward_flops` those of its gradient."""

    name: str
    result: Callable[..., Any]
    flops: Callable[..., int] | None
    backward_flops: Callable[..., int] | None


_kernels: dict[str, Kernel] = {}


def kernel(name: str, result: Callable[..., Any], *, flops: Callable[..., int] | None = None, backward_flops: Callable[..., int] | None = None) -> None:
    """Says what a kernel is that trace_step() cannot run: for a file that --kernels names, or before the block.

        ddpsim.torch.kernel("flash_attn.flash_attn_func", lambda q, k, v, **_: torch.empty_like(q),
                            flops=lambda q, k, v, **_: 4 * q.numel() * k.shape[1])

    name: "module.function", whose module need not be installed, or "space::operator" of a custom operator without a fake implementation.
    result: gets the arguments, returns tensors of the right shapes, which torch.empty_like and the like make. flops, backward_flops: floating-
    point operations, from the same arguments; 0 by default and, backward, twice those of forward. Its time is also taken from the bytes of its
    tensors. The gradient of a function is one kernel; that of an operator is what it registered.
    """
    if "::" not in name and "." not in name:
        raise ValueError(f"{name!r} names no kernel; 'module.function' and 'space::operator' do")
    _kernels[name] = Kernel(name, result, flops, backward_flops)


_functions: dict[str, Callable[..., Any]] = {}


def stand_in(name: str, function: Callable[..., Any]) -> None:
    """Says which function of PyTorch's operators is one of a package that need not be installed."""
    _functions[name] = function


def stand_ins(patches: Patches, recorder: Any) -> None:
    """Puts the kernels in the place of what they are named after."""
    for known in _kernels.values():
        if "::" in known.name:
            _operator(recorder, known)
        else:
            _function(patches, known.name, _called(recorder, known))
    for name, function in _functions.items():
        _function(patches, name, function)


def _operator(recorder: Any, known: Kernel) -> None:
    recorder.kernels[known.name] = known


def _function(patches: Patches, full_name: str, function: Callable[..., Any]) -> None:
    path, name = full_name.rsplit(".", 1)
    try:
        module = importlib.import_module(path)
    except ImportError:
        module = _absent(patches, path)
    patches.put(module, name, function)


def _absent(patches: Patches, path: str) -> types.ModuleType:
    """A module that is not installed, with its parents, for the block."""
    parts = path.split(".")
    for i in range(1, len(parts) + 1):
        part = ".".join(parts[:i])
        if part not in sys.modules:
            module = sys.modules[part] = types.ModuleType(part)
            module.__path__ = []
            module.__version__ = "0"  # type: ignore[attr-defined]
            patches.callback(sys.modules.pop, part, None)
            if i > 1:
                patches.put(sys.modules[".".join(parts[:i - 1])], parts[i - 1], module)
    return sys.modules[path]


def _called(recorder: Any, known: Kernel) -> Callable[..., Any]:
    class Function(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, kwargs: Any, *args: Any) -> Any:
            flops = known.flops(*args, **kwargs) if known.flops else 0
            backward = known.backward_flops(*args, **kwargs) if known.backward_flops else 2 * flops
            out = known.result(*args, **kwargs)
            inputs = tensors_in(args)
            recorder.kernel(known.name, inputs, tensors_in(out), flops)
            context.save_for_backward(*inputs, *tensors_in(out))
            context.backward_flops, context.count = backward, len(inputs)
            context.wanted = [isinstance(argument, torch.Tensor) for argument in args]
            return out

        @staticmethod
        def backward(context: Any, *gradients: Any) -> Any:
            saved = context.saved_tensors
            made = iter([torch.empty_like(tensor) for tensor in saved[:context.count]])
            results = [next(made) if wanted else None for wanted in context.wanted]
            needed = [result for result, needs in zip(results, context.needs_input_grad[1:]) if result is not None and needs]
            recorder.kernel(known.name + ".backward", [*saved, *tensors_in(gradients)], needed, context.backward_flops)
            return (None, *results)

    return lambda *args, **kwargs: Function.apply(kwargs, *args)


def describe_kernel(name: str, inputs: list[Any], outputs: list[Any], flops: int) -> dict[str, Any]:
    """As an item of the tape."""
    item: dict[str, Any] = {"operator": name, "dtype": dtype_of(inputs or outputs)}
    if flops:
        item.update(flops=flops, shapes=[list(tensor.shape) for tensor in inputs])
    return {**item, "read": bytes_of(inputs), "written": bytes_of(outputs)}
