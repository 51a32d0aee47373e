"""What else of PyTorch must be told that nothing is computed: DDP's Reducer, optimizers, loaders, compilers, launchers."""
from __future__ import annotations

import functools
import os
import types
from typing import Any, Callable

import torch
import torch.distributed as dist
import torch.multiprocessing
import torch.optim.optimizer as optimizer_module
import torch.utils._foreach_utils
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import data

from ddpsim.torch.fake.collectives import Collectives
from ddpsim.torch.fake.memory import Memory
from ddpsim.torch.fake.mode import Recorder
from ddpsim.torch.fake.patches import Patches
from ddpsim.torch.fake.phases import Phases
from ddpsim.torch.fake.tape import Tape
from ddpsim.torch.fake.values import Values


def fake_mode(patches: Patches) -> Any:
    """Fake tensors, beside which real ones may be used, and which never touch a device."""
    patches.set(fake_tensor, "CONSTANT_NUMEL_LIMIT", -1)    # it would compute with constants on the device
    mode = FakeTensorMode(allow_non_fake_inputs=True, allow_fallback_kernels=False)
    if isinstance(getattr(FakeTensorMode, "avoid_device_init", None), property):
        patches.set(FakeTensorMode, "avoid_device_init", property(lambda self: True))
    else:
        mode.avoid_device_init = True    # an attribute in older releases
    return mode


def reducer(patches: Patches, recorder: Recorder, collectives: Collectives, gradient: Callable[[Any], Any]) -> None:
    """DDP's Reducer is PyTorch's own. `gradient` makes a hook for a parameter: its gradient is there."""
    constructor = dist.Reducer

    def build(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        collectives.reducers += 1
        for parameter in parameters:
            patches.callback(parameter.register_post_accumulate_grad_hook(gradient(parameter)).remove)
        recorder.builds_reducer = True
        try:
            return constructor(parameters, *args, **kwargs)
        finally:
            recorder.builds_reducer = False

    patches.set(dist, "Reducer", build)


def optimizers(patches: Patches, values: Values) -> None:
    """Fake tensors take the foreach and fused paths, and a GradScaler finds no infinity."""
    for where in (optimizer_module, torch.utils._foreach_utils):
        kinds = where._foreach_supported_types
        kinds.append(FakeTensor)
        patches.callback(kinds.remove, FakeTensor)
    scaler: Any = torch.amp.GradScaler
    step = scaler._maybe_opt_step

    def maybe_step(self: Any, *args: Any, **kwargs: Any) -> Any:
        values.in_scaler = True
        try:
            return step(self, *args, **kwargs)
        finally:
            values.in_scaler = False

    patches.set(scaler, "_maybe_opt_step", maybe_step)


def modules(patches: Patches) -> None:
    """module.to(device) exchanges what a parameter holds and keeps its identity; that a memo of fake tensors refers to it does no harm."""
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    patches.callback(torch.__future__.set_swap_module_params_on_conversion, before)
    patches.set(torch.utils, "weakref", types.SimpleNamespace(getweakrefs=lambda _: []))
    parameter: Any = torch.nn.Parameter

    def is_instance(kind: Any, instance: Any) -> bool:    # before PyTorch 2.5 a fake parameter is an UninitializedParameter, too
        return kind is parameter and isinstance(instance, torch.Tensor) and getattr(instance, "_is_param", False) or type.__instancecheck__(kind, instance)

    patches.set(type(parameter), "__instancecheck__", is_instance)


def storages(patches: Patches, memory: Memory) -> None:
    resize = torch.UntypedStorage.resize_

    def resize_(storage: Any, size: int) -> Any:
        out = resize(storage, size)
        memory.resized(storage)
        return out

    patches.set(torch.UntypedStorage, "resize_", resize_)


def loaders(patches: Patches) -> None:
    """Data loaders work in this process: one step is wanted."""
    loader: Any = data.DataLoader
    construct = loader.__init__

    def __init__(self: Any, dataset: Any, batch_size: Any = 1, shuffle: Any = None, sampler: Any = None, batch_sampler: Any = None, num_workers: int = 0,
                 collate_fn: Any = None, pin_memory: bool = False, *args: Any, **kwargs: Any) -> None:
        for name in ("prefetch_factor", "persistent_workers", "multiprocessing_context"):
            kwargs.pop(name, None)
        construct(self, dataset, batch_size, shuffle, sampler, batch_sampler, 0, collate_fn, False, *args, **kwargs)

    patches.set(loader, "__init__", __init__)


def compilers(patches: Patches, tape: Tape, phases: Phases) -> None:
    """torch.compile leaves a module as it is; its operators are marked. What would be fused is not known here."""

    def note() -> None:
        tape.note("compiled", "torch.compile: operators of compiled regions are recorded one by one, as they run without it; fused ones read and write "
                              "less, and DDPOptimizer's cuts of the graph are not in it")

    def compile(model: Any = None, **options: Any) -> Any:
        if model is None:
            return lambda model: compile(model, **options)
        note()
        if isinstance(model, torch.nn.Module):
            phases.compiled.add(model)
            return model

        @functools.wraps(model)
        def marked(*args: Any, **kwargs: Any) -> Any:
            with phases.compiled_function():
                return model(*args, **kwargs)

        return marked

    def compile_in_place(module: Any, *_: Any, **__: Any) -> None:
        note()
        phases.compiled.add(module)

    patches.set(torch, "compile", compile)
    patches.set(torch.nn.Module, "compile", compile_in_place)


def launchers(patches: Patches) -> None:
    """A script that starts its own processes is run as the one that is recorded."""

    def spawn(fn: Any, args: Any = (), *_: Any, **__: Any) -> None:
        fn(int(os.environ["LOCAL_RANK"]), *args)

    patches.set(torch.multiprocessing, "spawn", spawn)
    patches.set(torch.multiprocessing, "start_processes", spawn)
