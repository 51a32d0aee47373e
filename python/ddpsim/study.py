"""Sweeps whose points are run here, or by any executor, and kept as they finish."""
from __future__ import annotations

import json
import sys
import time
import warnings
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

from ddpsim import _core
from ddpsim.errors import InputError

if TYPE_CHECKING:
    from ddpsim.job import Job

_BATCH = 100          # points that travel together: some 20 ms of work
_IN_FLIGHT = 400      # batches handed to an executor at once


def _points(parts: tuple[Any, ...], all_columns: bool) -> _core.Points:
    text, name, file, overrides = parts
    return _core.Points(_core.Job(text, name, file, list(overrides)), all_columns)


@lru_cache(maxsize=4)
def _known_points(parts: tuple[Any, ...], study: str, all_columns: bool) -> _core.Points:
    """Of the files as they were when the study began: `study` differs where they do."""
    return _points(parts, all_columns)


def run_batch(parts: tuple[Any, ...], study: str, all_columns: bool, batch: Sequence[int], jobs: int | None = None) -> str:
    """The rows of some points: what a worker does."""
    points = _known_points(parts, study, all_columns)
    return points.rows(list(batch)) if jobs is None else points.rows(list(batch), jobs)


class _Progress:
    """A line on standard error, from the first second on."""

    def __init__(self, shown: bool, done: int, points: int):
        self._shown, self._before, self._points = shown, done, points
        self._began = time.monotonic()
        self._last = self._began
        self._width = 0

    def show(self, done: int) -> None:
        now = time.monotonic()
        if not self._shown or (now - self._last < 1 and done < self._points):
            return
        self._last = now
        rate = (done - self._before) / max(now - self._began, 1e-3)
        left = f", {rate:.3g} a second, {(self._points - done) / rate:.0f} s left" if rate else ""
        self._write(f"{done} of {self._points} points{left}")

    def close(self) -> None:
        if self._width:
            print(file=sys.stderr, flush=True)

    def _write(self, text: str) -> None:
        print("\r" + text.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = len(text)


def _batches(points: _core.Points, results: _core.Results | None) -> Iterator[list[int]]:
    batch: list[int] = []
    for point in range(len(points)):
        if results is not None and results.has(point):
            continue
        batch.append(point)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _finished(job: Job, points: _core.Points, all_columns: bool, batches: Iterator[list[int]], executor: Executor | None) -> Iterator[str]:
    """The rows of each batch, as they come."""
    study = (job.parts(), points.id, all_columns)
    if executor is None:
        for batch in batches:
            yield run_batch(*study, batch)
        return
    running: set[Future[str]] = set()
    try:
        for batch in batches:
            running.add(executor.submit(run_batch, *study, batch, 1))
            if len(running) >= _IN_FLIGHT:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for one in done:
                    yield one.result()
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                yield one.result()
    finally:
        for one in running:
            one.cancel()


def _points_of(job: Job, all_columns: bool) -> _core.Points:
    points = _points(job.parts(), all_columns)
    if not points.axes:
        raise InputError('error: there is nothing to sweep\nhint: name an axis: sweep({"ddp.bucket_cap": ["1MiB", "25MiB"]})')
    return points


def _raise_of(row: str) -> None:
    """Of a sweep of which no point is right."""
    failed = json.loads(row)
    raise InputError(failed["error"]) if failed["failed"] == "input" else RuntimeError(failed["error"])


def rows(job: Job, executor: Executor | None, progress: bool) -> tuple[list[str], list[str]]:
    """Runs the points of a job's sweep section: their rows, in order, and the axes."""
    points = _points_of(job, True)
    line = _Progress(progress, 0, len(points))
    found: list[str] = []
    try:
        for text in _finished(job, points, True, _batches(points, None), executor):
            found += [line + "\n" for line in text.split("\n") if line]
            line.show(len(found))
    finally:
        line.close()
    found.sort(key=lambda row: int(json.loads(row)["point"]))
    if found and all("failed" in json.loads(row) for row in found):
        _raise_of(found[0])
    return found, points.axes


def keep(job: Job, executor: Executor | None, progress: bool, path: str, resume: bool, all_columns: bool) -> None:
    """Runs those that a file of results does not have yet, and appends their rows as they come."""
    points = _points_of(job, all_columns)
    file = _core.Results(path, resume, points)
    for note in file.notes:
        warnings.warn(note, stacklevel=3)
    done = sum(map(file.has, range(len(points))))
    line = _Progress(progress, done, len(points))
    try:
        for text in _finished(job, points, all_columns, _batches(points, file), executor):
            file.append(text)
            done += text.count("\n")
            line.show(done)
    finally:
        line.close()
    file.finish()
    if 0 < file.rows == file.failed:
        with open(path, encoding="utf-8") as kept:
            next(kept)
            _raise_of(next(kept))
