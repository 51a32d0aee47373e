#!/usr/bin/env python3
"""How far NCCL's model is from every table in this folder, as the Markdown of RESULTS.md.

Usage: judge.py DDPSIM [--plot SVG]. Prints the tables; every figure comes from `ddpsim calibrate`, which says
how it fits. Errors are geometric means of |ln(predicted/measured)| as percentages: "2.4 3.1 1.7" are those below
256 KiB, from there to 4 MiB, and from 4 MiB up; "3.9 / 11" the mean and the worst row from 256 KiB up.
"""
import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

A100, H100, B300 = (f"topologies/dgx-{name}.yaml" for name in ("a100", "h100", "b300"))
GB300, GB200 = "measurements/machines/gb300.yaml", "topologies/gb200-nvl72.yaml"
L40S, RTX4090, CESGA = "topologies/pcie-8xl40s.yaml", "topologies/pcie-8x4090.yaml", "measurements/machines/cesga.yaml"
ISSUE = "nccltests_issue309_"
A16, A32 = ISSUE + "A_16xH100_IB400_default.csv", ISSUE + "A_32xH100_IB400_default.csv"
B16, B32 = ISSUE + "B_16xH100_IB400_default.csv", ISSUE + "B_32xH100_IB400_default.csv"
B16_RING = ISSUE + "B_16xH100_IB400_RING_MINCTAS24_QPS2.csv"
AIC_A, AIC_H, AIC_H_OLD, AIC_B, AIC_GB, AIC_L = (
    f"aiconfigurator_{name}.csv" for name in ("a100_sxm", "h100_sxm", "h100_sxm_2.23", "b300_sxm", "gb300", "l40s"))
GALVATRON, GALVATRON_JSON = "galvatron_8xA100-40GB.csv", "galvatron_sp_time_8xA100-40GB.json"
STAS, DGXC = "stas00_8xA100.csv", "dgxh100_8xH100_dgxc_benchmarking.csv"
RINGS, PEERS = ("all_reduce", "all_gather", "reduce_scatter"), "all_to_all"
BANDS = ((0, 1 << 18), (1 << 18, 1 << 22), (1 << 22, math.inf))


class Node:
    """An NVLink node. selections: what ddpsim calibrate takes. in_class: the class's lines were fitted to it."""

    def __init__(self, name, generation, topology, *selections, in_class=False, operations=(*RINGS, PEERS), ranks=(2, 4, 8)):
        self.name, self.generation, self.topology, self.selections = name, generation, topology, selections
        self.in_class, self.operations, self.ranks = in_class, operations, ranks


ALL_REDUCE = ("all_reduce",)
NODES = [
    Node("A100", "ampere", A100, f"{AIC_A}@2+4+8/half", in_class=True),
    Node("H100", "hopper", H100, f"{AIC_H}@2+4+8/half", in_class=True),
    Node("B300", "blackwell", B300, f"{AIC_B}@2+4+8/half", in_class=True),
    Node("GB300", "blackwell", GB300, f"{AIC_GB}@2+4/half", in_class=True, ranks=(2, 4)),
    Node("A100, int8", "ampere", A100, f"{AIC_A}@2+4+8/int8"),
    Node("H100, int8", "hopper", H100, f"{AIC_H}@2+4+8/int8"),
    Node("B300, int8", "blackwell", B300, f"{AIC_B}@2+4+8/int8"),
    Node("GB300, int8", "blackwell", GB300, f"{AIC_GB}@2+4/int8", ranks=(2, 4)),
    Node("H100, NCCL 2.23", "hopper", H100, f"{AIC_H_OLD}@2+4+8/half", operations=(*RINGS[1:], PEERS)),
    Node("DGX H100 (NVLS)", "hopper", H100, DGXC, operations=ALL_REDUCE, ranks=(8,)),
    Node("A100, Galvatron", "ampere", A100, GALVATRON_JSON, operations=ALL_REDUCE),
    Node("A100, stas00", "ampere", A100, STAS, operations=ALL_REDUCE, ranks=(8,)),
]


