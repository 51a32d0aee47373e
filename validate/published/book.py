#!/usr/bin/env python3
"""Regenerates the accuracy book: validate/published/book.py build/release/sim/ddpsim --out validate/published/BOOK.md

The protocol is README.md, the data sets are sets.py. Every number comes out of the binary and of the measured files; the same binary gives
the same bytes. --keep FOLDER leaves the scenarios, the synthesized traces and commands.txt there. --traces writes trace.csv beside each
scenario.yaml anew, and nothing else."""
import argparse
import csv
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import page
import sets

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class CommandFailed(Exception):
    """A command of ddpsim ended with an error, which this says."""


@dataclass
class Judgement:
    """A measured run and what was said of it; seconds."""
    case: sets.Case
    row: sets.Row
    measured: float
    std: float | None
    tail: float | None
    predicted: float
    predicted_tail: float
    plain: float                 # without interference (not of variations)
    defaults: tuple              # (least, middle, most) with nothing but the GPU's name (not of variations)
    repeated: float | None       # by repeating an overlapped row

    @property
    def counts(self):
        return self.row.role == "judged"


class Workplace:
    """A copy of a set's folder, where its commands run."""

    def __init__(self, binary, data, folder):
        self.binary, self.data, self.folder, self.commands = binary, data, folder, []
        self.sweep = f"{data.folder}.yaml"  # the title of its plot
        shutil.copytree(HERE / data.folder, folder)
        whole = (folder / "scenario.yaml").read_text()
        (folder / self.sweep).write_text(whole)
        alone = whole.split("\nsweep:")[0] + "\n"
        (folder / "scenario.yaml").write_text(alone)
        (folder / "uncalibrated.yaml").write_text(re.sub(r"\nphysics:\n  pass_bandwidth:[^\n]*", "", alone))

    def run(self, *arguments):
        done = subprocess.run([self.binary, *arguments], cwd=self.folder, capture_output=True, text=True)
        self.commands.append(shlex.join(["ddpsim", *arguments]))
        if done.returncode:
            raise CommandFailed(f"{self.data.folder}: {self.commands[-1]}\n{done.stderr.strip()}")
        return done

    def synthesize(self, index, case, extra):
        data = self.data
        times = {"--forward": case.forward, "--backward": case.backward, "--optimizer": case.optimizer + case.divide}
        self.run("trace", "synthesize", "--layers", str(ROOT / data.layers), "--batch", str(case.batch or data.batch), "--sequence",
                 str(case.sequence or data.sequence), "--dtype", data.dtype, *extra,
                 *(word for name, time in times.items() if time for word in (name, f"{time * 1e3:.6f}ms")), "--out", f"trace-{index}.csv")

    def settings(self, index, case, row, *more):
        entries = [f"workload.trace=trace-{index}.csv", f"strategy={row.strategy}", *([f"ddp.bucket_cap={row.cap}"] if row.cap else []), *case.set, *row.set, *more]
        return [word for entry in entries for word in ("--set", entry)]

    def simulate(self, index, case, row, interference):
        more = f"physics.interference={{compute: {interference[0]:.9g}, collective: {interference[1]:.9g}}}"
        self.run("simulate", "scenario.yaml", *self.settings(index, case, row, more), "--quiet", "--json", "point.json")
        return json.loads((self.folder / "point.json").read_text())

    def by_default(self, index, case, row):
        """What somebody gets who calibrates nothing: interference and the spread of GPUs as the product has them."""
        gpu = (f"cluster.gpu={self.data.gpu}",)
        self.run("simulate", "uncalibrated.yaml", *self.settings(index, case, row, *gpu), "--quiet", "--json", "point.json")
        point = json.loads((self.folder / "point.json").read_text())
        return point["evidence"]["interval_80_s"][0], point["iteration_s"], point["evidence"]["interval_80_s"][1]

    def calibrate(self, index, case, row):
        """s = r from the total of one row; its tail may hold other things (README.md) and is not given."""
        measured = measured_row(self.folder / case.measured, row)
        run_set = (self.folder / case.measured).read_text().splitlines()[0]
        (self.folder / "one.csv").write_text(f"{run_set}\nstrategy,iteration_s\n{row.strategy},{measured['iteration_s']}\n")
        self.run("calibrate", "--overlap", "scenario.yaml", "--measured", "one.csv", "--accept", *self.settings(index, case, row), "--out", "physics.yaml")
        found = re.search(r"compute: ([\d.e+-]+), collective: ([\d.e+-]+)", (self.folder / "physics.yaml").read_text())
        return float(found[1]), float(found[2])


def measured_row(path, row):
    with open(path) as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    cap = str(int(row.cap.removesuffix("MiB")) * 2**20) if row.cap else ""
    return next(r for r in rows if r["strategy"] == row.strategy and r["bucket_cap_bytes"] == cap)


def number(text):
    return float(text) if text else None


def repeated(data, case, row, measured_of):
    """What somebody says who knows one overlapped row: the configuration's own, or where each has one row only the calibrated one."""
    if row.strategy in ("naive", "flat") or row.role == "calibrated":
        return None
    own = [r for r in case.rows if r.strategy == "overlap"]
    if own:
        return None if row.strategy == "overlap" else measured_of(case, own[0])
    return next(measured_of(c, r) for c in data.cases for r in c.rows if r.role == "calibrated")


