"""Rows of a study as a table. Needs pandas."""
from __future__ import annotations

import json
import os
from typing import IO, TYPE_CHECKING, Any, Iterable, Iterator, Sequence

from ddpsim import _core
from ddpsim.errors import InputError

if TYPE_CHECKING:
    import pandas


def _columns(row: dict[str, Any], axes: Sequence[str]) -> dict[str, Any]:
    """A column for each axis and each number or word; lists of collectives are left out."""
    columns = {"point": row["point"], **dict(zip(axes, row["at"], strict=True))}
    for key, value in row.items():
        if key in ("point", "at"):
            continue
        if key == "evidence":
            columns["p10_s"], columns["p90_s"] = value["interval_80_s"]
            columns["p25_s"], columns["p75_s"] = value["interval_50_s"]
        elif key == "losses":
            columns.update({f"loss_{loss['cause']}_s": loss["seconds"] for loss in value})
        elif isinstance(value, dict):
            columns.update({f"{key}_{below}": one for below, one in value.items() if not isinstance(one, (dict, list))})
        elif not isinstance(value, list):
            columns[key] = value
    return columns


def require_pandas() -> None:
    """Before any work is done for a table."""
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise ImportError(f"tables of points need pandas ({error}): python3 -m pip install 'pandas>=2'") from None


def frame_of(rows: Iterable[dict[str, Any]], axes: Sequence[str]) -> pandas.DataFrame:
    import pandas
    frame = pandas.DataFrame([_columns(row, axes) for row in rows])
    if frame.empty:
        return frame
    for axis in axes:
        try:
            frame[axis] = pandas.to_numeric(frame[axis])
        except (TypeError, ValueError):
            pass    # "25MiB" stays as it is written
    return frame.set_index("point")


def _whole_lines(path: str, file: IO[bytes]) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n"):
            return    # being written when its writer was killed
        if b"\0" in line and not (line[line.index(b"\0"):] + file.read()).strip(b"\0\n"):
            return    # as a crash of the machine leaves it
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise InputError(f"{path}:{number}:{error.start + 1}: error: this row is damaged, it is no UTF-8\n"
                             "hint: remove the line; 'ddpsim sweep --resume' runs its point again") from None


def _rows(path: str, study: _core.StudyHead, lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 2):
        study.check(line, path, number)
        yield json.loads(line)


def read_results(path: str | os.PathLike[str]) -> pandas.DataFrame:
    """The finished points of a file that `ddpsim sweep --results` or `Job.sweep(results=...)` writes: one row a point, units in the names of
    columns; failed ones have `failed` and `error`."""
    require_pandas()
    name = os.fspath(path)
    with open(path, "rb") as file:
        lines = _whole_lines(name, file)
        first = next(lines, None)
        if first is None:
            return frame_of([], [])
        study = _core.StudyHead.read(first, name)
        return frame_of(_rows(name, study, lines), study.axes)
