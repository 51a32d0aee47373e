"""A sweep's table as series: which column lies along the x axis, and which tell the series apart."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator

from ddpsim.plot.canvas import bytes_text

if TYPE_CHECKING:
    import pandas

CAP = "bucket_cap_bytes"
_CAP_AXIS = "ddp.bucket_cap"
_RESULTS_BEGIN = ("key", "world_size", "strategy")   # the columns before them are the sweep's axes
_SAME = {"cluster.world_size": "world_size", _CAP_AXIS: CAP}


@dataclass
class Measured:
    """Measured iterations of a series."""

    x: list[float] = field(default_factory=list)
    time_s: list[float] = field(default_factory=list)
    deviation_s: list[float] = field(default_factory=list)


@dataclass
class Series:
    """Points that agree on every axis but one, ascending along that."""

    name: str
    rows: pandas.DataFrame
    measured: Measured


def finished(frame: pandas.DataFrame) -> pandas.DataFrame:
    rows = frame[frame["failed"].isna()] if "failed" in frame else frame
    rows = rows[rows["iteration_s"].notna()]
    if rows.empty:
        raise ValueError("the table has no finished point")
    return rows


def axes_of(frame: pandas.DataFrame) -> list[str]:
    """What was swept, and differs: of a DataFrame of Job.sweep, or of what `ddpsim sweep --csv` writes."""
    names: list[str] = []
    for column in frame.columns:
        if column in _RESULTS_BEGIN and not (column == "strategy" and "key" in frame and list(frame.columns).index("key") > list(frame.columns).index(column)):
            break
        names.append(_SAME.get(column, column))
    names += [name for name in ("world_size", "strategy", CAP) if name in frame and name not in names]
    return [name for name in names if frame[name].nunique() > 1]


def x_axis(frame: pandas.DataFrame, axes: list[str]) -> str | None:
    """Caps, else the first axis of numbers."""
    from pandas.api.types import is_numeric_dtype
    if CAP in axes:
        return CAP
    return next((name for name in axes if is_numeric_dtype(frame[name]) and name != "ddp.torch"), None)


def name_of(axes: list[str], values: tuple[Any, ...]) -> str:
    """What the points of a series have in common: "1024 GPUs, zero2"."""
    def word(axis: str, value: Any) -> str:
        if axis == "world_size":
            return f"{value} GPUs"
        if axis == CAP:
            return bytes_text(value) if value == value else "no cap"
        return str(value) if axis == "strategy" else f"{axis} = {value}"
    return ", ".join(word(axis, value) for axis, value in zip(axes, values))


def series_of(frame: pandas.DataFrame, x: str, measured: pandas.DataFrame | None) -> Iterator[Series]:
    """In order of their first points."""
    others = [axis for axis in axes_of(frame) if axis != x]
    if x == CAP:    # a strategy without caps belongs to no series of another
        others = [axis for axis in others if axis != CAP]
    groups = frame.groupby(others, sort=False, dropna=False) if others else [((), frame)]
    for values, rows in groups:
        yield Series(name_of(others, values), rows.sort_values(x, kind="stable"), _measured_of(rows, x, measured))


def _measured_of(rows: pandas.DataFrame, x: str, measured: pandas.DataFrame | None) -> Measured:
    """Rows of the table of measurements that agree with the series in every column they give; or those that the sweep itself put beside its points."""
    found = Measured()
    if measured is None:
        if "measured_iteration_s" in rows:
            for _, row in rows[rows["measured_iteration_s"].notna()].iterrows():
                _add(found, row[x], row["measured_iteration_s"], row.get("measured_iteration_std_s"))
        return found
    first = rows.iloc[0]
    for _, row in measured.iterrows():
        if x not in row or not _is_number(row[x]):
            continue
        if all(row.get(column) is None or row[column] != row[column] or row[column] == first[column] for column in ("world_size", "strategy") if column != x):
            _add(found, row[x], row["iteration_s"], row.get("iteration_std_s"))
    return found


def _add(found: Measured, x: Any, time_s: Any, deviation_s: Any) -> None:
    found.x.append(float(x))
    found.time_s.append(float(time_s))
    found.deviation_s.append(float(deviation_s) if _is_number(deviation_s) else 0.0)


def _is_number(value: Any) -> bool:
    return value is not None and value == value
