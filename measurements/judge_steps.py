#!/usr/bin/env python3
"""How far predicted training steps are from published ones (training/steps.csv), as the Markdown of RESULTS.md.

Usage: judge_steps.py DDPSIM [--set KEY=VALUE ...] [--without TERM ... | --one-row GPU | --worst N | --growth]

Errors are predicted / measured - 1 in %; a mean error is the mean of their absolute values, a bias that of the errors themselves.
The protocol is training/SOURCE.md.
"""
import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

STEPS = Path(__file__).resolve().parent / "training/steps.csv"
AIMS = {"foundry-A100": 5, "foundry-H100": 4, "foundry-H100-fp8": 4, "vtrain": 3.5, "titan": 8}
NAMES = {"foundry-A100": "llm-foundry, A100", "foundry-H100": "llm-foundry, H100", "foundry-H100-fp8": "llm-foundry, H100, float8",
         "vtrain": "vTrain, A100", "titan": "torchtitan, H100 and H200"}
CARDS = {"a100-sxm4-40gb": "A100 40 GB", "a100-sxm4-80gb": "A100 80 GB", "h100-sxm": "H100", "h100-sxm-96gb-500w": "H100 96 GB, 500 W", "h200-sxm": "H200",
         "b200-sxm": "B200", "b300-sxm": "B300", "gb200": "GB200", "gb300": "GB300"}
ONE_ROW_AIM = 6

# What a prediction does without: what it changes in a scenario, and the sets of which it is true.
SHARDED = ("foundry-A100", "foundry-H100", "foundry-H100-fp8", "titan")
TERMS = {
    "interference": ({"physics": {"interference": 0}}, tuple(AIMS)),
    "passes": ({"physics": {"passes": "none"}}, tuple(AIMS)),
    "causal": ({"workload": {"attention": {"causal": False}}}, SHARDED),
    "flash": ({"workload": {"attention": {"kernel": "unfused"}}}, SHARDED),
    "recomputation": ({"workload": {"recompute": "none"}}, SHARDED),
    "every-micro-batch": ({"fsdp": {"reduce_every_micro_batch": False}}, SHARDED),
    "overlap": ({"strategy": "overlap"}, ("vtrain",)),
    "own-era": ({"workload": {"framework": "fsdp-eager-2023"}}, ("vtrain", "titan")),
}
DESCRIPTIONS = {
    "interference": "no interference", "passes": "no passes over memory", "causal": "attention to all tokens, not the causal half",
    "flash": "unfused attention", "recomputation": "nothing recomputed", "every-micro-batch": "gradients reduced once per step",
    "overlap": "all-reduces during backward", "own-era": "framework fsdp-eager-2023",
}


@dataclass
class Row:
    """A published step. cells: what steps.csv says of it."""
    cells: dict

    def __getattr__(self, name):
        return self.cells[name]

    @property
    def judged(self):
        return self.fitted == "false"

    @property
    def measured(self):
        return float(self.step_s)

    @property
    def name(self):
        variant = " compiled" if self.compiled == "true" else ""
        return (f"{self.model} on {self.gpus} {CARDS[self.gpu]}, sequence {self.sequence}, micro-batch {self.micro_batch}, "
                f"recompute {self.recompute}, {self.dtype}{variant}")

    def scenario(self):
        model = {key: int(self.cells[key]) for key in ("hidden", "layers", "heads", "kv_heads", "ffn", "vocab")}
        model |= {"kind": "transformer", "gated": self.gated == "true", "tied": self.tied == "true"}
        model["positions"] = 0 if self.gated == "true" else int(self.sequence)    # Llama's are rotated, not learned
        scenario = {
            "workload": {"model": model, "micro_batch": int(self.micro_batch), "sequence": int(self.sequence), "dtype": self.dtype,
                         "recompute": self.recompute},
            "cluster": {"topology": "dgx-a100" if "a100" in self.gpu else "superpod-h100", "gpu": self.gpu, "world_size": int(self.gpus)},
            "ddp": {"accumulation_steps": int(self.micro_batches)}}
        return merged(scenario, self.implementation())

    def implementation(self):
        if self.set == "vtrain":
            return {"strategy": "flat", "workload": {"framework": "megatron-eager-2021", "gradients": "fp16"}}
        if self.set == "titan":
            return {"strategy": "fsdp", "workload": {"framework": "torchtitan-2024" + ("-compile" if self.compiled == "true" else "")}}
        return {"strategy": "fsdp1", "workload": {"framework": "fsdp-eager-2023"},
                "fsdp": {"reduce_dtype": self.reduce_dtype, "reshard_after_forward": True}}


