"""What a collective gets out of a cluster, by message size."""
from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Mapping, Sequence

from ddpsim.costs import collective_time
from ddpsim.plot import canvas

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

#: Bus bandwidth over algorithm bandwidth, of n ranks (nccl-tests, doc/PERFORMANCE.md).
_BUS = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n, "reduce_scatter": lambda n: (n - 1) / n,
        "all_to_all": lambda n: (n - 1) / n}


def collective(operation: str, topology: str, ranks: int | Sequence[int] = 8, *, stride: int = 1, sizes: Iterable[int] | None = None,
               measured: Mapping[int, pandas.DataFrame] | None = None, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Bus bandwidth over the size of the buffer, as nccl-tests counts both, a line for each number of ranks.

    sizes: bytes; powers of two from 1 KiB to 4 GiB, or as far as was measured, unless told. measured: for numbers of ranks, tables with the columns `bytes` and `time_s`, or size_B
    and oop_time_us as nccl-tests has them (measurements/*.csv; read them with comment="#").
    """
    if operation not in _BUS:
        raise ValueError(f"no bus bandwidth of {operation!r}: there are {', '.join(_BUS)}")
    counts = [ranks] if isinstance(ranks, int) else list(ranks)
    tables = {count: _rows((measured or {}).get(count)) for count in counts}
    largest = max((size for rows in tables.values() for size, _ in rows), default=2 ** 32)
    sizes = sorted(sizes) if sizes is not None else [2 ** power for power in range(10, largest.bit_length())]
    ax = canvas.new_axes(ax)
    errors: list[float] = []
    for number, count in enumerate(counts):
        bus = _BUS[operation](count)
        curve = [bus * size / collective_time(operation, size, count, topology, stride) / 1e9 for size in sizes]
        ax.plot(sizes, curve, color=canvas.colour(number), linewidth=1.6, label=f"{count} ranks")
        for size, time_s in tables[count]:
            if not sizes[0] <= size <= sizes[-1]:
                continue
            ax.plot([size], [bus * size / time_s / 1e9], marker="s", markersize=5, markerfacecolor="none", color=canvas.colour(number), linestyle="none", gid="measured")
            errors.append(abs(collective_time(operation, size, count, topology, stride) / time_s - 1))
    canvas.bytes_axis(ax, sizes[0], sizes[-1])
    ax.set_xlim(sizes[0], sizes[-1])
    ax.set_ylim(0)
    ax.set_xlabel("message size")
    ax.set_ylabel("bus bandwidth (GB/s)")
    handles, labels = ax.get_legend_handles_labels()
    if errors:
        from matplotlib.lines import Line2D
        handles.append(Line2D([], [], color=canvas.NEUTRAL, marker="s", markerfacecolor="none", linestyle="none"))
        labels.append("measured")
    ax.legend(handles, labels, fontsize=8, frameon=False)
    off = f"; times are {100 * sum(errors) / len(errors):.1f} % off the measured ones on average" if errors else ""
    canvas.set_title(ax, f"{operation.replace('_', '-')} on {topology}: bus bandwidth by message size{off}", title)
    return ax


def _rows(table: pandas.DataFrame | None) -> list[tuple[int, float]]:
    if table is None:
        return []
    if "time_s" in table:
        return [(int(size), float(time)) for size, time in zip(table["bytes"], table["time_s"]) if size > 0]
    return [(int(size), float(time) * 1e-6) for size, time in zip(table["size_B"], table["oop_time_us"]) if size > 0]
