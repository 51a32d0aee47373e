#!/usr/bin/env python3
"""How far predicted steps with tensor, pipeline, context and expert parallelism are from published ones (training/parallel.csv, torchtitan.csv,
experts.csv), as the Markdown of RESULTS.md.

Usage: judge_parallel.py DDPSIM [--set KEY=VALUE ...] [--only SET ...] [--at-most GPUS] [--without TERM ... | --one-row | --worst N]

vTrain's data-parallel rows (training/steps.csv) count with its others. Errors are predicted / measured - 1 in %. The protocol is training/SOURCE.md.
"""
import argparse
import re
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path

from judge_steps import CARDS, Judge, Row, coverage, figures, mean_error, merged, read_rows, table

ROOT = Path(__file__).resolve().parents[1]
PARALLEL = ROOT / "measurements/training/parallel.csv"
TORCHTITAN = ROOT / "measurements/training/torchtitan.csv"
EXPERTS = ROOT / "measurements/training/experts.csv"
LONG = ROOT / "measurements/training/long.csv"
SETS = {"vtrain": "vTrain, A100", "bigscience": "bigscience, A100", "bigscience-14400": "bigscience, 14400 wide", "korthikanti": "Korthikanti, A100",
        "bridge": "Megatron-Bridge, Llama 3 70B, H100", "mlperf": "MLPerf GPT-3, H100", "titan-2d": "torchtitan, FSDP x tensor, H100",
        "titan-cp": "torchtitan, FSDP and context, H100", "nemo-long": "NeMo, long sequences, H100",
        "bridge-moe": "Megatron-Bridge, Qwen3 and gpt-oss",
        "bridge-latent": "Megatron-Bridge, DeepSeek-V3 and Kimi K2"}
FUSED = ROOT / "software/megatron-fused-2022.yaml"
ONE_ROW = {"korthikanti": FUSED, "bridge": FUSED.parent / "te-2025.yaml"}    # whose software --one-row fits
KINDS = {"data": "data parallel only", "pipeline": "pipeline, tensor 1", "tensor": "tensor, one stage", "both": "tensor and pipeline"}

# What a set's steps ran on and in, beyond the sizes of parallel.csv.
A100S, H100S = {"cluster": {"topology": "superpod-a100"}}, {"cluster": {"topology": "superpod-h100"}}
JEAN_ZAY = {"cluster": {"topology": "jean-zay-a100"}, "strategy": "zero1", "workload": {"framework": "megatron-eager-2022"}}
TITAN = {**H100S, "strategy": "fsdp", "workload": {"framework": "torchtitan-2024-compile"}}
TE = {"strategy": "megatron", "workload": {"framework": "te-2025"}}
IMPLEMENTATIONS = {
    "vtrain": {"strategy": "flat", "workload": {"framework": "megatron-eager-2021", "gradients": "fp16"}},
    "bigscience": JEAN_ZAY, "bigscience-14400": JEAN_ZAY,
    "korthikanti": {**A100S, "strategy": "megatron", "workload": {"framework": FUSED.stem}},
    "bridge": {**H100S, **TE}, "mlperf": {**H100S, **TE},
    "nemo-long": merged({**H100S, **TE}, {"workload": {"attention": {"kernel": "cudnn8"}}}),
    "titan-2d": TITAN, "titan-cp": {**TITAN, "context": {"kind": "all_gather"}},    # PyTorch's default
}

