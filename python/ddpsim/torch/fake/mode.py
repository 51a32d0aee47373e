"""The dispatch mode: every operator of the script passes here, above fake tensors."""
from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import (DataDependentOutputException, DynamicOutputShapeException, FakeTensor, UnsupportedOperatorException,
                                           unset_fake_temporarily)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from ddpsim.torch.fake import higher_order, operators
from ddpsim.torch.fake.collectives import SPACES, Collectives
from ddpsim.torch.fake.kernels import Kernel, describe_kernel
from ddpsim.torch.fake.memory import Memory
from ddpsim.torch.fake.operators import tensors_in
from ddpsim.torch.fake.phases import Phases
from ddpsim.torch.fake.refusals import StepRecorded, refuse
from ddpsim.torch.fake.streams import Streams
from ddpsim.torch.fake.values import Values

_WRAPPERS = frozenset(("DTensor", "AsyncCollectiveTensor"))


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    supports_higher_order_operators = True    # what is in them comes back here

    def __init__(self, streams: Streams, memory: Memory, phases: Phases, values: Values, collectives: Collectives, fakes: Any):
        super().__init__()
        self._streams, self._tape, self._memory, self._phases = streams, streams.tape, memory, phases
        self._values, self._collectives, self._fakes = values, collectives, fakes
        self.builds_reducer = False    # in the constructor of DDP's Reducer, which is C++
        self.is_over = False
        self.kernels: dict[str, Kernel] = {}    # custom operators that the user describes

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, torch._ops.HigherOrderOperator):
            return self._higher_order(func, args, kwargs)
        if self.is_over:
            raise StepRecorded
        if any(kind.__name__ in _WRAPPERS for kind in types):
            return NotImplemented    # what they do with the tensors inside comes back here
        if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not self._fakes:
            return func(*args, **kwargs)    # PyTorch works out shapes, under a fake mode of its own
        space, name = func._schema.name.split("::")
        if space == "prim":
            if self.builds_reducer and name == "device":
                return torch.device("cpu")    # so that it makes a timer that needs no CUDA
            return func(*args, **kwargs)
        if space in SPACES:
            return self._collectives.call(space, name, func, args, kwargs)
        if operators.is_composite(func):    # in inference mode, where autograd does not take it apart
            with self:
                return func.decompose(*args, **kwargs)
        if name == "_local_scalar_dense" and isinstance(args[0], FakeTensor):
            return self._values.scalar(args[0])
        inputs = tensors_in(args) + tensors_in(kwargs)
        fake = any(isinstance(tensor, FakeTensor) for tensor in inputs)
        if name == "equal" and fake:
            return True
        device = kwargs.get("device")
        if self.builds_reducer and device is not None and torch.device(device).type == "cpu" and kwargs.get("dtype", torch.int).is_floating_point:
            kwargs["device"] = torch.device("cuda", self._streams.device)    # its buckets, which it would make where it was told the parameters are
        elif not fake and (device is None or torch.device(device).type == "cpu") and self._values.is_real(name, args, kwargs, inputs):
            with unset_fake_temporarily():
                return func(*args, **kwargs)
        if name == "copy_" and fake and not isinstance(args[0], FakeTensor):
            self._values.crossed(name, args, kwargs, args[0])
            return args[0]    # a real tensor keeps its own values
        self._collectives.pending.used(inputs)
        out = self._run(name, func, *((args, kwargs) if fake or not inputs else self._faked(args, kwargs)))
        self._values.follow(name, func, args, kwargs, inputs, out)
        self._note(func, args, kwargs, inputs, out)
        return self._values.crossed(name, args, kwargs, out)

    def _higher_order(self, func: Any, args: Any, kwargs: Any) -> Any:
        inner = higher_order.within(func, args, kwargs)
        if inner is not None:
            with self:
                return inner[0](*inner[1], **inner[2])
        out, item = higher_order.run(self._tape, self._values.assume, func, args, kwargs)
        for tensor in tensors_in(out):
            self._memory.saw(tensor)
        if self._tape.recording:
            self._phases.operator()
            self._tape.operator(self._streams.current.id, **item, **self._phases.where())
        return out

    def _faked(self, args: Any, kwargs: Any) -> Any:
        """Real arguments as fake tensors: some operators on none but real ones would be run on the device."""
        return tree_map_only(torch.Tensor, self._fakes.from_tensor, (args, kwargs))

    def _run(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        if name.startswith("_fused_") and not func._schema.returns:
            return None    # an optimizer's kernel, in place; not all releases know what it does to fake tensors
        try:
            return func(*args, **kwargs)
        except (DynamicOutputShapeException, DataDependentOutputException):
            return self._values.of_assumed_size(name, func, args)
        except UnsupportedOperatorException:
            known = self.kernels.get(func._schema.name)
            if known is not None:
                return known.result(*args, **kwargs)
            raise refuse(f"{func} has no fake implementation", "say what it returns and costs by ddpsim.torch.kernel() in a file, and name that by --kernels") from None

    def _note(self, func: Any, args: Any, kwargs: Any, inputs: list[torch.Tensor], out: Any) -> None:
        outputs = tensors_in(out)
        on_gpu = [tensor for tensor in outputs if tensor.device.type == "cuda"]
        for tensor in on_gpu:
            self._memory.saw(tensor)
        if not self._tape.recording:
            return
        if operators.is_free(func) or not (on_gpu or any(tensor.device.type == "cuda" for tensor in inputs)):
            self._phases.passed()
            return
        self._phases.operator()
        item = operators.describe(func, args, kwargs, out)
        known = self.kernels.get(func._schema.name)
        if known is not None and known.flops is not None:
            item.update(flops=int(known.flops(*args, **kwargs)), shapes=[list(tensor.shape) for tensor in inputs])
        self._tape.operator(self._streams.current.id, **item, **self._phases.where())

    def kernel(self, name: str, inputs: list[torch.Tensor], outputs: list[torch.Tensor], flops: int) -> None:
        """A kernel that is no operator of PyTorch's was launched."""
        if self._tape.recording:
            self._phases.operator()
            self._tape.operator(self._streams.current.id, **describe_kernel(name, inputs, outputs, flops), **self._phases.where())

    def note_of_triton(self, name: str) -> None:
        self._tape.note("triton", f"{name} counts as one read of all its tensors, and as no operations")
