"""What DistributedDataParallel really did, beside what ddpsim makes of the trace."""
from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import Any, Dict, Mapping

from ddpsim.job import Job
from ddpsim.torch.files import all_reduces, write_table
from ddpsim.torch.recorder import Recording

_CAP_BY_DEFAULT = 25 << 20    # bucket_cap_mb
# In nanoseconds, averages over the iterations that are logged (c10/util/Logging.h: DDPLoggingData).
_LOGGED_TIMES = {"backward_s": "avg_backward_compute_time", "communication_s": "avg_backward_comm_time",
                 "overlap_s": "avg_backward_compute_comm_overlap_time"}


def ddp_section(recording: Recording) -> dict[str, Any]:
    """The options of the recorded DistributedDataParallel, as a scenario's section `ddp`."""
    import torch
    major, minor = torch.__version__.split(".")[:2]
    section: dict[str, Any] = {"torch": f"{major}.{minor}"}
    ddp = recording.ddp
    if ddp is None:
        return section
    caps = getattr(ddp, "bucket_bytes_cap_list", None)
    if caps:
        section["bucket_caps"] = [f"{cap}B" for cap in caps]
    elif not getattr(ddp, "bucket_bytes_cap_default", ddp.bucket_bytes_cap == _CAP_BY_DEFAULT):
        section["bucket_cap"] = f"{ddp.bucket_bytes_cap}B"
    for key in ("find_unused_parameters", "static_graph", "gradient_as_bucket_view"):
        if getattr(ddp, key, False):
            section[key] = True
    if not ddp.broadcast_buffers:
        section["broadcast_buffers"] = False
    return section


def _numbers(logged: Mapping[str, Any], key: str) -> list[int] | None:
    return [int(number) for number in logged[key].split(",")] if logged.get(key) else None


class Comparison(Dict[str, Any]):
    """Keys: `equal`; `buckets`, of which `bytes` and `gradients` were recorded, and `predicted_...`; `order_equal`; `all_reduces`, with
    recorded and simulated times; `logged`, DistributedDataParallel's own times (communication is from the first launch to the last
    end); `missing`, what this PyTorch does not log. str() is a table."""

    def __str__(self) -> str:
        lines = [f"buckets as DistributedDataParallel's: {'yes' if self['equal'] else 'no'} ({len(self['buckets'])})",
                 "bucket   recorded bytes  predicted bytes  gradients  predicted"]
        blank = {"bytes": "-", "gradients": "-", "predicted_bytes": "-", "predicted_gradients": "-"}
        for index, bucket in enumerate(self["buckets"]):
            row = {**blank, **{key: value for key, value in bucket.items() if value is not None}}
            lines.append(f"{index:6} {row['bytes']:>16} {row['predicted_bytes']:>16} {row['gradients']:>10} {row['predicted_gradients']:>10}")
        if self["order_equal"] is not None:
            lines.append(f"gradients arrived in the order of DistributedDataParallel's log: {'yes' if self['order_equal'] else 'no'}")
        if self["all_reduces"]:
            lines.append(f"all-reduces, ms from the start of the backward pass ({self['all_reduce_times']})")
            lines.append("bucket      ready        end  simulated ready        end")
            lines += [f"{index:6} {1e3 * row['ready_s']:10.3f} {1e3 * row['end_s']:10.3f} {1e3 * row['simulated_ready_s']:16.3f} "
                      f"{1e3 * row['simulated_end_s']:10.3f}" for index, row in enumerate(self["all_reduces"])]
        if len(self["logged"]) == len(_LOGGED_TIMES):
            times = {key: f"{1e3 * value:.3f}" for key, value in self["logged"].items()}
            lines.append(f"DistributedDataParallel's log, ms: backward {times['backward_s']}, communication {times['communication_s']}, "
                         f"of it under the backward pass {times['overlap_s']}")
        if self["missing"]:
            lines.append(f"this PyTorch does not log {', '.join(self['missing'])}")
        return "\n".join(lines)


def _recorded_buckets(logged: Mapping[str, Any], missing: list[str]) -> tuple[list[int], list[int] | None]:
    """Sizes in bytes and numbers of gradients, of buckets as they are once rebuilt, where they are."""
    sizes = _numbers(logged, "rebuilt_bucket_sizes")
    if not sizes:
        sizes = _numbers(logged, "bucket_sizes")
        if sizes is None:
            raise RuntimeError("this PyTorch logs neither rebuilt_bucket_sizes nor bucket_sizes: there is nothing to compare with")
        return sizes, None
    key = "rebuilt_per_bucket_param_indices"
    if not logged.get(key):
        missing.append(key)
        return sizes, None
    return sizes, [len(indices.split()) for indices in logged[key].split(",")]


