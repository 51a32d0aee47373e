"""Records training steps of a model as a layer trace."""
from __future__ import annotations

import os
import threading
import warnings
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import quantiles
from types import TracebackType
from typing import Any, Callable

import torch
from torch.nn.parallel import DistributedDataParallel

from ddpsim.torch import hooks
from ddpsim.torch.clocks import clock_of
from ddpsim.torch.files import DTYPES, Gradient, Step, write_collectives, write_trace

_BUSY_SPREAD = 0.1


@dataclass
class _Bucket:
    elements: int
    dtype: str
    ready: Any
    end: Any = None


@dataclass
class _Marks:
    """The moments of a step that is under way."""

    forward: Any = None
    backward: Any = None
    optimizer: Any = None
    end: Any = None
    arrival: list[int] = field(default_factory=list)
    ready: list[Any] = field(default_factory=list)
    modules: dict[int, Any] = field(default_factory=dict)
    buckets: list[_Bucket] = field(default_factory=list)


def _trained(model: Any) -> list[tuple[Gradient, Any, list[Any]]]:
    """The parameters that DistributedDataParallel reduces, in its order, and the modules they are in, from the innermost out."""
    found = []
    modules = dict(model.named_modules())
    ignored = set(getattr(model, "_ddp_params_and_buffers_to_ignore", ()))
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad or name in ignored:
            continue
        if hasattr(parameter, "_is_flat_param") or hasattr(parameter, "device_mesh"):
            raise ValueError(f"{name} is sharded over ranks (FSDP, DTensor); record the model before it is sharded, and name the strategy in a scenario")
        dtype = str(parameter.dtype).removeprefix("torch.")
        if dtype not in DTYPES:
            raise ValueError(f"{name} is of {dtype}; gradients that can be recorded are of {', '.join(DTYPES)}")
        parts = name.split(".")[:-1]
        owners = [modules[".".join(parts[:length])] for length in range(len(parts), -1, -1)]
        found.append((Gradient(name, parameter.numel(), dtype), parameter, owners))
    if not found:
        raise ValueError("the model has no parameters that are trained (requires_grad)")
    return found


def _buffers(model: Any) -> list[int]:
    """What DistributedDataParallel broadcasts before a forward pass: one size for each dtype, in bytes."""
    ignored = set(getattr(model, "_ddp_params_and_buffers_to_ignore", ()))
    sizes: dict[Any, int] = {}
    for name, buffer in model.named_buffers():
        if name not in ignored and buffer.numel():
            sizes[buffer.dtype] = sizes.get(buffer.dtype, 0) + buffer.numel() * buffer.element_size()
    return list(sizes.values())


