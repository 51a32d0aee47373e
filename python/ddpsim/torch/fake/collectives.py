"""Collectives, as they pass c10d's dispatcher operators, above every backend."""
from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from ddpsim.torch.fake.memory import Memory
from ddpsim.torch.fake.operators import bytes_of, dtype_of, tensors_in
from ddpsim.torch.fake.phases import Phases
from ddpsim.torch.fake.refusals import refuse
from ddpsim.torch.fake.streams import Streams
from ddpsim.torch.fake.values import Values
from ddpsim.torch.fake.work import Pending, Work

# Operator: the operation, and which argument nccl-tests counts: what is received by an all-gather, sent by a reduce-scatter or all-to-all.
_PLAIN = {
    "allreduce_": ("all_reduce", 0), "allreduce_coalesced_": ("all_reduce", 0),
    "_allgather_base_": ("all_gather", 0), "allgather_": ("all_gather", 0), "allgather_coalesced_": ("all_gather", 0), "allgather_into_tensor_coalesced_": ("all_gather", 0),
    "_reduce_scatter_base_": ("reduce_scatter", 1), "reduce_scatter_": ("reduce_scatter", 1), "reduce_scatter_tensor_coalesced_": ("reduce_scatter", 1),
    "alltoall_base_": ("all_to_all", 1), "alltoall_": ("all_to_all", 1), "broadcast_": ("broadcast", 0), "reduce_": ("reduce", 0), "gather_": ("gather", 1),
    "gather_into_tensor_": ("gather", 1), "scatter_": ("scatter", 0), "send": ("send", 0), "recv_": ("recv", 0), "barrier": ("barrier", 0),
    "monitored_barrier_": ("barrier", 0)}
_ROOT = {"broadcast_": 2, "reduce_": 3, "gather_": 3, "gather_into_tensor_": 3, "scatter_": 3}    # position of the argument
_FUNCTIONAL = {
    "all_reduce": "all_reduce", "all_reduce_": "all_reduce", "all_reduce_coalesced": "all_reduce", "all_reduce_coalesced_": "all_reduce",
    "all_gather_into_tensor": "all_gather", "all_gather_into_tensor_out": "all_gather", "all_gather_into_tensor_coalesced": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter", "reduce_scatter_tensor_out": "reduce_scatter", "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "all_to_all_single": "all_to_all", "broadcast": "broadcast", "broadcast_": "broadcast", "shard_dim_alltoall": "all_to_all"}
SPACES = frozenset(("c10d", "_c10d_functional", "_c10d_functional_autograd", "_dtensor"))