def _simulated(recording: Recording, trace: Path, cluster: Mapping[str, Any] | None, sections: Mapping[str, Any],
               reduced: list[dict[str, Any]]) -> dict[str, Any]:
    scenario: dict[str, Any] = {"physics": "none", **sections, "workload": {"trace": str(trace), **sections.get("workload", {})},
                                "ddp": {**ddp_section(recording), **sections.get("ddp", {})},
                                "cluster": {"world_size": recording.world_size, **(cluster or {"topology": "ring-100gbps"})}}
    if cluster is not None or not reduced:
        return Job(scenario).simulate().to_dict()
    with tempfile.TemporaryDirectory() as folder:    # the recorded times themselves
        table = Path(folder, "allreduce.csv")
        write_table(table, reduced, recording.world_size, recording.backend, source="ddpsim.torch.record", pooling="none")
        scenario["cluster"] = {"world_size": recording.world_size}
        scenario["collective"] = {"algorithm": "measured", "measured": str(table), "backend": recording.backend, **sections.get("collective", {})}
        return Job(scenario).simulate().to_dict()


def _at(items: list[Any], index: int, otherwise: Any = None) -> Any:
    return items[index] if index < len(items) else otherwise


def _required(recording: Recording) -> tuple[dict[str, Any], Path]:
    """What DistributedDataParallel logged, and the trace."""
    if recording.ddp is None:
        raise ValueError("check() compares with DistributedDataParallel, and a plain model was recorded")
    if recording.world_size < 2:
        raise ValueError("check() needs two ranks or more: one has nobody to reduce with")
    if recording.trace is None:
        raise ValueError("there is no trace: check() is for after the with block, on rank 0")
    return recording.ddp._get_ddp_logging_data(), recording.trace


def _arrival(trace: Path) -> list[int]:
    with open(trace, encoding="utf-8") as file:
        return [int(row["parameter"]) for row in csv.DictReader(line for line in file if not line.startswith("#"))]


def _times(reduced: list[dict[str, Any]], predicted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if [row["bytes"] for row in reduced] != [bucket["bytes"] for bucket in predicted]:
        return []
    return [{**row, "simulated_ready_s": bucket["ready_s"], "simulated_start_s": bucket["start_s"], "simulated_end_s": bucket["end_s"]}
            for row, bucket in zip(reduced, predicted)]


def check(recording: Recording, cluster: Mapping[str, Any] | None = None, **sections: Any) -> Comparison:
    """Holds the buckets that DistributedDataParallel logs against those that ddpsim predicts for the trace, on rank 0.

    All-reduces that were recorded (record(..., all_reduces=True)) are held against simulated ones: on `cluster`, a scenario's section,
    or with the times that they took, which tests when they start. Other sections of a scenario may be given by name.
    """
    logged, trace = _required(recording)
    missing: list[str] = []
    sizes, counts = _recorded_buckets(logged, missing)
    reduced = all_reduces(recording.steps, recording.workers)
    simulated = _simulated(recording, trace, cluster, sections, reduced)
    predicted = simulated["buckets"]
    buckets = [{"bytes": _at(sizes, index), "predicted_bytes": _at(predicted, index, {}).get("bytes"), "gradients": _at(counts or [], index),
                "predicted_gradients": _at(predicted, index, {}).get("n_gradients")} for index in range(max(len(sizes), len(predicted)))]
    equal = sizes == [bucket["bytes"] for bucket in predicted] and counts in (None, [bucket["n_gradients"] for bucket in predicted])
    order = _numbers(logged, "prev_iteration_grad_ready_order_indices")
    if order is None:
        missing.append("prev_iteration_grad_ready_order_indices")
    missing += [key for key in _LOGGED_TIMES.values() if not logged.get(key)]
    own = {key: logged[name] / 1e9 for key, name in _LOGGED_TIMES.items() if logged.get(name)}
    return Comparison(equal=equal, buckets=buckets, order_equal=None if order is None else order == _arrival(trace), all_reduces=_times(reduced, predicted),
                      all_reduce_times="simulated on the cluster" if cluster else "simulated with the times that they took alone", logged=own, missing=missing)
