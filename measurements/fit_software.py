#!/usr/bin/env python3
"""Fits gemm, attention and elementwise of software/fsdp-eager-2023.yaml to published steps (training/steps.csv), as the Markdown of RESULTS.md.

Usage: fit_software.py DDPSIM [--rows N]    (needs python3-scipy; about a minute)

Least squares of log(predicted / measured), softened (soft-L1) beyond 3 %, over the fitted rows of each GPU, each predicted by `ddpsim simulate`
with the physics that a user gets. A standard error is that of the logarithm, from the Jacobian. The protocol is training/SOURCE.md.
"""
import argparse
import math
import tempfile
from pathlib import Path

import numpy
import yaml
from scipy.optimize import least_squares

from judge_steps import NAMES, Judge, figures, merged, read_rows, table

SOFTWARE = Path(__file__).resolve().parents[1] / "software/fsdp-eager-2023.yaml"
SHARES = ("gemm", "attention", "elementwise")
START = (0.7, 0.25, 2.0)
BELIEVED = 0.03    # errors beyond it count linearly


class Fit:
    def __init__(self, judge, gpu):
        self.judge, self.gpu = judge, gpu
        self.software = yaml.safe_load(SOFTWARE.read_text())
        self.files = 0

    def errors(self, rows, shares):
        """Predicted / measured - 1 of each row."""
        self.files += 1
        path = self.judge.folder / f"{self.gpu}_{self.files}.yaml"
        numbers = {name: float(share) for name, share in zip(SHARES, shares)}
        path.write_text(yaml.safe_dump(merged(self.software, {"gpus": {self.gpu: numbers}})))
        found = []
        for row in rows:
            scenario = merged(row.scenario(), {"workload": {"compute": str(path)}})
            del scenario["workload"]["framework"]
            found.append(self.judge.simulate(scenario)["iteration_s"] / row.measured - 1)
        return found

    def to(self, rows):
        """(shares, their standard errors in %)"""
        answer = least_squares(lambda logs: [math.log1p(error) for error in self.errors(rows, numpy.exp(logs))], numpy.log(START), loss="soft_l1",
                               f_scale=BELIEVED, diff_step=0.01, xtol=1e-4, ftol=1e-5)
        variance = 2 * answer.cost / max(1, len(rows) - len(SHARES))
        covariance = variance * numpy.linalg.inv(answer.jac.T @ answer.jac)
        return numpy.exp(answer.x), 100 * numpy.sqrt(numpy.diag(covariance))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ddpsim", type=Path)
    parser.add_argument("--rows", type=int, metavar="N", help="only so many fitted rows of each GPU, evenly spaced")
    options = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(str(options.ddpsim.resolve()), folder, [])
        for gpu in ("A100", "H100"):
            of_set = [row for row in read_rows() if row.set == f"foundry-{gpu}"]
            fitted = [row for row in of_set if not row.judged]
            count = min(options.rows or len(fitted), len(fitted))
            fitted = [fitted[i * len(fitted) // count] for i in range(count)]
            fit = Fit(judge, gpu)
            shares, spread = fit.to(fitted)
            cells = [f"{share:.4f} ± {error:.0f} %" for share, error in zip(shares, spread)]
            judged = fit.errors([row for row in of_set if row.judged], shares)
            lines.append([NAMES[f"foundry-{gpu}"], *cells, *figures(fit.errors(fitted, shares))[::2], *figures(judged)])
    print("\n".join(table(["set", *SHARES, "fitted rows", "mean error", "judged rows", "bias", "mean error", "worst"], lines)))


if __name__ == "__main__":
    main()
