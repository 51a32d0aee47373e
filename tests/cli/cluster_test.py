#!/usr/bin/env python3
"""Scenarios on clusters: what a hierarchical all-reduce takes, groups and background traffic on shared links, links that are
slow or broken, where ranks are placed, and that the fast executors give what the simulation flow by flow gives."""
import json
import math
import re

import ddpsim_cli as cli

GRADIENT = 25 * cli.MIB // 4  # elements
S = 25 * cli.MIB

# topologies/two-level-test.yaml: a0, b0 between any two GPUs of a node, a and b on the cable of every NIC.
A0, B0, A, B = 0.5e-6, 200e9, 5e-6, 12.5e9

# 14 (a0 + S/8/b0) + 2 (N/8-1) (a + S/N/b) for N GPUs, in ms; for 64: 14 x 16.884 us + 14 x 37.768 us.
HIERARCHICAL_MS = {64: 0.765128, 256: 1.054280, 1024: 2.026568, 4096: 5.869640, 16384: 21.230408}
# 125 such buckets, k of them ready at 6 ms x ceil(36 (k+1)/125). With 64 and 256 GPUs each is reduced before its successors come,
# and of the four that are ready at 216 ms the last ends at 216 ms + 4 x the above; with 1024 they queue from the first on:
# 6 ms + 125 x the above.
LAST_BUCKET_MS = {64: 219.060512, 256: 220.217120, 1024: 259.321}

# Two nodes of two GPUs that share a NIC.
SHARED_NIC = """kind: cluster
node:
  gpus: 2
  interconnect: {kind: nvswitch, bandwidth: 200GB/s, latency: 1us}
  nics: {count: 1, bandwidth: 12.5GB/s, latency: 5us}
fabric: {kind: fat_tree, nodes_per_leaf: 16}
"""
TENSOR_PARALLEL = "cluster.groups={tensor_parallel: 2}"


class ClusterTest(cli.CliTest):
    def write_cluster(self, trace=None, topology=None, world_size=16, more=""):
        """A scenario on two-level-test.yaml, or on the topology of that text."""
        self.write("trace.csv", trace or cli.trace_text([("weight", GRADIENT, 0.01)]))
        self.write("cluster.yaml", topology or (cli.SOURCE_ROOT / "topologies/two-level-test.yaml").read_text())
        self.write("scenario.yaml", "workload: {trace: trace.csv}\n"
                                    f"cluster: {{topology: cluster.yaml, world_size: {world_size}}}\n{more}")

    def communication(self, *sets):
        return self.simulate(*sets)["communication_s"]

    def assert_close(self, seconds, expected, tolerance=1e-9):
        self.assertAlmostEqual(seconds / expected, 1, delta=tolerance)


