"""MPI's ping: what a message between two hosts takes by its size, half of a ping-pong, and what bandwidth it gets.

Usage: ping.py [TOPOLOGY]. The line through the smallest and the largest message is the alpha-beta model's: t = a + m / B."""
import sys
from pathlib import Path

import ddpsim

topology = sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).with_name("eight-hosts.yaml"))
sizes = [1 << power for power in range(0, 28, 3)]
times = {size: ddpsim.collective_time("send_recv", size, ranks=2, topology=topology, backend="mpi") for size in sizes}
print("      bytes  half a ping-pong    bandwidth")
for size, seconds in times.items():
    print(f"{size:11}  {1e6 * seconds:13.3f} us  {size / seconds / 1e9:6.3f} GB/s")

first, last = sizes[0], sizes[-1]
bandwidth = (last - first) / (times[last] - times[first])
latency = times[first] - first / bandwidth
print(f"\na = {1e6 * latency:.3f} us, B = {bandwidth / 1e9:.3f} GB/s: half of B from a B = {latency * bandwidth:.0f} bytes on")
