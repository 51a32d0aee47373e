"""One step as a Gantt chart: what computes and what communicates, and when."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable

from ddpsim.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ddpsim.job import Result

_COMPUTE = (("forward", "forward", "#56B4E9"), ("backward", "backward", "#0072B2"), ("optimizer", "optimizer", "#009E73"))
_OTHER = ("copies, hooks, launches", "#999999")
_WAITING = ("waits", "#D55E00")
_COLLECTIVES = ("#CC79A7", "#E3B3CE")       # in turns, so that one ends where the next begins
_MOST_LANES = 40
_INVISIBLE = 2e-4                           # a tenth of a dot, of the width of the axes
_CHARACTER = 0.0088                         # width of a digit, of that of the axes


@dataclass
class _Lane:
    name: str
    communicates: bool
    spans: list[tuple[float, float, str]] = field(default_factory=list)     # begin, length in seconds, what


def _lanes(text: str, ranks: Iterable[int] | None) -> list[_Lane]:
    """Lanes from the events of a Chrome trace (sim/report/chrome_timeline.cpp)."""
    events = json.loads(text)["traceEvents"]
    wanted = None if ranks is None else set(ranks)
    processes: dict[int, str] = {}
    lanes: dict[tuple[int, int], _Lane] = {}
    for event in events:
        process = event["pid"]
        if wanted is not None and process not in wanted:
            continue
        if event["name"] == "process_name":
            processes[process] = event["args"]["name"].split(" (")[0]
        elif event["name"] == "thread_name":
            lane = event["args"]["name"]
            lanes[process, event["tid"]] = _Lane(f"{processes[process]}\n{lane}", lane != "compute")
        elif event["ph"] == "X":
            lanes[process, event["tid"]].spans.append((event["ts"] * 1e-6, event["dur"] * 1e-6, event["name"]))
    if wanted and not lanes:
        raise ValueError(f"no rank of {sorted(wanted)} is drawn: there are {sorted({event['pid'] for event in events})}, each for those like it")
    return [lanes[key] for key in sorted(lanes)]


def _kind(name: str) -> tuple[str, str]:
    if name.startswith("wait"):
        return _WAITING
    return next(((label, colour) for start, label, colour in _COMPUTE if name.startswith(start)), _OTHER)


def _waits(spans: list[tuple[float, float, str]], longest_s: float) -> list[tuple[float, float, str]]:
    """What lies between spans of a compute lane."""
    gaps, end = [], 0.0
    for begin, length, _ in sorted(spans):
        if begin - end > _INVISIBLE * longest_s:
            gaps.append((end, begin - end, "wait"))
        end = max(end, begin + length)
    return gaps


def _joined(spans: list[tuple[float, float, str]], gap_s: float) -> list[tuple[float, float, str]]:
    """Spans of one kind; those as good as adjacent are one, and what is between them is drawn on top."""
    joined: list[tuple[float, float, str]] = []
    for begin, length, name in sorted(spans):
        if joined and begin - sum(joined[-1][:2]) < gap_s:
            joined[-1] = (joined[-1][0], begin + length - joined[-1][0], name)
        else:
            joined.append((begin, length, name))
    return joined


def timeline(result: Result, *, ranks: Iterable[int] | None = None, title: str | None = None, ax: Axes | None = None) -> Axes:
    """The simulated step of each class of ranks that do the same: a lane of compute and one for each of its communicators.

    Collectives have their bucket's number where there is room. ranks: only the classes of these first ranks, as the lanes' names say.
    """
    lanes = _lanes(result.timeline_json(), ranks)
    if len(lanes) > _MOST_LANES:
        raise ValueError(f"{len(lanes)} lanes are too many to read: choose some ranks, such as ranks=[0]")
    end_s = max(begin + length for lane in lanes for begin, length, _ in lane.spans)
    unit = canvas.TimeUnit.of(end_s)
    ax = canvas.new_axes(ax, height=1.5 + 0.42 * len(lanes))
    ax.grid(axis="y", visible=False)
    handles: dict[str, Any] = {}
    for row, lane in enumerate(lanes):
        if lane.communicates:
            _draw_communication(ax, lane, row, unit, end_s, handles)
        else:
            _draw_compute(ax, lane, row, unit, end_s, handles)
    ax.set_yticks(range(len(lanes)), [lane.name for lane in lanes], fontsize=8)
    ax.set_ylim(len(lanes) - 0.45, -0.55)
    ax.set_xlim(0, end_s / unit.seconds)
    ax.set_xlabel(f"time ({unit.name})")
    ax.figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    exposed = result.to_dict()["exposed_communication_s"]
    canvas.set_title(ax, f"One step takes {unit.text(result.iteration_s)}; {unit.text(exposed)} of it is exposed communication", title)
    return ax


def _bars(ax: Axes, spans: list[tuple[float, float, str]], row: int, unit: canvas.TimeUnit, **style: Any) -> Any:
    return ax.broken_barh([(begin / unit.seconds, length / unit.seconds) for begin, length, _ in spans], (row - 0.36, 0.72), **style)


def _draw_compute(ax: Axes, lane: _Lane, row: int, unit: canvas.TimeUnit, end_s: float, handles: dict[str, Any]) -> None:
    by_kind: dict[tuple[str, str], list[tuple[float, float, str]]] = {kind: [] for kind in [(label, colour) for _, label, colour in _COMPUTE] + [_OTHER, _WAITING]}
    for span in lane.spans + _waits(lane.spans, end_s):
        by_kind[_kind(span[2])].append(span)
    for (label, colour), spans in by_kind.items():
        if not spans:
            continue
        style = {"facecolor": "none", "edgecolor": colour, "hatch": "/////", "linewidth": 0} if label == _WAITING[0] else {"facecolor": colour, "linewidth": 0}
        handles.setdefault(label, _bars(ax, _joined(spans, _INVISIBLE * end_s), row, unit, **style))


def _draw_communication(ax: Axes, lane: _Lane, row: int, unit: canvas.TimeUnit, end_s: float, handles: dict[str, Any]) -> None:
    spans = sorted(lane.spans)
    for turn, colour in enumerate(_COLLECTIVES):
        if spans[turn::2]:
            handles.setdefault("collectives, by bucket" if turn == 0 else "", _bars(ax, spans[turn::2], row, unit, facecolor=colour, edgecolor="white", linewidth=0.3))
    handles.pop("", None)
    for begin, length, name in spans:
        number = name.rsplit(" ", 1)[-1]
        if number.isdigit() and length / end_s > _CHARACTER * len(number):
            ax.text((begin + length / 2) / unit.seconds, row, number, ha="center", va="center", fontsize=6)
