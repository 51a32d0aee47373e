#!/usr/bin/env python3
"""One public figure or more of every machine of topologies/ (transports/presets.csv) against `ddpsim topology costs` with the preset as shipped; as the Markdown of
RESULTS.md. A row without a figure says what was searched. Nothing is fitted to these rows beyond those marked y, which others fitted before.

Usage: judge_presets.py DDPSIM
"""
import json
import subprocess
import sys
from pathlib import Path

from judge_transports import ROOT, error, rows


def machines():
    """Presets that name a GPU: rings and examples name none."""
    return sorted(path.stem for path in (ROOT.parent / "topologies").glob("*.yaml") if "\ngpu: " in path.read_text())


def predicted(ddpsim, row):
    """GB/s of bus bandwidth, as nccl-tests counts it."""
    command = [ddpsim, "topology", "costs", ROOT.parent / f"topologies/{row['preset']}.yaml", "--world-size", row["gpus"], "--operation", row["operation"],
               "--bytes", f"{row['bytes']}B", *(("--algorithm", row["algorithm"]) if row["algorithm"] else ()), "--json", "-"]
    costs = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["costs"]
    return next(cost for cost in costs if not row["algorithm"] or cost["algorithm"] == row["algorithm"])["busbw_Bps"] / 1e9


def size(count):
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (10**6, "MB")):
        if count % unit == 0:
            return f"{count // unit} {name}"
    raise ValueError(count)


def main():
    ddpsim, by_kind = Path(sys.argv[1]).resolve(), {}
    print("| preset | what | published, GB/s | predicted, GB/s | ratio | fitted | source |\n|" + "---|" * 7)
    for row in rows("presets.csv"):
        if not row["busbw_GBps"]:
            print(f"| {row['preset']} | none checked | | | | | {row['source']} |")
            continue
        measured, rate = float(row["busbw_GBps"]), predicted(ddpsim, row)
        by_kind.setdefault((row["kind"], row["fitted"]), []).append(rate / measured)
        what = f"{row['operation']} on {row['gpus']} GPUs, {size(int(row['bytes']))}{', ' * bool(row['algorithm'])}{row['algorithm']}"
        print(f"| {row['preset']} | {what} | {measured:.3g} | {rate:.3g} | {rate / measured:.2f} | {'yes' if row['fitted'] == 'y' else ''} | {row['source']} |")
    print("\n| rows | fitted | n | mean error, % | ratio, least to most |\n|" + "---|" * 5)
    for (kind, fitted), ratios in sorted(by_kind.items(), key=lambda item: (item[0][1], item[0][0])):
        print(f"| {kind} | {'yes' if fitted == 'y' else ''} | {len(ratios)} | {error(ratios):.0f} | {min(ratios):.2f} to {max(ratios):.2f} |")
    checked = {row["preset"] for row in rows("presets.csv") if row["busbw_GBps"]}
    print(f"\n{len(checked)} of {len(machines())} presets have a figure.")


if __name__ == "__main__":
    main()
