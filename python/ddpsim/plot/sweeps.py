"""Iteration time along an axis of a sweep: one line a series, or what one series takes at least and at most."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ddpsim.plot import canvas, tables

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_DEFAULT_CAP = 25 * 2 ** 20     # DistributedDataParallel(bucket_cap_mb=25)
_FEW = 4                        # series that a title names


def sweep(frame: pandas.DataFrame, *, x: str | None = None, measured: pandas.DataFrame | None = None, title: str | None = None,
          ax: Axes | None = None) -> Axes:
    """Iteration time along an axis: the bucket cap, or the first that is one of numbers (`x` names another), a line for each combination of the others.

    frame: of Job.sweep, read_results, or what `ddpsim sweep --csv` writes. The shortest iteration of each series has a ring; along caps a line
    marks PyTorch's default. A band is what an iteration takes at least and at most. measured: a table of measured iterations with the columns
    of `validation.measured`; the shortest measured one of each series is filled.
    """
    rows = tables.finished(frame)
    x = x or tables.x_axis(rows, tables.axes_of(rows))
    if x is None:
        raise ValueError("nothing that was swept is a number: ddpsim.plot.parts draws such sweeps")
    series = list(tables.series_of(rows, x, measured))
    ax = canvas.new_axes(ax)
    unit = canvas.TimeUnit.of(rows["iteration_s"].max())
    shown: list[float] = []
    best: list[tuple[str, float, float]] = []
    for number, one in enumerate(series):
        shown += _draw(ax, one, x, unit, number, len(series), best)
    canvas.scale_times(ax, [time / unit.seconds for time in shown])
    _x_scale(ax, rows, x)
    ax.set_xlabel("bucket cap" if x == tables.CAP else "GPUs" if x == "world_size" else x)
    ax.set_ylabel(f"iteration time ({unit.name})")
    if x == tables.CAP:
        _mark_default(ax)
    canvas.set_title(ax, _words(best, x, len(series)), title)
    _legend(ax, len(series), any(one.measured.x for one in series))
    _say_estimated(ax, rows)
    return ax


def _draw(ax: Axes, one: tables.Series, x: str, unit: canvas.TimeUnit, number: int, of: int, best: list[tuple[str, float, float]]) -> list[float]:
    """Draws a series; the times that it shows, in seconds."""
    colour, times = canvas.colour(number), one.rows["iteration_s"]
    along = one.rows[x].notna()
    label = one.name
    if not along.any():
        ax.axhline(times.min() / unit.seconds, color=colour, linestyle="--", label=f"{label}, no cap: {unit.text(float(times.min()))}")
        return [float(times.min())]
    rows = one.rows[along]
    shortest = rows.loc[rows["iteration_s"].idxmin()]
    best.append((one.name, float(shortest[x]), float(shortest["iteration_s"])))
    label = one.name or "predicted"
    if x == tables.CAP:
        mark_best(ax, float(shortest[x]), float(shortest["iteration_s"]), unit, colour, of == 1)
        if of > 1:
            label += f": best {canvas.bytes_text(best[-1][1])}, {unit.text(best[-1][2])}"
    ax.plot(rows[x], rows["iteration_s"] / unit.seconds, color=colour, marker="o", markersize=3 if len(rows) < 60 else 1, linewidth=1.6, label=label)
    shown = list(map(float, rows["iteration_s"]))
    if {"p10_s", "p90_s"} <= set(rows.columns) and rows["p10_s"].notna().all():
        ax.fill_between(rows[x], rows["p10_s"] / unit.seconds, rows["p90_s"] / unit.seconds, color=colour, alpha=0.13, linewidth=0,
                        label="80 % sure" if of == 1 else None)
        shown += list(map(float, rows["p10_s"])) + list(map(float, rows["p90_s"]))
    return shown + _draw_measured(ax, one.measured, unit, colour)


def mark_best(ax: Axes, cap: float, time_s: float, unit: canvas.TimeUnit, colour: str, labelled: bool) -> None:
    ax.plot([cap], [time_s / unit.seconds], marker="o", markersize=10, markerfacecolor="none", markeredgecolor=colour, markeredgewidth=1.8, linestyle="none",
            gid="best")
    if labelled:
        ax.annotate(f"{canvas.bytes_text(cap)}: {unit.text(time_s)}", (cap, time_s / unit.seconds), xytext=(0, -15), textcoords="offset points", ha="center",
                    fontsize=8, color=colour)


def _draw_measured(ax: Axes, measured: tables.Measured, unit: canvas.TimeUnit, colour: str) -> list[float]:
    if not measured.x:
        return []
    times = [time / unit.seconds for time in measured.time_s]
    ax.errorbar(measured.x, times, yerr=[deviation / unit.seconds for deviation in measured.deviation_s], fmt="s", markersize=6, color=colour,
                markerfacecolor="none", elinewidth=1, capsize=2)
    shortest = min(range(len(times)), key=times.__getitem__)
    ax.plot([measured.x[shortest]], [times[shortest]], marker="s", markersize=6, color=colour, linestyle="none", gid="best measured")
    return [time + sign * deviation for time, deviation in zip(measured.time_s, measured.deviation_s) for sign in (-1, 1)]


def _x_scale(ax: Axes, rows: pandas.DataFrame, x: str) -> None:
    values = sorted(float(value) for value in rows[x].dropna().unique())
    if x == tables.CAP:
        canvas.bytes_axis(ax, values[0] / 1.2, values[-1] * 1.2)
        ax.set_xlim(values[0] / 1.2, values[-1] * 1.2)
    elif values[0] > 0 and values[-1] > 4 * values[0]:
        ax.set_xscale("log", base=2)
        canvas.plain_ticks(ax.xaxis, values[::1 + len(values) // 12])


def _mark_default(ax: Axes) -> None:
    least, most = ax.get_xlim()
    if least < _DEFAULT_CAP < most:
        ax.axvline(_DEFAULT_CAP, color=canvas.NEUTRAL, linewidth=1, linestyle=":", gid="default")
        ax.annotate(f"PyTorch's default, {canvas.bytes_text(_DEFAULT_CAP)}", (_DEFAULT_CAP, 1), xycoords=("data", "axes fraction"), xytext=(3, -3), textcoords="offset points", va="top", fontsize=8,
                    color=canvas.NEUTRAL)


def _words(best: list[tuple[str, float, float]], x: str, series: int) -> str:
    if x != tables.CAP or not best:
        return f"Iteration time along {'the number of GPUs' if x == 'world_size' else x}"
    if series == 1:
        _, cap, time_s = best[0]
        return f"An iteration is shortest with buckets of {canvas.bytes_text(cap)}: {canvas.TimeUnit.of(time_s).text(time_s)}"
    if len(best) <= _FEW:
        return "Best bucket cap: " + "; ".join(f"{name} {canvas.bytes_text(cap)}" for name, cap, _ in best)
    caps = [cap for _, cap, _ in best]
    return f"Best bucket caps from {canvas.bytes_text(min(caps))} to {canvas.bytes_text(max(caps))}"


def _legend(ax: Axes, series: int, measured: bool) -> None:
    handles, labels = ax.get_legend_handles_labels()
    if measured:
        from matplotlib.lines import Line2D
        for fill, label in (("none", "measured"), (canvas.NEUTRAL, "shortest measured")):
            handles.append(Line2D([], [], color=canvas.NEUTRAL, marker="s", markerfacecolor=fill, linestyle="none"))
            labels.append(label)
    if len(handles) > 1:
        ax.legend(handles, labels, fontsize=8, frameon=False, ncols=1 if series <= 8 else 2)


def _say_estimated(ax: Axes, rows: pandas.DataFrame) -> None:
    if "trace_synthetic" in rows and rows["trace_synthetic"].notna().any():
        canvas.foot_note(ax, f"compute times: {rows['trace_synthetic'].dropna().iloc[0]}")


def bands(frame: pandas.DataFrame, *, x: str | None = None, title: str | None = None, ax: Axes | None = None) -> Axes:
    """What one series takes, and between which times it is 80 % sure to be, with where each is shortest.

    frame: as for `sweep`, of a scenario without `evidence: none`. Choose one series of several by its rows: frame[frame["world_size"] == 64].
    """
    rows = tables.finished(frame)
    x = x or tables.x_axis(rows, tables.axes_of(rows))
    if x is None or not {"p10_s", "p90_s"} <= set(rows.columns):
        raise ValueError("an interval needs an axis of numbers and the columns p10_s and p90_s")
    series = list(tables.series_of(rows, x, None))
    if len(series) > 1:
        raise ValueError(f"{len(series)} series have overlapping bands: choose the rows of one, such as {series[0].name!r}")
    rows = series[0].rows[series[0].rows[x].notna()]
    ax = canvas.new_axes(ax)
    unit = canvas.TimeUnit.of(rows["p90_s"].max())
    ends = (("90 % sure: no longer", "p90_s", canvas.COLOURS[1]), ("predicted", "iteration_s", canvas.COLOURS[0]), ("90 % sure: no shorter", "p10_s", canvas.COLOURS[2]))
    ax.fill_between(rows[x], rows["p10_s"] / unit.seconds, rows["p90_s"] / unit.seconds, color=canvas.COLOURS[0], alpha=0.1, linewidth=0)
    shown: list[float] = []
    caps = []
    for name, column, colour in ends:
        shown += [time / unit.seconds for time in rows[column]]
        shortest = rows.loc[rows[column].idxmin()]
        caps.append(float(shortest[x]))
        label = name
        if x == tables.CAP:
            mark_best(ax, caps[-1], float(shortest[column]), unit, colour, False)
            label += f": best {canvas.bytes_text(caps[-1])}, {unit.text(float(shortest[column]))}"
        ax.plot(rows[x], rows[column] / unit.seconds, color=colour, linewidth=1.6, marker="o", markersize=2.5, label=label)
    canvas.scale_times(ax, shown)
    _x_scale(ax, rows, x)
    ax.set_xlabel("bucket cap" if x == tables.CAP else "GPUs" if x == "world_size" else x)
    ax.set_ylabel(f"iteration time ({unit.name})")
    if x == tables.CAP:
        _mark_default(ax)
    words = "What an iteration takes at least, typically and at most"
    if x == tables.CAP:
        words += f": the best cap is {canvas.bytes_text(caps[2])}, {canvas.bytes_text(caps[1])} or {canvas.bytes_text(caps[0])}"
    canvas.set_title(ax, words, title)
    ax.legend(fontsize=8, frameon=False)
    _say_estimated(ax, rows)
    return ax