def evaluate(place, data, variation=None):
    """(judgements, {index of a case: its interference}); None where nothing fits."""
    each = variation is not None and variation.each
    extra = variation.synthesize if variation else ()
    place.data = data
    for index, case in enumerate(data.cases):
        place.synthesize(index, case, extra)
    fits = {}
    for index, case in enumerate(data.cases):
        for row in case.rows:
            if row.role == "calibrated":
                fits[index] = place.calibrate(index, case, row)
    one = next(iter(fits.values()))
    measured_of = lambda case, row: float(measured_row(place.folder / case.measured, row)["iteration_s"])
    judgements = []
    for index, case in enumerate(data.cases):
        for row in case.rows:
            measured = measured_row(place.folder / case.measured, row)
            point = place.simulate(index, case, row, fits[index] if each else one)
            plain = point if variation else place.simulate(index, case, row, (0, 0))
            defaults = () if variation else place.by_default(index, case, row)
            # A flat buffer is filled behind backward, within the clock.
            tail = point["exposed_communication_s"] + point["overhead_s"] if row.strategy == "flat" else point.get("tail_s", point["exposed_communication_s"])
            tail = case.divide + (0 if row.drained else tail)
            judgements.append(Judgement(case, row, float(measured["iteration_s"]), number(measured["iteration_std_s"]), number(measured["tail_s"]),
                                        point["iteration_s"], tail, plain["iteration_s"], defaults, repeated(data, case, row, measured_of)))
    return judgements, fits


def choices(data, judgements):
    """The groups in which something is chosen: the caps of a configuration, or the configurations."""
    if data.order == "all":
        return [judgements]
    groups = [[j for j in judgements if j.case is case and j.row.cap] for case in data.cases] if data.order == "caps" else []
    return [group for group in groups if len(group) > 1]


def pairs_in_order(groups, value):
    """(pairs ordered as measured, pairs that differ by more than twice the larger standard deviation)."""
    right = total = 0
    for group in groups:
        for a, b in itertools.combinations(group, 2):
            difference = a.measured - b.measured
            if abs(difference) <= 2 * max(a.std or 0, b.std or 0):
                continue
            total += 1
            right += (value(a) - value(b)) * difference > 0
    return right, total


def regrets(groups, value):
    return [min(group, key=value).measured / min(j.measured for j in group) - 1 for group in groups]


def book_of(binary, data, folder, plots):
    """`plots`: the page that pictures go beside, or None."""
    place = Workplace(binary, data, folder)
    judgements, fits = evaluate(place, data)
    plot = None
    if data.plot and plots:
        index = data.plot[0]
        s, r = next(iter(fits.values()))
        plot = f"{plots.stem}-{data.folder}.svg"
        place.run("sweep", place.sweep, "--quiet", "--plot", "sweep.svg", "--set", f"workload.trace=trace-{index}.csv",
                  "--set", f"physics.interference={{compute: {s:.9g}, collective: {r:.9g}}}", *(word for entry in data.plot[1:] for word in ("--set", entry)))
        shutil.copyfile(folder / "sweep.svg", plots.parent / plot)
    others = []
    for variation in data.variations:
        try:
            others.append((variation, *evaluate(place, sets.varied(data, variation), variation)))
        except CommandFailed as failed:
            others.append((variation, None, str(failed)))
    (folder / "commands.txt").write_text("\n".join(place.commands) + "\n")
    return page.Chapter(data, judgements, fits, others, choices(data, judgements), plot)


def write_shown_trace(binary, data, folder):
    """The trace that the set's scenario.yaml names."""
    place = Workplace(binary, data, folder)
    place.synthesize(data.shown, data.cases[data.shown], ())
    text = (folder / f"trace-{data.shown}.csv").read_text()
    (HERE / data.folder / "trace.csv").write_text(text.replace(f"{ROOT}/", ""))    # its header has the command


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path, help="the program, build/release/sim/ddpsim")
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--out", type=Path, help="Markdown; plots lie beside it")
    wanted.add_argument("--traces", action="store_true", help="only trace.csv of each set")
    parser.add_argument("--keep", type=Path, help="leave scenarios, traces and commands here")
    parser.add_argument("--only", action="append", metavar="FOLDER", help="only this data set (repeatable)")
    parser.add_argument("--no-plots", action="store_true", help="without pictures")
    options = parser.parse_args()
    chosen = [data for data in sets.SETS if not options.only or data.folder in options.only]
    with tempfile.TemporaryDirectory() as temporary:
        work = options.keep or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        try:
            if options.traces:
                for data in chosen:
                    write_shown_trace(options.binary.resolve(), data, work / data.folder)
                return
            chapters = [book_of(options.binary.resolve(), data, work / data.folder, None if options.no_plots else options.out.resolve()) for data in chosen]
        except CommandFailed as failed:
            sys.exit(str(failed))
    options.out.write_text(page.render(chapters, pairs_in_order, regrets, os.path.relpath(HERE, options.out.resolve().parent)))


if __name__ == "__main__":
    main()