def merged(scenario, more):
    result = dict(scenario)
    for key, value in more.items():
        inner = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if inner else value
    return result


def read_rows(path=STEPS, kind=Row):
    with open(path) as file:
        return [kind(cells) for cells in csv.DictReader(line for line in file if not line.startswith("#"))]


class Error(float):
    """predicted / measured - 1. inside: whether the measured step lies in the range that the prediction gives."""
    inside = False


class Judge:
    def __init__(self, ddpsim, folder, settings):
        self.ddpsim, self.folder = ddpsim, Path(folder)
        self.settings = [word for entry in settings for word in ("--set", entry)]
        self.results = {}    # by scenario
        self.calibrations = 0

    def write(self, scenario):
        path = self.folder / "scenario.yaml"
        path.write_text(json.dumps(scenario))    # JSON is YAML
        return str(path)

    def simulate(self, scenario):
        text = json.dumps(scenario)
        if text not in self.results:
            answer = subprocess.run([self.ddpsim, "simulate", self.write(scenario), "--quiet", "--json", "-", *self.settings],
                                    capture_output=True, text=True, check=False)
            if answer.returncode:
                sys.exit(f"{text}\n{answer.stderr}")
            self.results[text] = json.loads(answer.stdout)
        return self.results[text]

    def error(self, row, change=None):
        answer = self.simulate(merged(row.scenario(), change or {}))
        error = Error(answer["iteration_s"] / row.measured - 1)
        least, most = answer["evidence"]["interval_80_s"] if "evidence" in answer else [answer["iteration_s"]] * 2
        error.inside = least <= row.measured <= most
        return error

    def calibrated(self, row, scenario=None):
        """The software file that this one step gives, or None where nothing that is held possible gives it."""
        self.calibrations += 1
        path = self.folder / f"software_{self.calibrations}.yaml"    # results are kept by scenario: a name for each
        answer = subprocess.run([self.ddpsim, "calibrate", "--step", f"{row.step_s}s", self.write(scenario or row.scenario()), "--quiet", "--out", str(path),
                                 *self.settings], capture_output=True, text=True, check=False)
        if answer.returncode and "what is described is not what was measured" not in answer.stderr:
            sys.exit(answer.stderr)
        return None if answer.returncode else str(path)


def mean_error(errors):
    return 100 * statistics.mean(map(abs, errors))


def figures(errors):
    """n, bias, mean error, worst."""
    if not errors:
        return ["0", "-", "-", "-"]
    return [str(len(errors)), f"{100 * statistics.mean(errors):+.1f}", f"{mean_error(errors):.1f}", f"{100 * max(errors, key=abs):+.1f}"]


def coverage(errors):
    """How many measured steps lie in their ranges."""
    return f"{sum(error.inside for error in errors)} of {len(errors)}"


def table(header, rows):
    return [f"| {' | '.join(header)} |", "|" + "---|" * len(header), *(f"| {' | '.join(row)} |" for row in rows)]


def shape_groups(row):
    """What a judged row is counted under: (heading, its order, its name)."""
    if row.set == "vtrain":
        yield "shape", (int(row.hidden), int(row.micro_batch)), f"h {row.hidden}, micro-batch {row.micro_batch}"
    elif row.set == "titan":
        kind = "compiled" if row.compiled == "true" else "eager"
        yield "kind", (row.dtype, kind), f"{row.dtype}, {kind}, recompute {row.recompute}"
    else:
        yield "shape", int(row.hidden) * int(row.layers), row.model
        yield "sequence", int(row.sequence), f"sequence {row.sequence}"
    yield "GPUs", (int(row.gpus), row.gpu), f"{row.gpus} {CARDS[row.gpu]}"


