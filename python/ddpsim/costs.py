"""What has a name, and what a collective costs."""
from __future__ import annotations

from ddpsim import _core
from ddpsim._core import collective_time

__all__ = ["collective_time", "presets"]


def presets(kind: str) -> list[str]:
    """Names of a kind: "topologies", "gpus", "models", "software", "kernels", "fabrics", "calibrations", "evidence" or "configs"."""
    return _core.presets(kind)
