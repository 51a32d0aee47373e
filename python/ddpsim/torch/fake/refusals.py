"""What cannot be recorded, and where in the script it was met."""
from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from traceback import walk_tb
from types import FrameType

import torch

_PACKAGE = str(Path(__file__).resolve().parent)
_TORCH = str(Path(torch.__file__).resolve().parent)
_STANDARD = sysconfig.get_paths()["stdlib"]
_FOREIGN = tuple({sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]})


class Unsupported(RuntimeError):
    """The script does what a recording cannot hold. str() says what, where, and what to do instead."""


class StepRecorded(BaseException):
    """Ends the script once the requested step is over. Not an Exception, so that handlers in the script let it pass."""


class MissingMail(Unsupported):
    """An object is needed from a rank that has not been recorded yet."""

    def __init__(self, rank: int, source: int):
        super().__init__(f"rank {rank} receives an object from rank {source}, which was not recorded with it\n"
                         f"hint: record them together: --ranks stages, or --ranks {min(rank, source)},{max(rank, source)}")
        self.source = source


def place() -> str:
    """FILE:LINE of the innermost frame of the script, else of the innermost one outside PyTorch; "" where there is none."""
    frames = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        frames.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return _place(frames)


def place_of(error: BaseException) -> str:
    """The same of where an error was thrown."""
    return _place([(frame.f_code.co_filename, line) for frame, line in reversed(list(walk_tb(error.__traceback__)))])


def _place(frames: list[tuple[str, int]]) -> str:
    library = ""
    for name, line in frames:    # innermost first
        path = os.path.abspath(name) if os.path.exists(name) else ""
        if path and not path.startswith((_PACKAGE, _TORCH, os.path.join(_STANDARD, ""))) or path.startswith(_FOREIGN):
            at = f"{os.path.relpath(path) if not os.path.relpath(path).startswith('..') else path}:{line}"
            if not path.startswith((*_FOREIGN, _PACKAGE, _TORCH)):
                return at
            if not library and not path.startswith((_PACKAGE, _TORCH)):
                library = at
    return library


def refuse(what: str, hint: str = "") -> Unsupported:
    """The error for `what`, with its place in the script and a way out."""
    at = place()
    return Unsupported((f"{at}: " if at else "") + what + (f"\nhint: {hint}" if hint else ""))