class Collectives:
    """Puts collectives on the tape, and answers for the other ranks as if each did what this one does."""

    def __init__(self, streams: Streams, memory: Memory, phases: Phases, values: Values):
        self._streams, self._tape, self._memory, self._phases, self._values = streams, streams.tape, memory, phases, values
        self.pending = Pending(streams)
        self.reducers = 0
        self.axes: dict[str, str] = {}              # of device meshes, by PyTorch's name of the group
        self._kept: list[Work] = []                 # C++ holds only the half of them that is its own
        self._outputs: dict[int, int | None] = {}   # of functional collectives, by storage, until wait_tensor
        self._batch: list[int | None] | None = None
        self._batches = 0

    def call(self, space: str, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """Instead of the dispatcher's operator `func`."""
        return self._plain(name, func, args) if space == "c10d" else self._functional(name, func, args, kwargs)

    def begin_batch(self) -> None:
        """What follows is launched as one kernel (ncclGroupStart)."""
        self._batch = []

    def end_batch(self) -> Work:
        numbers, self._batch = self._batch or [], None
        self._batches += 1
        return self._work(numbers)

    def _work(self, numbers: list[int | None], tensors: Any = None, pending: Pending | None = None) -> Work:
        work = Work(self._streams, numbers, tensors, pending)
        self._kept.append(work)
        return work

    def _put(self, operation: str, group: Any, counted: list[torch.Tensor], factor: int = 1, **more: Any) -> int | None:
        if not self._tape.recording:
            return None
        if any(tensor.device.type == "cpu" for tensor in counted) and operation != "barrier":
            more["cpu"] = True
        if self._batch is not None:
            more["batch"] = self._batches
        barrier = operation == "barrier"
        number = self._tape.collective(operation, self._streams.current.id, self._group(group), bytes=0 if barrier else factor * bytes_of(counted),
                                       dtype="" if barrier else dtype_of(counted), **more, **self._phases.where())
        if self._batch is not None:
            self._batch.append(number)
        return number

    def _group(self, group: Any) -> int:
        ranks = tuple(dist.get_process_group_ranks(group))
        described = str(getattr(group, "group_desc", "") or "")
        name = "world" if group is dist.group.WORLD else self.axes.get(str(group.group_name), "") or _axis(described)
        return self._tape.group(str(group.group_name), name, ranks)

    def _plain(self, name: str, func: Any, args: Any) -> Any:
        boxed = next((a for a in args if isinstance(a, torch.ScriptObject) and "ProcessGroup" in str(a._type())), None)
        if name not in _PLAIN or boxed is None:
            raise refuse(f"the collective c10d.{name} is not recorded")
        group = torch._C._distributed_c10d.ProcessGroup.unbox(boxed)
        operation, which = _PLAIN[name]
        counted = tensors_in(args[which])
        more: dict[str, Any] = {}
        if operation in ("send", "recv"):
            more["peer"] = dist.get_process_group_ranks(group)[args[2]]
        elif name in _ROOT:
            more["root"] = dist.get_process_group_ranks(group)[args[_ROOT[name]]]
        elif name == "alltoall_base_":
            more.update(_uneven(args[1], args[4]))
        elif name == "alltoall_" and len({tensor.numel() for tensor in counted}) > 1:
            more["splits"] = [bytes_of([tensor]) for tensor in counted]
        for tensor in tensors_in(args[:2]):
            if tensor.device.type == "cuda":
                self._memory.saw(tensor)
        self._memory.holds([tensor for tensor in tensors_in(args[:2]) if tensor.device.type == "cuda"], "collectives")
        number = self._put(operation, group, counted, group.size() if operation in ("gather", "scatter") else 1, **more)
        self._values.exchanged(operation, args, group.size())
        of_reducer = self.reducers > 0 and name == "allreduce_" and self._phases.in_backward
        if of_reducer:
            self.pending.add(tensors_in(args[0]), [number])
        work = self._work([number], tensors_in(args[0]) if of_reducer else None, self.pending if of_reducer else None)
        return work.boxed() if len(func._schema.returns) == 1 else (args[0], work.boxed()) if func._schema.returns else None

    def _functional(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        if name in ("wait_tensor", "wait_tensors"):
            for tensor in tensors_in(args):
                self._streams.wait([self._outputs.pop(tensor.untyped_storage()._cdata, None)])
            return args[0]
        if name == "_wrap_tensor_autograd":
            return func(*args, **kwargs)
        if name not in _FUNCTIONAL:
            raise refuse(f"the collective {func} is not recorded")
        named = next(a for a in reversed(args) if isinstance(a, (str, dist.ProcessGroup)))
        group = dist.distributed_c10d._resolve_process_group(named) if isinstance(named, str) else named
        out = func(*args, **kwargs)
        outputs = tensors_in(out)
        for tensor in outputs:
            if tensor.device.type == "cuda":
                self._memory.saw(tensor)
        self._memory.holds([tensor for tensor in outputs + tensors_in(args) if tensor.device.type == "cuda"], "collectives")
        operation = _FUNCTIONAL[name]
        more = _uneven(args[0], args[2]) if name == "all_to_all_single" else {}
        number = self._put(operation, group, outputs if operation == "all_gather" else tensors_in(args[0]), **more)
        self._values.passed_on(operation, args[0], out, args[1] if operation == "all_reduce" else None, group.size())
        for tensor in outputs:
            self._outputs[tensor.untyped_storage()._cdata] = number
        return out


def _axis(described: str) -> str:
    """Of what a group is told to be: by a device mesh, by Megatron (TENSOR_MODEL_PARALLEL_GROUP)."""
    if "_GROUP" in described and described.isupper():
        return described.replace("_GROUP", "").lower()
    return described[5:] if described.startswith("mesh_") else ""


def _uneven(sent: Any, splits: Any) -> dict[str, Any]:
    """Bytes to each rank of an all-to-all, where they differ."""
    rows = [int(rows) for rows in splits or []]
    if len(set(rows)) < 2 or not sum(rows):
        return {}
    row = bytes_of([sent]) // sum(rows)
    return {"splits": [rows_of * row for rows_of in rows]}