class Table:
    """name: for people. tables: what ddpsim calibrate takes. others: machines of the same class, whose average
    predicts this one. forced: the algorithm NCCL was told to use. fits: whether it can be fitted."""

    def __init__(self, name, tables, topology, others=(), forced=None, fits=True):
        self.name, self.tables, self.topology = name, tables, topology
        self.others, self.forced, self.fits = others, forced, fits


TABLES = [
    Table("16 H100, issue 309 A", A16, H100, (B16,)),
    Table("32 H100, issue 309 A", A32, H100, (B16,)),
    Table("16 H100, issue 309 B", B16, H100, (f"{A16},{A32}",)),
    Table("32 H100, issue 309 B *", B32, H100, (f"{A16},{A32}",)),
    Table("16 H100, issue 309 B, ring forced *", B16_RING, H100, forced="ring"),
    Table("16 H100, GCP a3-mega *", "gcp_a3mega_16xH100.csv", "measurements/machines/a3mega.yaml"),
    Table("16 V100, AWS p3dn *", "aws_p3dn_16xV100_EFA.csv", "measurements/machines/p3dn.yaml", forced="ring"),
    *(Table(f"{n} L40S, {name}", f"{AIC_L}@{n}/half/{name}", L40S, fits=name == "all_reduce")
      for name in (*RINGS, PEERS) for n in (2, 4, 8)),
    Table("4 RTX 4090, Kalavai *", "kalavai_4xRTX4090.csv", RTX4090),
    Table("2 A100-PCIe, CESGA *", "cesga_2xA100-PCIe_1node.csv", CESGA),
    Table("2 nodes x 1 A100-PCIe, CESGA *", "cesga_2xA100-PCIe_2nodes.csv", CESGA),
    Table("2 nodes x 2 A100-PCIe, CESGA *", "cesga_4xA100-PCIe_2nodes.csv", CESGA),
    Table("72 GB200, one rack, CoreWeave *", "coreweave_GB200_72gpu_1rack.csv", GB200),
    Table("the same as a ring *", "coreweave_GB200_72gpu_1rack.csv", GB200, forced="ring"),
    Table("128 GB200, two racks, CoreWeave *", "coreweave_GB200_128gpu_2rack.csv", GB200),
    Table("1440 GB200, 20 racks, CoreWeave *", "coreweave_GB200_1440gpu_20rack.csv", GB200),
]

# Fitted to the first, judged on the second.
LARGER = [("H100, issue 309 A, 16 -> 32", A16, A32, H100), ("H100, issue 309 B, 16 -> 32 (distrusted)", B16, B32, H100)]


class Judge:
    def __init__(self, ddpsim, folder):
        self.ddpsim, self.folder, self.answers = ddpsim, Path(folder), {}

    def run(self, arguments, from_nothing=True):
        start = ["--from-nothing"] if from_nothing else []
        command = (self.ddpsim, "calibrate", *start, "--json", "-", *arguments)
        if command not in self.answers:
            answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if answer.returncode:
                sys.exit(f"{' '.join(command)}\n{answer.stderr}")
            self.answers[command] = json.loads(answer.stdout)
        return self.answers[command]

    def errors(self, topology, forced=None, fitted=(), judged=(), more=(), from_nothing=True):
        arguments = [*map(placed, fitted), "--topology", topology, *more]
        for tables in judged:
            arguments += ["--judge", placed(tables)]
        if forced:
            arguments += ["--algorithm", forced]
        return [t for t in self.run(arguments, from_nothing)["tables"] if not (judged and t["fitted"])]

    def lines(self, node):
        """What is fitted to a node by itself: {operation: {parameter: value}}."""
        answer = self.run([*map(placed, node.selections), "--topology", node.topology])
        return {lines["operation"]: lines["parameters"] for lines in answer["lines"]}

    def with_lines(self, topology, lines, name):
        """A copy of the topology whose calibration holds these lines."""
        calibration = self.folder / f"{name}-calibration.yaml"
        calibration.write_text("lines:\n" + "".join(
            f"  - operation: {operation}\n    parameters: {json.dumps(parameters)}\n" for operation, parameters in lines.items()))
        text = (ROOT / topology).read_text()
        before, after = text.split("\nnccl: {", 1)
        keys = [key for key in after.split("}")[0].split(", ") if not key.startswith("calibration")]
        copy = self.folder / f"{name}.yaml"
        copy.write_text(f"{before}\nnccl: {{{', '.join(keys)}, calibration: {calibration.name}}}\n")
        return str(copy)