def judge_sets(errors):
    """errors: [(row, error)]."""
    rows = []
    for name, aim in AIMS.items():
        of_set = [(row, error) for row, error in errors if row.set == name]
        judged = [error for row, error in of_set if row.judged]
        reached = "reached" if mean_error(judged) <= aim else "missed"
        rows.append([NAMES[name], *figures([e for r, e in of_set if not r.judged])[::2], *figures(judged), f"{aim:g}", reached, coverage(judged)])
    return table(["set", "fitted rows", "mean error", "judged rows", "bias", "mean error", "worst", "aim", "", "judged rows in their range"], rows)


def judge_shapes(errors):
    lines = []
    for name in AIMS:
        groups = {}
        for row, error in errors:
            if row.set == name and row.judged:
                for heading, order, title in shape_groups(row):
                    groups.setdefault(heading, {}).setdefault((order, title), []).append(error)
        rows = [[title, *figures(found)] for by_order in groups.values() for (_, title), found in sorted(by_order.items())]
        lines += ["", *table([f"{NAMES[name]}: judged rows", "n", "bias", "mean error", "worst"], rows)]
    return lines


def judge_without(judge, rows, terms):
    judged = [row for row in rows if row.judged]
    whole = {name: [judge.error(row) for row in judged if row.set == name] for name in AIMS}
    lines = [["as it is", *(f"{mean_error(whole[name]):.1f}" for name in AIMS)]]
    for term in terms:
        change, sets = TERMS[term]
        cells = [f"{mean_error([judge.error(row, change) for row in judged if row.set == name]):.1f}" if name in sets else "" for name in AIMS]
        lines.append([DESCRIPTIONS[term], *cells])
    return table(["mean error of the judged rows", *NAMES.values()], lines)


def judge_one_row(judge, rows, name, every):
    """Every so many 8-GPU rows of a set calibrate, each by itself; judged are all other 8-GPU rows, and those among them that fitted nothing."""
    eight = [row for row in rows if row.set == name and row.gpus == "8"]
    calibrating, means, of_judged, refused = [], [], [], 0
    for one in eight[::every]:
        software = judge.calibrated(one)
        if software is None:
            refused += 1
            continue
        others = [row for row in eight if row is not one]
        errors = []
        for row in others:
            scenario = row.scenario()
            del scenario["workload"]["framework"]
            errors.append(judge.simulate(merged(scenario, {"workload": {"compute": software}}))["iteration_s"] / row.measured - 1)
        calibrating.append(one)
        means.append(mean_error(errors))
        of_judged.append(mean_error([error for row, error in zip(others, errors) if row.judged]))
    def cells(found):
        low, middle, high = statistics.quantiles(found, n=4, method="inclusive")
        return [f"{middle:.1f}", f"{low:.1f} to {high:.1f}", f"{max(found):.1f}"]
    header = ["set", "rows that calibrate", "refused", "other rows", "median of mean errors", "quartiles", "worst", "never-fitted rows only", "quartiles", "worst"]
    reached = "reached" if statistics.median(means) <= ONE_ROW_AIM else "missed"
    row = [NAMES[name], str(len(means)), str(refused), str(len(eight) - 1), *cells(means), *cells(of_judged), f"{ONE_ROW_AIM}", reached]
    worst = max(zip(means, calibrating), key=lambda pair: pair[0])[1]
    return [*table([*header, "aim", ""], [row]), "", f"Worst to calibrate by: {worst.name}."]


# What losses are predicted with: all of it, and less.
GROWTH = {
    "textbook: waits for collectives only": {"physics": "none"},
    "interference, no spread": {"spread": "none"},
    "spread, no interference": {"physics": {"interference": 0}},
    "spread of nodes of 2 % instead of GPUs": {"spread": {"ranks": 0, "nodes": 0.02}},
    "spread of 1 %": {"spread": {"ranks": 0.01}},
    "default: interference, spread of 2 %": {},
    "spread of 3 %": {"spread": {"ranks": 0.03}},
}
ONE_NODE = "vtrain"
SUSPECT = ("foundry-A100", "1b")    # 18 % faster on 64 GPUs than on 32


