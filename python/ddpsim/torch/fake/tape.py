"""A step as a list: operators, collectives, waits, stops of the host, allocations, in the order in which the host issued them."""
from __future__ import annotations

import collections
from dataclasses import dataclass, field
from typing import Any

Item = dict[str, Any]


@dataclass
class Group:
    """A communicator: global ranks, and the axis of the device mesh that it is of ("" where it is not known)."""

    name: str
    ranks: tuple[int, ...]


@dataclass
class Tape:
    """What was recorded. An item's number is its position in `items`; waits and collectives name what they wait for by it."""

    rank: int
    recording: bool = False
    items: list[Item] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    inputs: list[list[Any]] = field(default_factory=list)
    notes: collections.Counter[tuple[str, str]] = field(default_factory=collections.Counter)
    _last: dict[int, int] = field(default_factory=dict)
    _source: dict[int, Any] = field(default_factory=dict)
    _waited: dict[tuple[int, Any], int] = field(default_factory=dict)
    _groups: dict[str, int] = field(default_factory=dict)
    _streams: dict[int, int] = field(default_factory=dict)

    def start(self) -> None:
        """Forgets what came before: the step begins here."""
        self.items.clear()
        self.inputs.clear()
        for table in (self._last, self._source, self._waited):
            table.clear()
        self._streams = {0: 0}
        self.recording = True

    def note(self, code: str, text: str) -> None:
        self.notes[code, text] += 1

    def group(self, key: str, name: str, ranks: tuple[int, ...]) -> int:
        """The number of a communicator; `key` is PyTorch's name of it."""
        if key not in self._groups:
            self._groups[key] = len(self.groups)
            self.groups.append(Group(name, ranks))
        return self._groups[key]

    def operator(self, stream: int, **item: Any) -> None:
        if self.recording:
            self._on_stream(stream, item)

    def collective(self, operation: str, stream: int, group: int, **item: Any) -> int | None:
        """Launched from `stream`, behind what is on it so far, onto the stream of its group. Its number."""
        if not self.recording:
            return None
        at = self._last.get(stream)
        number = self._add({"collective": operation, "group": group, **item, "on": [] if at is None else [at], **self._stream(stream)})
        self._source[number] = ("p2p", number) if operation in ("send", "recv") else ("group", group)
        return number

    def position(self, stream: int) -> int | None:
        """The number of the last item on a stream, None where it has none."""
        return self._last.get(stream)

    def wait(self, stream: int, for_items: list[int | None]) -> None:
        """What follows on `stream` begins when these items have ended. Waits that change nothing are left out."""
        if not self.recording:
            return
        on = []
        for number in for_items:
            if number is None or number not in self._source:
                continue
            source = self._source[number]
            if source == ("stream", stream) or self._waited.get((stream, source), -1) >= number:
                continue
            self._waited[stream, source] = number
            on.append(number)
        if on:
            self._on_stream(stream, {"wait": sorted(on)})

    def host_waits(self, what: str, for_items: list[int | None] | None = None) -> None:
        """The host stops until these items, by default everything so far, have ended."""
        if self.recording:
            on = list(self._last.values()) if for_items is None else [number for number in for_items if number is not None]
            self._add({"host": what, "on": sorted(on)})

    def memory(self, item: Item) -> None:
        if self.recording:
            self._add(item)

    def _on_stream(self, stream: int, item: Item) -> None:
        number = self._add({**item, **self._stream(stream)})
        self._last[stream] = number
        self._source[number] = ("stream", stream)

    def _stream(self, stream: int) -> dict[str, int]:
        """Numbered by first use; the default stream, 0, is left out."""
        number = self._streams.setdefault(stream, len(self._streams))
        return {"stream": number} if number else {}

    def _add(self, item: Item) -> int:
        self.items.append(item)
        return len(self.items) - 1
