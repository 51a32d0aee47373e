"""torch.distributed as a job of any size: PyTorch's fake process group, NCCL by name, objects by mail."""
from __future__ import annotations

import collections
import contextlib
import io
import itertools
import os
import pickle
import sys
import types
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

from ddpsim.torch.fake.collectives import Collectives
from ddpsim.torch.fake.patches import Patches
from ddpsim.torch.fake.refusals import MissingMail, place, refuse
from ddpsim.torch.fake.tape import Tape


def environment(world_size: int, rank: int, gpus_per_node: int) -> dict[str, str]:
    """What torchrun sets for a rank."""
    local = min(gpus_per_node, world_size)
    return {"WORLD_SIZE": str(world_size), "RANK": str(rank), "LOCAL_RANK": str(rank % gpus_per_node), "LOCAL_WORLD_SIZE": str(local),
            "GROUP_RANK": str(rank // gpus_per_node), "GROUP_WORLD_SIZE": str(-(-world_size // gpus_per_node)), "ROLE_RANK": str(rank),
            "ROLE_WORLD_SIZE": str(world_size), "MASTER_ADDR": "localhost", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "ddpsim"}


def install(patches: Patches, tape: Tape, collectives: Collectives, world_size: int, rank: int, mail: Path | None) -> None:
    _environment(patches, environment(world_size, rank, _node(world_size)))
    _groups(patches, world_size, rank)
    _objects(patches, tape, rank, mail)
    _batches(patches, collectives)
    _meshes(patches, collectives)

    def leave() -> None:
        if dist.is_initialized():
            dist.destroy_process_group()

    patches.callback(leave)


def _node(world_size: int) -> int:
    return min(int(torch.cuda.device_count()), world_size)


def _environment(patches: Patches, values: dict[str, str]) -> None:
    for name, value in values.items():
        before = os.environ.get(name)
        os.environ[name] = value
        if before is None:
            patches.callback(os.environ.pop, name, None)
        else:
            patches.callback(os.environ.__setitem__, name, before)


def _everywhere(patches: Patches, name: str, value: Any) -> None:
    """Also in modules that have imported the function by name."""
    before = getattr(dist, name, None)
    for module in list(sys.modules.values()):
        if before is not None and isinstance(module, types.ModuleType) and vars(module).get(name) is before:
            patches.set(module, name, value)


def _groups(patches: Patches, world_size: int, rank: int) -> None:
    from torch.testing._internal.distributed.fake_pg import FakeStore
    c10d = dist.distributed_c10d
    initialize, make = c10d.init_process_group, c10d.new_group

    def init_process_group(*_: Any, **__: Any) -> None:
        initialize("fake", store=FakeStore(), world_size=world_size, rank=rank)

    def new_group(ranks: Any = None, timeout: Any = None, backend: Any = None, pg_options: Any = None, use_local_synchronization: bool = False,
                  group_desc: Any = None, *_: Any, **__: Any) -> Any:
        return make(ranks, backend="fake", group_desc=group_desc)

    def split_group(parent_pg: Any = None, split_ranks: Any = None, timeout: Any = None, pg_options: Any = None, group_desc: Any = None, *_: Any, **__: Any) -> Any:
        parent = dist.get_process_group_ranks(parent_pg or dist.group.WORLD)
        groups = [new_group([parent[i] for i in part], group_desc=group_desc) for part in split_ranks]
        return next((group for group, part in zip(groups, split_ranks) if rank in [parent[i] for i in part]), None)

    for name, value in (("init_process_group", init_process_group), ("new_group", new_group), ("split_group", split_group)):
        _everywhere(patches, name, value)
    for name, answer in (("get_backend", "nccl"), ("is_nccl_available", True), ("monitored_barrier", None)):
        _everywhere(patches, name, lambda *_, _answer=answer, **__: _answer)
    from torch.nn.parallel import distributed
    patches.answer(distributed, _verify_param_shape_across_processes=None)


def _batches(patches: Patches, collectives: Collectives) -> None:
    """What NCCL launches as one kernel: c10d's coalescing manager."""
    base, fake = torch._C._distributed_c10d.ProcessGroup, torch._C._distributed_c10d.FakeProcessGroup
    patches.set(base, "_start_coalescing", lambda *_: collectives.begin_batch())
    patches.set(base, "_end_coalescing", lambda *_: collectives.end_batch())
    if hasattr(fake, "supports_coalescing"):
        patches.set(fake, "supports_coalescing", property(lambda _: True))

    def batch_isend_irecv(operations: list[Any]) -> list[Any]:
        collectives.begin_batch()
        for operation in operations:
            operation.op(operation.tensor, operation.peer, operation.group, operation.tag)
        return [collectives.end_batch()]

    _everywhere(patches, "batch_isend_irecv", batch_isend_irecv)


def peers_file(rank: int) -> str:
    """In the mail's folder: the ranks that a rank sends to and receives from."""
    return f"peers-{rank}"


def _meshes(patches: Patches, collectives: Collectives) -> None:
    """DTensor's caches outlive the block and know groups by name: meshes of each block are made to differ, as those of a thread of its own."""
    from torch.distributed.device_mesh import DeviceMesh
    kind: Any = DeviceMesh
    number, construct = next(_blocks), kind.__init__

    def __init__(made: Any, /, *args: Any, **kwargs: Any) -> None:
        construct(made, *args, **kwargs)
        made._thread_id, made._hash = -number, None
        for name in made.mesh_dim_names or ():
            with contextlib.suppress(RuntimeError, KeyError, AssertionError):    # a part of another mesh, which has its groups
                collectives.axes.setdefault(str(made.get_group(name).group_name), str(name))

    patches.set(kind, "__init__", __init__)


_blocks = itertools.count(1)


def _on_meta(size: Any, stride: Any, dtype: torch.dtype, requires_grad: bool) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


class _Pickler(pickle.Pickler):
    """A fake tensor travels as its shape: releases up to 2.6 cannot pickle one."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, FakeTensor):
            return _on_meta, (tuple(value.shape), value.stride(), value.dtype, value.requires_grad)
        return NotImplemented


def _pickled(objects: Any) -> bytes:
    out = io.BytesIO()
    _Pickler(out).dump(objects)
    return out.getvalue()


class _Mail:
    """Objects between ranks that are recorded one after another: files in a folder, numbered for each pair."""

    def __init__(self, folder: Path | None, rank: int):
        self._folder, self._rank = folder, rank
        self._sent: collections.Counter[int] = collections.Counter()
        self._received: collections.Counter[int] = collections.Counter()
        self.peers: set[int] = set()

    def send(self, objects: Any, to: int) -> None:
        self.peers.add(to)
        if self._folder is not None:
            with unset_fake_temporarily():
                (self._folder / f"{self._rank}-{to}-{self._sent[to]}").write_bytes(_pickled(objects))
        self._sent[to] += 1

    def receive(self, source: int) -> Any:
        self.peers.add(source)
        path = None if self._folder is None else self._folder / f"{source}-{self._rank}-{self._received[source]}"
        if path is None or not path.exists():
            raise MissingMail(self._rank, source)
        self._received[source] += 1
        with unset_fake_temporarily():
            return pickle.loads(path.read_bytes())


def _objects(patches: Patches, tape: Tape, rank: int, folder: Path | None) -> None:
    mail = _Mail(folder, rank)

    def leave_peers() -> None:
        if folder is not None:
            own = mail.peers | {item["peer"] for item in tape.items if "peer" in item}
            (folder / peers_file(rank)).write_text(" ".join(map(str, sorted(own))))

    patches.callback(leave_peers)

    def of(group: Any, global_rank: Any, in_group: Any) -> int:
        return int(global_rank if global_rank is not None else dist.get_global_rank(group or dist.group.WORLD, in_group))

    def note() -> None:
        tape.note("objects", f"{place()}: objects were exchanged between ranks; every rank is taken to have this one's")

    def send_object_list(objects: Any, dst: Any = None, group: Any = None, device: Any = None, group_dst: Any = None, **_: Any) -> None:
        mail.send(objects, of(group, dst, group_dst))

    def recv_object_list(objects: Any, src: Any = None, group: Any = None, device: Any = None, group_src: Any = None, **_: Any) -> int:
        source = of(group, src, group_src)
        objects[:] = mail.receive(source)
        return source

    def all_gather_object(objects: Any, own: Any, group: Any = None) -> None:
        note()
        objects[:] = [own] * len(objects)

    def gather_object(own: Any, objects: Any = None, dst: Any = None, group: Any = None, group_dst: Any = None) -> None:
        note()
        if objects is not None:
            objects[:] = [own] * len(objects)

    def broadcast_object_list(objects: Any, src: Any = None, group: Any = None, device: Any = None, group_src: Any = None, **_: Any) -> None:
        if of(group, src if src is not None or group_src is not None else 0, group_src) != rank:
            if all(value is None for value in objects):
                raise refuse("this rank receives objects by broadcast_object_list, which only rank 0 has", "record --rank 0")
            note()

    def scatter_object_list(received: Any, objects: Any = None, src: Any = None, group: Any = None, group_src: Any = None) -> None:
        if not objects:
            raise refuse("this rank receives an object by scatter_object_list, which only its source has", "record --rank 0")
        received[0] = objects[dist.get_rank(group)]

    for function in (send_object_list, recv_object_list, all_gather_object, gather_object, broadcast_object_list, scatter_object_list):
        _everywhere(patches, function.__name__, function)
