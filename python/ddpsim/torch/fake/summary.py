"""A recording in a few lines."""
from __future__ import annotations

import collections
from typing import Any

_UNITS = ("B", "kB", "MB", "GB", "TB")


def size(value: float) -> str:
    """Bytes with a unit, powers of 1000."""
    unit = 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.3g} {_UNITS[unit]}" if unit else f"{value:.0f} B"


def summary(step: Any) -> str:
    """What a step is: its work, its collectives by group, its memory, its notes."""
    groups = step.groups
    totals: dict[tuple[str, int], list[int]] = collections.defaultdict(lambda: [0, 0])
    for item in step.collectives:
        counted = totals[item["collective"], item["group"]]
        counted[0] += 1
        counted[1] += item["bytes"]
    lines = [f"rank {step.rank} of {step.world_size}: {len(step.operators)} operators, {step.flops / 1e12:.4g} TFLOP, "
             f"{len(step.collectives)} collective{'' if len(step.collectives) == 1 else 's'}"]
    for (operation, number), (calls, total) in totals.items():
        group = groups[number]
        ranks = group.get("count", len(group.get("ranks", ())))
        lines.append(f"  {operation:<14} {calls:>5} x, {size(total):>8} over {ranks} rank{'' if ranks == 1 else 's'}" + (f" ({group['name']})" if group["name"] else ""))
    held = ", ".join(f"{category} {size(value)}" for category, value in step.memory["at_peak"].items())
    lines.append(f"  memory at its peak {size(step.memory['peak'])}: {held}")
    lines += [f"note [{note['code']}]: {note['text']}" + (f" ({note['times']} times)" if note["times"] > 1 else "") for note in step.notes]
    if step.path is not None:
        lines.append(f"wrote {step.path} ({size(step.path.stat().st_size)})")
    return "\n".join(lines)