# What a prediction does without, or has instead: what it changes in a scenario, and the sets of which it says something.
NONE_FITTED = ("titan-2d", "titan-cp", "nemo-long")
MIXTURES = ("bridge-moe", "bridge-latent")
ALL = tuple(name for name in SETS if name not in NONE_FITTED + MIXTURES)
INTERLEAVED = ("korthikanti", "bridge", "mlperf")
TERMS = {
    "tensor-communication": ("tensor-parallel communication free", {"tensor": {"overlap": "te", "hidden": 1}}, ALL),
    "hiding": ("tensor-parallel communication all exposed", {"tensor": {"overlap": "none"}}, INTERLEAVED),
    "interleaving": ("one chunk per stage", {"pipeline": {"virtual": 1}}, INTERLEAVED),
    "overlapped-messages": ("messages between stages block", {"pipeline": {"overlap_p2p": "false"}}, INTERLEAVED),
    "recomputation": ("nothing recomputed", {"workload": {"recompute": "none"}}, ("bigscience", "bigscience-14400", "korthikanti")),
    "interference": ("no interference", {"physics": {"interference": 0}}, ("bridge", "mlperf")),
    "spread": ("GPUs equally fast", {"spread": "none"}, ALL),
    "network": ("200 Gb/s per GPU instead of 50", {"cluster": {"topology": "superpod-a100"}}, ("bigscience", "bigscience-14400")),
}


class Step(Row):
    """A published step of a model that GPUs share. cells: what parallel.csv says of it, or steps.csv of a data-parallel one."""

    def degree(self, axis):
        return int(self.cells.get(axis, 1))

    @property
    def data(self):
        return int(self.cells["gpus"]) if "gpus" in self.cells else self.degree("data")

    @property
    def gpus(self):
        return str(self.data * self.degree("tensor") * self.degree("context") * self.degree("pipeline"))

    @property
    def kind(self):
        shared = [axis for axis in ("tensor", "context", "pipeline") if self.degree(axis) > 1]
        return "both" if len(shared) == 2 else shared[0] if shared else "data"

    @property
    def name(self):
        split = " x ".join(f"{axis} {self.degree(axis)}" for axis in ("tensor", "context", "pipeline") if self.degree(axis) > 1)
        more = "" if self.recompute == "none" else f", recompute {self.recompute}"
        if self.set in NONE_FITTED:
            more += f", {self.dtype}" + (", async TP" if self.overlap == "async_tp" else "") + (f", sequence {self.sequence}" if self.degree("context") > 1 else "")
        return f"{self.model} on {self.gpus} {CARDS[self.gpu]}, {split or 'data'}, micro-batches {self.micro_batches} of {self.micro_batch}{more}"

    @property
    def task(self):
        """What a planner would be given: the model, its GPUs and the global batch."""
        sizes = ("set", "hidden", "layers", "heads", "vocab", "sequence", "recompute")
        return (*(self.cells[key] for key in sizes), self.gpus, self.data * int(self.micro_batch) * int(self.micro_batches))

    def implementation(self):
        found = IMPLEMENTATIONS[self.set]
        if self.kind == "data":
            return found
        parallelism = {"tensor": self.degree("tensor"), "pipeline": self.degree("pipeline")}
        if self.degree("context") > 1:
            parallelism["context"] = self.degree("context")
        if self.sequence_parallel == "true":
            parallelism["sequence"] = True
        pipeline = {"virtual": int(self.virtual)} if self.virtual != "1" else {}
        if self.stage_layers:
            pipeline["layers"] = [int(layers) for layers in self.stage_layers.split()]
        overlap = {"tensor": {"overlap": self.cells["overlap"]}} if self.cells.get("overlap") else {}
        return merged(found, {"parallelism": parallelism, **overlap, **({"pipeline": pipeline} if pipeline else {})})


TOPOLOGIES = {"h100-sxm": "superpod-h100", "b200-sxm": "dgx-b200", "b300-sxm": "dgx-b300", "gb200": "gb200-nvl72", "gb300": "gb300-nvl72"}


