"""A recording as a file: JSON lines, a header first (docs/formats.md, "Recordings")."""
from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

from ddpsim.torch.fake.tape import Group

VERSION = 1


def ranks_of(group: Group) -> list[int]:
    """A group's ranks as [first, stride, count] where that says them, else as a list; the former has three entries and is for more than three ranks."""
    ranks = group.ranks
    if len(ranks) < 2:
        return [ranks[0], 1, 1]
    stride = ranks[1] - ranks[0]
    even = all(b - a == stride for a, b in zip(ranks, ranks[1:]))
    return [ranks[0], stride, len(ranks)] if even else list(ranks)


def group_entry(group: Group) -> dict[str, Any]:
    ranks = ranks_of(group)
    even = len(ranks) == 3 and tuple(range(ranks[0], ranks[0] + ranks[1] * ranks[2], ranks[1])) == group.ranks
    return {"name": group.name, **({"first": ranks[0], "stride": ranks[1], "count": ranks[2]} if even else {"ranks": list(group.ranks)})}


def text(header: dict[str, Any], items: list[dict[str, Any]]) -> str:
    """The file's text: the same of the same recording, byte for byte."""
    def line(value: dict[str, Any]) -> str:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"

    return "".join([line({"kind": "recording", "version": VERSION, **header}), *map(line, items)])


def write(path: str | os.PathLike[str], header: dict[str, Any], items: list[dict[str, Any]]) -> Path:
    """Writes it, by gzip where the name ends in .gz."""
    path = Path(path)
    content = text(header, items).encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path