def placed(tables):
    return ",".join(f"measurements/{name}" for name in tables.split(","))


def logarithms(tables, least=1 << 18, below=math.inf):
    return [abs(math.log(p["predicted_s"] / p["measured_s"])) for t in tables for p in t["points"] if least <= p["bytes"] < below]


def mean(logs):
    return 100 * math.expm1(sum(logs) / len(logs))


def cell(tables):
    logs = logarithms(tables)
    return f"{mean(logs):.1f} / {100 * math.expm1(max(logs)):.0f}" if logs else "-"


def bands(tables):
    logs = [logarithms(tables, *band) for band in BANDS]
    return " ".join(f"{mean(band):.1f}" if band else "-" for band in logs) if any(logs) else "-"


def of(tables, operation, ranks=None):
    return [t for t in tables if t["operation"] == operation and ranks in (None, t["ranks"])]


def geometric_mean(all_lines):
    names = all_lines[0].keys()
    return {name: math.exp(sum(math.log(lines[name]) for lines in all_lines) / len(all_lines)) for name in names}


def other_generations(judge, node):
    """The mean of the machines of the other generations, one each (B300 for Blackwell)."""
    others = [judge.lines(n) for n in NODES[:3] if n.generation != node.generation]
    return {operation: geometric_mean([lines[operation] for lines in others]) for operation in (*RINGS, PEERS)}


def start_of(judge, node):
    """Where a fit starts: lines that have not seen the node."""
    if not node.in_class:
        return node.topology
    return judge.with_lines(node.topology, other_generations(judge, node), node.name)


