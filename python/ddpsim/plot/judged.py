"""Predictions against measurements."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ddpsim.plot import canvas

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_NEAR = 0.1     # the band around the diagonal


def accuracy(frame: pandas.DataFrame, *, by: str | None = None, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Predicted over measured iteration times, with the diagonal and the band within 10 % of it.

    frame: a row a run, with measured_iteration_s and iteration_s, as `ddpsim sweep --csv` writes it for a scenario with `validation.measured`; intervals of
    80 % of predictions and deviations of measurements are drawn where it has them. by: a column that tells series apart.
    """
    columns = ["measured_iteration_s", "iteration_s"]
    rows = frame.dropna(subset=columns) if set(columns) <= set(frame.columns) else frame.iloc[:0]
    if rows.empty:
        raise ValueError("no row has both iteration_s and measured_iteration_s")
    unit = canvas.TimeUnit.of(max(rows["measured_iteration_s"].max(), rows["iteration_s"].max()))
    ax = canvas.new_axes(ax, height=5.6)
    shown = []
    for number, (name, series) in enumerate(rows.groupby(by, sort=False) if by else [("", rows)]):
        measured, predicted = series["measured_iteration_s"] / unit.seconds, series["iteration_s"] / unit.seconds
        shown += [*measured, *predicted]
        ranges = deviations = None
        if {"p10_s", "p90_s"} <= set(series.columns):
            least, most = series["p10_s"] / unit.seconds, series["p90_s"] / unit.seconds
            ranges = [(predicted - least).clip(lower=0).fillna(0).to_numpy(), (most - predicted).clip(lower=0).fillna(0).to_numpy()]
            shown += [*least.dropna(), *most.dropna()]
        if "measured_iteration_std_s" in series:
            deviations = (series["measured_iteration_std_s"] / unit.seconds).fillna(0).to_numpy()
            shown += [*(measured - deviations), *(measured + deviations)]
        ax.errorbar(measured, predicted, xerr=deviations, yerr=ranges, fmt="o", markersize=5, color=canvas.colour(number), elinewidth=0.8,
                    ecolor=canvas.colour(number), label=str(name))
    _diagonal(ax, min(shown), max(shown))
    ax.set_xlabel(f"measured iteration ({unit.name})")
    ax.set_ylabel(f"predicted iteration ({unit.name})")
    ax.legend(fontsize=8, frameon=False, loc="upper left")
    errors = (rows["iteration_s"] / rows["measured_iteration_s"] - 1).abs() * 100
    canvas.set_title(ax, f"Predictions of {len(rows)} measured run{'s' * (len(rows) > 1)} are {errors.mean():.1f} % off on average, {errors.max():.1f} % at worst", title)
    return ax


def _diagonal(ax: Axes, least: float, most: float) -> None:
    """Both axes alike, with the line of equal times."""
    wide = least > 0 and most > 4 * least
    room = (most / least) ** 0.08 if wide else 1
    ends = (least / room, most * room) if wide else (max(0.0, least - 0.1 * (most - least or most)), most + 0.1 * (most - least or most))
    if wide:
        ax.set_xscale("log")
        ax.set_yscale("log")
        for axis in (ax.xaxis, ax.yaxis):
            canvas.decade_ticks(axis, *ends)
    elif ends[0] > 0:
        canvas.mark_cut(ax, "axes cut")
    ax.set_aspect("equal")
    ax.set_xlim(*ends)
    ax.set_ylim(*ends)
    ax.plot(ends, ends, color=canvas.NEUTRAL, linewidth=1, label="equal")
    ax.fill_between(ends, [end * (1 - _NEAR) for end in ends], [end * (1 + _NEAR) for end in ends], color=canvas.NEUTRAL, alpha=0.12, linewidth=0,
                    label=f"within {100 * _NEAR:.0f} %")