class Mixture(Step):
    """A published step of a mixture of experts, by the name of its model."""
    @property
    def gpus(self):
        return self.cells["gpus"]

    @property
    def name(self):
        return f"{self.model} on {CARDS[self.gpu]}"

    @property
    def kind(self):
        return "both"

    @property
    def layers(self):
        """Of each stage where they do not divide: embedding and loss count as a layer each."""
        blocks, stages = {"qwen3-235b-a22b": 94, "deepseek-v3": 61, "kimi-k2": 61}.get(self.model, 0), self.degree("pipeline") * int(self.virtual)
        if blocks % stages == 0:
            return None
        layers = [(blocks + 2) // stages + (stage < (blocks + 2) % stages) for stage in range(stages)]
        layers[0] -= 1
        layers[-1] -= 1
        return layers

    def scenario(self):
        framework = "te-2026" if self.release >= "26.06" else "te-2025"
        pipeline = ({"virtual": int(self.virtual)} if self.virtual != "1" else {}) | ({"layers": self.layers} if self.layers else {})
        return {"workload": {"model": self.model, "micro_batch": int(self.micro_batch), "sequence": int(self.sequence), "dtype": self.dtype, "framework": framework},
                "cluster": {"topology": TOPOLOGIES[self.gpu], "world_size": int(self.gpus)}, "batch": {"global": int(self.global_batch)}, "strategy": "megatron",
                "parallelism": {axis: self.degree(axis) for axis in ("tensor", "pipeline", "expert")} | {"sequence": self.degree("tensor") > 1},
                **({"pipeline": pipeline} if pipeline and self.degree("pipeline") > 1 else {}),
                **({"expert": {"capacity": 1}} if self.capacity == "1" else {"expert": {"dispatcher": "deepep"}} if "h100" in self.gpu else {})}


def read_steps(sets):
    data_parallel = [row for row in read_rows(kind=Step) if row.set == "vtrain"]
    return [row for row in data_parallel + read_rows(PARALLEL, Step) + read_rows(TORCHTITAN, Step) + read_rows(LONG, Step) + read_rows(EXPERTS, Mixture) if row.set in sets]


def changed(row, change):
    """The change as far as it says something of a row: a pipeline of one stage has no messages, one GPU per copy no tensor collectives."""
    needs = {"pipeline": row.degree("pipeline") > 1, "tensor": row.degree("tensor") > 1}
    return {key: value for key, value in change.items() if needs.get(key, True)}


def with_aim(errors, aim):
    if not errors:
        return []
    reached = "" if aim is None else "reached" if mean_error(errors) <= aim else "missed"
    return [*figures(errors), "" if aim is None else f"{aim:g}", reached, coverage(errors)]


def judge_sets(errors):
    """errors: [(row, error)]."""
    def those(belongs):
        return [error for row, error in errors if belongs(row)]
    lines = [
        ("vTrain, A100: all", those(lambda row: row.set == "vtrain"), 6),
        *((f"vTrain: {title}", those(lambda row, kind=kind: row.set == "vtrain" and row.kind == kind), aim)
          for (kind, title), aim in zip(KINDS.items(), (None, 3, 9, None))),
        ("bigscience, A100: all", those(lambda row: row.set.startswith("bigscience")), 7),
        ("bigscience: rows that fitted `gemm`", those(lambda row: row.set == "bigscience" and not row.judged), None),
        ("bigscience: the other half of these jobs", those(lambda row: row.set == "bigscience" and row.judged), None),
        ("bigscience: 14400 wide, none fitted", those(lambda row: row.set == "bigscience-14400"), None),
        ("Korthikanti, A100: the seven that fitted nothing", those(lambda row: row.set == "korthikanti" and row.judged), 5),
        ("Megatron-Bridge, Llama 3 70B, H100: all fitted one number", those(lambda row: row.set == "bridge"), 5),
        ("MLPerf GPT-3, H100: none fitted", those(lambda row: row.set == "mlperf"), None),
        ("torchtitan, FSDP x tensor: collectives waited for, none fitted", those(lambda row: row.set == "titan-2d" and row.overlap == "none"), None),
        ("torchtitan, FSDP x tensor: async TP, all fitted one number", those(lambda row: row.set == "titan-2d" and row.overlap == "async_tp"), None),
        ("torchtitan, FSDP and context: none fitted", those(lambda row: row.set == "titan-cp"), None),
        ("NeMo, long sequences: the eight that fitted nothing", those(lambda row: row.set == "nemo-long" and row.judged), 5),
        ("Megatron-Bridge, Qwen3 and gpt-oss: all fitted what experts take", those(lambda row: row.set == "bridge-moe"), 16),
        ("Megatron-Bridge, DeepSeek-V3 and Kimi K2: none fitted", those(lambda row: row.set == "bridge-latent"), None),
    ]
    return table(["steps", "n", "bias", "mean error", "worst", "aim", "", "in their range"], [[title, *with_aim(found, aim)] for title, found, aim in lines if found])


def judge_degrees(errors):
    lines = []
    for prefix, title in (("vtrain", SETS["vtrain"]), ("bigscience", SETS["bigscience"])):
        groups = defaultdict(list)
        for row, error in errors:
            if row.set.startswith(prefix) and row.kind != "data":
                groups[row.degree("tensor"), int(row.micro_batch)].append(error)
        if groups:
            rows = [[f"tensor {tensor}, micro-batch {batch}", *figures(found)] for (tensor, batch), found in sorted(groups.items())]
            lines += ["", *table([title, "n", "bias", "mean error", "worst"], rows)]
    return lines


def judge_mixtures(errors):
    """By model, card and the two generations of the software."""
    groups = defaultdict(list)
    for row, error in errors:
        if row.set in MIXTURES:
            groups[row.model, CARDS[row.gpu], "26.06 and later" if row.release >= "26.06" else "to 26.04"].append(error)
    rows = [[*key, *figures(found), coverage(found)] for key, found in sorted(groups.items())]
    return ["", *table(["model", "GPU", "releases", "n", "bias", "mean error", "worst", "in their range"], rows)] if rows else []


def judge_few(errors):
    rows = [[f"{SETS[row.set]}: {row.name}", f"{row.measured:.4g}", f"{100 * error:+.1f}", "" if row.judged else "fitted"]
            for row, error in errors if row.set in INTERLEAVED or row.set in NONE_FITTED]
    return ["", *table(["step", "measured, s", "error", ""], rows)] if rows else []


def regrets(errors, prefix):
    """Of each task with several ways to share it: how many, the measured step of the way predicted best over that of the best, less 1, and the same of the
    best of the predicted top three."""
    tasks = defaultdict(lambda: defaultdict(list))
    for row, error in errors:
        if row.set.startswith(prefix):
            tasks[row.task][str(row.scenario())].append((row.measured * (1 + error), row.measured))
    for ways in tasks.values():
        if len(ways) > 1:    # several measurements of a way: their mean
            ordered = [statistics.mean(measured for _, measured in way) for way in sorted(ways.values(), key=lambda way: way[0][0])]
            yield len(ways), ordered[0] / min(ordered) - 1, min(ordered[:3]) / min(ordered) - 1


def judge_regret(errors):
    lines = []
    for prefix, aim in (("vtrain", 3), ("bigscience", 6)):
        found = list(regrets(errors, prefix))
        if found:
            first = [loss for _, loss, _ in found]
            of_three = [loss for ways, _, loss in found if ways > 3]
            mean = 100 * statistics.mean(first)
            lines.append([SETS[prefix], str(len(found)), str(first.count(0)), f"{mean:.1f}", f"{100 * max(first):.1f}", f"{aim}",
                          "reached" if mean <= aim else "missed", str(len(of_three)), f"{100 * statistics.mean(of_three):.1f}"])
    header = ["what a planner loses", "tasks", "right picks", "mean, %", "worst, %", "aim", "", "tasks of four ways or more", "best of the predicted top three, mean, %"]
    return ["", *table(header, lines)] if lines else []


def judge_without(judge, rows, terms):
    sets = [name for name in SETS if any(row.set == name for row in rows)]
    def cells(change, told):
        for name in sets:
            found = [judge.error(row, changed(row, change)) for row in rows if row.set == name] if name in told else []
            yield f"{mean_error(found):.1f} ({100 * statistics.mean(found):+.1f})" if found else ""
    lines = [["as it is", *cells({}, ALL)]]
    for term in terms:
        title, change, told = TERMS[term]
        if set(told) & set(sets):
            lines.append([title, *cells(change, told)])
    return table(["mean error (bias)", *(SETS[name] for name in sets)], lines)


def fitted_to(judge, row):
    """The scenario of a row whose software has the `gemm` that gives its step: a secant of 1 / gemm, with which the step grows about linearly."""
    def scenario(inverse):
        path = judge.folder / f"gemm_{1 / inverse:.6f}.yaml"
        path.write_text(re.sub(r"gemm: [\d.]+", f"gemm: {1 / inverse:.6f}", ONE_ROW[row.set].read_text()))
        return {"workload": {"framework": str(path)}}
    low, high = 1.0, 1.6
    low_error, high_error = judge.error(row, scenario(low)), judge.error(row, scenario(high))
    for _ in range(4):
        middle = low - low_error * (high - low) / (high_error - low_error)
        low, low_error, high, high_error = high, high_error, middle, judge.error(row, scenario(middle))
        if abs(high_error) < 1e-4:
            break
    return 1 / high, scenario(high)


def judge_one_row(judge, rows):
    """A set's software, fitted to each of its rows in turn."""
    rows = [row for row in rows if row.set in ONE_ROW]
    lines = []
    for row in rows:
        gemm, change = fitted_to(judge, row)
        lines.append([row.name, f"{gemm:.3f}", *figures([judge.error(other, change) for other in rows if other is not row and other.set == row.set])])
    return table(["fitted to", "gemm", "others", "bias", "mean error", "worst"], lines)


def judge_worst(judge, rows, count):
    lines = [(row, judge.error(row), judge.simulate(row.scenario())) for row in rows]
    lines.sort(key=lambda line: -abs(line[1]))
    return table(["step", "", "measured, s", "error", "bubble", "exposed communication"],
                 [[f"{SETS[row.set]}: {row.name}", "" if row.judged else "fitted", f"{row.measured:.4g}", f"{100 * error:+.1f}",
                   *(f"{100 * result.get(key, 0) / result['iteration_s']:.0f} %" for key in ("bubble_s", "exposed_communication_s"))]
                  for row, error, result in lines[:count]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ddpsim", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of every scenario (repeatable)")
    parser.add_argument("--only", action="append", choices=SETS, metavar="SET", help=f"these sets: {', '.join(SETS)} (repeatable)")
    parser.add_argument("--at-most", type=int, metavar="GPUS", help="only steps of so many GPUs or fewer")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--without", action="append", choices=[*TERMS, "all"], metavar="TERM", help=f"what each does: {', '.join(TERMS)}, all (repeatable)")
    what.add_argument("--one-row", action="store_true", help="Korthikanti's and Megatron-Bridge's steps by software fitted to each of them in turn")
    what.add_argument("--worst", type=int, metavar="N", help="the worst steps")
    options = parser.parse_args()
    rows = [row for row in read_steps(options.only or SETS) if not options.at_most or int(row.gpus) <= options.at_most]
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(str(options.ddpsim.resolve()), folder, options.set)
        if options.without:
            lines = judge_without(judge, rows, TERMS if "all" in options.without else options.without)
        elif options.one_row:
            lines = judge_one_row(judge, rows)
        elif options.worst:
            lines = judge_worst(judge, rows, options.worst)
        else:
            errors = [(row, judge.error(row)) for row in rows]
            lines = judge_sets(errors) + judge_degrees(errors) + judge_mixtures(errors) + judge_few(errors) + judge_regret(errors)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
