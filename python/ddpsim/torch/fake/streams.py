"""Stand-ins for CUDA's streams and events: they order what is on the tape."""
from __future__ import annotations

from typing import Any

import torch

from ddpsim.torch.fake.tape import Tape


class Streams:
    """The streams of the device that is recorded. Stream 0 is the default one."""

    def __init__(self, tape: Tape, device: int):
        self.tape, self.device = tape, device
        self.default = self.make()
        self.current = self.default

    def make(self) -> Stream:
        return Stream(_of=self)

    def wait(self, numbers: list[int | None]) -> None:
        """The current stream waits for items of the tape."""
        self.tape.wait(self.current.id, numbers)


#: Those of the block that is open, for what scripts construct themselves.
_open: list[Streams] = []


def begin(streams: Streams) -> None:
    _open.append(streams)


def end() -> None:
    _open.pop()
    Stream.count = 0


class Stream:
    """torch.cuda.Stream."""

    count = 0

    def __init__(self, device: Any = None, priority: int = 0, _of: Streams | None = None, **_: Any):
        self._streams = _of or _open[-1]
        self.id = Stream.count
        Stream.count += 1
        self.priority, self.stream_id, self.cuda_stream = priority, self.id, self.id
        self.device, self.device_index, self.device_type = torch.device("cuda", self._streams.device), self._streams.device, 1
        self._outer: list[Stream] = []

    def wait_stream(self, other: Stream) -> None:
        self.wait_event(other.record_event())

    def wait_event(self, event: Event) -> None:
        self._streams.tape.wait(self.id, [event.at])

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def synchronize(self) -> None:
        self._streams.tape.host_waits("stream.synchronize", [self._streams.tape.position(self.id)])

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def __enter__(self) -> Stream:
        self._outer.append(self._streams.current)
        self._streams.current = self
        return self

    def __exit__(self, *_: Any) -> None:
        self._streams.current = self._outer.pop()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Stream) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)


class Event:
    """torch.cuda.Event. The time between two is 1 ms, as nothing runs."""

    def __init__(self, *_: Any, **__: Any):
        self._streams = _open[-1]
        self.at: int | None = None

    def record(self, stream: Stream | None = None) -> None:
        self.at = self._streams.tape.position((stream or self._streams.current).id)

    def wait(self, stream: Stream | None = None) -> None:
        (stream or self._streams.current).wait_event(self)

    def synchronize(self) -> None:
        self._streams.tape.host_waits("event.synchronize", [self.at])

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Event) -> float:
        return 1.0


class StreamContext:
    """torch.cuda.stream(s)."""

    def __init__(self, stream: Stream | None):
        self._stream = stream

    def __enter__(self) -> None:
        if self._stream is not None:
            self._stream.__enter__()

    def __exit__(self, *_: Any) -> None:
        if self._stream is not None:
            self._stream.__exit__()
