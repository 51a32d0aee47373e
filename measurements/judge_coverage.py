#!/usr/bin/env python3
"""How often intervals hold: published steps of training/ against what ddpsim is sure of. Markdown, for RESULTS.md.

Usage: judge_coverage.py DDPSIM [--evidence FILE] [--leave-out] [--calibrated] [--choices] [--check] [--json FILE]

A family is one source's steps of one kind. Scores are those of logarithms of times in %, lower is better: CRPS (twice the mean pinball loss of 19
quantiles) of the interval, and of a log-normal whose 80 % are 15 % up and down, whatever the job. --leave-out: each family by a `compute: named` that
fit_evidence.py gives without it, as long as three families are left. --calibrated: steps by software that nobody named, once one step of their kind
(family, cluster, type, sequence, strategy, degrees that are not 1) calibrated it: the first of each kind in its file, fewer than twice MOST_OF_KIND others. --choices: jobs that were measured
in several ways: how often the advised one was the fastest, by P(best). --check: exit 1 unless 75 to 90 % lie inside, every family counted once (a family lies inside
as a whole or not at all where its source is off as a whole: of sixteen families 80 % are 70 to 90), and the score is below the constant's."""
import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import NormalDist

sys.dont_write_bytecode = True
import judge_growth  # noqa: E402
import judge_parallel  # noqa: E402
from fit_evidence import NAMED, named  # noqa: E402
from judge_steps import Judge, merged, read_rows, table  # noqa: E402

FAMILIES = {"foundry-A100": "llm-foundry, A100", "foundry-H100": "llm-foundry, H100", "foundry-H100-fp8": "llm-foundry, H100, float8", "titan": "torchtitan, FSDP",
            **judge_parallel.SETS, "bigscience-14400": judge_parallel.SETS["bigscience"]}
OF_GROWTH = {("mlperf", "h100-sxm"): "MLPerf, Llama 3.1 405B, H100", ("dgxc", "h100-sxm"): "DGXC, H100", ("dgxc", "gb200"): "DGXC, GB200"}
NORMAL = NormalDist()
OF_STEPS = {"experts", "small_experts", "context", "context_pytorch", "attention", "async_tp"}
MOST_OF_KIND = 8
SHARES = [i / 20 for i in range(1, 20)]
CONSTANT = [math.log(1.15) / NORMAL.inv_cdf(0.9) * NORMAL.inv_cdf(share) for share in SHARES]


def crps(quantiles, truth):
    """Twice the mean pinball loss, of 19 quantiles."""
    return 2 * statistics.mean((share - (truth < q)) * (truth - q) for share, q in zip(SHARES, quantiles))


def judged_rows():
    rows = [row for row in read_rows() if row.judged and row.set != "vtrain"]
    return rows + [row for row in judge_parallel.read_steps(judge_parallel.SETS) if row.judged] + read_rows(judge_growth.GROWTH, judge_growth.Step)


def family_of(row):
    if isinstance(row, judge_growth.Step):
        name = OF_GROWTH[row.set.removesuffix("-strong"), row.gpu]
        return f"{name}, Grok-1" if row.model == "grok-1" else name
    return FAMILIES[row.set]


class Judged:
    """A step, and how it lies: `left`, its logarithm over the prediction; `kind`, the class of its compute."""

    def __init__(self, row, answer):
        evidence, measured = answer["evidence"], row.measured
        self.family = family_of(row)
        self.kind = evidence["classes"]["compute"]["class"]
        self.others = set(evidence["classes"]) & OF_STEPS
        self.left = math.log(measured / answer["iteration_s"])
        inside = lambda key: evidence[key][0] <= measured <= evidence[key][1]    # noqa: E731
        self.half, self.likely = inside("interval_50_s"), inside("interval_80_s")
        self.width = evidence["interval_80_s"][1] / evidence["interval_80_s"][0] - 1
        self.score = 100 * crps([math.log(q) for q in evidence["quantiles_s"]], math.log(measured))
        self.constant = 100 * crps(CONSTANT, self.left)


def predict(ddpsim, rows, evidence):
    """Steps by their evidence: a file, or one for each family."""
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(str(ddpsim), folder, [])
        return [Judged(row, judge.simulate(merged(row.scenario(), {"evidence": evidence(family_of(row))}))) for row in rows]


def figures(steps):
    share = lambda key: f"{100 * statistics.mean(getattr(one, key) for one in steps):.0f}"    # noqa: E731
    mean = lambda key: f"{statistics.mean(getattr(one, key) for one in steps):.1f}"    # noqa: E731
    return [str(len(steps)), share("half"), share("likely"), f"{100 * statistics.mean(one.width for one in steps):.0f}", mean("score"), mean("constant")]


