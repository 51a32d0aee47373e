"""A recording as a file: JSON lines, a header first (docs/reference/traces.md, "Recordings")."""
from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

from ddpsim.torch.fake.tape import Group

VERSION = 1


def group_entry(group: Group) -> dict[str, Any]:
    """A group for the header: ranks at equal distances as first, stride and count, others as a list."""
    ranks = group.ranks
    stride = ranks[1] - ranks[0] if len(ranks) > 1 else 1
    if ranks == tuple(range(ranks[0], ranks[0] + stride * len(ranks), stride)):
        return {"name": group.name, "first": ranks[0], "stride": stride, "count": len(ranks)}
    return {"name": group.name, "ranks": list(ranks)}


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
