"""What makes an interval wide: a bar a part."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ddpsim.plot import canvas

if TYPE_CHECKING:
    from ddpsim.job import Result
    from matplotlib.axes import Axes

_LONGEST = 60       # characters of a part's name on a line


def tornado(result: Result, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """How wide the 80 % interval of an iteration is, and would be if one part alone were in doubt, the widest on top.

    result: of Job.simulate, of a scenario without `evidence: none`.
    """
    import textwrap
    least, most = result.interval(0.8)
    evidence = result.to_dict()["evidence"]
    parts = [(evidence["classes"][part]["phrase"], width) for part, width in evidence["width_by"].items() if width > 0]
    parts.sort(key=lambda part: -part[1])
    names = ["all together", *("\n".join(textwrap.wrap(name, _LONGEST)) for name, _ in parts)]
    widths = [100 * (most / least - 1), *(100 * width for _, width in parts)]
    ax = canvas.new_axes(ax, 1.2 + 0.42 * len(names))
    ax.grid(axis="y", visible=False)
    ax.barh(range(len(names)), widths, height=0.68, color=["#bcbddc", *[canvas.COLOURS[0]] * len(parts)])
    for place, width in enumerate(widths):
        ax.annotate(f"{width:.3g} %", (width, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.15 * max(widths))
    ax.set_xlabel("80 % interval, longest over shortest (% more)")
    unit = canvas.TimeUnit.of(most)
    canvas.set_title(ax, f"80 % sure: {unit.text(least)} to {unit.text(most)}" + (f", mostly for {parts[0][0]}" if parts else ""), title)
    return ax