def by_family(steps):
    found = defaultdict(list)
    for one in steps:
        found[one.family].append(one)
    return found


def votes(steps, key):
    return statistics.mean(statistics.mean(getattr(one, key) for one in of) for of in by_family(steps).values())


def coverage(steps):
    """Of all families, each counted once: shares in 50 and 80 %, the score and the constant's."""
    return {key: votes(steps, key) for key in ("half", "likely", "width", "score", "constant")}


def judge(steps):
    rows = [[name, ", ".join(sorted({one.kind for one in of} | set().union(*(one.others for one in of)))), *figures(of)] for name, of in by_family(steps).items()]
    all_of = coverage(steps)
    rows.append(["every family once", "", str(len(steps)), f"{100 * all_of['half']:.0f}", f"{100 * all_of['likely']:.0f}", f"{100 * all_of['width']:.0f}",
                 f"{all_of['score']:.1f}", f"{all_of['constant']:.1f}"])
    return table(["family", "classes", "n", "50 % holds", "80 % holds", "width of 80 %, %", "CRPS", "of a constant 15 %"], rows)


def plainly_named(families):
    """Of each class of named software, and each family that has some, what is left of steps that are of no class besides."""
    left = {kind: {name: [one.left for one in of if one.kind == kind and not one.others] for name, of in families.items()} for kind in NAMED}
    return {kind: {name: of for name, of in by_name.items() if of} for kind, by_name in left.items()}


def without_each(ddpsim, rows, folder):
    """An evidence file for each family, whose `named` comes from the others."""
    steps = predict(ddpsim, rows, lambda _: "default")
    paths = {}
    left = plainly_named(by_family(steps))
    for family in by_family(steps):
        lines = {kind: named({name: of for name, of in by_name.items() if name != family}) for kind, by_name in left.items()}
        paths[family] = Path(folder) / f"{len(paths)}.yaml"
        paths[family].write_text(json.dumps({"kind": "evidence", "name": f"without {family}", "compute": lines}))
    return predict(ddpsim, rows, lambda family: str(paths[family]))


def kind_of(row):
    scenario = row.scenario()
    degrees = [key for key, value in scenario.get("parallelism", {}).items() if isinstance(value, int) and value > 1]
    return json.dumps([family_of(row), scenario["cluster"].get("topology"), scenario["workload"].get("dtype"), scenario["workload"].get("sequence"), scenario.get("strategy"), degrees])


def unnamed(row, software=None):
    """The row's scenario by that software, or what ddpsim takes where nobody names one."""
    scenario = row.scenario()
    scenario["workload"] = {key: value for key, value in scenario["workload"].items() if key != "framework"} | ({"framework": software} if software else {})
    return scenario


