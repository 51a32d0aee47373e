#!/usr/bin/env python3
"""Bus bandwidths of large messages over PCIe and TCP sockets (transports/*.csv) against `ddpsim topology costs` with nothing calibrated; as the Markdown of
RESULTS.md. The protocol is transports/SOURCE.md.

Usage: judge_transports.py DDPSIM
"""
import csv
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
BYTES = 4 * 2**30

PCIE = """kind: cluster
node:
  gpus: {gpus}
  interconnect:
    kind: pcie
    generation: {generation}
    gpus_per_switch: {gpus_per_switch}
    switches_per_socket: {switches_per_socket}
    peer_to_peer: {peer_to_peer}
    host: {{{numa}}}
    socket: {{bandwidth: 16GB/s, latency: 0.5us}}
nccl: {{gpu: {gpu}, cpu: {cpu}, version: "{nccl}"}}
"""
SOCKETS = """kind: cluster
node:
  gpus: {gpus_of_node}
  interconnect: {{kind: nvswitch, bandwidth: 100GB/s, latency: 1us}}
  nics: {{count: 1, bandwidth: {nic_Gbps}Gbps, latency: 50us}}
fabric: {{kind: fat_tree, nodes_per_leaf: 16, network: ethernet, cloud: {cloud}}}
nccl: {{gpu: {gpu}, cpu: intel, socket: {{pod: {pod}}}}}
"""


def rows(name):
    with open(ROOT / "transports" / name, newline="") as file:
        return list(csv.DictReader(file))


def predicted(ddpsim, topology, gpus, folder):
    """GB/s of an all-gather, which takes a ring."""
    (folder / "machine.yaml").write_text(topology)
    command = [ddpsim, "topology", "costs", folder / "machine.yaml", "--world-size", str(gpus), "--bytes", f"{BYTES}B", "--operation", "all_gather", "--json", "-"]
    cost = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["costs"][0]
    return BYTES / cost["time_s"] * (gpus - 1) / gpus / 1e9


def of_pcie(ddpsim, row, folder):
    given = {**row, "peer_to_peer": row["peer_to_peer"] or "auto", "numa": f"numa: {row['numa']}" if row["numa"] else ""}
    return predicted(ddpsim, PCIE.format(**given), int(row["gpus"]), folder)


def of_sockets(ddpsim, row, folder):
    return predicted(ddpsim, SOCKETS.format(**row), 2 * int(row["gpus_of_node"]), folder)


def error(ratios):
    return 100 * (math.exp(sum(abs(math.log(one)) for one in ratios) / len(ratios)) - 1)


def table(ddpsim, title, name, predict, folder):
    print(f"| {title} | use | measured, GB/s | predicted, GB/s | error |\n|" + "---|" * 5)
    by_use = {}
    for row in rows(name):
        measured, rate = float(row["busbw_GBps"]), predict(ddpsim, row, folder)
        by_use.setdefault(row["use"], []).append(rate / measured)
        print(f"| {next(iter(row.values()))} | {row['use']} | {measured:.3g} | {rate:.3g} | {100 * (rate / measured - 1):+.0f} |")
    for use, ratios in by_use.items():
        print(f"| all {len(ratios)} | {use} | | | {error(ratios):.0f} |")
    print()


def main():
    ddpsim = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        table(ddpsim, "server", "pcie.csv", of_pcie, Path(folder))
        table(ddpsim, "machines", "sockets.csv", of_sockets, Path(folder))


if __name__ == "__main__":
    main()
