#!/usr/bin/env python3
"""Flows that are hashed onto single cables of uplinks (cluster.hashing): which cable each takes, worked out here by the hash that
docs/model.md gives, and what collisions cost."""
import json
from collections import Counter

import ddpsim_cli as cli

# Nodes of one GPU and one NIC, four on each leaf: without hashing, four NICs share an uplink that is as wide as all of them.
NODE = "kind: cluster\nnode: {gpus: 1, nics: {count: 1, bandwidth: 25GB/s, latency: 5us}}\n"
FABRIC = "fabric: {kind: fat_tree, nodes_per_leaf: 4}\n"
# Every hop goes from one leaf to the other.
ZIGZAG = [0, 4, 1, 5, 2, 6, 3, 7]
S = 32 * cli.MIB
LATENCY, BANDWIDTH = 5e-6, 25e9
SEEDS = range(1, 13)
MASK = 2**64 - 1


def mixed(value):
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def cable(seed, sender, receiver, cables, part=0):
    """Of a part of the flow from NIC 0 of one node to NIC 0 of another, above leaves."""
    value = mixed(seed)
    for one in (0, sender, 0, receiver, 0):
        value = mixed(value ^ one)
    return (mixed(value ^ part) if part else value) % cables


def most_on_a_cable(seed, cables=4, hashes=1, order=ZIGZAG):
    """Parts of flows. What goes up by cable i of one leaf comes down by cable i of the other, so those that meet on the way up are
    those that meet on the way down."""
    hops = list(zip(order, order[1:] + order[:1]))
    return max(Counter((sender // 4, cable(seed, sender, receiver, cables, part))
                       for sender, receiver in hops for part in range(hashes)).values())


class HashingTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write("trace.csv", cli.trace_text([("weight", S // 4, 0.001)]))
        self.write_topology(FABRIC)

    def write_topology(self, fabric, more=""):
        self.write("tree.yaml", NODE + fabric + more)
        self.write("scenario.yaml", "workload: {trace: trace.csv}\ncluster: {topology: tree.yaml, world_size: 8}\n"
                                    f"collective: {{algorithm: ring, rings: [{ZIGZAG}]}}\n")

    def communication(self, *sets):
        return self.simulate(*sets)["communication_s"]

    def test_the_cables_of_a_ring(self):
        """Seed 1: of leaf 0's flows 0>4 takes cable 3, and 1>5, 2>6 and 3>7 share cable 2. A step of the ring, S/8 bytes from each GPU,
        waits for the fullest cable: 14 (5 us + 3 x 4 MiB / 25 GB/s) = 7.116 ms, where flows that are spread evenly take 2.419 ms."""
        self.assertEqual([cable(1, sender, sender + 4, 4) for sender in range(4)], [3, 2, 2, 2])
        self.assertEqual(most_on_a_cable(1), 3)
        self.assertAlmostEqual(self.communication("cluster.hashing={seed: 1, hashes: 1}"), 7.116431e-3, delta=1e-9)
        for seed in SEEDS:
            expected = 14 * (LATENCY + most_on_a_cable(seed) * S / 8 / BANDWIDTH)
            for fidelity in ("lazy", "folded", "exact", "closed_form"):
                with self.subTest(seed=seed, fidelity=fidelity):
                    took = self.communication(f"cluster.hashing={{seed: {seed}, hashes: 1}}", f"engine.fidelity={fidelity}")
                    self.assertAlmostEqual(took / expected, 1, delta=1e-9)

    def test_flows_that_are_cut(self):
        """Each part goes round as a ring of its own; the one that meets most others on a cable is the last."""
        for hashes in (2, 4):
            for seed in SEEDS:
                expected = 14 * (LATENCY + most_on_a_cable(seed, hashes=hashes) / hashes * S / 8 / BANDWIDTH)
                for fidelity in ("lazy", "folded", "exact", "closed_form"):
                    with self.subTest(hashes=hashes, seed=seed, fidelity=fidelity):
                        took = self.communication(f"cluster.hashing={{seed: {seed}, hashes: {hashes}}}", f"engine.fidelity={fidelity}")
                        self.assertAlmostEqual(took / expected, 1, delta=1e-9)
        self.assertEqual(self.communication("cluster.hashing={seed: 1, hashes: 2}"), self.communication("cluster.hashing.seed=1"))

    def test_what_flows_keep(self):
        """Shares of docs/model.md: a leaf's flows over as many cables."""
        kept = {8: (0.41, 0.50, 0.58, 0.66, 0.74), 32: (0.29, 0.38, 0.47, 0.56, 0.65)}
        for flows, shares in kept.items():
            for hashes, share in zip((1, 2, 4, 8, 16), shares):
                fullest = [max(Counter(cable(seed, sender, sender + flows, flows, part) for sender in range(flows) for part in range(hashes))
                               .values()) for seed in range(100)]
                self.assertAlmostEqual(sum(hashes / most for most in fullest) / len(fullest), share, delta=0.025)

    def test_roce_above_leaves(self):
        """Eight nodes on two leaves: vague, and --explain tries hashes; four on one leaf: not; nor where the scenario says how flows go."""
        self.write_topology("fabric: {kind: fat_tree, nodes_per_leaf: 4, network: roce}\n")

        def doubts(*arguments):
            result = json.loads(self.ok("simulate", "scenario.yaml", "--json", "-", *arguments).stdout)
            return [note["code"] for note in result["notes"]], result["evidence"]["classes"]["network"]["of"]

        codes, network = doubts()
        self.assertIn("roce-unmeasured", codes)
        self.assertEqual(network, "RoCE above leaves")
        for arguments in (["--set", "cluster.hashing.seed=1"], ["--set", "cluster.world_size=4", "--set", "collective.rings=[[0, 1, 2, 3]]"]):
            codes, network = doubts(*arguments)
            self.assertNotIn("roce-unmeasured", codes)
            self.assertEqual(network, "RoCE below one leaf, or hashed as said")
        told = self.ok("simulate", "scenario.yaml", "--explain").stdout
        self.assertIn("flows hashed onto one cable each, seed 1", told)
        self.assertIn("flows hashed onto 8 cables each, seed 4", told)
        self.assertIn("adaptive routing", self.ok("simulate", "scenario.yaml", "--explain", "--set", "cluster.hashing.seed=1").stdout)

    def test_seeds_differ_and_one_seed_does_not(self):
        fullest = {most_on_a_cable(seed) for seed in SEEDS}
        self.assertGreater(len(fullest), 1)
        swept = self.sweep(sets=["cluster.hashing.hashes=1", f"sweep.cluster.hashing.seed={list(SEEDS)}"])["points"]
        self.assertEqual(len({round(point["communication_s"], 9) for point in swept}), len(fullest))
        text = self.ok("simulate", "scenario.yaml", "--set", "cluster.hashing.seed=5", "--json", "-").stdout
        self.assertEqual(self.ok("simulate", "scenario.yaml", "--set", "cluster.hashing.seed=5", "--json", "-").stdout, text)

    def test_uplinks_of_twice_the_speed(self):
        """Two cables of 50 GB/s above a leaf carry two flows of 25 GB/s each without loss."""
        self.write_topology("fabric: {kind: fat_tree, nodes_per_leaf: 4, uplinks: 2}\n")
        for seed in SEEDS:
            slower = max(1, most_on_a_cable(seed, 2) / 2)
            took = self.communication(f"cluster.hashing={{seed: {seed}, hashes: 1}}")
            self.assertAlmostEqual(took / (14 * (LATENCY + slower * S / 8 / BANDWIDTH)), 1, delta=1e-9)

    def test_a_flow_alone_loses_nothing(self):
        """A ring in the order of the ranks leaves each leaf once."""
        alone = ("collective.rings=[[0, 1, 2, 3, 4, 5, 6, 7]]",)
        even = self.communication(*alone)
        for seed in SEEDS:
            self.assertEqual(self.communication(*alone, f"cluster.hashing={{seed: {seed}, hashes: 1}}"), even)

    def test_without_hashing_nothing_changes(self):
        def output(*arguments):
            return self.ok("simulate", "scenario.yaml", "--json", "-", *arguments).stdout

        plain = output()
        self.assertEqual(output("--set", "cluster.hashing=none"), plain)
        self.assertAlmostEqual(json.loads(plain)["communication_s"], 14 * (LATENCY + S / 8 / BANDWIDTH), delta=1e-12)
        self.write_topology("fabric: {kind: fat_tree, nodes_per_leaf: 4, uplinks: 3}\n")
        self.assertEqual(output(), plain)

    def test_nccl_chooses_as_if_flows_were_spread(self):
        """NCCL knows of no cables: its choice stays, and the time is what the fullest cable gives if that is longer."""
        self.link_data()
        self.write("nccl.yaml", "workload: {trace: trace.csv}\ncluster: {topology: topologies/dgx-h100.yaml, world_size: 512}\nphysics: none\n")
        even = self.simulate(file="nccl.yaml")
        for seed in (1, 2):
            hashed = self.simulate(f"cluster.hashing={{seed: {seed}, hashes: 1}}", file="nccl.yaml")
            self.assertEqual(hashed["algorithm"], even["algorithm"])
            self.assertGreaterEqual(hashed["communication_s"], even["communication_s"])


if __name__ == "__main__":
    cli.main()
