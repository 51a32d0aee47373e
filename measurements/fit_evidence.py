#!/usr/bin/env python3
"""Fits `compute: named` and `named_split` of evidence/default.yaml to published steps: what software that its user names is off, by families.

Usage: fit_evidence.py RESIDUALS (the JSON of judge_coverage.py DDPSIM --json RESIDUALS) | --sockets DDPSIM (network: ethernet_guessed)

Protocol, before any fit was seen: a family's middle is its median, of which the middles' standard deviation (about 0, unless three or more are all of one
sign) is sigma, widened for their number as a prediction is (Student's t of k - 1, sqrt(1 + 1/k)); `row` is the scale of Student's t with four degrees of
freedom of what is left, of greatest likelihood, a family counting as ten rows at most. Steps that have a class of their own besides (experts, context,
async TP) take no part. Classes of one family, or none, are declared."""
import json
import math
import statistics
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import judge_transports  # noqa: E402

NAMED = ("named", "named_split")
MOST_ROWS = 10
# Quantiles of Student's t at 90 % over the normal's, by degrees of freedom (tables): beyond ten 1.03 is near enough.
T90 = {1: 2.402, 2: 1.471, 3: 1.278, 4: 1.196, 5: 1.152, 6: 1.124, 7: 1.104, 8: 1.090, 9: 1.079, 10: 1.071}


def log_density(z):
    """Of Student's t with four degrees of freedom, but for a constant."""
    return -2.5 * math.log1p(z * z / 4)


def row_scale(left):
    """left: by family, logarithms about their median."""
    def likelihood(scale):
        return sum(min(1, MOST_ROWS / len(of)) * sum(log_density(x / scale) - math.log(scale) for x in of) for of in left)
    return max((math.exp(math.log(0.003) + i * 0.01) for i in range(461)), key=likelihood)


def factor(medians):
    """Middle and sigma by the families' medians."""
    same_sign = len(medians) >= 3 and (min(medians) > 0 or max(medians) < 0)
    middle = statistics.mean(medians) if same_sign else 0
    k = len(medians)
    spread = math.sqrt(sum((one - middle) ** 2 for one in medians) / (k - 1 if same_sign else k))
    return middle, spread * math.sqrt(1 + 1 / k) * T90.get(k - 1, 1.03)


def named(residuals):
    """The class of {family: [logarithms]}, as a file says it."""
    medians = [statistics.median(of) for of in residuals.values()]
    middle, sigma = factor(medians)
    row = row_scale([[x - median for x in of] for of, median in zip(residuals.values(), medians) if len(of) > 1])
    return {"middle": round(middle, 3), "sigma": round(sigma, 3), "row": round(row, 3), "families": len(medians)}


def sockets(ddpsim):
    """Of Ethernet that nobody described: the rows of transports/sockets.csv that fitted nothing, each a family."""
    with tempfile.TemporaryDirectory() as folder:
        judged = [row for row in judge_transports.rows("sockets.csv") if row["use"] == "judged"]
        left = [math.log(judge_transports.of_sockets(ddpsim, row, Path(folder)) / float(row["busbw_GBps"])) for row in judged]
    middle, sigma = factor(left)
    return {"middle": round(middle, 2), "sigma": round(sigma, 2), "families": len(left)}, [round(one, 2) for one in left]


def main():
    if sys.argv[1:2] == ["--sockets"] and len(sys.argv) == 3:
        print(*sockets(Path(sys.argv[2]).resolve()))
        return
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    residuals = json.loads(Path(sys.argv[1]).read_text())
    for kind, families in residuals.items():
        for name, of in families.items():
            print(f"{name}: {len(of)} steps, median {statistics.median(of):+.3f}")
        print(f"{kind}: {named(families)}")


if __name__ == "__main__":
    main()
