"""GPUs as ddpsim knows them (gpus/*.yaml, by the program beside this package), as PyTorch would show them."""
from __future__ import annotations

import functools
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Compute capability by architecture; chips of it that differ, by a word of the GPU's name (CUDA programming guide, "Compute Capabilities").
_CAPABILITIES = {"pascal": (6, 0), "volta": (7, 0), "turing": (7, 5), "ampere": (8, 6), "ada": (8, 9), "hopper": (9, 0), "blackwell": (12, 0)}
_CHIPS = {"A100": (8, 0), "A800": (8, 0), "B200": (10, 0), "GB200": (10, 0), "B300": (10, 3), "GB300": (10, 3)}
_MULTIPROCESSORS = 100    # where a file has none


@dataclass(frozen=True)
class Gpu:
    """What PyTorch says of a GPU: its name, memory in bytes, compute capability, multiprocessors."""

    name: str
    memory: int
    capability: tuple[int, int]
    multiprocessors: int


@functools.lru_cache(maxsize=None)
def find_gpu(name: str) -> Gpu:
    """By ddpsim's name of it. Throws where there is none, and where it is not a GPU that runs CUDA."""
    known = {entry["name"]: entry for entry in _listed()}
    if name not in known:
        raise ValueError(f"gpu is {name!r}; ddpsim knows {', '.join(known)}")
    text = _ask("show", "--kind", "gpus", name)
    architecture = _key(text, "architecture") or "pascal"
    if architecture not in _CAPABILITIES:
        raise ValueError(f"gpu is {name!r}, of {architecture}; a script is recorded as on a GPU with CUDA")
    device = str(known[name]["device"])
    capability = next((_CHIPS[word] for word in device.split() if word in _CHIPS), _CAPABILITIES[architecture])
    return Gpu(device, int(known[name]["memory_bytes"]), capability, int(_key(text, "multiprocessors") or _MULTIPROCESSORS))


def _listed() -> list[dict[str, Any]]:
    return list(json.loads(_ask("list", "gpus", "--json", "-"))["gpus"])


def _key(text: str, key: str) -> str:
    found = re.search(rf"^{key}: *([^#\n]*)", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _ask(*words: str) -> str:
    program = Path(__file__).resolve().parents[2] / "bin" / "ddpsim"
    done = subprocess.run([str(program), *words], check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"ddpsim {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout
