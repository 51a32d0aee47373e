#!/usr/bin/env python3
"""Machines without NVLink or RDMA: jobs that were reported, groups that share an uplink by hand, and what `topology nccl` says of the way that messages take."""
import json

import ddpsim_cli as cli

# Two GPUs below each of two PCIe switches of generation 3; no peer-to-peer, so that both send over their switch's uplink, 0.47 of 12.5 GB/s.
PAIRS = """kind: cluster
node:
  gpus: 4
  interconnect: {kind: pcie, generation: 3, gpus_per_switch: 2, switches_per_socket: 2, peer_to_peer: false}
nccl: {gpu: volta, cpu: intel}
"""
MODEL = """workload: {model: gpt2, micro_batch: 4, sequence: 1024, dtype: bf16, framework: megatron-eager-2021}
cluster: {topology: pairs.yaml, world_size: 4, gpu: a100-sxm4-80gb}
strategy: flat
parallelism: {tensor: 2}
batch: {global: 64}
physics: none
"""
UPLINK = 0.47 * 12.5e9


class SharedUplinksTest(cli.CliTest):
    def busy(self, *sets):
        axis = next(one for one in self.simulate(*sets, file="s.yaml")["communication"] if one["axis"] == "data")
        return axis["busy_s"], axis["bytes"]

    def test_two_groups_over_one_uplink_get_half_each(self):
        """Tensor-parallel pairs below a switch, gradients between switches: each of two rings sends S over the uplinks that they share."""
        self.write("pairs.yaml", PAIRS)
        self.write("s.yaml", MODEL)
        together, size = self.busy()
        self.assertAlmostEqual(together / (size / (UPLINK / 2)), 1, delta=0.01)
        # Alone on its uplink a ring gets all of it.
        self.write("pairs.yaml", PAIRS.replace("gpus_per_switch: 2, switches_per_socket: 2", "gpus_per_switch: 1, switches_per_socket: 4"))
        apart, size = self.busy()
        self.assertAlmostEqual(apart / (size / UPLINK), 1, delta=0.01)

    def test_another_axis_between_nodes_changes_nothing(self):
        """Stages on two nodes send over NICs; the rings of each share uplinks as before."""
        self.write("pairs.yaml", PAIRS.replace("nccl:", "  nics: {count: 1, bandwidth: 100Gbps, latency: 5us}\nfabric: {kind: fat_tree, nodes_per_leaf: 4}\nnccl:"))
        self.write("s.yaml", MODEL.replace("{tensor: 2}", "{tensor: 2, pipeline: 2}").replace("world_size: 4", "world_size: 8").replace("strategy: flat", "strategy: flat"))
        together, size = self.busy()
        self.assertAlmostEqual(together / (size / (UPLINK / 2)), 1, delta=0.01)


class ReportedJobsTest(cli.CliTest):
    def test_eight_a40s_without_peers(self):
        """A policy of 1.2 billion parameters: 1.4 s on one, 6.4 s under DDP on eight, 3.6 with gradients compressed to bfloat16 (GaTech-RL2/EgoVerse, pull 667)."""
        trace = cli.small_trace(n_gradients=48, elements=25_000_000, step_s=0.9 / 48, forward="0.4s", optimizer="0.1s")
        for hook, reported in (("none", 6.4), ("bf16", 3.6)):
            self.write_scenario(trace, f"strategy: ddp\nddp: {{comm_hook: {hook}}}\n", 8)
            time = self.simulate("cluster.topology=pcie-8xa40")["iteration_s"]
            self.assertLess(abs(time / reported - 1), 0.25, hook)

    def test_two_nodes_of_v100s_over_one_connection(self):
        """RoBERTa on p3.16xlarge: on two machines a step takes 5.8 times as long (pytorch issue 36298, NVIDIA/nccl issue 318), here more than twice."""
        self.write("s.yaml", "workload: {model: {kind: transformer, hidden: 768, layers: 12, heads: 12, vocab: 50265, positions: 514, causal: false}, micro_batch: 4, "
                             "sequence: 512, dtype: fp32}\ncluster: {topology: p3-16xlarge, world_size: 8}\nstrategy: ddp\n")
        one, two = (self.simulate(f"cluster.world_size={n}", file="s.yaml")["iteration_s"] for n in (8, 16))
        self.assertGreater(two, 2 * one)


class InterferenceTest(cli.CliTest):
    def test_slow_nics_disturb_less_unless_something_calibrated_it(self):
        """99 ms of compute beside one all-reduce at 4.7 GB/s: 4.7 / 12.5 of the middle of the GPU's range, 0.375; what is said is not touched, nor rings within a node."""
        self.write_scenario(cli.trace_text([("large", 400_000_000, 0.001), ("small", 1024, 0.1)]), "strategy: overlap\nspread: none\n", 16)
        def interference(world_size, *sets):
            return self.simulate("cluster.topology=gcp-a2-8", f"cluster.world_size={world_size}", *sets)["interference_s"]
        said = interference(16, "physics.interference=0.375")
        self.assertAlmostEqual(said, 0.099 * 0.375, delta=0.001)
        self.assertAlmostEqual(interference(16) / said, 4.7 / 12.5, delta=0.02)
        self.assertAlmostEqual(interference(8) / interference(8, "physics.interference=0.375"), 1, delta=1e-6)