def judge_nodes(judge):
    columns = ["2 GPUs", "4 GPUs", "8 GPUs", "worst", "no machine of the generation", "every other size", "fitted"]
    lines = [f"| machine, operation | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for node in NODES:
        start = start_of(judge, node)
        as_class = judge.errors(node.topology, judged=node.selections)
        unseen = judge.errors(start, judged=node.selections, from_nothing=False) if node.in_class else []
        halves = judge.errors(start, fitted=node.selections, more=["--every-other-size"], from_nothing=False)
        fitted = judge.errors(node.topology, fitted=node.selections)
        for operation in node.operations:
            counts = [bands(of(as_class, operation, ranks)) for ranks in (2, 4, 8)]
            worst = 100 * math.expm1(max(logarithms(of(as_class, operation))))
            cells = [*counts, f"{worst:.0f}", *(bands(of(tables, operation)) for tables in (unseen, halves, fitted))]
            lines.append(f"| {node.name}{' †' if node.in_class else ''}, {operation} | {' | '.join(cells)} |")
    return lines


def judge_goals(judge):
    """By operation, over machines, from 256 KiB up."""
    lines = ["| from 256 KiB up, mean over machines | all_reduce | all_gather | reduce_scatter | all_to_all |", "|---|---|---|---|---|"]
    def row(name, nodes, errors):
        cells = []
        for operation in (*RINGS, PEERS):
            means = [mean(logarithms(of(errors(n), operation))) for n in nodes if operation in n.operations]
            cells.append(f"{sum(means) / len(means):.1f} ({len(means)})" if means else "-")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    seen = [n for n in NODES if n.in_class]
    as_class = lambda n: judge.errors(n.topology, judged=n.selections)
    row("nothing measured, the class fitted to it †", seen, as_class)
    row("nothing measured, other element type of the same machine", NODES[4:8], as_class)
    row("nothing measured, other machine: H100 of NCCL 2.23, DGX H100", NODES[8:10], as_class)
    row("nothing measured, other machine: A100s of Galvatron and stas00", NODES[10:], as_class)
    row("no machine of its generation measured", seen, lambda n: judge.errors(start_of(judge, n), judged=n.selections, from_nothing=False))
    row("every other size", NODES, lambda n: judge.errors(start_of(judge, n), fitted=n.selections, more=["--every-other-size"], from_nothing=False))
    row("fitted", NODES, lambda n: judge.errors(n.topology, fitted=n.selections))
    return lines


def as_all_reduce_is(known, own):
    """The lines of other operations, from what a machine's all-reduce is of them (sim/nccl/calibration.cpp)."""
    ratio = {name: own[name] / value for name, value in known["all_reduce"].items()}
    latency = math.sqrt(ratio["ll_base"] * ratio["ll_step"])
    bandwidth = math.sqrt(ratio["simple_link"] * ratio["simple_memory"])
    lines = {op: {name: value * ratio[name] for name, value in known[op].items()} for op in RINGS}
    kept = ("ll_rate", "ll_link")
    lines[PEERS] = {name: value * (1 if name in kept else latency if name in ("ll_base", "ll_rank", "base", "rank") else bandwidth)
                    for name, value in known[PEERS].items()}
    return lines


def judge_extrapolation(judge):
    """Fewer to more GPUs, and all_reduce to other operations; from other generations' lines."""
    lines = ["| fitted to a part, judged on the rest | all_reduce | all_gather | reduce_scatter | all_to_all |", "|---|---|---|---|---|"]
    for node in NODES[:3]:
        file = node.selections[0].split("@")[0]
        fewer = judge.errors(start_of(judge, node), fitted=[f"{file}@2+4/half"], judged=[f"{file}@8/half"], from_nothing=False)
        lines.append(f"| {node.name}, 2 + 4 -> 8 GPUs | {' | '.join(bands(of(fewer, op)) for op in (*RINGS, PEERS))} |")
    galvatron = judge.errors(A100, fitted=[f"{GALVATRON_JSON}@2+4"], judged=[GALVATRON])
    lines.append(f"| A100, Galvatron, 2 + 4 -> 8 GPUs | {bands(galvatron)} | - | - | - |")
    for node in NODES[:4]:
        known = other_generations(judge, node)
        alone = judge.with_lines(node.topology, {"all_reduce": known["all_reduce"]}, f"{node.name}-all-reduce")
        answer = judge.run([placed(f"{node.selections[0]}/all_reduce"), "--topology", alone], from_nothing=False)
        [own] = [entry["parameters"] for entry in answer["lines"] if entry["operation"] == "all_reduce"]
        start = judge.with_lines(node.topology, as_all_reduce_is(known, own), f"{node.name}-scaled")
        rest = judge.errors(start, judged=node.selections, from_nothing=False)
        lines.append(f"| {node.name}, its all_reduce only | - | {' | '.join(bands(of(rest, op)) for op in (*RINGS[1:], PEERS))} |")
    return lines


def judge_elsewhere(judge):
    columns = ["nothing measured", "preset as shipped", "other machines' curves", "fitted", "every other size", "distrusted rows"]
    lines = [f"| table | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for table in TABLES:
        def errors(table=table, **how):
            return judge.errors(table.topology, table.forced, **how)
        other = errors(fitted=table.others, judged=[table.tables]) if table.others else []
        fitted = errors(fitted=[table.tables]) if table.fits else []
        halves = errors(fitted=[table.tables], more=["--every-other-size"]) if table.fits else []
        answers = [errors(judged=[table.tables]), errors(judged=[table.tables], from_nothing=False), other, fitted, halves]
        doubts = sum("doubt" in p for t in fitted for p in t["points"])
        lines.append(f"| {table.name} | {' | '.join([*map(cell, answers), str(doubts or '')])} |")
    for name, fewer, more, topology in LARGER:
        lines.append(f"| {name} | - | - | {cell(judge.errors(topology, fitted=[fewer], judged=[more]))} | - | - | |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ddpsim", type=Path)
    parser.add_argument("--plot", help="draw some of the predictions by other machines' curves")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(str(options.ddpsim.resolve()), folder)
        parts = [judge_goals(judge), judge_nodes(judge), judge_extrapolation(judge), judge_elsewhere(judge)]
        print("\n\n".join("\n".join(part) for part in parts))
        if options.plot:
            judge.run(["--topology", H100, placed(f"{A16},{A32}"), "--judge", placed(DGXC), "--judge", placed(B16), "--plot",
                       str(Path(options.plot).resolve())])


if __name__ == "__main__":
    main()
