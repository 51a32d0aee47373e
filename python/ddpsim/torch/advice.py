"""What to take to a cluster: a bucket cap, a list of them, or FSDP units."""
from __future__ import annotations

import os
from typing import Any, Dict, Mapping

from ddpsim.job import BestCap, Job
from ddpsim.torch.comparison import ddp_section
from ddpsim.torch.files import TraceFacts, facts_of
from ddpsim.torch.recorder import Recording

_SHARDED = ("fsdp", "fsdp1", "hsdp", "hsdp1")
_AS_GOOD = 0.005    # as BestCap.plateau


class Advice(Dict[str, Any]):
    """Keys: `iteration_s`, `default_costs_s`, `keep_default` (whether the default is within 0.5 % of the best, or nearer to it than recorded
    steps are to one another: their standard deviation, `noise_s`), `why`, `notes`, and

    of `ddp`: `bucket_cap_mb`, `plateau_mb` (caps within 0.5 %; the second is infinite where any larger one is), `default_cap_mb`,
    `current_cap_mb` and `current_costs_s` (of a recorded DistributedDataParallel with another cap); with lists=True `bucket_cap_mb_list` and
    `list_saves_s`, against the single cap;
    of sharded strategies: `unit_layers` (how many blocks a unit holds; the default is one), `unit_bytes` (the largest) and `tried_s`, the iteration of each.
    str() is two or three sentences."""

    #: What was simulated, without a cap or unit; for questions of one's own.
    job: Job

    def __str__(self) -> str:
        iteration = self["iteration_s"]
        chosen = f"bucket_cap_mb={self['bucket_cap_mb']}" if "bucket_cap_mb" in self else f"fsdp.unit={{layers: {self['unit_layers']}}}"
        if self["keep_default"]:
            chosen = "keep the default"
            iteration += self["default_costs_s"]
        return "\n".join([f"{chosen}: {1e3 * iteration:.6g} ms an iteration", self["why"], *(f"note: {note}" for note in self["notes"])])


def _exposed(result: Mapping[str, Any], kind: str) -> str:
    number = result["n_buckets"]
    return f"{number} {kind}{'s' if number != 1 else ''}, {1e3 * result['exposed_communication_s']:.4g} ms of communication exposed"


def _keeps(gain: float, iteration: float, facts: TraceFacts) -> str | None:
    """Why what is left out saves too little; None where it is worth it."""
    if gain <= _AS_GOOD * iteration:
        return "within 0.5 % of the best"
    if gain <= facts.noise_s:
        return f"less from the best than recorded steps differ from one another ({1e3 * facts.noise_s:.4g} ms)"
    return None


def _why_cap(best: BestCap, chosen: Mapping[str, Any], default: Mapping[str, Any], current: Mapping[str, Any], keeps: str | None,
             as_said: float) -> str:
    """as_said: what an iteration takes with the default's number as bucket_cap_mb."""
    least, most = best.plateau
    span = f"{least:.4g} MiB and more" if most == float("inf") else f"{least:.4g} to {most:.4g} MiB"
    sentences = [f"With bucket_cap_mb={best.bucket_cap_mb:g}: {_exposed(chosen, 'bucket')}.",
                 f"With PyTorch's default of {best.default_cap_mb:g} MiB: {_exposed(default, 'bucket')}, {1e3 * best.default_costs_s:.4g} ms an iteration more"
                 f"{', ' + keeps if keeps else ''}."]
    if current:
        sentences.append(f"With the recorded {current['current_cap_mb']:g} MiB: {1e3 * current['current_costs_s']:.4g} ms more.")
    sentences.append(f"Within 0.5 % of the best: {span}.")
    if (least <= best.default_cap_mb <= most) != (best.default_costs_s <= _AS_GOOD * best.iteration_s):
        sentences.append("The default is as good, and caps in between are not." if as_said == default["iteration_s"] else
                         f"The default is not bucket_cap_mb={best.default_cap_mb:g}: its first bucket is smaller.")
    return " ".join(sentences)


def _of_caps(job: Job, current: str | None, exact: bool, lists: bool, facts: TraceFacts) -> Advice:
    best = job.best_cap(exact)

    def of_cap(cap_mb: float) -> Mapping[str, Any]:
        return job.set({"ddp.bucket_cap": f"{int(cap_mb * (1 << 20))}B"}).simulate().to_dict()

    chosen = of_cap(best.bucket_cap_mb)
    default = job.simulate().to_dict()
    now: dict[str, Any] = {}
    if current:
        costs = job.set({"ddp.bucket_cap": current}).simulate().iteration_s - best.iteration_s
        now = {"current_cap_mb": int(current[:-1]) / (1 << 20), "current_costs_s": costs}
    keeps = _keeps(best.default_costs_s, best.iteration_s, facts)
    advice = Advice(bucket_cap_mb=best.bucket_cap_mb, iteration_s=best.iteration_s, plateau_mb=best.plateau, default_cap_mb=best.default_cap_mb,
                    default_costs_s=best.default_costs_s, keep_default=keeps is not None, noise_s=facts.noise_s, **now,
                    why=_why_cap(best, chosen, default, now, keeps, of_cap(best.default_cap_mb)["iteration_s"]), notes=chosen["notes"])
    if lists:
        listed = job.best_caps()
        saves = best.iteration_s - listed.iteration_s
        advice.update(bucket_cap_mb_list=listed.bucket_cap_mb_list, list_saves_s=saves)
        advice["why"] += (f" A list of {len(listed.bucket_cap_mb_list)} caps saves {1e3 * saves:.4g} ms (PyTorch 2.11 or newer)." if saves > 0
                          else " No list of caps is better.")
    return advice


