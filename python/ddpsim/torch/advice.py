"""Which bucket cap to take to a cluster."""
from __future__ import annotations

import os
from typing import Any, Dict, Mapping

from ddpsim.job import BestCap, Job
from ddpsim.torch.comparison import ddp_section
from ddpsim.torch.recorder import Recording


class Advice(Dict[str, Any]):
    """Keys: `bucket_cap_mb`, `iteration_s`, `plateau_mb` (caps within 0.5 %; the second is infinite where any larger one is),
    `default_cap_mb`, `default_costs_s`, `current_cap_mb` and `current_costs_s` (of a recorded DistributedDataParallel with another cap),
    `why`, `notes`. str() is two or three sentences."""

    #: What was simulated, without a cap; for questions of one's own.
    job: Job

    def __str__(self) -> str:
        return "\n".join([f"bucket_cap_mb={self['bucket_cap_mb']}: {1e3 * self['iteration_s']:.6g} ms an iteration", self["why"],
                          *(f"note: {note}" for note in self["notes"])])


def _buckets(result: Mapping[str, Any]) -> str:
    number = result["n_buckets"]
    return f"{number} bucket{'s' if number != 1 else ''}, {1e3 * result['exposed_communication_s']:.4g} ms of communication exposed"


def _why(best: BestCap, chosen: Mapping[str, Any], default: Mapping[str, Any], current: Mapping[str, Any]) -> str:
    least, most = best.plateau
    span = f"{least:.4g} MiB and more" if most == float("inf") else f"{least:.4g} to {most:.4g} MiB"
    sentences = [f"With it: {_buckets(chosen)}.",
                 f"With PyTorch's default of {best.default_cap_mb:g} MiB: {_buckets(default)}, {1e3 * best.default_costs_s:.4g} ms an iteration more.",
                 f"Within 0.5 % of the best: {span}."]
    if best.default_costs_s <= 0.005 * best.iteration_s:
        sentences.append("The default is one of them.")
    if current:
        sentences.insert(2, f"With the recorded {current['current_cap_mb']:g} MiB: {1e3 * current['current_costs_s']:.4g} ms more.")
    return " ".join(sentences)


def advise(recording: Recording | str | os.PathLike[str], cluster: Mapping[str, Any], *, exact: bool = True, **sections: Any) -> Advice:
    """The best bucket_cap_mb for the recorded model on a cluster: {"topology": "superpod-h100", "world_size": 1024}.

    Takes a recording, on rank 0, or the path of a trace. Other sections of a scenario may be given by name: ddp={"accumulation_steps": 4}.
    The recorded DistributedDataParallel's options hold unless `ddp` says otherwise. exact as in Job.best_cap.
    """
    ddp: dict[str, Any] = {}
    current = None
    if isinstance(recording, Recording):
        if recording.trace is None:
            raise ValueError("there is no trace: advise() is for after the with block, on rank 0")
        trace = str(recording.trace)
        ddp = ddp_section(recording)
        current = ddp.pop("bucket_cap", None)
        ddp.pop("bucket_caps", None)
        if recording.ddp:    # what was recorded beside all-reduces has been slowed down by them already
            sections = {"physics": "none", **sections}
    else:
        trace = os.path.abspath(recording)
    for key in ("bucket_cap", "bucket_caps", "first_bucket_cap"):
        if key in sections.get("ddp", {}):
            raise ValueError(f"advise() looks for the cap itself; leave {key} out of ddp")
    job = Job({"strategy": "ddp", **sections, "workload": {"trace": trace, **sections.get("workload", {})}, "cluster": dict(cluster),
               "ddp": {**ddp, **sections.get("ddp", {})}})
    best = job.best_cap(exact)
    chosen = job.set({"ddp.bucket_cap": f"{int(best.bucket_cap_mb * (1 << 20))}B"}).simulate().to_dict()
    default = job.simulate().to_dict()
    now: dict[str, Any] = {}
    if current:
        costs = job.set({"ddp.bucket_cap": current}).simulate().iteration_s - best.iteration_s
        now = {"current_cap_mb": int(current[:-1]) / (1 << 20), "current_costs_s": costs}
    notes = [note["text"] for note in chosen["notes"]]
    if isinstance(recording, Recording) and recording.ddp and sections.get("physics") == "none":
        notes.append("recorded beside all-reduces, so interference is in the times already (physics: none); record the plain model to have it modelled")
    advice = Advice(bucket_cap_mb=best.bucket_cap_mb, iteration_s=best.iteration_s, plateau_mb=best.plateau, default_cap_mb=best.default_cap_mb,
                    default_costs_s=best.default_costs_s, **now, why=_why(best, chosen, default, now), notes=notes)
    advice.job = job
    return advice
