"""Values: which tensors are computed for real, what stands for those that are not, and what depends on them."""
from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.utils._python_dispatch import _disable_current_modes

from ddpsim.torch.fake.finite import follow_finite
from ddpsim.torch.fake.operators import tensors_in, written_tensors
from ddpsim.torch.fake.patches import Patches
from ddpsim.torch.fake.phases import Phases
from ddpsim.torch.fake.refusals import place, refuse
from ddpsim.torch.fake.routing import even_counts
from ddpsim.torch.fake.streams import Streams

_REAL_FLOATS = 1 << 16      # tensors on the CPU are real up to here: schedules, counters, samples; weights are not
_REAL_INTEGERS = 1 << 26
_KNOWN = 1 << 13            # elements of a tensor on the GPU whose values are followed
_CONSTANTS = frozenset(("zeros", "ones", "full", "arange", "scalar_tensor"))
_INTEGERS = frozenset(("arange", "randint", "randperm", "tensor", "scalar_tensor", "full"))    # where no dtype is given
#: Operators whose result has a size that depends on values, by the word of --assume.
ASSUMABLE = {"nonzero": "nonzero", "masked_select": "masked_select", "_unique": "unique", "_unique2": "unique", "unique_dim": "unique",
             "unique_consecutive": "unique", "index": "nonzero", "index_put_": "nonzero", "index_put": "nonzero", "repeat_interleave": "repeat_interleave"}
_WORDS = sorted({*ASSUMABLE.values(), "flex_attention"})


def check_assumptions(assume: dict[str, float]) -> None:
    """Throws where one is not known or not a share."""
    for word, share in assume.items():
        if word not in _WORDS:
            raise ValueError(f"--assume {word}: no such word; there are {', '.join(_WORDS)}")
        if not 0 <= share < float("inf") or (share > 1 and word != "repeat_interleave"):
            raise ValueError(f"--assume {word}={share}: it is a share of the elements, from 0 to 1" +
                             (", or times each one is repeated" if word == "repeat_interleave" else ""))


def _value(tensor: Any) -> Any:
    """A tensor's values; None where they are not known."""
    if isinstance(tensor, FakeTensor):
        return getattr(tensor, "guess", None)
    return tensor if tensor.numel() <= _KNOWN else None


def _reduction(boxed: Any) -> str | None:
    """"SUM" and the like; None where this release cannot say."""
    kind = torch._C._distributed_c10d.ReduceOp
    return str(kind.unbox(boxed).op).split(".")[-1] if hasattr(kind, "unbox") else None


