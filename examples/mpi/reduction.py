"""MPI's reduction: which algorithm's formula an all-reduce follows at which size, and which one would be the shortest.

Usage: reduction.py [RANKS], 4 or 8, on the hosts of eight-hosts.yaml."""
import math
import sys
from pathlib import Path

import ddpsim

LATENCY, BANDWIDTH = 5e-6, 12.5e9    # of eight-hosts.yaml
n = int(sys.argv[1]) if len(sys.argv) > 1 else 8
topology = str(Path(__file__).with_name("eight-hosts.yaml"))


def formulas(size):
    """The alpha-beta model's; at n = 2 they are nearly one."""
    rounds, all_of_it = math.log2(n), size / BANDWIDTH
    return {"ring": 2 * (n - 1) * (LATENCY + all_of_it / n), "recursive doubling": rounds * (LATENCY + all_of_it),
            "Rabenseifner": 2 * rounds * LATENCY + 2 * (n - 1) / n * all_of_it}


print(f"{'bytes':>9}  {'MPI':>12}  {'is':18}" + "".join(f"{name:>20}" for name in formulas(1)) + "  shortest")
for size in [1 << power for power in range(6, 25, 2)]:
    mpi = ddpsim.collective_time("all_reduce", size, ranks=n, topology=topology, backend="mpi")
    times = formulas(size)
    name = min(times, key=lambda one: abs(times[one] - mpi))
    assert math.isclose(times[name], mpi, rel_tol=1e-9), (size, mpi, times)
    print(f"{size:9}  {1e6 * mpi:9.2f} us  {name:18}" + "".join(f"{1e6 * time:17.2f} us" for time in times.values()) + f"  {min(times, key=times.get)}")

ring = 2 * (n - 1) - math.log2(n)
print(f"\na ring is shorter than recursive doubling from {ring * LATENCY * BANDWIDTH / (math.log2(n) - 2 * (n - 1) / n):.0f} bytes on,"
      f" Rabenseifner from {math.log2(n) * LATENCY * BANDWIDTH / (math.log2(n) - 2 * (n - 1) / n):.0f}")
