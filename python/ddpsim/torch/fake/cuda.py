"""A GPU that is not there: as much of torch.cuda as a training script asks."""
from __future__ import annotations

import collections
import types
from typing import Any

import torch

from ddpsim.torch.fake.gpus import Gpu
from ddpsim.torch.fake.memory import Memory
from ddpsim.torch.fake.patches import Patches
from ddpsim.torch.fake.refusals import refuse
from ddpsim.torch.fake.streams import Event, Stream, StreamContext, Streams


class Generator:
    """The GPU's generator of random numbers: its state is kept, and nothing is drawn."""

    def __init__(self, state: Any):
        self._state = state

    def get_state(self) -> Any:
        return self._state.clone()

    def set_state(self, state: Any) -> Generator:
        self._state = state
        return self

    def clone_state(self) -> Generator:
        return Generator(self._state)

    graphsafe_get_state, graphsafe_set_state = clone_state, set_state

    def manual_seed(self, seed: int) -> Generator:
        return self

    def initial_seed(self) -> int:
        return 0

    seed = initial_seed


def install(patches: Patches, streams: Streams, memory: Memory, gpu: Gpu, gpus_per_node: int, local_rank: int) -> None:
    """Makes `gpus_per_node` GPUs visible, of which number `local_rank` is the current one."""
    _device(patches, gpu, gpus_per_node, local_rank)
    _order(patches, streams)
    _memory(patches, memory, gpu)
    _internals(patches, gpus_per_node, local_rank)
    _graphs(patches)


def _device(patches: Patches, gpu: Gpu, gpus_per_node: int, local_rank: int) -> None:
    cuda = torch.cuda
    properties = types.SimpleNamespace(
        name=gpu.name, total_memory=gpu.memory, major=gpu.capability[0], minor=gpu.capability[1], multi_processor_count=gpu.multiprocessors, warp_size=32,
        gcnArchName="", is_integrated=False, is_multi_gpu_board=False, L2_cache_size=50 << 20, max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536, shared_memory_per_block=49152, shared_memory_per_block_optin=232448, shared_memory_per_multiprocessor=233472, uuid="0")
    patches.answer(cuda, is_available=True, is_initialized=True, device_count=gpus_per_node, _lazy_init=None, init=None, _is_in_bad_fork=False,
                   current_device=local_rank, set_device=None, get_device_name=gpu.name, get_device_capability=gpu.capability, get_device_properties=properties,
                   is_bf16_supported=gpu.capability >= (8, 0), get_arch_list=["sm_%d%d" % gpu.capability], can_device_access_peer=True, utilization=0,
                   _exchange_device=local_rank, _maybe_exchange_device=local_rank)
    state = torch.zeros(16, dtype=torch.uint8)
    patches.answer(cuda, manual_seed=None, manual_seed_all=None, seed=None, seed_all=None, initial_seed=0, set_rng_state=None, set_rng_state_all=None)
    patches.set(cuda, "get_rng_state", lambda *_, **__: state.clone())
    patches.set(cuda, "get_rng_state_all", lambda: [state.clone()])

    patches.set(cuda, "default_generators", tuple(Generator(state) for _ in range(gpus_per_node)))

    class CpuGenerator(torch.Generator):  # type: ignore[misc]
        def __new__(cls, device: Any = None) -> Any:
            return super().__new__(cls)

    patches.set(torch, "Generator", CpuGenerator)

    class device:
        """torch.cuda.device(0)."""

        def __init__(self, device: Any = None): ...

        def __enter__(self) -> None: ...

        def __exit__(self, *_: Any) -> None: ...

    patches.set(cuda, "device", device)
    patches.answer(cuda.nvtx, range_push=0, range_pop=0, mark=None)


def _order(patches: Patches, streams: Streams) -> None:
    cuda, accelerator = torch.cuda, getattr(torch, "accelerator", None)
    for where in (cuda, torch):
        patches.set(where, "Stream", Stream)
        patches.set(where, "Event", Event)
    patches.set(cuda, "ExternalStream", Stream)
    patches.set(cuda, "stream", StreamContext)
    patches.set(cuda, "StreamContext", StreamContext)
    patches.set(cuda, "default_stream", lambda device=None: streams.default)
    patches.set(cuda, "set_stream", lambda stream: setattr(streams, "current", stream))
    for where in (cuda, accelerator):
        patches.set(where, "current_stream", lambda device=None: streams.current)
        patches.set(where, "synchronize", lambda device=None: streams.tape.host_waits("cuda.synchronize"))


def _memory(patches: Patches, memory: Memory, gpu: Gpu) -> None:
    cuda = torch.cuda
    patches.answer(cuda, empty_cache=None, ipc_collect=None, reset_peak_memory_stats=None, reset_max_memory_allocated=None, set_per_process_memory_fraction=None)
    for name in ("memory_allocated", "memory_reserved"):
        patches.set(cuda, name, lambda *_, **__: memory.now)
    for name in ("max_memory_allocated", "max_memory_reserved"):
        patches.set(cuda, name, lambda *_, **__: memory.peak)
    patches.set(cuda, "mem_get_info", lambda *_, **__: (gpu.memory - memory.now, gpu.memory))
    patches.set(cuda, "memory_stats", lambda *_, **__: collections.defaultdict(
        int, {"allocated_bytes.all.current": memory.now, "allocated_bytes.all.peak": memory.peak, "reserved_bytes.all.peak": memory.peak}))


def _internals(patches: Patches, gpus_per_node: int, local_rank: int) -> None:
    """Where PyTorch's own Python code asks CUDA below torch.cuda."""
    patches.answer(torch._C, _cuda_setDevice=0, _cuda_exchangeDevice=local_rank, _cuda_maybeExchangeDevice=local_rank, _cuda_emptyCache=0, _cuda_getDevice=local_rank,
                   _cuda_getDeviceCount=gpus_per_node, _cuda_getCurrentBlasHandle=0, _cuda_isCurrentStreamCapturing=False)
    patches.answer(torch._C, _get_accelerator=torch.device("cuda"))
    patches.answer(torch.cuda, is_current_stream_capturing=False)
    accelerator = getattr(torch, "accelerator", None)
    patches.answer(accelerator, is_available=True, device_count=gpus_per_node, current_device_index=local_rank, current_device_idx=local_rank, set_device_index=None,
                   set_device_idx=None, current_accelerator=torch.device("cuda"))
    patches.answer(torch.Tensor, record_stream=None, is_pinned=False)
    patches.set(torch.Tensor, "pin_memory", lambda tensor, *_: tensor)
    from torch._subclasses import fake_tensor
    patches.answer(fake_tensor, init_gpu_context=None, init_cuda_context=None)


def _graphs(patches: Patches) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise refuse("CUDA graphs cannot be recorded", "record without them; they change the pace of the host only")

    for name in ("CUDAGraph", "graph"):    # classes stay classes, as annotations use them
        patches.set(torch.cuda, name, type(name, (), {"__init__": refused}))
    patches.set(torch.cuda, "make_graphed_callables", refused)
