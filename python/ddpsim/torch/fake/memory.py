"""Memory on the GPU: storages, rounded as PyTorch's caching allocator does, with what they hold."""
from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import torch

from ddpsim.torch.fake.tape import Item, Tape

#: What a storage holds, the first that fits: see docs/reference/traces.md, "Recordings".
CATEGORIES = ("parameters", "optimizer", "gradients", "collectives", "activations", "temporaries", "other")
_ROUND = 512    # c10/cuda/CUDACachingAllocator.h: kMinBlockSize


@dataclass
class _Storage:
    size: int
    phase: str
    number: int = -1    # of its allocation on the tape; -1: none yet
    category: str = ""


class Memory:
    """Follows every storage from the first tensor that is seen of it to its end, and what resize_() makes of it."""

    def __init__(self, tape: Tape):
        self.now = self.peak = 0
        self._tape = tape
        self._alive: dict[int, _Storage] = {}
        self._allocations: list[tuple[Item, _Storage]] = []
        self._finalizers: list[Any] = []
        self.phase = "forward"

    def saw(self, tensor: torch.Tensor) -> None:
        """A tensor on the GPU: made by an operator, or changed by one."""
        storage = tensor.untyped_storage()
        key, size = storage._cdata, _rounded(storage.nbytes())
        known = self._alive.get(key)
        if known is None:
            known = self._alive[key] = _Storage(0, self.phase)
            finalizer = weakref.finalize(storage, self._ended, key, known)
            finalizer.atexit = False
            self._finalizers = [f for f in self._finalizers if f.alive] if len(self._finalizers) > 1 << 16 else self._finalizers
            self._finalizers.append(finalizer)
        if known.size != size:
            self._resize(known, size)

    def resized(self, storage: Any) -> None:
        """After resize_() of a storage."""
        known = self._alive.get(storage._cdata)
        if known is not None:
            self._resize(known, _rounded(storage.nbytes()))

    def holds(self, tensors: list[torch.Tensor], category: str) -> None:
        """Says what storages hold; a category that comes earlier in CATEGORIES stays."""
        for tensor in tensors:
            known = self._alive.get(tensor.untyped_storage()._cdata)
            if known is not None and (not known.category or CATEGORIES.index(category) < CATEGORIES.index(known.category)):
                known.category = category

    def keeps(self, phase: str) -> None:
        """What was allocated in this phase and is still there is kept for the backward pass."""
        for known in self._alive.values():
            if known.phase == phase and known.number >= 0 and not known.category:
                known.category = "activations"

    def start(self) -> None:
        """The step begins: what is there is allocated before its first operator."""
        self.peak = self.now
        for known in self._alive.values():
            if known.size:
                self._allocate(known)
            known.phase = "before"

    def finish(self) -> tuple[int, dict[str, int]]:
        """Writes the categories into the allocations of the tape. The step's peak in bytes, and what held how much of it then."""
        for finalizer in self._finalizers:
            finalizer.detach()
        self._finalizers.clear()
        for item, known in self._allocations:
            item["holds"] = known.category or ("other" if known.phase == "before" else "temporaries")
        sizes: dict[int, Item] = {}
        now = peak = 0
        at_peak: dict[str, int] = {}
        held: dict[str, int] = {}
        for item in self._tape.items:
            if "allocate" in item:
                sizes[item["allocate"]] = item
                now += item["bytes"]
                held[item["holds"]] = held.get(item["holds"], 0) + item["bytes"]
                if now > peak:
                    peak, at_peak = now, dict(held)
            elif "free" in item:
                freed = sizes.pop(item["free"])
                now -= freed["bytes"]
                held[freed["holds"]] -= freed["bytes"]
        return peak, {category: at_peak[category] for category in CATEGORIES if at_peak.get(category)}

    def _resize(self, known: _Storage, size: int) -> None:
        self.now += size - known.size
        self.peak = max(self.peak, self.now)
        if known.number >= 0:
            self._tape.memory({"free": known.number})
            known.number = -1
        if known.phase == "before" and size > known.size and not known.category:
            known.category = "collectives"    # FSDP empties what it gathered, and fills it again
        known.size = size
        if size and self._tape.recording:
            self._allocate(known)

    def _allocate(self, known: _Storage) -> None:
        known.number = len(self._allocations)
        item: Item = {"allocate": known.number, "bytes": known.size}
        self._allocations.append((item, known))
        self._tape.memory(item)

    def _ended(self, key: int, known: _Storage) -> None:
        if self._alive.get(key) is known:
            del self._alive[key]
        self._resize(known, 0)


def _rounded(size: int) -> int:
    return -(-size // _ROUND) * _ROUND