class Values:
    def __init__(self, streams: Streams, phases: Phases, assume: dict[str, float]):
        self._streams, self._tape, self._phases, self.assume = streams, streams.tape, phases, assume
        self.in_scaler = False    # GradScaler asks whether a gradient was infinite
        self.all_are_true = False    # of a mask that selects

    # Tensors on the CPU.

    def is_real(self, name: str, args: Any, kwargs: Any, inputs: list[torch.Tensor]) -> bool:
        """Whether an operator on the CPU is run for real."""
        if inputs:
            return all(tensor.device.type == "cpu" for tensor in inputs)
        dtype = kwargs.get("dtype") or (torch.int64 if name in _INTEGERS else torch.get_default_dtype())
        elements = 1
        for argument in args:
            if isinstance(argument, (list, tuple)) and all(isinstance(size, int) for size in argument):
                for size in argument:
                    elements *= size
        return elements <= (_REAL_FLOATS if dtype.is_floating_point else _REAL_INTEGERS)

    def exchanged(self, operation: str, args: Any, ranks: int) -> None:
        """Lets tensors whose values are known receive what they would from ranks that do the same, and forgets those of others."""
        received, sent = tensors_in(args[0]), tensors_in(args[1]) if len(args) > 1 else []
        if operation in ("all_gather", "all_to_all") and sent:
            for i, tensor in enumerate(received):
                self._copy(sent[min(i, len(sent) - 1)], tensor)
        elif operation == "all_reduce":
            self._reduced(received, next((_reduction(a) for a in args[1:] if isinstance(a, torch.ScriptObject) and "ReduceOp" in str(a._type())), None), ranks)
        elif operation in ("recv", "reduce_scatter", "scatter"):
            self._forget(received)

    def passed_on(self, operation: str, sent: Any, received: Any, reduction: Any, ranks: int) -> None:
        """The same for a functional collective, whose result is a new tensor."""
        if not isinstance(received, torch.Tensor) or not isinstance(sent, torch.Tensor) or operation == "reduce_scatter":
            return
        self._copy(sent, received)
        if operation == "all_reduce":
            self._reduced([received], str(reduction).upper(), ranks)

    def _reduced(self, tensors: list[torch.Tensor], reduction: str | None, ranks: int) -> None:
        for tensor in tensors:
            value = getattr(tensor, "guess", None) if isinstance(tensor, FakeTensor) else tensor
            if value is None:
                continue
            if reduction == "SUM":
                with unset_fake_temporarily(), _disable_current_modes():
                    value.mul_(ranks)
            elif reduction not in ("MIN", "MAX", "AVG"):
                self._forget([tensor])

    def _copy(self, source: torch.Tensor, into: torch.Tensor) -> None:
        value = getattr(source, "guess", None) if isinstance(source, FakeTensor) else source
        if value is None or not value.numel() or into.numel() % value.numel():
            self._forget([into])
            return
        with unset_fake_temporarily(), _disable_current_modes():
            copies = value.reshape(-1).repeat(into.numel() // value.numel()).reshape(into.shape)
            if not isinstance(into, FakeTensor):
                into.copy_(copies)
            elif into.numel() <= _KNOWN:
                into.guess = copies

    def _forget(self, tensors: list[torch.Tensor]) -> None:
        for tensor in tensors:
            if getattr(tensor, "guess", None) is not None:
                tensor.guess = None

    # Small tensors on the GPU whose values are known, or guessed.

    def follow(self, name: str, func: Any, args: Any, kwargs: Any, inputs: list[torch.Tensor], out: Any) -> None:
        """Counts into bins are taken as equal; what is computed from known values is known."""
        counted = even_counts(name, args, inputs, out, _KNOWN)
        if counted is not None:
            self._tape.note("even-routing", f"{place()}: {name} of {counted} values into {out.numel()} bins: counts are taken as equal")
            return
        if follow_finite(name, args, inputs, out, _KNOWN):
            return
        written = written_tensors(func, args, kwargs)
        outputs = list(out) if isinstance(out, (list, tuple)) and out else [out]
        if not all(isinstance(part, FakeTensor) and part.numel() <= _KNOWN for part in outputs):
            self._forget(written)
            return
        computed = name not in _CONSTANTS and torch.Tag.nondeterministic_seeded not in func.tags and not name.startswith("empty") and name != "new_empty"
        if (computed and not inputs) or any(_value(tensor) is None for tensor in inputs) or not (computed or name in _CONSTANTS):
            self._forget(written)
            return

        def known(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return _value(value)
            return type(value)(known(part) for part in value) if isinstance(value, (list, tuple)) else value

        plain = {key: torch.device("cpu") if key == "device" else known(value) for key, value in kwargs.items()}
        if "device" not in plain and not inputs:
            plain["device"] = torch.device("cpu")
        with unset_fake_temporarily(), contextlib.suppress(Exception):
            result = func(*known(args), **plain)
            for part, value in zip(outputs, [result] if outputs[0] is out else result):
                part.guess = value.clone() if name == "_to_copy" else value

    def crossed(self, name: str, args: Any, kwargs: Any, out: Any) -> Any:
        """The result of an operator. A copy from or to the GPU makes the host wait, unless it is told not to (ATen's Copy.cu); one to the CPU is
        real where its values are known."""
        if name not in ("_to_copy", "copy_"):
            return out
        source = args[1] if name == "copy_" else args[0]
        if {source.device.type, out.device.type} != {"cpu", "cuda"}:
            return out
        if not (kwargs.get("non_blocking") or len(args) > 2 and args[2]):
            self._stop("copy", out if out.device.type == "cuda" else source)
        known = getattr(out, "guess", None) if out.device.type == "cpu" and name == "_to_copy" else None
        return out if known is None else known

    # Values that the host reads.

    def scalar(self, tensor: Any) -> Any:
        """What item() of a tensor gives that is not computed."""
        self._stop("item", tensor)
        guess = getattr(tensor, "guess", None)
        if guess is not None:
            with unset_fake_temporarily():
                return guess.item()
        if self.in_scaler:
            return 0.0
        floating = tensor.dtype.is_floating_point
        value: Any = 1.0 if floating else tensor.dtype != torch.bool and 1
        self._tape.note("host-read", f"{place()}: a value was read on the host in {self._phases.place} (.item()); {value} stands for it")
        return value

    def read(self, patches: Patches) -> None:
        """Makes tolist() and numpy() give ones for floating-point tensors, guesses for counts, and refuse the rest."""
        for name in ("tolist", "numpy"):
            method = getattr(torch.Tensor, name)

            def read(tensor: Any, *args: Any, _method: Any = method, _name: str = name, **kwargs: Any) -> Any:
                value = tensor
                if isinstance(tensor, FakeTensor):
                    value = getattr(tensor, "guess", None)
                    self._stop(_name, tensor)
                    if value is None and not tensor.dtype.is_floating_point and tensor.dtype != torch.bool:
                        raise refuse(f"{_name}() of integers of shape {tuple(tensor.shape)} on a GPU: their values are not computed",
                                     "sizes that depend on values cannot be recorded; counts by bincount or histc are taken as equal")
                with _disable_current_modes():
                    if value is None:
                        self._tape.note("host-read", f"{place()}: values were read on the host in {self._phases.place} (.{_name}()); ones stand for them")
                        value = torch.ones(tensor.shape, dtype=tensor.dtype) if tensor.dtype != torch.bool else torch.zeros(tensor.shape, dtype=torch.bool)
                    return _method(value, *args, **kwargs)

            patches.set(torch.Tensor, name, read)
            if name in vars(FakeTensor):
                patches.set(FakeTensor, name, read)

    def _stop(self, what: str, tensor: Any) -> None:
        if tensor.device.type == "cuda":
            self._tape.host_waits(what, [self._tape.position(self._streams.current.id)])

    # Sizes that depend on values.

    def of_assumed_size(self, name: str, func: Any, args: Any) -> Any:
        """The result of an operator whose size depends on values, by what the user assumes of it."""
        word = ASSUMABLE.get(name)
        if word is None:
            raise refuse(f"{func}: what depends on values cannot be recorded")
        if self.all_are_true:
            share = 1.0
        elif word in self.assume:
            share = self.assume[word]
            self._tape.note("assumed", f"{place()}: {name} gives {share:g} of what is possible (--assume)")
        else:
            raise refuse(f"{name}: what depends on values cannot be recorded", f"--assume {word}=0.5 takes half of the elements" if word != "repeat_interleave" else
                         "--assume repeat_interleave=2 repeats each twice; or give it output_size")
        self._stop(name, args[0])    # for the size of the result
        tensor = args[0]
        if word == "repeat_interleave":
            return tensor.new_empty((round(tensor.numel() * share),), dtype=torch.int64)
        if name in ("index", "index_put_", "index_put"):
            indices: list[Any] = []
            for index in args[1]:
                if isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8):
                    indices += [index.new_empty((round(index.numel() * share),), dtype=torch.int64) for _ in range(index.dim())]
                else:
                    indices.append(index)
            return func(tensor, indices, *args[2:])
        count = round(tensor.numel() * share)
        if name == "nonzero":
            return tensor.new_empty((count, tensor.dim()), dtype=torch.int64)
        if name == "masked_select":
            return tensor.new_empty((count,))
        if name == "unique_dim":
            raise refuse("unique of rows cannot be recorded")
        indices_of = [tensor.new_empty(tensor.shape, dtype=torch.int64), tensor.new_empty((count,), dtype=torch.int64)]
        return (tensor.new_empty((count,)), *indices_of[:len(func._schema.returns) - 1])
