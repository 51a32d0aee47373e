"""A sweep as a whole: how sure it is which point is best."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddpsim import _core
from ddpsim.answer import Answer
from ddpsim.errors import InputError
from ddpsim.frames import frame_of, require_pandas

if TYPE_CHECKING:
    import pandas


class Study(Answer[_core.Compared]):
    """The points of a sweep, held against one another: each draw of what nobody measured is the same for all, so that what they share decides nothing."""

    @property
    def best(self) -> dict[str, Any]:
        """The best point: its values on the axes."""
        axes: dict[str, Any] = self.to_dict()["best"]["axes"]
        return axes

    @property
    def verdict(self) -> str:
        """What follows from the points, as `ddpsim sweep` says it below its table."""
        lines: list[str] = self.to_dict()["verdict"]
        return "\n".join(lines)

    @property
    def frame(self) -> pandas.DataFrame:
        """One row a point that could be simulated, as of Job.sweep, with p_best, regret and tied besides. Needs pandas."""
        require_pandas()
        points = self.to_dict()["points"]
        rows = [{"point": number, "at": list(point["axes"].values()), **{key: value for key, value in point.items() if key != "axes"}}
                for number, point in enumerate(points)]
        return frame_of(rows, list(points[0]["axes"]))

    def p_best(self) -> pandas.Series[float]:
        """Of each point how sure it is that it is the fastest, by its values on the axes; NaN where it is not compared (it may not fit).
        Needs pandas."""
        return self._odds("p_best")

    def regret(self) -> pandas.Series[float]:
        """Of each point what it takes more than the fastest of a draw, as a share and on average, by its values on the axes. Needs pandas."""
        return self._odds("regret")

    def _odds(self, key: str) -> pandas.Series[float]:
        require_pandas()
        import pandas
        points = self.to_dict()["points"]
        if not any(key in point for point in points):
            raise InputError("error: nothing says how far these iterations are off, so no point has odds\n"
                             "hint: leave out 'evidence: none', or name an evidence file")
        names = list(points[0]["axes"])
        values = [tuple(point["axes"].values()) for point in points]
        index = pandas.MultiIndex.from_tuples(values, names=names) if len(names) > 1 else pandas.Index([one for one, in values], name=names[0])
        return pandas.Series([point.get(key, float("nan")) for point in points], index, dtype=float, name=key)
