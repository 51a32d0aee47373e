#!/usr/bin/env python3
"""How far predicted peaks of memory are from measured ones (memory/megatron.csv, h100's and h200's steps.csv and sharded.csv), as the Markdown of RESULTS.md.

Usage: judge_memory.py DDPSIM [--worst N | --recipes]

Errors are predicted / measured - 1 in %, of what PyTorch's allocator handed out at the peak. The protocol is memory/SOURCE.md.
"""
import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from judge_gpu import LLAMA, config_of

ROOT = Path(__file__).resolve().parent
MACHINES = {"a100": ("dgx-a100", "a100-sxm4-80gb"), "h100": ("dgx-h100", "h100-sxm"), "gb200": ("gb200-nvl72", "gb200"), "h200": ("dgx-h100", "h200-sxm")}

# A deterministic run sets CUBLAS_WORKSPACE_CONFIG=:4096:8, which makes both workspaces as large as on Hopper; no key says so.
DETERMINISTIC = 2 * (32 - 8.125) * 2**20


def rows_of(path):
    with open(ROOT / path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


class Megatron:
    """A functional test: sizes and degrees by name, the peak of its last rank."""

    def __init__(self, cells):
        self.cells = cells
        self.measured = int(cells["peak_bytes"])
        self.name = f"{cells['case']} ({cells['environment']}, {cells['platform']})"

    def number(self, key):
        return int(self.cells[key] or 1)

    def says(self, key):
        return self.cells[key] == "true"

    @property
    def group(self):
        for key, name in (("experts", "experts"), ("unfused", "unfused attention"), ("context", "context")):
            if self.cells[key] not in ("", "1", "false"):
                return name
        return "pipeline" if self.number("pipeline") > 1 else "tensor or data"

    def model(self):
        sizes = {key: int(self.cells[key]) for key in ("hidden", "layers", "heads", "kv_heads", "ffn", "vocab", "positions")}
        flags = {key: self.says(key) for key in ("gated", "bias", "tied", "head_norms")}
        experts = {key: int(self.cells[key]) for key in ("experts", "top_k", "expert_ffn", "shared_experts") if self.cells[key]}
        return {"kind": "transformer", **sizes, **flags, **experts}

    def scenario(self):
        degrees = {axis: self.number(axis) for axis in ("tensor", "pipeline", "context")}
        shares = degrees["tensor"] * degrees["pipeline"] * degrees["context"]
        gpus = self.number("gpus") // self.number("instances")
        copies = self.number("gpus") // shares
        topology, gpu = MACHINES[self.cells["platform"].removesuffix("_2nd").removeprefix("dgx_")]
        pipeline = {"virtual": self.number("virtual")} if self.number("virtual") > 1 else {}
        if self.cells["group"]:
            pipeline["group"] = int(self.cells["group"])
        if self.cells["stage_layers"]:
            pipeline["layers"] = [int(layers) for layers in self.cells["stage_layers"].split()]
        expert = {"expert": {"tensor": self.number("expert_tensor")}} if self.number("expert_tensor") > 1 and self.number("expert") > 1 else {}
        scenario = {
            "workload": {"model": self.model(), "micro_batch": self.number("micro_batch"), "sequence": self.number("sequence"), "framework": "te-2025", "dtype": self.cells["dtype"] if self.cells["platform"] != "dgx_a100" else "bf16",
                         "dropout": self.says("dropout"), **({"attention": {"kernel": "unfused"}} if self.says("unfused") else {})},
            "cluster": {"topology": topology, "gpu": gpu, "world_size": gpus},
            "strategy": "megatron", "megatron": {"distributed_optimizer": self.says("sharded")},
            "parallelism": {**degrees, "sequence": self.says("sequence_parallel") and degrees["tensor"] > 1, "expert": self.number("expert")},
            "batch": {"global": self.number("global_batch") // self.number("instances") if self.cells["global_batch"] else copies * self.number("micro_batch")},
            **expert, **({"pipeline": pipeline} if pipeline else {})}
        return scenario

    def of(self, step):
        stages = step["parallelism"].get("stages")
        more = DETERMINISTIC if self.says("deterministic") and "a100" in self.cells["platform"] else 0
        return more + (stages[-1] if stages else step["memory"])["allocated_bytes"]


class Own:
    """A step of this project's own GPUs, plain or beside ranks whose collectives did nothing."""
    def __init__(self, gpu, cells):
        self.gpu, self.cells = gpu, cells
        self.measured = int(cells["peak_allocated_bytes"])
        self.kind = cells.get("kind") or "plain"
        self.precision = cells.get("precision") or ("autocast" if "autocast" in self.kind else "bf16")
        self.world = int(cells.get("world") or 1)
        self.name = f"{cells['model']}, {gpu}, {self.kind}, {self.precision}, {cells['batch']} x {cells['sequence']}, {self.world} ranks, recompute {cells['checkpoint']}"

    @property
    def group(self):
        return {"plain": "one GPU", "ddp": "DDP", "fsdp1": "FSDP1", "fsdp2": "FSDP2"}[self.kind.split("-")[0]]

    def scenario(self):
        is_sharded = self.kind.startswith("fsdp")
        casts = self.cells["model"] in LLAMA or self.precision != "bf16"    # logits to float32
        framework = "./uncast.yaml" if not casts else "pytorch-compile-2026" if self.cells.get("compiled") == "1" else "pytorch-autocast-2026" if self.precision == "autocast" else "pytorch-2026"
        dtype = {"float32": "fp32", "tf32": "tf32"}.get(self.precision, "bf16")
        is_pure = self.precision == "bf16" and "mixed" not in self.kind
        workload = {"model": config_of(self.cells["model"]), "micro_batch": int(self.cells["batch"]), "sequence": int(self.cells["sequence"]), "framework": framework,
                    "dtype": dtype, "recompute": "full" if self.cells["checkpoint"] == "1" else "none", "gradients": "bf16" if is_pure else "fp32"}
        scenario = {"workload": workload, "cluster": {"topology": "superpod-h100", "gpu": MACHINES[self.gpu][1], "world_size": self.world if self.kind != "plain" else 1}, "strategy": "naive"}
        if self.cells["optimizer"] == "none":
            scenario["optimizer"] = {"kind": "sgd", "master": "none"}
        elif is_pure:
            scenario["optimizer"] = {"moments": "bf16", "master": "none"}
        if self.kind.startswith("ddp"):
            scenario |= {"strategy": "ddp", "ddp": {"gradient_as_bucket_view": "view" in self.kind}}
        if is_sharded:
            of_pytorch = {"reshard_after_forward": False} if "keep" in self.kind else {}
            scenario |= {"strategy": {"fsdp1": "fsdp1", "fsdp2": "fsdp"}[self.kind.split("-")[0]], "fsdp": of_pytorch}
        return scenario

    def of(self, step):
        return step["memory"]["allocated_bytes"]


class Recipe:
    """A run that is known to have fitted: how much of the GPU it is said to hold."""

    def __init__(self, cells):
        self.cells = cells
        degrees = ", ".join(f"{axis} {cells[axis]}" for axis in ("tensor", "pipeline", "virtual", "expert") if cells[axis] != "1")
        self.name = f"{cells['model']}, {cells['gpus']} of {cells['topology']}, {degrees}, micro-batch {cells['micro_batch']}, again: {cells['modules'].replace(' ', ', ') or 'nothing'}"

    def scenario(self):
        cells, number = self.cells, {key: int(self.cells[key]) for key in ("gpus", "tensor", "pipeline", "virtual", "expert", "micro_batch", "global_batch")}
        pipeline = {"virtual": number["virtual"]} if number["virtual"] > 1 else {}
        stages, blocks = number["pipeline"] * number["virtual"], {"deepseek-v3": 61, "kimi-k2": 61}.get(cells["model"], 0)
        if blocks % stages:
            layers = [(blocks + 2) // stages + (stage < (blocks + 2) % stages) for stage in range(stages)]
            pipeline["layers"] = [layers[0] - 1, *layers[1:-1], layers[-1] - 1]
        lean = {"optimizer": {"moments": "bf16"}, "megatron": {"grad_reduce_in_fp32": False}} if cells["lean"] == "true" else {}
        return {"workload": {"model": cells["model"], "micro_batch": number["micro_batch"], "sequence": 4096, "dtype": "fp8", "framework": "te-2025",
                             "recompute": {"modules": cells["modules"].split()} if cells["modules"] else "none"},
                "cluster": {"topology": cells["topology"], "world_size": number["gpus"]}, "strategy": "megatron",
                "parallelism": {"tensor": number["tensor"], "pipeline": number["pipeline"], "expert": number["expert"], "sequence": number["tensor"] > 1},
                "batch": {"global": number["global_batch"]}, **lean, **({"pipeline": pipeline} if pipeline else {})}

    def of(self, step):
        return step["memory"]["peak_bytes"] / step["memory"]["capacity_bytes"]


def predicted(ddpsim, row, folder):
    job = Path(folder) / "job.yaml"
    (Path(folder) / "uncast.yaml").write_text((ROOT.parent / "software/pytorch-2026.yaml").read_text().replace("logit_bytes: 12", "logit_bytes: 6"))
    job.write_text(json.dumps({**row.scenario(), "evidence": "none", "spread": "none"}))
    done = subprocess.run([ddpsim, "simulate", job, "--quiet", "--json", "-"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{row.name}: {done.stderr}")
    return row.of(json.loads(done.stdout))


def own_rows():
    for gpu in ("h200", "h100"):
        for table in ("steps", "sharded"):
            path = f"{gpu}/{table}.csv"
            if (ROOT / path).exists():
                yield from (Own(gpu, cells) for cells in rows_of(path) if cells["peak_allocated_bytes"])


def line(name, errors):
    return (f"| {name} | {len(errors)} | {100 * statistics.mean(errors):+.1f} | {100 * statistics.mean(map(abs, errors)):.1f} | "
            f"{100 * statistics.median(map(abs, errors)):.1f} | {100 * max(errors, key=abs):+.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ddpsim")
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--recipes", action="store_true", help="runs that fitted, instead: memory/recipes.csv")
    options = parser.parse_args()
    ddpsim = Path(options.ddpsim).resolve()
    if options.recipes:
        print("| run | predicted share of the GPU |\n|---|---|")
        with tempfile.TemporaryDirectory() as folder:
            for row in map(Recipe, rows_of("memory/recipes.csv")):
                print(f"| {row.name} | {predicted(ddpsim, row, folder):.2f} |")
        return
    sets = {"Megatron-LM's tests": [Megatron(cells) for cells in rows_of("memory/megatron.csv")], "PyTorch, H100 and H200": list(own_rows())}
    print("| rows | number | bias | mean error | median | worst |\n|" + "---|" * 6)
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in sets.items():
            errors = [(predicted(ddpsim, row, folder) / row.measured - 1, row) for row in rows]
            groups = defaultdict(list)
            for error, row in errors:
                groups[row.group].append(error)
            print(line(f"**{name}**", [error for error, _ in errors]))
            for group in sorted(groups):
                print(line(group, groups[group]))
            for error, row in sorted(errors, key=lambda one: -abs(one[0]))[:options.worst]:
                print(f"{100 * error:+7.1f}  {row.measured / 1e9:.2f} GB  {row.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
