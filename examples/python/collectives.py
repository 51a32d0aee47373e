"""What a compiler asks: how long would a collective take here?"""
import ddpsim

for operation in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
    node = ddpsim.collective_time(operation, "64MiB", ranks=8, topology="superpod-h100")
    rails = ddpsim.collective_time(operation, "64MiB", ranks=8, stride=8, topology="superpod-h100")
    print(f"{operation:15} 8 GPUs of a node {1e6 * node:7.1f} us, one GPU in each of 8 nodes {1e6 * rails:7.1f} us")