class LinksOfPresetsTest(cli.CliTest):
    def test_a_slot_of_another_bandwidth(self):
        """The generation stays, and what its slots carry beyond what NCCL counts."""
        def busbw(*sets):
            self.write("s.yaml", "workload: {model: gpt2, micro_batch: 4, sequence: 1024, dtype: fp16}\ncluster: {topology: pcie-2xh100, world_size: 2}\nstrategy: flat\nevidence: none\n")
            return self.simulate(*sets, file="s.yaml")["busbw_Bps"]
        self.assertAlmostEqual(busbw("cluster.interconnect.bandwidth=24GB/s") / busbw(), 0.5, delta=0.02)
        narrow = [busbw("cluster.topology=g4dn-12xlarge", *more) for more in ((), ("cluster.interconnect.bandwidth=3GB/s",))]
        self.assertAlmostEqual(narrow[1] / narrow[0], 0.5, delta=0.02)


class WhatAMachineCouldBeSetToTest(cli.CliTest):
    def explained(self, topology, world_size):
        self.write("s.yaml", "workload: {model: gpt2, micro_batch: 4, sequence: 1024, dtype: fp16}\n"
                             f"cluster: {{topology: {topology}, world_size: {world_size}}}\nstrategy: ddp\nevidence: none\n")
        return self.ok("simulate", "s.yaml", "--explain").stdout

    def busbw(self, topology, world_size, *sets):
        self.write("s.yaml", "workload: {model: gpt2, micro_batch: 4, sequence: 1024, dtype: fp16}\n"
                             f"cluster: {{topology: {topology}, world_size: {world_size}}}\nstrategy: flat\nevidence: none\n")
        return self.simulate(*sets, file="s.yaml")["busbw_Bps"]

    def test_host_memory(self):
        """Eight A40s of two sockets: 1.7 GB/s a flow through interleaved memory, 0.47 of 25 with NPS4, 0.78 of 25 from GPU to GPU but for the
        link between sockets, which holds up nothing."""
        told = self.explained("pcie-8xa40", 8)
        self.assertIn("peer-to-peer between any two GPUs of a node (NCCL_P2P_LEVEL=SYS)", told)
        self.assertIn("four NUMA domains a socket (NPS4, in the BIOS)", told)
        usual = self.busbw("pcie-8xa40", 8)
        self.assertAlmostEqual(self.busbw("pcie-8xa40", 8, "cluster.interconnect.numa=4") / usual, 0.47 * 25 / 1.7, delta=0.4)
        self.assertAlmostEqual(self.busbw("pcie-8xa40", 8, "cluster.interconnect.peer_to_peer=SYS") / usual, 0.78 * 25 / 1.7, delta=0.6)
        self.assertNotIn("NCCL_P2P_LEVEL", self.explained("pcie-8x4090", 8))  # its driver has none
        self.assertNotIn("NPS4", self.explained("dgx-h100", 8))

    def test_below_a_mesh_and_in_a_graph(self):
        """Pairs of NVLinks above PCIe have it in a section of their own, a graph beside its links."""
        pairs = [self.busbw("azure-nc-a100", 4, *more) for more in ((), ("cluster.interconnect.peer_to_peer=SYS",))]
        self.assertAlmostEqual(pairs[1] / pairs[0], 0.78 / 0.47, delta=0.05)
        refused = self.fails(2, "simulate", "s.yaml", "--set", "cluster.topology=dgx-h100", "--set", "cluster.interconnect.numa=4").stderr
        self.assertIn("no PCIe joins these GPUs", refused)

    def test_connections(self):
        told = self.explained("p3dn-24xlarge", 16)
        for change in ("2 x 4 sockets a channel", "2 x 16 sockets a channel", "a cluster placement group", "NICs of"):
            self.assertIn(change, told)
        flows = [self.busbw("p3dn-24xlarge", 16, *more) for more in ((), ("cluster.socket={threads: 1, sockets: 1}",))]
        self.assertGreater(flows[0], 2 * flows[1])
        self.assertGreater(self.busbw("p3dn-24xlarge", 16, "cluster.socket={threads: 1, sockets: 1}", "cluster.fabric.cloud=aws-placement"), 1.9 * flows[1])
        self.assertLess(self.busbw("p3dn-24xlarge", 16, "cluster.socket.pod=true"), flows[0])


class ForcedTest(cli.CliTest):
    def test_a_forced_ring_takes_the_way_that_it_would_take_by_itself(self):
        self.write("pairs.yaml", PAIRS)
        times = []
        for more in ((), ("--algorithm", "ring", "--protocol", "simple")):
            costs = json.loads(self.ok("topology", "costs", "pairs.yaml", "--bytes", "1GiB", "--operation", "all_gather", *more, "--json", "-").stdout)["costs"]
            times.append(costs[0]["time_s"])
        self.assertAlmostEqual(times[0] / times[1], 1, delta=1e-9)


class SaidTest(cli.CliTest):
    def lines(self, *arguments):
        return self.ok("topology", "nccl", *arguments).stdout.splitlines()[1:3]

    def test_the_way_within_a_node_and_between_nodes(self):
        for arguments, within, between in (
                (("pcie-8x4090",), "within a node: host memory, interleaved, as their driver has no peer-to-peer", None),
                (("pcie-8xl40s", "--world-size", "2"), "within a node: PCIe, peer-to-peer (up to SYS, and these are PHB apart)", None),
                (("p3dn-24xlarge", "--world-size", "16"), "within a node: NVLink", "between nodes: TCP sockets, 2 threads x 8 a channel, at most 625 MB/s each"),
                (("gcp-a2-8", "--world-size", "16"), "within a node: NVLink", "between nodes: TCP sockets, 4 threads x 1 a channel"),
                (("superpod-h100", "--world-size", "16"), "within a node: NVLink", "between nodes: RDMA")):
            said = self.lines(*arguments)
            self.assertEqual(said[0], within)
            if between:
                self.assertEqual(said[1], between)


if __name__ == "__main__":
    cli.main()
