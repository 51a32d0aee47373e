"""Moments of a training step: of the host, or of a GPU's stream."""
from __future__ import annotations

import time
from typing import Any, Protocol

import torch


class Clock(Protocol):
    def mark(self) -> Any:
        """Now; a moment that `seconds` understands after `settle`."""

    def settle(self) -> None:
        """Waits until all moments are known."""

    def seconds(self, begin: Any, end: Any) -> float:
        """From one moment to the other."""


class HostClock:
    def mark(self) -> Any:
        return time.perf_counter()

    def settle(self) -> None:
        pass

    def seconds(self, begin: Any, end: Any) -> float:
        return float(end - begin)


class CudaClock:
    """Events on whatever stream is current: when the GPU got there, not when the host asked it to."""

    def __init__(self, device: Any):
        self._device = device

    def mark(self) -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def settle(self) -> None:
        torch.cuda.synchronize(self._device)

    def seconds(self, begin: Any, end: Any) -> float:
        return float(begin.elapsed_time(end)) / 1e3


def clock_of(device: Any) -> Clock:
    return CudaClock(device) if device.type == "cuda" else HostClock()