def growing_jobs(rows):
    """Lists of steps that differ in the number of GPUs only, fewest first."""
    jobs = {}
    for row in rows:
        key = tuple(value for name, value in row.cells.items() if name not in ("gpus", "step_s", "fitted"))
        jobs.setdefault(key, []).append(row)
    return [sorted(job, key=lambda row: int(row.gpus)) for job in jobs.values() if len({row.gpus for row in job}) > 1]


def judge_growth(judge, rows):
    """By how much longer a job's step is on more GPUs, against its fewest: predicted less measured, in points of the latter."""
    jobs = growing_jobs(rows)
    def pairs_of(job, change):
        first, *others = [judge.simulate(merged(row.scenario(), change))["iteration_s"] for row in job]
        for row, predicted in zip(job[1:], others):
            yield row, 100 * (row.measured / job[0].measured - 1), 100 * (predicted / first - 1)
    pairs, lines = [], []
    for job in jobs:
        for row, measured, predicted in pairs_of(job, {}):
            if row.set != ONE_NODE:
                variant = " compiled" if row.compiled == "true" else ""
                pairs.append([f"{NAMES[row.set]}: {row.model}{variant}, {row.dtype}", f"{job[0].gpus} to {row.gpus}", f"{measured:+.1f}", f"{predicted:+.1f}"])
    def points(errors):
        return [str(len(errors)), f"{statistics.mean(map(abs, errors)):.2f}", f"{statistics.mean(errors):+.2f}"]
    for name, change in GROWTH.items():
        found = [(row, predicted - measured) for job in jobs for row, measured, predicted in pairs_of(job, change)]
        several = [error for row, error in found if row.set != ONE_NODE]
        believed = [error for row, error in found if row.set != ONE_NODE and (row.set, row.model) != SUSPECT]
        lines.append([name, *points(several), *points(believed)[1:], *points([error for row, error in found if row.set == ONE_NODE])])
    header = ["predicted with", "pairs of several nodes", "mean error, points", "bias", "without the 1b on A100", "bias", "pairs in one node (vTrain)", "mean error", "bias"]
    return [*table(header, lines), "", *table(["job", "GPUs", "measured longer, %", "predicted, %"], pairs)]


def judge_worst(judge, rows, count):
    lines = []
    for row in rows:
        result = judge.simulate(row.scenario())
        memory = result["memory"]
        lines.append((row, result["iteration_s"] / row.measured - 1, memory["peak_bytes"] / memory["capacity_bytes"], memory["fits"]))
    lines.sort(key=lambda line: -abs(line[1]))
    return table(["step", "", "error", "memory predicted", "fits"],
                 [[f"{NAMES[row.set]}: {row.name}", "" if row.judged else "fitted", f"{100 * error:+.1f}", f"{100 * share:.0f} %", "yes" if fits else "no"]
                  for row, error, share, fits in lines[:count]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ddpsim", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of every scenario (repeatable)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--without", action="append", choices=[*TERMS, "all"], metavar="TERM", help=f"what each does: {', '.join(TERMS)}, all (repeatable)")
    what.add_argument("--one-row", choices=AIMS, metavar="SET", help="calibrate to one step, judge on the others: " + ", ".join(AIMS))
    what.add_argument("--worst", type=int, metavar="N", help="the worst steps, with what they hold in memory")
    what.add_argument("--growth", action="store_true", help="by how much longer steps are on more GPUs")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="with --one-row: only every so many calibrate")
    options = parser.parse_args()
    rows = read_rows()
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(str(options.ddpsim.resolve()), folder, options.set)
        if options.without:
            lines = judge_without(judge, rows, TERMS if "all" in options.without else options.without)
        elif options.one_row:
            lines = judge_one_row(judge, rows, options.one_row, options.every)
        elif options.growth:
            lines = judge_growth(judge, rows)
        elif options.worst:
            lines = judge_worst(judge, rows, options.worst)
        else:
            errors = [(row, judge.error(row)) for row in rows]
            lines = judge_sets(errors) + judge_shapes(errors)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
