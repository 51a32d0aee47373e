"""What all pictures share: colours, units, axes that do not begin at zero, files that are the same every time."""
from __future__ import annotations

import math
import os
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

#: Okabe and Ito's, told apart by the colour-blind, too; those of `ddpsim sweep --plot`.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5C00", "#000000")
NEUTRAL = "#555555"
_TITLE_CHARACTERS = 88      # that fit above a figure of our own


def colour(series: int) -> str:
    return COLOURS[series % len(COLOURS)]


def new_axes(ax: Axes | None, height: float = 4.2) -> Axes:
    """The axes to draw on: those given, or a figure of the width of a page's text."""
    if ax is None:
        import matplotlib.pyplot
        _, ax = matplotlib.pyplot.subplots(figsize=(7.2, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(color="#dddddd", linewidth=0.6)
    ax.tick_params(labelsize=8)
    return ax


def set_title(ax: Axes, words: str, given: str | None) -> None:
    words = re.sub(r"(?<=\d) (?=[A-Za-z]+B\b|[um]?s\b|%|GPUs)", "\xa0", words)    # a number and its unit stay together
    ax.set_title(given if given is not None else "\n".join(textwrap.wrap(words, _TITLE_CHARACTERS)), fontsize=10)


@dataclass(frozen=True)
class TimeUnit:
    """The unit that a picture's times are read in."""

    name: str
    seconds: float

    @classmethod
    def of(cls, longest_s: float) -> TimeUnit:
        return next((cls(name, seconds) for name, seconds in (("us", 1e-6), ("ms", 1e-3)) if longest_s < 1e4 * seconds), cls("s", 1.0))

    def text(self, time_s: float) -> str:
        return f"{time_s / self.seconds:.4g} {self.name}"


def bytes_text(size: float) -> str:
    """1.5 MiB; to three digits."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 2 ** power:
            return f"{float(f'{size / 2 ** power:.3g}'):g} {unit}"
    return f"{size:g} B"


def bytes_axis(ax: Axes, least: float, most: float) -> None:
    """The x axis for sizes: logarithmic, with ticks at powers of two."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
    ax.set_xscale("log", base=2)
    first, last = math.ceil(math.log2(least)), math.floor(math.log2(most))
    ax.xaxis.set_major_locator(FixedLocator([2.0 ** power for power in range(first, last + 1, 1 + (last - first) // 10)]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: bytes_text(size)))
    ax.xaxis.set_minor_locator(NullLocator())


def plain_ticks(axis: Axis, values: Iterable[float]) -> None:
    """Ticks at these values, as whole numbers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
    axis.set_major_locator(FixedLocator(sorted(set(values))))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def decade_ticks(axis: Axis, least: float, most: float) -> None:
    """1, 2, 5, 10, ...: on short logarithmic axes matplotlib labels little, and in powers of ten."""
    steps = [digit * 10.0 ** power for power in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1) for digit in (1, 2, 5)]
    plain_ticks(axis, [step for step in steps if least <= step <= most])


def scale_times(ax: Axes, shown: Iterable[float]) -> None:
    """The y axis for these times, already in its unit: from zero where that costs little room, logarithmic over a wide span, else cut and marked so."""
    times = [time for time in shown if math.isfinite(time)]
    least, most = min(times), max(times)
    if least > 0 and most > 8 * least:
        room = (most / least) ** 0.08
        ax.set_yscale("log")
        ax.set_ylim(least / room, most * room)
        decade_ticks(ax.yaxis, least / room, most * room)
    elif least < 0.3 * most:
        ax.set_ylim(0, 1.08 * most)
    else:
        room = 0.1 * ((most - least) or most)
        ax.set_ylim(max(0.0, least - room), most + room)
        mark_cut(ax)


def mark_cut(ax: Axes, words: str = "axis cut") -> None:
    """Two strokes through the foot of the y axis: it does not begin at zero."""
    strokes: dict[str, Any] = {"transform": ax.transAxes, "color": "black", "linewidth": 1.0, "clip_on": False, "zorder": 5}
    ax.plot([0, 0], [0.012, 0.03], **{**strokes, "color": ax.get_facecolor(), "linewidth": 3.0})
    for y in (0.012, 0.03):
        ax.plot([-0.008, 0.008], [y - 0.008, y + 0.008], gid="cut", **strokes)
    ax.annotate(words, (0, 0), xycoords="axes fraction", xytext=(6, 4), textcoords="offset points", fontsize=7, color=NEUTRAL)


def foot_note(ax: Axes, text: str) -> None:
    """A line in small type below the picture: what a reader must know of its data."""
    ax.annotate("\n".join(textwrap.wrap(text, 130)), (0, 0), xycoords=("axes fraction", "axes fraction"), xytext=(0, -42), textcoords="offset points",
                va="top", fontsize=7, color=NEUTRAL)


def save(picture: Axes | Figure, path: str | os.PathLike[str]) -> None:
    """Writes the figure of these axes; .pdf and .svg have no date and no random names in them: the same picture, the same bytes."""
    import matplotlib
    figure: Any = picture if hasattr(picture, "savefig") else picture.figure
    kind = os.path.splitext(os.fspath(path))[1].lower()
    without_date = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".eps": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "ddpsim", "pdf.fonttype": 42}):
        figure.savefig(path, metadata=without_date.get(kind), dpi=200)
