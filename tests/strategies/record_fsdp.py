#!/usr/bin/env python3
"""Records which collectives PyTorch's FSDP launches, when, and what waits for them, as JSON, for tests of sim/program.

Usage: record_fsdp.py [--venv FOLDER --torch VERSION] [--out FILE|-] [--only REGEX] [--list]
With --venv it makes a virtual environment there, with that PyTorch from PyPI, unless there is one, and records with it.

Two ranks, or four, on this machine's CPUs with Gloo. Each case trains a model of fsdp_model.py under `fully_shard` (FSDP2) or
`FullyShardedDataParallel` (FSDP1) for three iterations and keeps the last. All ranks must issue the same; otherwise the program
fails. FSDP decides what waits for what by streams and events; those of CPUs do nothing, and stream_graph.py puts some in
their place that write it down. Collectives are real; they are noted where FSDP calls torch.distributed. No time is measured.

{
  "recorded": {"torch", "python", "backend", "date", "how"},
  "models": {name: {"layers", "width", "tied", "parameters": [[name, shape, part], ...], "arrivals": [parameter, ...]}},
                                           registration order; parts run forward in order: embeddings 0, layers, norm and head;
                                           arrivals: places in that list, as gradients arrive in the model by itself
  "cases": [{
    "name", "model", "strategy": "fsdp" or "fsdp1", "ranks", "shard": ranks of a shard group (fewer than ranks: HSDP),
    "reshard_after_forward": true, false or "not_last" (fsdp: not that of the last unit),
    "mixed": bool (bfloat16 is gathered, float32 reduced; else float32 both),
    "accumulation_steps", "reduce_every_micro_batch": bool, "all_reduce_every_micro_batch": bool, "layers_a_unit",
    "communicators": 2 where reduce-scatters have one of their own (set_separate_reduce_scatter_group), else 1,
    "ops": one iteration in the order in which the host issues it: [
      ["forward" | "backward" | "copy_out" | "copy_in" | "optimizer", unit, [op, ...]],      on the model's stream; a pass of a
                                                        layer, of what stands before the layers and after them ("root")
      ["all_gather" | "reduce_scatter" | "all_reduce", unit, "shard" | "reduce" | "replicate", elements, dtype, [op, ...]]
    ]                                      last, the ops that it waits for; elements: the whole unit's, of an all_reduce the shard's
  }, ...],
  "skipped": [[case, reason], ...]
}
"""
import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ITERATIONS = 3


def all_cases():
    """(name, options)"""
    base = {"strategy": "fsdp", "ranks": 2, "shard": 2, "reshard_after_forward": True, "mixed": True,
            "accumulation_steps": 1, "reduce_every_micro_batch": True, "all_reduce_every_micro_batch": True, "layers_a_unit": 1,
            "communicators": 1}
    accumulated = {"accumulation_steps": 2}, {"accumulation_steps": 2, "reduce_every_micro_batch": False}
    full = {"mixed": False}
    wide = {"ranks": 4, "shard": 4}
    hybrid = {"ranks": 4, "shard": 2}
    cases = []
    for strategy in ("fsdp", "fsdp1"):
        one = {"strategy": strategy}
        for reshard in (True, "not_last", False) if strategy == "fsdp" else (True, False):
            one["reshard_after_forward"] = reshard
            for model in ("tied_3", "untied_3", "tied_5", "untied_5"):
                cases.append((model, one | {}))
            for more in (full, wide, *accumulated, hybrid, *(hybrid | a for a in accumulated)):
                cases.append(("tied_3", one | more))
            if strategy == "fsdp":
                cases += [("untied_4", one | {"layers_a_unit": 2}), ("tied_5", one | full | {"layers_a_unit": 2}),
                          ("tied_3", one | hybrid | {"accumulation_steps": 2, "all_reduce_every_micro_batch": False}),
                          ("tied_5", one | {"communicators": 2})]
    words = {"strategy": "", "ranks": "ranks ", "shard": "shard ", "reshard_after_forward": "reshard ", "mixed": "mixed ",
             "accumulation_steps": "accumulate ", "reduce_every_micro_batch": "reduce each ",
             "all_reduce_every_micro_batch": "all-reduce each ", "layers_a_unit": "layers ", "communicators": "communicators "}
    result = []
    for model, options in cases:
        said = [f"{words[k]}{v}".lower() for k, v in options.items() if k == "strategy" or v != base[k]]
        result.append((f"{model}: {', '.join(said)}", {"model": model, **base, **options}))
    return result


def record(names):
    import torch

    import fsdp_model
    from fsdp_runs import run_rank

    cases, skipped = [], []
    for ranks in (2, 4):
        chosen = [(name, options) for name, options in all_cases() if name in names and options["ranks"] == ranks]
        if not chosen:
            continue
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(run_rank, (ranks, folder, chosen, ITERATIONS), ranks)
            runs = [json.loads(Path(folder, f"rank-{rank}.json").read_text()) for rank in range(ranks)]
        for (name, options), ops, *others in zip(chosen, *runs):
            assert all(ops == other for other in others), f"{name}: the ranks differ"
            if isinstance(ops, str):
                skipped.append([name, ops])
            else:
                cases.append({"name": name, **options, "ops": ops})
    order = [name for name, _ in all_cases()]
    cases.sort(key=lambda case: order.index(case["name"]))
    models = {name: {**shape, "parameters": fsdp_model.parameters_of(name), "arrivals": fsdp_model.arrivals_of(name)}
              for name, shape in fsdp_model.MODELS.items()}
    header = {"torch": torch.__version__, "python": platform.python_version(), "backend": "gloo",
              "date": datetime.date.today().isoformat(), "how": "python3 tests/strategies/record_fsdp.py, CPUs, one thread a rank"}
    return {"recorded": header, "models": models, "cases": cases, "skipped": skipped}


def text(recording):
    """JSON with a line a case."""
    def line(value):
        return json.dumps(value, separators=(",", ":"))

    cases = ",\n".join(line(case) for case in recording["cases"])
    models = ",\n".join(f"{line(name)}:{line(model)}" for name, model in recording["models"].items())
    return (f'{{"recorded":{line(recording["recorded"])},\n"models":{{\n{models}\n}},\n"cases":[\n{cases}\n],\n'
            f'"skipped":{line(recording["skipped"])}}}\n')


def python_with_torch(folder, version):
    python = Path(folder, "bin", "python")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"torch=={version}", "numpy"], check=True)
    return str(python)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--venv", help="folder of a virtual environment; made where there is none")
    parser.add_argument("--torch", default="2.15.0", help="the PyTorch to install there")
    parser.add_argument("--out", default="-", help="file to write; - for standard output")
    parser.add_argument("--only", default="", help="regular expression that the names of cases have to match")
    parser.add_argument("--list", action="store_true", help="print the names of cases and end")
    arguments = parser.parse_args()
    names = [name for name, _ in all_cases() if re.search(arguments.only, name)]
    if arguments.list:
        print("\n".join(names))
        return
    if arguments.venv:
        python = python_with_torch(arguments.venv, arguments.torch)
        os.execv(python, [python, "-B", __file__, "--out", arguments.out, "--only", arguments.only])
    output = text(record(names))
    if arguments.out == "-":
        sys.stdout.write(output)
    else:
        Path(arguments.out).write_text(output)


if __name__ == "__main__":
    main()
