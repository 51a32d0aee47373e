"""A scenario: simulated, changed, swept."""
from __future__ import annotations

import json
import math
import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Mapping

from ddpsim import _core, study
from ddpsim.answer import Answer
from ddpsim.compared import Study
from ddpsim.frames import frame_of, read_results, require_pandas

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas

_MIB = 1 << 20


class Result(Answer[_core.Result]):
    """One simulated iteration."""

    @property
    def iteration_s(self) -> float:
        """Seconds that an iteration takes."""
        return self._core.iteration_s

    def interval(self, share: float = 0.8) -> tuple[float, float]:
        """The least and most seconds between which the iteration is, as sure as `share`, which is between 0 and 1. InputError where nothing says how
        far it is off, as with `evidence: none`."""
        return self._core.interval(share)

    @property
    def buckets(self) -> pandas.DataFrame:
        """One row a bucket. Needs pandas."""
        require_pandas()
        import pandas
        return pandas.DataFrame(self.to_dict()["buckets"])

    def timeline_json(self) -> str:
        """The text of a timeline that opens in Perfetto or chrome://tracing."""
        return self._core.timeline_json()

    def timeline(self, path: str | os.PathLike[str]) -> None:
        """Writes that timeline to a file."""
        self._core.write_timeline(os.fspath(path))

    def __repr__(self) -> str:
        return f"<ddpsim.Result: {self.iteration_s:.6g} s an iteration>"


@dataclass(frozen=True)
class BestCap:
    """The bucket cap that makes an iteration shortest. Caps are in MiB, as DistributedDataParallel's bucket_cap_mb."""

    bucket_cap_mb: float
    iteration_s: float
    #: Smallest and largest cap within 0.5 % of the best, and every cap between (not exact: every one that was tried); the second is infinite where any
    #: larger one is.
    plateau: tuple[float, float]
    #: Seconds that an iteration takes longer with PyTorch's default cap.
    default_costs_s: float
    default_cap_mb: float
    #: How many caps, or bucket assignments, were tried.
    tried: int
    #: How sure it is that the default takes longer, and whether the two cannot be told apart; None where the default is the best, or nothing is in
    #: doubt.
    default_longer: float | None = None
    default_tied: bool | None = None


@dataclass(frozen=True)
class Measurement:
    """What could be measured, and what it is worth."""

    measure: str
    #: To type once it is measured.
    command: str
    #: Of the 80 % interval afterwards, on average over what may come out: its length over its lower end.
    width: float


@dataclass(frozen=True)
class BestCaps:
    """The best list of caps, one a bucket and the last repeated, beside the best single cap."""

    #: To pass to DistributedDataParallel, PyTorch 2.11 or newer.
    bucket_cap_mb_list: list[float]
    iteration_s: float
    n_buckets: int
    bucket_cap_mb: float
    #: Of the single cap.
    single_iteration_s: float
    #: What the search does not look at and the simulation does, where there may be a better list.
    search_leaves_out: str


def _as_mb(size: float) -> float:
    """The shortest number of MiB that is so many bytes to DistributedDataParallel, which drops parts of a byte."""
    for parts in (10 ** digits for digits in range(7)):
        mb = math.ceil(size / _MIB * parts) / parts
        if int(mb * _MIB) == size:
            return int(mb) if parts == 1 else mb
    return size / _MIB