def predict_calibrated(ddpsim, rows):
    """Steps of software that nobody named: (before, after) one of their kind calibrated it; how many such steps were refused."""
    kinds = defaultdict(list)
    for row in rows:
        kinds[kind_of(row)].append(row)
    before, after, refused = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(str(ddpsim), folder, [])
        for first, *others in kinds.values():
            others = others[::max(1, len(others) // MOST_OF_KIND)]
            software = judge.calibrated(first, unnamed(first)) if others else None
            refused += bool(others) and software is None
            if software:
                before += [Judged(row, judge.simulate(unnamed(row))) for row in others]
                after += [Judged(row, judge.simulate(unnamed(row, software))) for row in others]
    return before, after, refused


class Task:
    """One job that was measured in several ways, which differ in how GPUs share the model; `points`: those of a sweep over them."""

    def __init__(self, ddpsim, folder, scenario, steps):
        measured = [statistics.mean(of) for of in steps.values()]
        ways = [json.loads(way) for way in steps]
        path = Path(folder) / "ways.yaml"
        path.write_text(json.dumps({**scenario, "sweep": {"parallelism": ways}}))
        answer = subprocess.run([ddpsim, "sweep", path, "--quiet", "--json", "-"], capture_output=True, text=True, check=False)
        if answer.returncode:
            sys.exit(f"{path.read_text()}\n{answer.stderr}")
        points = json.loads(answer.stdout)["points"]
        if len(points) != len(ways):    # what was refused is not among them, and times would be another way's
            sys.exit(f"{path.read_text()}\n{len(points)} of {len(ways)} ways have a result")
        fastest = [step == min(measured) for step in measured]
        advised = min(range(len(points)), key=lambda i: (points[i]["regret"], points[i]["iteration_s"]))
        self.ways = len(ways)
        self.said, self.right = points[advised]["p_best"], fastest[advised]
        self.tied = sum(point["tied"] for point in points)
        self.among = any(point["tied"] and is_it for point, is_it in zip(points, fastest, strict=True))
        self.expected, self.lost = points[advised]["regret"], measured[advised] / min(measured) - 1
        self.brier = statistics.mean((point["p_best"] - is_it) ** 2 for point, is_it in zip(points, fastest, strict=True))
        certain = min(points, key=lambda point: point["iteration_s"])
        self.brier_certain = statistics.mean(((point is certain) - is_it) ** 2 for point, is_it in zip(points, fastest, strict=True))


def tasks(ddpsim, rows):
    """Steps that differ in nothing but how GPUs share the model."""
    alike = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if isinstance(row, judge_parallel.Step) and not isinstance(row, (judge_growth.Step, judge_parallel.Mixture)):
            scenario = row.scenario()
            way = json.dumps(scenario.pop("parallelism", {"tensor": 1}))
            of_ddp = {key: value for key, value in scenario.pop("ddp", {}).items() if key != "accumulation_steps"}
            batch = row.data * int(row.micro_batch) * int(row.micro_batches)
            alike[json.dumps({**scenario, "ddp": of_ddp, "batch": {"global": batch}})][way].append(row.measured)
    with tempfile.TemporaryDirectory() as folder:
        return [Task(ddpsim, folder, json.loads(text), of) for text, of in alike.items() if len(of) > 1]


def bands(found):
    """Jobs by how sure their advice is, and all."""
    ends = [(0.85, 1.01, "surer than 85 %"), (0.6, 0.85, "60 to 85 %"), (0, 0.6, "less sure"), (0, 1.01, "all")]
    parts = [(name, [one for one in found if low <= one.said < high]) for low, high, name in ends]
    return [(name, of) for name, of in parts if of]


def reliability(found):
    """How often the advised way was the best one, by how sure it was."""
    def line(name, of):
        mean = lambda key: statistics.mean(getattr(one, key) for one in of)    # noqa: E731
        return [name, str(len(of)), f"{mean('ways'):.1f}", f"{mean('said'):.2f}", f"{mean('right'):.2f}", f"{100 * mean('among'):.0f}", f"{mean('tied'):.1f}",
                f"{100 * mean('expected'):.1f}", f"{100 * mean('lost'):.1f}", f"{mean('brier'):.3f}", f"{mean('brier_certain'):.3f}"]
    return table(["advised", "jobs", "ways", "said", "right", "best among the ties, %", "ties", "regret expected, %", "measured", "Brier", "if the fastest were certain"],
                 [line(name, of) for name, of in bands(found)])


def unreliable(found):
    """Bands of which fewer were right than were said to be, by more than two standard deviations of so many draws."""
    for name, of in bands(found):
        said = statistics.mean(one.said for one in of)
        noise = math.sqrt(sum(one.said * (1 - one.said) for one in of)) / len(of)
        if statistics.mean(one.right for one in of) < said - 2 * noise:
            yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ddpsim", type=Path)
    parser.add_argument("--evidence", default="default", metavar="FILE")
    parser.add_argument("--leave-out", action="store_true")
    parser.add_argument("--calibrated", action="store_true")
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE", help="logarithms of measured over predicted, by family, for fit_evidence.py")
    options = parser.parse_args()
    ddpsim, rows = options.ddpsim.resolve(), judged_rows()
    if options.choices:
        found = tasks(ddpsim, rows)
        print("\n".join(reliability(found)))
        if options.check and (wrong := list(unreliable(found))):
            sys.exit(f"how sure choices are does not hold: {', '.join(wrong)}")
        return
    if options.calibrated:
        before, after, refused = predict_calibrated(ddpsim, rows)
        print("\n".join([*judge(before), "", *judge(after), "", f"{refused} of the steps to calibrate to were refused"]))
        return
    with tempfile.TemporaryDirectory() as folder:
        steps = without_each(ddpsim, rows, folder) if options.leave_out else predict(ddpsim, rows, lambda _: options.evidence)
    if options.json:
        options.json.write_text(json.dumps(plainly_named(by_family(steps))))
    print("\n".join(judge(steps)))
    found = coverage(steps)
    if options.check and not (0.75 <= found["likely"] <= 0.9 and found["score"] < found["constant"]):
        sys.exit("the intervals do not hold")


if __name__ == "__main__":
    main()