def _of_units(job: Job, facts: TraceFacts) -> Advice:
    """Of 1, 2, 4 ... blocks a unit, until one holds them all. The smallest of those as good as the best: larger ones hold more memory."""
    tried: dict[int, Mapping[str, Any]] = {}
    layers = 1
    while len(tried) < 2 or tried[layers // 2]["n_buckets"] < tried[max(layers // 4, 1)]["n_buckets"]:
        tried[layers] = job.set({"fsdp.unit": {"layers": layers}}).simulate().to_dict()
        layers *= 2
    tried.popitem()    # the same units as before
    shortest = min(one["iteration_s"] for one in tried.values())
    keeps = _keeps(tried[1]["iteration_s"] - shortest, shortest, facts)
    chosen = 1 if keeps else min(number for number, one in tried.items() if one["iteration_s"] <= (1 + _AS_GOOD) * shortest)
    unit = max(bucket["bytes"] for bucket in tried[chosen]["buckets"])
    costs = tried[1]["iteration_s"] - tried[chosen]["iteration_s"]
    why = f"With it: {_exposed(tried[chosen], 'unit')}; the largest holds {unit / 1e6:.4g} MB."
    why += f" That is the default, {keeps}." if chosen == 1 else f" With the default, each block a unit: {_exposed(tried[1], 'unit')}, {1e3 * costs:.4g} ms an iteration more."
    as_good = [str(number) for number, one in tried.items() if one["iteration_s"] <= (1 + _AS_GOOD) * shortest]
    return Advice(unit_layers=chosen, unit_bytes=unit, iteration_s=tried[chosen]["iteration_s"], default_costs_s=costs,
                  keep_default=chosen == 1, noise_s=facts.noise_s, tried_s={number: one["iteration_s"] for number, one in tried.items()},
                  why=f"{why} Within 0.5 % of the best: {', '.join(as_good)} blocks.", notes=tried[chosen]["notes"])


def _check_free(sections: Mapping[str, Any], sharded: bool) -> None:
    for section, keys in (("ddp", ("bucket_cap", "bucket_caps", "first_bucket_cap")), ("fsdp", ("unit", "units") if sharded else ())):
        for key in keys:
            if key in sections.get(section, {}):
                raise ValueError(f"advise() looks for the {'unit' if sharded else 'cap'} itself; leave {key} out of {section}")


def _notes_of(advice: Advice, facts: TraceFacts, sections: Mapping[str, Any]) -> list[str]:
    if not facts.on_cpu or "rescale" in sections.get("workload", {}):
        return [note["text"] for note in advice["notes"]]
    # It says more than that the device is not the cluster's.
    cpu = "compute times are those of a CPU; record on the GPU that trains, or give workload={'rescale': ...}"
    return [cpu, *(note["text"] for note in advice["notes"] if note["code"] != "other-gpu")]


def advise(recording: Recording | str | os.PathLike[str], cluster: Mapping[str, Any], *, exact: bool = True, lists: bool = False,
           **sections: Any) -> Advice:
    """The best bucket_cap_mb for the recorded model on a cluster: {"topology": "superpod-h100", "world_size": 1024}.

    Takes a recording, on rank 0, or the path of a trace. strategy="fsdp" (or fsdp1, hsdp, hsdp1): how many blocks a unit should hold instead.
    Other sections of a scenario may be given by name: ddp={"accumulation_steps": 4}. The recorded DistributedDataParallel's options hold unless
    `ddp` says otherwise. exact as in Job.best_cap; lists: also the best list of caps.
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
    sharded = sections.get("strategy") in _SHARDED
    _check_free(sections, sharded)
    if sharded and lists:
        raise ValueError("lists=True is for buckets of DistributedDataParallel, and the strategy shards")
    if sharded:    # its only key there
        ddp = {key: value for key, value in ddp.items() if key == "accumulation_steps"}
    ddp |= sections.get("ddp", {})
    job = Job({"strategy": "ddp", **sections, "workload": {"trace": trace, **sections.get("workload", {})}, "cluster": dict(cluster),
               **({"ddp": ddp} if ddp else {})})
    facts = facts_of(trace)
    advice = _of_units(job, facts) if sharded else _of_caps(job, current, exact, lists, facts)
    advice["notes"] = _notes_of(advice, facts, sections)
    if isinstance(recording, Recording) and recording.ddp and sections.get("physics") == "none":
        advice["notes"].append("recorded beside all-reduces, so interference is in the times already (physics: none); record the plain model to have it modelled")
    advice.job = job
    return advice