class Recording:
    """A context: inside it, `step` ends each training step. Afterwards `trace` is the path of the trace that was written."""

    def __init__(self, model: Any, out: Path, steps: int, warmup: int, optimizer: Any, all_reduces: bool, header: dict[str, Any]):
        #: The DistributedDataParallel model, or None where a plain one was recorded.
        self.ddp = model if isinstance(model, DistributedDataParallel) else None
        self.world_size: int = torch.distributed.get_world_size(self.ddp.process_group) if self.ddp else 1
        #: The files that were written: on rank 0, and None on the others.
        self.trace: Path | None = None
        self.collectives: Path | None = None
        self.steps: list[Step] = []
        self._model = self.ddp.module if self.ddp else model
        trained = _trained(self._model)
        self.gradients: list[Gradient] = [gradient for gradient, _, _ in trained]
        self._parameters = [parameter for _, parameter, _ in trained]
        self._owners = [owners for _, _, owners in trained]
        devices = {parameter.device for parameter in self._parameters}
        if len(devices) > 1:
            raise ValueError(f"the model is on {len(devices)} devices ({', '.join(sorted(map(str, devices)))}); a trace is of one")
        self.device = devices.pop()
        #: Whose all-reduces they are (a group may have one backend for each kind of device), and how many are in flight at once: Gloo
        #: has two threads.
        self.backend = "nccl" if self.ddp and self.device.type == "cuda" and torch.distributed.get_backend(self.ddp.process_group) != "gloo" else "gloo"
        self.workers = 2 if self.backend == "gloo" else 1
        if all_reduces and not self.ddp:
            raise ValueError("all_reduces=True needs a model in DistributedDataParallel; a plain one has none")
        self._out, self._wanted, self._warmup = out, steps, warmup
        self._optimizer, self._all_reduces, self._header = optimizer, all_reduces, header
        self._clock = clock_of(self.device)
        self._marks: _Marks | None = None    # None: nothing is recorded
        self._recorded: list[_Marks] = []
        self._seen = 0
        self._reduced = threading.Condition()
        self._remove: list[Callable[[], None]] = []

    @property
    def done(self) -> bool:
        """All steps that were wanted are recorded; further ones run without hooks."""
        return len(self._recorded) >= self._wanted

    @property
    def spread(self) -> float:
        """How far half of the recorded backward passes are from their median, at least, as a share of it."""
        times = [step.backward for step in self.steps]
        if len(times) < 2:
            return 0.0
        first, middle, third = quantiles(times, n=4, method="inclusive")
        return (third - first) / 2 / middle

    def step(self, value: Any = None) -> Any:
        """Ends a training step, of which `value` is what it returned; a function is called first. Returns that value."""
        if self._marks is None and not self.done:
            raise RuntimeError("step() is for inside the with block: with ddpsim.torch.record(model) as recording: ...")
        if callable(value):
            value = value()
        if self._marks is None:
            return value
        self._check(self._marks)
        self._seen += 1
        if self._seen > self._warmup:
            self._recorded.append(self._marks)
        self._marks = _Marks()
        if self.done:
            self._unhook()
        return value

    def __enter__(self) -> Recording:
        if self._seen or self._remove:
            raise RuntimeError("a recording is made once; call record() again for another one")
        for i, parameter in enumerate(self._parameters):
            self._remove.append(hooks.on_gradient(parameter, partial(self._arrived, i)))
        for module in {id(owners[0]): owners[0] for owners in self._owners if owners[0] is not self._model}.values():
            self._remove.append(hooks.on_forward(module, None, partial(self._forward_ended, id(module))))
        self._remove += [hooks.on_forward(self._model, self._forward_begins, partial(self._forward_ended, id(self._model))),
                         hooks.on_backward(self._backward_begins),
                         hooks.on_optimizer(self._optimizer, self._optimizer_begins, self._optimizer_ended)]
        if self._all_reduces:
            hooks.on_all_reduce(self.ddp, self._reduce_begins, self._reduce_ended)
        self._marks = _Marks()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._unhook()
        if kind is not None:
            return
        if not self._recorded:
            raise RuntimeError(f"no step was recorded: {self._seen} ended in recording.step(), and the first {self._warmup} only warm up")
        self._clock.settle()
        self.steps = [self._timed(marks) for marks in self._recorded]
        if self.spread > _BUSY_SPREAD:
            warnings.warn(f"the backward passes of half of the steps were more than {self.spread:.0%} away from their median; is the machine busy?",
                          stacklevel=2)
        if self.ddp and torch.distributed.get_rank() != 0:
            return
        write_trace(self._out, self.gradients, self.steps, self._full_header())
        self.trace = self._out
        if self._all_reduces:
            self.collectives = self._out.with_name(self._out.stem + "-collectives.csv")
            write_collectives(self.collectives, self.steps, self.world_size, self.workers)

    def _unhook(self) -> None:
        self._marks = None
        while self._remove:
            self._remove.pop()()

    # What the hooks call.

    def _forward_begins(self) -> None:
        if self._marks and self._marks.forward is None and torch.is_grad_enabled():
            self._marks.forward = self._clock.mark()

    def _forward_ended(self, module: int) -> None:
        if self._marks and self._marks.forward is not None and self._marks.backward is None:
            self._marks.modules[module] = self._clock.mark()

    def _backward_begins(self) -> None:
        if self._marks and not self._marks.arrival:
            self._marks.backward = self._clock.mark()

    def _arrived(self, parameter: int) -> None:
        if self._marks:
            self._marks.arrival.append(parameter)
            self._marks.ready.append(self._clock.mark())

    def _optimizer_begins(self) -> None:
        if self._marks and self._marks.optimizer is None:
            self._marks.optimizer = self._clock.mark()

    def _optimizer_ended(self) -> None:
        if self._marks:
            self._marks.end = self._clock.mark()

    def _reduce_begins(self, bucket: Any) -> _Bucket | None:
        if not self._marks:
            return None
        buffer = bucket.buffer()
        begun = _Bucket(buffer.numel(), str(buffer.dtype).removeprefix("torch."), self._clock.mark())
        self._marks.buckets.append(begun)
        return begun

    def _reduce_ended(self, begun: _Bucket | None) -> None:
        """On Gloo's thread, maybe a little after backward() returned."""
        if begun:
            end = self._clock.mark()
            with self._reduced:
                begun.end = end
                self._reduced.notify_all()

    # What they saw.

    def _check(self, marks: _Marks) -> None:
        """Throws unless the step is a forward pass and a backward pass in which every gradient came once, in the order of other steps."""
        if marks.forward is None or not marks.arrival:
            raise RuntimeError(f"step {self._seen + 1} had no {'backward' if marks.forward is not None else 'forward'} pass of this model; "
                               "train it between two calls of recording.step()")
        for i, gradient in enumerate(self.gradients):
            times = marks.arrival.count(i) if len(marks.arrival) != len(self.gradients) else 1
            if times == 0:
                raise RuntimeError(f"step {self._seen + 1} made no gradient of {gradient.name}; "
                                   "freeze what is not trained (requires_grad_(False)) and record again")
            if times > 1:
                raise RuntimeError(f"the gradient of {gradient.name} came {times} times in step {self._seen + 1}; end every backward pass with "
                                   "recording.step(), and give advise() ddp={'accumulation_steps': ...}")
        if len(set(marks.arrival)) != len(self.gradients):
            raise RuntimeError(f"some gradients came twice and others not at all in step {self._seen + 1}")
        if self._recorded and marks.arrival != self._recorded[0].arrival:
            ours, first = next((a, b) for a, b in zip(marks.arrival, self._recorded[0].arrival) if a != b)
            raise RuntimeError("gradients do not arrive in the same order in every step: "
                               f"{self.gradients[first].name} in one, {self.gradients[ours].name} in another")

    def _timed(self, marks: _Marks) -> Step:
        since = self._clock.seconds
        forward = since(marks.forward, marks.backward)
        ends = []
        for owners in self._owners:    # some modules use a parameter of one below without calling it (MultiheadAttention)
            ended = next((marks.modules[id(owner)] for owner in owners if id(owner) in marks.modules), marks.backward)
            ends.append(since(marks.forward, ended))
        ready = {parameter: since(marks.backward, mark) for parameter, mark in zip(marks.arrival, marks.ready)}
        optimizer = since(marks.optimizer, marks.end) if marks.end is not None else None
        with self._reduced:
            if not self._reduced.wait_for(lambda: all(bucket.end is not None for bucket in marks.buckets), timeout=30):
                raise RuntimeError("an all-reduce that began in a recorded step has not ended half a minute after the last one")
        self._clock.settle()
        reduced = [(bucket.elements, bucket.dtype, since(marks.backward, bucket.ready), since(marks.backward, bucket.end))
                   for bucket in marks.buckets]
        return Step(forward, optimizer, marks.arrival, ready, ends, reduced)

    def _full_header(self) -> dict[str, Any]:
        header = {key: value for key, value in self._header.items() if value is not None}
        notes = [f"Medians over {len(self.steps)} training steps after {self._warmup} to warm up; ready_std_s is the standard deviation."]
        if self.device.type == "cpu":
            threads = torch.get_num_threads()
            notes.append(f"{threads} thread{'s' if threads != 1 else ''}")
        if self.ddp:
            notes.append(f"Recorded under DistributedDataParallel on {self.world_size} ranks ({self.backend}), beside its all-reduces.")
        if self.steps[0].optimizer is None:
            notes.append("The optimizer's step was not seen.")
        return {"model": type(self._model).__name__, **header, "device": _device_name(self.device), "torch": torch.__version__,
                "buffers": _buffers(self._model), "notes": notes}


