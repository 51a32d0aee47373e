"""What iterations are made of: a bar a point."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddpsim.plot import canvas, tables

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

# They add up to the iteration (docs/architecture.md).
_TERMS = (("forward_s", "forward", "#56B4E9"), ("backward_compute_s", "backward", "#0072B2"), ("interference_s", "interference", "#7A5C00"),
          ("overhead_s", "overhead", "#999999"), ("bubble_s", "pipeline bubble", "#F0E442"), ("exposed_communication_s", "exposed communication", "#D55E00"), ("optimizer_s", "optimizer", "#009E73"))

_FEW = 10       # bars that have room for their totals


def parts(frame: pandas.DataFrame, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """One bar a point of a sweep, of the terms that add up to its iteration; measured iterations are squares beside the bars."""
    rows = tables.finished(frame)
    missing = [column for column, _, _ in _TERMS if column != "bubble_s" and column not in rows]
    if missing:
        raise ValueError(f"the table has no column {missing[0]}: a study's file has it with all_columns=True (--all-columns)")
    axes = tables.axes_of(rows)
    names = [tables.name_of(axes, values) for values in rows[axes].itertuples(index=False, name=None)] if axes else [""] * len(rows)
    ax = canvas.new_axes(ax)
    ax.grid(axis="x", visible=False)
    unit = canvas.TimeUnit.of(rows["iteration_s"].max())
    tops = [0.0] * len(rows)
    for column, label, colour in _TERMS:
        times = [float(time) / unit.seconds for time in rows[column].fillna(0)] if column in rows else [0.0] * len(rows)
        if any(times):
            ax.bar(range(len(rows)), times, bottom=tops, width=0.7, color=colour, label=label)
        tops = [top + time for top, time in zip(tops, times)]
    for place, top in enumerate(tops) if len(rows) <= _FEW else ():
        ax.annotate(f"{top:.4g}", (place, top), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=8)
    if "measured_iteration_s" in rows:
        ax.plot([place + 0.42 for place in range(len(rows))], rows["measured_iteration_s"] / unit.seconds, marker="s", markersize=5, markerfacecolor="none",
                color="black", linestyle="none", label="measured")
    turned: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names)) * len(names) > 80 else {}
    ax.set_xticks(range(len(rows)), names, **turned)
    ax.set_ylabel(f"iteration time ({unit.name})")
    ax.set_ylim(0, 1.1 * max([*tops, *(rows["measured_iteration_s"].dropna() / unit.seconds if "measured_iteration_s" in rows else [])]))
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles[::-1], labels[::-1], fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    best = min(range(len(rows)), key=lambda place: float(rows["iteration_s"].iloc[place]))
    canvas.set_title(ax, f"What an iteration is made of{f'; {names[best]} is shortest' if len(rows) > 1 else ''}", title)
    return ax
