"""Recorded steps as files: the layer trace, recorded collectives, a table of all-reduces (docs/reference/traces.md)."""
from __future__ import annotations

import csv
import datetime
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median, stdev
from typing import Any, Iterable, Sequence

DTYPES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


@dataclass(frozen=True)
class Gradient:
    name: str
    elements: int
    dtype: str


@dataclass(frozen=True)
class Step:
    """One training step, in seconds: forward ends from the start of the forward pass, the rest from that of the backward pass."""

    forward: float
    optimizer: float | None
    #: Places of the parameters in the order in which their gradients arrived.
    arrival: Sequence[int]
    ready: dict[int, float]
    #: Of each parameter's module.
    forward_ends: Sequence[float]
    #: Elements, dtype, when it was ready and when its all-reduce ended, of each bucket in the order of launch.
    buckets: Sequence[tuple[int, str, float, float]]

    @property
    def backward(self) -> float:
        return self.ready[self.arrival[-1]]


def _write(path: Path, lines: Iterable[str]) -> None:
    """All of it or nothing: who reads while it is written finds the file before."""
    handle, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _seconds(value: float) -> str:
    return f"{value:.9f}"    # no clock here is finer than a nanosecond


def _header_lines(gradients: Sequence[Gradient], steps: Sequence[Step], header: dict[str, Any]) -> list[str]:
    lines = ["# ddpsim-trace: 2"]
    lines += [f"# {key}: {header[key]}" for key in ("model", "device", "batch_size", "sequence_length", "torch") if key in header]
    lines.append(f"# forward: {_seconds(median(step.forward for step in steps))}s")
    optimizer = [step.optimizer for step in steps if step.optimizer is not None]
    if optimizer:
        lines.append(f"# optimizer: {_seconds(median(optimizer))}s")
    lines += [f"# gradients: {len(gradients)}", f"# elements: {sum(gradient.elements for gradient in gradients)}"]
    if header["buffers"]:
        lines.append(f"# buffers: {' '.join(f'{size}B' for size in header['buffers'])}")
    lines += ["# source: ddpsim.torch.record", f"# captured: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"]
    return lines + [f"# {note}" for note in header["notes"]]


def write_trace(path: Path, gradients: Sequence[Gradient], steps: Sequence[Step], header: dict[str, Any]) -> None:
    lines = _header_lines(gradients, steps, header)
    spread = len(steps) > 1
    lines.append(f"gradient,elements,dtype,ready_s{',ready_std_s' if spread else ''},forward_s,parameter")
    for place in steps[0].arrival:    # the same order in all steps, so medians keep it
        gradient = gradients[place]
        times = [step.ready[place] for step in steps]
        columns = [gradient.name, str(gradient.elements), gradient.dtype, _seconds(median(times))]
        columns += [_seconds(stdev(times))] if spread else []
        lines.append(",".join([*columns, _seconds(median(step.forward_ends[place] for step in steps)), str(place)]))
    _write(path, lines)


@dataclass(frozen=True)
class TraceFacts:
    """What a trace says of its recording."""

    #: Standard deviation over the steps of how long the backward pass took; 0 where it is not known.
    noise_s: float = 0.0
    on_cpu: bool = False


def facts_of(path: str | os.PathLike[str]) -> TraceFacts:
    """A recording on a CPU names its threads, as one of `ddpsim capture` does. What is wrong with a file is not said here."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return TraceFacts()
    on_cpu = any(re.match(r"# \d+ threads?(;|$)", line) for line in lines)
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    try:
        return TraceFacts(float(rows[-1].get("ready_std_s") or 0), on_cpu)
    except (IndexError, ValueError):
        return TraceFacts(on_cpu=on_cpu)


def _alone(flights: Sequence[tuple[float, float]]) -> list[float]:
    """What each would take alone, if n in flight progress at 1/n each (docs/model.md, "Several collectives at once")."""
    moments = sorted({moment for flight in flights for moment in flight})
    alone = [0.0] * len(flights)
    for begin, end in zip(moments, moments[1:]):
        under_way = [i for i, flight in enumerate(flights) if flight[0] <= begin and end <= flight[1]]
        for i in under_way:
            alone[i] += (end - begin) / len(under_way)
    return alone


def all_reduces(steps: Sequence[Step], workers: int) -> list[dict[str, Any]]:
    """The buckets that most steps reduced, with medians. DDP does not say when one starts: it is taken to when it is ready and fewer than
    `workers` of those before it are in flight."""
    shapes = [tuple((elements, dtype) for elements, dtype, _, _ in step.buckets) for step in steps]
    usual = max(shapes, key=shapes.count)
    flights, alone = [], []
    same = [step.buckets for step, shape in zip(steps, shapes) if shape == usual]
    for buckets in same:
        own: list[tuple[float, float]] = []
        for _, _, ready, end in buckets:
            before = sorted((flight[1] for flight in own), reverse=True)
            start = max([ready, *before[workers - 1:workers], *(flight[0] for flight in own[-1:])])
            own.append((start, max(end, start + 1e-9)))
        flights.append(own)
        alone.append(_alone(own))
    return [{"elements": elements, "dtype": dtype, "bytes": elements * DTYPES[dtype], "steps": len(same),
             "ready_s": median(buckets[index][2] for buckets in same), "start_s": median(own[index][0] for own in flights),
             "end_s": median(own[index][1] for own in flights), "duration_s": median(own[index][1] - own[index][0] for own in flights),
             "alone_s": median(times[index] for times in alone)} for index, (elements, dtype) in enumerate(usual)]


def write_collectives(path: Path, steps: Sequence[Step], world_size: int, workers: int) -> None:
    rows = all_reduces(steps, workers)
    lines = ["# ddpsim-recorded: 1", f"# world_size: {world_size}", f"# steps: {rows[0]['steps'] if rows else len(steps)}",
             "# source: ddpsim.torch.record", "collective,elements,dtype,ready_s,start_s,end_s,duration_s"]
    for index, row in enumerate(rows):
        times = ",".join(_seconds(row[key]) for key in ("ready_s", "start_s", "end_s", "duration_s"))
        lines.append(f"{index},{row['elements']},{row['dtype']},{times}")
    _write(path, lines)


def write_table(path: Path, rows: Sequence[dict[str, Any]], world_size: int, backend: str, *, source: str, pooling: str) -> None:
    """What an all-reduce of each size would take alone."""
    sizes = sorted({row["bytes"] for row in rows})
    lines = ["# ddpsim-allreduce: 1", f"# world_size: {world_size}", f"# backend: {backend}", f"# pooling: {pooling}", f"# source: {source}",
             "bytes,time_s"]
    lines += [f"{size},{_seconds(median(row['alone_s'] for row in rows if row['bytes'] == size))}" for size in sizes]
    _write(path, lines)