def _device_name(device: Any) -> str:
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return str(device)
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), str(device))


def record(model: Any, out: str | os.PathLike[str] = "trace.csv", *, batch_size: int | None = None, sequence_length: int | None = None,
           name: str | None = None, steps: int = 20, warmup: int = 5, optimizer: Any = None, all_reduces: bool = False) -> Recording:
    """Records training steps of a plain model, or one in DistributedDataParallel, as a layer trace in `out`.

    Times are those of CUDA events where the model is on a GPU, else of the host's clock: medians over `steps` steps after `warmup`.
    optimizer: whose step is timed; by default any, but PyTorch before 2.0 needs to be told. batch_size, sequence_length (samples of a
    step on this rank, tokens of a sample) and name go into the trace's header. all_reduces: times those of a DistributedDataParallel
    model, too, by a communication hook (it reduces as DDP does without one, and stays registered). Only rank 0 writes files.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"record() takes a torch.nn.Module, not {type(model).__name__}")
    for key, value, least in (("steps", steps, 1), ("warmup", warmup, 0), ("batch_size", batch_size, 1), ("sequence_length", sequence_length, 1)):
        if value is not None and value < least:
            raise ValueError(f"{key} is {value}; the least is {least}")
    return Recording(model, Path(out).absolute(), steps, warmup, optimizer, all_reduces,
                     {"model": name, "batch_size": batch_size, "sequence_length": sequence_length})