class HierarchicalTest(ClusterTest):
    def test_one_bucket_takes_the_time_of_the_equation(self):
        self.write_cluster(more="collective: {algorithm: hierarchical}")
        for gpus, milliseconds in HIERARCHICAL_MS.items():
            equation = 14 * (A0 + S / 8 / B0) + 2 * (gpus // 8 - 1) * (A + S / gpus / B)
            self.assert_close(milliseconds * 1e-3, equation)
            for fidelity in ["lazy"] + ["closed_form", "folded", "fluid"] * (gpus <= 1024) + ["exact"] * (gpus <= 64):
                with self.subTest(gpus=gpus, fidelity=fidelity):
                    result = self.simulate(f"cluster.world_size={gpus}", f"engine.fidelity={fidelity}")
                    self.assert_close(result["communication_s"] * 1e3, milliseconds)
                    self.assertEqual((result["algorithm"], result["fidelity"]), ("hierarchical", fidelity))

    def test_125_buckets_queue_on_one_lane(self):
        trace = cli.trace_text([(f"g{k}", GRADIENT, 0.006 * math.ceil(36 * (k + 1) / 125)) for k in range(125)])
        self.write_cluster(trace, more="collective: {algorithm: hierarchical}\nddp: {bucket_cap: 25MiB}")
        for gpus, milliseconds in LAST_BUCKET_MS.items():
            for fidelity in ("lazy", "closed_form"):
                with self.subTest(gpus=gpus, fidelity=fidelity):
                    result = self.simulate(f"cluster.world_size={gpus}", f"engine.fidelity={fidelity}")
                    self.assertEqual(result["n_buckets"], 125)
                    self.assert_close(result["buckets"][-1]["end_s"] * 1e3, milliseconds)

    def test_given_rings(self):
        """A DGX-1's six rings written out are those that are found; one ring in the order of the ranks crosses the link between
        the sockets, 3 to 4 and 7 to 0, whose 6 GB/s then carry 14 steps of S/8."""
        self.link_data()
        found = [line.split(":")[1].split("(")[0].split() for line in self.ok("topology", "rings", "topologies/dgx1-v100.yaml").stdout.splitlines()]
        self.assertEqual(len(found), 6)
        self.write("one.csv", f"# ddpsim-trace: 1\ngradient,elements,dtype,ready_s\ng,{8 * GRADIENT},float32,0.001\n")
        self.write("one.yaml", "workload: {trace: one.csv}\ncluster: {topology: topologies/dgx1-v100.yaml, world_size: 8}\n"
                               "collective: {algorithm: ring, channels: auto}\nstrategy: flat\n")

        def seconds(*settings):
            return json.loads(self.ok("simulate", "one.yaml", "--json", "-", *settings).stdout)["communication_s"]

        def given(rings):
            return seconds("--set", f"collective={{algorithm: ring, rings: {rings}}}")

        self.assertEqual(given([[int(rank) for rank in ring] for ring in found]), seconds())
        in_order = given([list(range(8))])
        self.assertGreater(in_order, 14 * S / 6e9)
        self.assertLess(in_order, 14 * S / 6e9 * 1.01)

    def test_channels_of_one_ring_share_its_links(self):
        """Half of the bytes each at half of the bandwidth: the time of one channel."""
        self.write_cluster(topology=cli.RING, world_size=8)
        one = self.communication()
        for channels in (2, 5):
            for fidelity in ("lazy", "exact"):
                sets = (f"collective.channels={channels}", f"engine.fidelity={fidelity}")
                self.assert_close(self.communication(*sets), one)


class LinksTest(ClusterTest):
    def test_a_slow_link_of_a_ring_costs_what_the_equation_says(self):
        """Every step waits for the narrowest link: 14 (5 us + S/8/6.25 GB/s)."""
        self.write_cluster(topology=cli.RING, world_size=8)
        slow = "cluster.overrides=[{link: gpu3>gpu4, bandwidth: 6.25GB/s}]"
        for fidelity in ("lazy", "exact", "closed_form"):
            self.assert_close(self.communication(slow, f"engine.fidelity={fidelity}"), 14 * (A + S / 8 / 6.25e9))
        self.write("cluster.yaml", cli.RING + "overrides: [{from: 3, bandwidth: 6.25GB/s}]\n")
        self.assert_close(self.communication(), 14 * (A + S / 8 / 6.25e9))

    def test_a_slow_cable_of_a_cluster_costs_what_the_equation_says(self):
        """The stage between the nodes waits for its slowest rail: 14 (a0 + S/8/b0) + 2 (a + S/16/6.25 GB/s)."""
        self.write_cluster(more="collective: {algorithm: hierarchical}")
        for link in ("node0.nic3", "node0.nic3.out", "node1.nic3.in", "node0.nic3>node1.nic3"):
            slow = f"cluster.overrides=[{{link: {link}, bandwidth: 6.25GB/s}}]"
            self.assert_close(self.communication(slow), 14 * (A0 + S / 8 / B0) + 2 * (A + S / 16 / 6.25e9))
        late = "cluster.overrides=[{link: node0.nic3, latency: 9us}]"
        self.assert_close(self.communication(late), 14 * (A0 + S / 8 / B0) + 2 * (9e-6 + S / 16 / B))

    def test_the_scenario_changes_what_the_topology_says(self):
        text = (cli.SOURCE_ROOT / "topologies/two-level-test.yaml").read_text()
        self.write_cluster(topology=text + "overrides: [{link: node0.nic3, bandwidth: 1GB/s}]\n",
                           more="collective: {algorithm: hierarchical}")
        self.assert_close(self.communication(), 14 * (A0 + S / 8 / B0) + 2 * (A + S / 16 / 1e9))
        mended = "cluster.overrides=[{link: node0.nic3, bandwidth: 12.5GB/s}]"
        self.assert_close(self.communication(mended), 14 * (A0 + S / 8 / B0) + 2 * (A + S / 16 / B))

    def test_a_broken_nic_is_gone_round(self):
        """Shard 0 leaves node 0 through another GPU and its NIC: longer by a hop, and that NIC carries two shards."""
        self.write_cluster(more="collective: {algorithm: hierarchical}")
        broken = "cluster.overrides=[{link: node0.nic0.out, broken: true}]"
        whole = self.communication()
        for fidelity in ("lazy", "exact"):
            detour = self.communication(broken, f"engine.fidelity={fidelity}")
            self.assertGreater(detour, whole + S / 16 / B)
            self.assertLess(detour, whole + 2 * (4 * A0 + S / 16 / B + S / 16 / B0))
        self.write_cluster(topology=cli.RING, world_size=8)  # where there is no way round
        self.fails(2, "simulate", "scenario.yaml", "--set", "cluster.overrides=[{link: gpu3>gpu4, broken: true}]")


class GroupsTest(ClusterTest):
    def test_tensor_parallel(self):
        """Ranks 0, 2, 4 ... reduce among themselves, and so do 1, 3, 5 ...: 8 of 16."""
        self.write_cluster(cli.small_trace(batch_size=4))
        result = self.simulate(TENSOR_PARALLEL)
        self.assertEqual((result["world_size"], result["group_size"]), (16, 8))
        # One replica of the model is two ranks: what is processed are the batches of 8.
        self.assertAlmostEqual(result["samples_per_s"], 4 * 8 / result["iteration_s"], delta=1e-9)
        self.assertAlmostEqual(result["busbw_Bps"] / result["algbw_Bps"], 2 * 7 / 8, delta=1e-12)
        self.assertEqual(self.simulate()["group_size"], 16)
        explicit = "cluster.groups=[{ranks: {to: 14, step: 2}}, {ranks: [1, 3, 5, 7, 9, 11, 13, 15]}]"
        self.assertEqual(self.simulate(explicit), result)

    def test_groups_on_one_nic_halve_it(self):
        """Two groups of two, a rank in each node, at the same time through the same NICs: 2 (5 us + S/2/6.25 GB/s)."""
        self.write_cluster(topology=SHARED_NIC, world_size=4)
        for fidelity in ("lazy", "exact", "folded", "fluid", "closed_form"):
            self.assert_close(self.communication(TENSOR_PARALLEL, f"engine.fidelity={fidelity}"), 2 * (A + S / 2 / 6.25e9))

    def test_nothing_communicated_stays_an_error(self):
        self.write_cluster(world_size=8)
        done = self.fails(2, "simulate", "scenario.yaml", "--set", "cluster.groups={tensor_parallel: 8}")
        self.assertIn("communicates nothing", done.stderr)


class ContentionTest(ClusterTest):
    """Through NICs that two groups share: what the lazy executor says is what the simulation flow by flow says."""

    # What happens, and the same without contention.
    LATER = "cluster.groups=[{{ranks: [0, 2]}}, {{ranks: [1, 3], offset: {}}}]"
    CASES = {
        "groups at different times": ([LATER.format("0.4ms")], [LATER.format("1s")]),
        "background with a size": ([TENSOR_PARALLEL, "cluster.background=[{links: [node0.nic0.out], start: 7ms, size: 20MB}]"],
                                   [TENSOR_PARALLEL]),
        "background with an end": ([TENSOR_PARALLEL, "cluster.background=[{links: [node0.nic0.out], start: 7ms, end: 13ms}]"],
                                   [TENSOR_PARALLEL]),
        "a link of half the speed": ([LATER.format("0.4ms"), "cluster.overrides=[{link: node1.nic0.out, bandwidth: 6.25GB/s}]"],
                                     [LATER.format("0.4ms")]),
        "background on the way between two nodes": (
            [LATER.format("0.4ms"), "cluster.background=[{links: [node0.nic0.out, node1.nic0.in], size: 100MB}]"],
            [LATER.format("0.4ms")]),
    }

    def setUp(self):
        super().setUp()
        self.write_cluster(cli.small_trace(n_gradients=12), SHARED_NIC, 4, "ddp: {bucket_cap: 8MiB}")

    def assert_alike(self, a, b):
        """The same numbers but for rounding."""
        self.assertEqual(list(a), list(b))
        for key in a:
            if key in ("fidelity", "simulated_flows", "tool"):
                continue
            if key == "evidence":
                for one, other in zip(a[key]["quantiles_s"], b[key]["quantiles_s"], strict=True):
                    self.assertAlmostEqual(one, other, delta=1e-9)
                continue
            for x, y in zip(a[key], b[key], strict=True) if key in ("buckets", "communication", "losses") else [({key: a[key]}, {key: b[key]})]:
                for name, value in x.items():
                    if isinstance(value, float):
                        self.assertAlmostEqual(value, y[name], delta=1e-9 * max(abs(value), 1e-3), msg=(key, name))
                    else:
                        self.assertEqual(value, y[name], (key, name))

    def test_lazy_is_exact(self):
        for title, (sets, quiet) in self.CASES.items():
            with self.subTest(title):
                lazy = self.simulate(*sets, "engine.fidelity=lazy")
                self.assert_alike(lazy, self.simulate(*sets, "engine.fidelity=exact"))
                self.assertGreater(lazy["communication_s"], self.communication(*quiet) * 1.001)

    def test_background_costs_what_it_takes_from_the_link(self):
        """Beside another flow a ring of two has half of the link, 2 (5 us + S/2/6.25 GB/s), and all of it when that has ended."""
        self.write_cluster(topology=SHARED_NIC.replace("gpus: 2", "gpus: 1"), world_size=2)
        quiet, busy = 2 * (A + S / 2 / 12.5e9), 2 * (A + S / 2 / 6.25e9)
        for end, expected in (("20ms", busy), ("5ms", quiet)):
            self.assert_close(self.communication(f"cluster.background=[{{links: [node0.nic0.out], end: {end}}}]"), expected)
        self.assert_close(self.communication(), quiet)

    def test_check_fidelity_prints_the_difference(self):
        for sets, _ in self.CASES.values():
            text = self.ok("simulate", "scenario.yaml", *cli.set_arguments(sets), "--check-fidelity").stdout
            head, check = text.split("\nfidelity checked with 4 ranks: lazy against exact\n")
            self.assertIn(" a step", head)
            rows = re.findall(r"(?m)^  (\w+) +(\S+ \w+) +(\S+ \w+)  (\S+) %$", check)
            self.assertEqual([name for name, *_ in rows], ["iteration", "communication"])
            for _, asked, exact, difference in rows:
                self.assertEqual(asked, exact)
                self.assertLess(abs(float(difference)), 1e-7)

    def test_check_fidelity_with_few_ranks(self):
        self.write_cluster(world_size=4096, more="collective: {algorithm: hierarchical}")
        for option, ranks in (([], 32), (["--check-ranks", "16"], 16)):
            text = self.ok("simulate", "scenario.yaml", "--check-fidelity", *option).stdout
            self.assertIn(f"\nfidelity checked with {ranks} ranks: closed_form against exact\n", text)
        self.assertIn("4096 ranks", text)
        done = self.ok("simulate", "scenario.yaml", "--check-fidelity", "--json", "-")
        self.assertEqual(json.loads(done.stdout)["world_size"], 4096)  # nothing else on standard output
        self.assertEqual(self.ok("simulate", "scenario.yaml", "--check-fidelity", "--quiet").stdout, "")


class UnlikeTheTopologyTest(ClusterTest):
    """Keys of the scenario stand in place of the topology's own: the same as a file that says so."""

    FABRIC = SHARED_NIC.replace("nodes_per_leaf: 16", "nodes_per_leaf: 2")

    def iteration(self, topology, *sets):
        self.write_cluster(topology=topology)
        return self.simulate(*sets)["iteration_s"]

    def test_as_in_a_file(self):
        for key, value, old, new in [("nics.bandwidth", "25GB/s", "bandwidth: 12.5GB/s", "bandwidth: 25GB/s"), ("nics.latency", "50us", "latency: 5us", "latency: 50us"),
                                     ("nics.count", 2, "count: 1", "count: 2"), ("interconnect.bandwidth", "1GB/s", "bandwidth: 200GB/s", "bandwidth: 1GB/s"),
                                     ("interconnect.latency", "1ms", "latency: 1us", "latency: 1ms"), ("node.gpus", 4, "gpus: 2", "gpus: 4"),
                                     ("fabric.oversubscription", 4, "nodes_per_leaf: 2", "nodes_per_leaf: 2, oversubscription: 4")]:
            with self.subTest(key):
                levels = "collective.algorithm=hierarchical"
                usual, other = self.iteration(self.FABRIC, levels), self.iteration(self.FABRIC.replace(old, new), levels)
                self.assertEqual(self.iteration(self.FABRIC, levels, f"cluster.{key}={value}"), other)
                self.assertNotEqual(usual, other)

    def test_an_axis(self):
        self.write_cluster(topology=self.FABRIC)
        points = json.loads(self.ok("sweep", "scenario.yaml", "--set", "sweep.cluster.nics.bandwidth=[5GB/s, 12.5GB/s, 50GB/s]", "--json", "-").stdout)["points"]
        slow, usual, fast = (point["iteration_s"] for point in points)
        self.assertEqual(usual, self.simulate()["iteration_s"])
        self.assertGreater(slow, usual)
        self.assertGreater(usual, fast)

    def test_refused(self):
        self.write_cluster(topology=self.FABRIC.replace("fabric: {kind: fat_tree, nodes_per_leaf: 2}\n", ""), world_size=2)
        for key, says in [("cluster.fabric.oversubscription=2", "the topology has no 'fabric'"), ("cluster.nics.count=0", "0 is out of range")]:
            with self.subTest(key):
                self.assertIn(says, self.fails(2, "simulate", "scenario.yaml", "--set", key).stderr)
        for key in ("nics.latency", "interconnect.latency"):  # 1 ms of 64 GPUs' links took no time under NCCL, and nobody said so
            nccl = ("--set", "cluster.topology=superpod-h100", "--set", "cluster.world_size=64", "--set", f"cluster.{key}=1ms")
            self.assertIn("NCCL's model does not read latencies of links", self.fails(2, "simulate", "scenario.yaml", *nccl).stderr)
            self.ok("simulate", "scenario.yaml", *nccl, "--set", "collective.algorithm=ring")
        error = self.fails(2, "simulate", "scenario.yaml", "--set", "cluster.topology=ring-100gbps", "--set", "cluster.nics.count=2").stderr
        self.assertIn("only a topology of kind cluster has nodes that are all alike", error)


class PlacementTest(ClusterTest):
    """Ranks in their own order around a ring, on nodes with one NIC: every hop between nodes is paid for."""

    def setUp(self):
        super().setUp()
        text = SHARED_NIC.replace("gpus: 2", "gpus: 4")
        self.write_cluster(cli.small_trace(n_gradients=6), text, 16, "collective: {algorithm: ring, ring_order: ranks}")

    def test_nodes_of_a_graph_of_any_size(self):
        """4 GPUs on one node and 12 on another: every rank has one, and nobody is left out."""
        gpus = [f"g{i}" for i in range(16)]
        self.write("graph.yaml", "kind: graph\nswitches: [{name: s}]\ngpus: [%s]\nlinks:\n%s" % (
            ", ".join(f"{{name: {gpu}, node: {int(i >= 4)}}}" for i, gpu in enumerate(gpus)),
            "".join(f"  - {{between: [{gpu}, s], bandwidth: 50GB/s, latency: 1us}}\n" for gpu in gpus)))
        self.write("trace.csv", "# ddpsim-trace: 1\n# forward: 2ms\ngradient,elements,dtype,ready_s\na,1048576,float32,0.001\n")
        self.write("s.yaml", "workload: {trace: trace.csv}\ncluster: {topology: graph.yaml, world_size: 16}\n")
        for ranks in (5, 12, 16):
            with self.subTest(ranks=ranks):
                sets = cli.set_arguments([f"cluster.world_size={ranks}", "collective.algorithm=ring"])
                self.assertEqual(json.loads(self.ok("simulate", "s.yaml", *sets, "--quiet", "--json", "-").stdout)["world_size"], ranks)
        self.assertIn("only a topology of kind cluster has nodes of which a job takes a part",
                      self.fails(2, "simulate", "s.yaml", *cli.set_arguments(["cluster.domain_gpus=4"])).stderr)

    def test_racks(self):
        """128 GPUs are 64 on each of two racks of 72; 130 in two racks that are given take what there is."""
        self.write("trace.csv", "# ddpsim-trace: 1\n# forward: 2ms\ngradient,elements,dtype,ready_s\na,1048576,float32,0.001\n")
        self.write("s.yaml", "workload: {trace: trace.csv}\ncluster: {topology: gb200-nvl72, world_size: 128}\n")
        said = lambda *sets: "the job takes 64 of the 72 GPUs of each node" in self.ok("simulate", "s.yaml", *cli.set_arguments(sets)).stderr
        self.assertTrue(said())
        self.assertTrue(said("cluster.world_size=130"))
        self.assertFalse(said("cluster.world_size=130", "cluster.nodes=2"))
        self.assertFalse(said("cluster.world_size=144"))
        self.assertIn("domain_gpus is at most 72", self.fails(2, "simulate", "s.yaml", *cli.set_arguments(["cluster.domain_gpus=73"])).stderr)

    def test_scattered_ranks_share_the_nics(self):
        packed = self.communication()
        random = self.communication("cluster.placement={random: 1}")
        dealt = self.communication("cluster.placement=round_robin")
        self.assertEqual(packed, self.communication("cluster.placement=packed"))
        self.assertLess(packed, random)
        self.assertLess(random, dealt)  # every hop leaves its node: four flows through each NIC
        self.assert_close(dealt, self.communication("cluster.placement=round_robin", "engine.fidelity=exact"))
        # A search finds the good ring wherever the ranks are.
        searched = self.communication("cluster.placement={random: 1}", "collective.ring_order=search")
        self.assert_close(searched, packed)

    def test_the_seed_decides(self):
        times = {seed: [self.communication(f"cluster.placement={{random: {seed}}}") for _ in range(2)] for seed in (1, 2, 3, 4)}
        for first, second in times.values():
            self.assertEqual(first, second)
        self.assertGreater(len({first for first, _ in times.values()}), 1)

    def test_the_same_bytes_every_time_and_whatever_jobs_says(self):
        texts = set()
        for name in ("first", "second"):
            done = self.ok("simulate", "scenario.yaml", "--set", "cluster.placement={random: 7}", "--json", f"{name}.json",
                           "--timeline", f"{name}.trace")
            texts.add((done.stdout, self.read(f"{name}.json"), self.read(f"{name}.trace")))
        self.assertEqual(len(texts), 1)
        sets = ["cluster.placement={random: 7}", "sweep.cluster.world_size=[8, 16]",
                "sweep.collective.algorithm=[ring, tree, halving_doubling]",
                "cluster.groups={tensor_parallel: 2}", "cluster.background=[{links: [node0.nic0], start: 3ms, size: 10MB}]"]
        sweeps = {self.ok("sweep", "scenario.yaml", *cli.set_arguments(sets), "--jobs", jobs, "--json", "-").stdout
                  for jobs in ("1", "2")}
        self.assertEqual(len(sweeps), 1)
        points = json.loads(sweeps.pop())["points"]
        self.assertEqual(len(points), 6)
        self.assertGreater(len({point["iteration_s"] for point in points}), 3)


class SpareNodesTest(ClusterTest):
    """Nodes of one GPU and a NIC of 12.5 GB/s, two on a leaf whose uplink has 6.25 GB/s. Two ranks' ring sends S once each way (2 (n - 1) / n = 1):
    24 MiB take 2.013 ms under one leaf and 4.027 ms across the spine."""

    LEAVES = ("kind: cluster\nnode: {gpus: 1, nics: {count: 1, bandwidth: 12.5GB/s, latency: 0s}}\n"
              "fabric: {kind: fat_tree, nodes_per_leaf: 2, oversubscription: 4}\n")
    NEAR, FAR = 24 * cli.MIB / 12.5e9, 24 * cli.MIB / 6.25e9

    def setUp(self):
        super().setUp()
        self.write_cluster(cli.small_trace(n_gradients=6), self.LEAVES, 2, "strategy: flat\ncollective: {algorithm: ring}")

    def test_a_job_has_the_nodes_that_it_draws(self):
        """Of the 6 pairs of 4 nodes 2 are under one leaf."""
        axis = ", ".join(f"{{random_nodes: {seed}}}" for seed in range(30))
        self.ok("sweep", "scenario.yaml", "--csv", "out.csv", *cli.set_arguments(["cluster.nodes=4", f"sweep.cluster.placement=[packed, {axis}]"]))
        times = [float(row["communication_s"]) for row in self.read_csv("out.csv")]
        self.assert_close(times[0], self.NEAR)
        near = [time for time in times[1:] if abs(time / self.NEAR - 1) < 1e-9]
        far = [time for time in times[1:] if abs(time / self.FAR - 1) < 1e-9]
        self.assertEqual(len(near) + len(far), 30)
        self.assertGreater(len(far), len(near))
        self.assertGreater(len(near), 2)
        self.assert_close(self.communication("cluster.nodes=4", "cluster.placement={random_nodes: 3}", "engine.fidelity=exact"), times[1 + 3])

    def test_a_job_goes_round_a_broken_node(self):
        """Nodes 0 and 2 are left of 0 to 2, or 2 and 3 of 0 to 3."""
        broken = "cluster.overrides=[{node: 1, broken: true}]"
        self.assert_close(self.communication("cluster.nodes=3", broken), self.FAR)
        self.assert_close(self.communication("cluster.nodes=4", "cluster.overrides=[{node: 0, broken: true}, {node: 1, broken: true}]"), self.NEAR)
        self.assertEqual(self.communication("cluster.nodes=3", "cluster.placement={random_nodes: 5}", broken), self.communication("cluster.nodes=3", broken))

    def test_a_slow_node_is_all_its_nics(self):
        slow = self.communication("cluster.overrides=[{node: 1, bandwidth: 1.25GB/s}]")
        self.assert_close(slow, 10 * self.NEAR)
        self.assertEqual(slow, self.communication("cluster.overrides=[{link: node1.nic0, bandwidth: 1.25GB/s}]"))
        text = self.ok("simulate", "scenario.yaml", "--explain", "--set", "cluster.nodes=3", "--set",
                       "cluster.overrides=[{node: 1, bandwidth: 1.25GB/s}, {node: 2, broken: true}]").stdout
        self.assertIn("node1.nic0", text)

    def notes_of(self, command, *sets):
        result = json.loads(self.ok(command, "scenario.yaml", *cli.set_arguments(sets), "--json", "-").stdout)
        return {note["code"]: note["text"] for note in result["notes"]}

    def test_the_nodes_that_were_drawn_are_said(self):
        """Of 2 nodes both, as one range. A sweep says each draw, and is as fast as the nodes it names are near."""
        self.assertEqual(self.notes_of("simulate", "cluster.nodes=2", "cluster.placement={random_nodes: 3}")["nodes-drawn"],
                         "random_nodes 3 draws nodes 0-1 of 2")
        self.assertNotIn("nodes-drawn", self.notes_of("simulate", "cluster.nodes=4"))
        sets = ("cluster.nodes=4", "sweep.cluster.placement=[packed, {random_nodes: 1}, {random_nodes: 2}, {random_nodes: 4}]")
        drawn = self.notes_of("sweep", *sets)["nodes-drawn"].split("; ")
        self.assertEqual(len(drawn), 3)
        for point, words in zip(self.sweep(sets=sets)["points"][1:], drawn):
            nodes = {int(node) for node in re.fullmatch(r"random_nodes \d draws nodes (.*) of 4", words)[1].replace("-", ", ").split(", ")}
            near = nodes in ({0, 1}, {2, 3})
            self.assert_close(point["communication_s"], self.NEAR if near else self.FAR)

    def test_an_override_of_a_node_without_a_rank_is_said(self):
        """Two ranks are on nodes 0 and 1 of 4."""
        def note(overrides, *more):
            return self.notes_of("simulate", "cluster.nodes=4", f"cluster.overrides=[{overrides}]", *more).get("override-unused")

        of_3 = "cluster.overrides of node 3 change nothing: the job runs on nodes 0-1"
        self.assertEqual(note("{link: node3.nic0, bandwidth: 1GB/s}"), of_3)
        self.assertEqual(note("{node: 3, bandwidth: 1GB/s}, {node: 1, bandwidth: 1GB/s}"), of_3)
        self.assertEqual(note("{node: 3, broken: true}, {link: node2.nic0.in, bandwidth: 1GB/s}"), of_3.replace("node 3", "nodes 2-3"))
        self.assertIsNone(note("{node: 1, bandwidth: 1GB/s}"))
        self.assertIsNone(note("{node: 0, broken: true}"))  # the job goes round it
        self.assertIsNone(note("{link: leaf0>spine, bandwidth: 1GB/s}"))
        self.assertIsNone(note("{node: 3, bandwidth: 1GB/s}", "cluster.background=[{links: [node3.nic0], start: 3ms, size: 10MB}]"))

    def test_rings_leave_out_a_nic_that_is_slow_or_broken(self):
        """Seven of the node's eight NICs are left for them either way. A hierarchical all-reduce needs each rail and waits for the slow one."""
        def with_nic(change, algorithm):
            self.write_cluster(more=f"collective: {algorithm}")
            return self.communication(f"cluster.overrides=[{{link: node0.nic3, {change}}}]")

        rings, rails = "{algorithm: ring, channels: auto}", "{algorithm: hierarchical}"
        self.assertEqual(with_nic("bandwidth: 1GB/s", rings), with_nic("broken: true", rings))
        self.assertLess(with_nic("bandwidth: 12.5GB/s", rings), with_nic("broken: true", rings))
        self.assertGreater(with_nic("bandwidth: 1GB/s", rails), with_nic("broken: true", rails))


class StragglersTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.write_cluster(cli.small_trace(forward="30ms"))

    def test_a_node_is_its_ranks(self):
        by_node = self.simulate("workload.stragglers=[{node: 1, slowdown: 1.5}]")
        ranks = ", ".join(f"{{rank: {rank}, slowdown: 1.5}}" for rank in range(8, 16))
        self.assertEqual(by_node, self.simulate(f"workload.stragglers=[{ranks}]"))
        self.assertEqual(by_node["reported_rank"], 8)
        self.assertAlmostEqual(by_node["forward_s"], 0.045, delta=1e-15)  # 1.5 x 30 ms

    def test_the_ranks_that_are_placed_there(self):
        """Dealt out over two nodes, the odd ranks are on node 1."""
        result = self.simulate("workload.stragglers=[{node: 1, slowdown: 1.5}]", "cluster.placement=round_robin")
        self.assertEqual(result["reported_rank"], 1)

    def test_the_timeline_names_all_of_them(self):
        names = self.process_names("workload.stragglers=[{rank: 5, slowdown: 1.5}, {rank: 2, slowdown: 1.5}]")
        self.assertEqual(names[2], "ranks 2, 5 (2 ranks, 1.5x slower)")
        self.assertIn("ranks like 0 (", names[0])

    def process_names(self, *sets):
        self.ok("simulate", "scenario.yaml", "--quiet", "--timeline", "t.json", *cli.set_arguments(sets))
        return {event["pid"]: event["args"]["name"] for event in self.read_json("t.json")["traceEvents"] if event["name"] == "process_name"}

    def test_only_their_group_waits(self):
        result = self.simulate("workload.stragglers=[{rank: 3, slowdown: 1.5}]", TENSOR_PARALLEL)
        self.assertEqual((result["reported_rank"], result["group_size"]), (3, 8))


if __name__ == "__main__":
    cli.main()