def _yaml(value: Any) -> str:
    """As the command line takes it; JSON is YAML."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Of numpy's numbers and arrays, and of paths, what JSON has."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} is nothing that a scenario can hold")


def _axis(values: Any) -> Any:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        return [values]
    return dict(values) if isinstance(values, Mapping) else list(values)


class Job:
    """A scenario. It never changes: `set` makes another one."""

    def __init__(self, scenario: Mapping[str, Any] | None = None, /, **keys: Any):
        """Of a dictionary with a scenario's sections, or of keys by their own names, or those that others call them:
        Job(model="llama-3-8b", topology="superpod-h100", gpus=64, micro_batch=1, sequence=8192, strategy="fsdp",
        fsdp={"reduce_dtype": "bf16"}). Paths are relative to the current folder."""
        text = json.dumps(scenario or {}, indent=1, ensure_ascii=False, default=_plain)
        overrides = tuple(f"{_core.key_path(key)}={_yaml(value)}" for key, value in keys.items())
        self._make(text, "Job", os.path.join(os.getcwd(), "Job"), overrides)

    def _make(self, text: str, name: str, file: str, overrides: tuple[str, ...]) -> None:
        self._parts = (text, name, file, overrides)
        self._core = _core.Job(text, name, file, list(overrides))

    @classmethod
    def _of(cls, *parts: Any) -> Job:
        job = cls.__new__(cls)
        job._make(*parts)
        return job

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Job:
        """Of a scenario file, or one that has a name (`ddpsim.presets("configs")`)."""
        file = _core.scenario_path(os.fspath(path))
        return cls._of(_core.load_text(file), file, file, ())

    @classmethod
    def from_deepspeed(cls, config: str | os.PathLike[str], scenario: Mapping[str, Any] | None = None, /, **keys: Any) -> Job:
        """Of DeepSpeed's ds_config.json and what that does not say, which wins: Job.from_deepspeed("ds.json", model="llama-2-13b", gpus=32,
        topology="dgx-a100", sequence=4096). What of the file counts for nothing, or is replaced, is a UserWarning."""
        return cls(scenario, **keys)._launched("ds_config", config)

    @classmethod
    def from_megatron(cls, script: str | os.PathLike[str], scenario: Mapping[str, Any] | None = None, /, **keys: Any) -> Job:
        """The same of a bash script that launches Megatron-LM, or its flags alone."""
        return cls(scenario, **keys)._launched("megatron_args", script)

    @classmethod
    def from_accelerate(cls, config: str | os.PathLike[str], scenario: Mapping[str, Any] | None = None, /, **keys: Any) -> Job:
        """The same of Hugging Face Accelerate's configuration."""
        return cls(scenario, **keys)._launched("accelerate", config)

    def _launched(self, kind: str, path: str | os.PathLike[str]) -> Job:
        core = self._core.launched(kind, os.path.abspath(os.fspath(path)))
        for note in core.launch_notes():
            warnings.warn(note, stacklevel=3)
        return Job._of(core.text(), os.path.basename(os.fspath(path)), self._parts[2], ())

    def set(self, changes: Mapping[str, Any]) -> Job:
        """Another job, with these keys changed: {"ddp.bucket_cap": "100MiB"}, as --set does."""
        text, name, file, overrides = self._parts
        more = tuple(f"{key}={_yaml(value)}" for key, value in changes.items())
        job = Job.__new__(Job)
        job._parts = (text, name, file, overrides + more)
        job._core = self._core.with_overrides(list(more))
        return job

    def simulate(self) -> Result:
        return Result(self._core.simulate())

    def program(self) -> str:
        """What a rank does in a step, as `ddpsim program` prints it; in a file it is a strategy: {"program": "own.program"}."""
        return self._core.program()

    def best_cap(self, exact: bool = True) -> BestCap:
        """Over every bucket assignment that a cap can give; not exact: over some caps from 1 MiB to 1 GiB."""
        best = self._core.best_cap(exact)
        most = best.plateau_most_bytes
        return BestCap(_as_mb(best.cap_bytes), best.iteration_s,
                       (_as_mb(best.plateau_least_bytes), float("inf") if most is None else _as_mb(most)),
                       best.with_default_s - best.iteration_s, _as_mb(best.default_cap_bytes), best.tried, best.default_longer, best.default_tied)

    def best_caps(self) -> BestCaps:
        """What `ddpsim simulate --best-caps` finds. InputError where a list of caps does not make the buckets."""
        best = self._core.best_caps()
        return BestCaps([_as_mb(cap) for cap in best.caps_bytes], best.iteration_s, best.buckets, _as_mb(best.single_cap_bytes),
                        best.single_iteration_s, best.left_out)

    def sweep(self, axes: Mapping[str, Any] | None = None, *, executor: Executor | None = None, progress: bool = True,
              results: str | os.PathLike[str] | None = None, resume: bool = False, frame: bool = True,
              all_columns: bool = False) -> pandas.DataFrame | None:
        """Simulates every combination of the axes' values: {"ddp.bucket_cap": ["1MiB", "25MiB"]}, or
        {"from": "1MiB", "to": "1GiB", "points": 30, "spacing": "log"}; without any, those of the scenario.

        A DataFrame of one row a point, in the order of the command line. A point that fails is a row with its error; where all do, the first
        one's is raised.
        executor: any of concurrent.futures' kind; batches of points travel. results: a file to which every finished
        point is appended at once, with what is mostly asked for, or all_columns that a table without a file has; with
        resume, one that is there is gone on with. frame=False returns None: what is in the file may be more than memory holds.
        """
        if not frame and results is None:
            raise ValueError("frame=False leaves the rows in the file that results= names")
        if frame:
            require_pandas()
        job = self._along(axes)
        if results is None:
            rows, names = study.rows(job, executor, progress)
            return frame_of(map(json.loads, rows), names)
        study.keep(job, executor, progress, os.fspath(results), resume, all_columns)
        return read_results(results) if frame else None

    def study(self, axes: Mapping[str, Any] | None = None) -> Study:
        """Simulates the same points, all of them here, and holds them against one another: which is best, and how sure that is. Up to 100,000
        points. Points that the machine did not let end are left out, with a RuntimeWarning."""
        compared = self._along(axes)._core.compare()
        if lost := compared.lost():
            warnings.warn(lost, RuntimeWarning, stacklevel=2)
        return Study(compared)

    def condition(self, step: float, out: str | os.PathLike[str], accept: bool = False) -> Job:
        """This job, knowing that one step of it took so many seconds, as measured. Writes the software that it calibrates to `out`, as
        `ddpsim calibrate --step` does, and names it: other jobs take it as workload.framework. InputError where nothing of what is known of the job
        gives such a step (accept takes it all the same), or no software times it (it has a recorded trace)."""
        path = os.path.abspath(os.fspath(out))
        self._core.calibrate(step, path, accept)
        return self.set({self._core.software_key(): path})

    def value_of(self) -> list[Measurement]:
        """What to measure next, that which narrows the interval of this job most first; empty where nothing would."""
        return [Measurement(one.measure, one.command, one.width) for one in self._core.narrowing()]

    def _along(self, axes: Mapping[str, Any] | None) -> Job:
        if axes is None:
            return self
        return self.set({"sweep": {}, **{f"sweep.{key}": _axis(values) for key, values in axes.items()}})

    @property
    def key(self) -> str:
        """The same for the same job in other words, wherever and whenever: the key of a study's rows."""
        return self._core.key()

    def parts(self) -> tuple[Any, ...]:
        """What the job is made of, for another process; a worker on another machine has another current folder."""
        text, name, file, overrides = self._parts
        return (text, name, os.path.abspath(file), overrides)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.parts()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._make(*state)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        _, name, _, overrides = self._parts
        return f"<ddpsim.Job: {name}{''.join(' ' + one for one in overrides)}>"


def report(job: Job, path: str | os.PathLike[str], axes: Mapping[str, Any] | None = None) -> None:
    """Sweeps a job along axes, as Job.sweep takes them, and writes what `ddpsim sweep --html` writes: one page with pictures, all points, what bounds
    the best one, notes and the hashes of the files that were read. Up to 100,000 points."""
    job._along(axes)._core.write_report(os.fspath(path))
