#!/usr/bin/env python3
"""`ddpsim topology`: the files of topologies/, numbers that a user can check by hand, the graph for Graphviz."""
import csv
import io
import json
import pathlib
import re
import tempfile
import xml.etree.ElementTree
from collections import Counter

import ddpsim_cli as cli


def size_of(name):
    """The arguments that size a topology: all but a ring know their usual size."""
    return ["--world-size", "8"] if name.startswith("ring") else []


def gpus_a_node(name):
    """As the file says; a ring is as large as size_of makes it."""
    found = re.search(r"(?m)^  gpus: (\d+)", (cli.SOURCE_ROOT / "topologies" / name).read_text())
    return int(found[1]) if found else 8


class TopologyTest(cli.CliTest):
    def topology(self, command, name, *arguments):
        return self.ok("topology", command, cli.SOURCE_ROOT / "topologies" / name, *arguments).stdout

    def names(self):
        return sorted(path.name for path in (cli.SOURCE_ROOT / "topologies").glob("*.yaml"))


class ShowTest(TopologyTest):
    def test_every_file_of_the_repository(self):
        self.assertGreaterEqual(len(self.names()), 7)
        for name in self.names():
            for size in (size_of(name), ["--world-size", "64"]):
                with self.subTest(name, size=size):
                    text = self.topology("show", name, *size)
                    self.assertRegex(text, r"^\d+ GPUs in \d+ nodes?, \d+ links \(each direction counts\)\n")
                    self.assertRegex(text, r"\nbisection bandwidth +[\d.]+ [MGT]B/s\n")
                    self.assertEqual("between two nodes" in text, " 1 node," not in text)

    def test_a_hybrid_cube_mesh_above_pcie(self):
        """DGX-1. Links: 16 pairs with NVLink, 8 GPUs to PCIe switches, 4 switches to host bridges and one pair of host bridges,
        each in both directions: 2 (16 + 8 + 4 + 1) = 58; the cables of the NICs lead nowhere. Between GPUs 0-3 and 4-7 lie
        2 + 2 + 1 + 1 NVLinks of 25 GB/s and the host bridges' 6 GB/s: 156 GB/s."""
        lines = self.topology("show", "dgx1-v100.yaml").splitlines()
        self.assertEqual(lines[0], "8 GPUs in 1 node, 58 links (each direction counts)")
        self.assertEqual(lines[1], "narrowest link      node0.host0>node0.host1, 6 GB/s, 500 ns")
        self.assertEqual(lines[3], "bisection bandwidth 156 GB/s")
        table = [line.split() for line in lines[5:]]
        self.assertEqual(table[0], [f"node0.gpu{gpu}" for gpu in range(8)])
        self.assertEqual(table[1], ["node0.gpu0", "X", "NV1", "NV1", "NV2", "NV2", "SYS", "SYS", "SYS"])
        for row in range(8):
            for column in range(8):
                self.assertEqual(table[1 + row][1 + column], table[1 + column][1 + row])

    def test_two_nodes_of_rails(self):
        """DGX H100. The way from NIC to NIC is the cable to the rail's leaf and the cable from it, half of 5 us each; half of
        the GPUs reach the other half over 8 NICs of 50 GB/s. Links: 2 nodes x (8 GPUs to the NVSwitch + 8 NICs), 8 leaves to
        the spine, both directions: 2 (2 x 16 + 8) = 80."""
        text = self.topology("show", "dgx-h100.yaml", "--world-size", "16")
        self.assertTrue(text.startswith("16 GPUs in 2 nodes, 80 links (each direction counts)\n"), text)
        self.assertIn("bisection bandwidth 400 GB/s\n"
                      "between two nodes   50 GB/s, 5 us, bottleneck node0.nic0>rail0.leaf0\n"
                      "  node0.nic0>rail0.leaf0, 50 GB/s, 2.5 us\n"
                      "  rail0.leaf0>node1.nic0, 50 GB/s, 2.5 us\n", text)
        self.assertEqual(len(re.findall(r"NV\b", text)), 2 * 8 * 7)
        self.assertEqual(len(re.findall(r"NET\b", text)), 2 * 8 * 8)

    def test_a_large_cluster_shows_its_first_node(self):
        text = self.topology("show", "two-level-test.yaml", "--world-size", "4096")
        # 512 nodes of 28 pairs both ways and 8 cables. A rail leads one way: the first half reaches the second over 8 cables.
        self.assertTrue(text.startswith(f"4096 GPUs in 512 nodes, {512 * (56 + 8)} links"), text)
        self.assertIn("\nbisection bandwidth 100 GB/s\n", text)
        self.assertTrue(text.endswith("(8 of 4096 GPUs)\n"), text)

    def test_a_ring_leads_one_way(self):
        text = self.topology("show", "ring-100gbps.yaml", "--world-size", "4")
        self.assertTrue(text.startswith("4 GPUs in 4 nodes, 4 links"), text)
        rows = [line.split()[1:] for line in text.splitlines()[-4:]]
        self.assertEqual(rows, [["X", "NET", "-", "-"], ["-", "X", "NET", "-"], ["-", "-", "X", "NET"], ["NET", "-", "-", "X"]])

    def test_a_graph_has_a_size_of_its_own(self):
        self.write("graph.yaml", "kind: graph\ngpus: [{name: left}, {name: right}]\nswitches: [{name: hub}]\nlinks:\n"
                                 "  - {between: [left, hub], bandwidth: 10GB/s, latency: 1us}\n"
                                 "  - {between: [right, hub], bandwidth: 5GB/s, latency: 1us, count: 3}\n")
        text = self.ok("topology", "show", "graph.yaml").stdout
        self.assertTrue(text.startswith("2 GPUs in 1 node, 4 links (each direction counts)\n"
                                        "narrowest link      left>hub, 10 GB/s, 1 us\n"
                                        "widest link         right>hub, 15 GB/s, 1 us\n"
                                        "bisection bandwidth 10 GB/s\n"), text)

    def test_tables_for_programs(self):
        """The same pairs and figures as are printed."""
        text = self.topology("show", "dgx-h100.yaml", "--world-size", "16")
        result = json.loads(self.topology("show", "dgx-h100.yaml", "--world-size", "16", "--json", "-"))
        self.assertEqual([result[key] for key in ("gpus", "nodes", "links", "bisection_Bps")], [16, 2, 80, 400e9])
        between = result["between_nodes"]
        self.assertEqual((between["bandwidth_Bps"], between["bottleneck"]), (50e9, "node0.nic0>rail0.leaf0"))
        self.assertAlmostEqual(between["latency_s"], 5e-6, delta=1e-18)
        self.assertEqual([link["name"] for link in between["links"]], ["node0.nic0>rail0.leaf0", "rail0.leaf0>node1.nic0"])
        rows = [line.split() for line in text.split("\n\n")[1].splitlines()]
        printed = [{"from": row[0], "to": to, "joined_by": cell} for row in rows[1:] for to, cell in zip(rows[0], row[1:]) if to != row[0]]
        self.assertEqual(len(printed), 16 * 15)
        self.assertEqual(result["pairs"], printed)
        as_csv = self.topology("show", "dgx-h100.yaml", "--world-size", "16", "--csv", "-")
        self.assertEqual(list(csv.DictReader(io.StringIO(as_csv))), printed)
        # Into files: the table is printed as well.
        self.assertEqual(self.topology("show", "dgx-h100.yaml", "--world-size", "16", "--json", "t.json", "--csv", "t.csv"), text)
        self.assertEqual(self.read_json("t.json"), result)
        self.assertEqual(self.read_csv("t.csv"), printed)
        one = json.loads(self.topology("show", "dgx1-v100.yaml", "--json", "-"))
        self.assertIsNone(one["between_nodes"])
        self.assertEqual(one["narrowest_link"], {"name": "node0.host0>node0.host1", "bandwidth_Bps": 6e9, "latency_s": 5e-7})


class RingsTest(TopologyTest):
    def rings(self, name, *arguments):
        text = self.topology("rings", name, *arguments)
        found = re.findall(r"(?m)^ring (\d+): ([\d ]+?)(?: \.\.\.)?   \(narrowest hop ([^,)]+), ([^)]+)\)$", text)
        self.assertEqual([int(number) for number, *_ in found], list(range(len(text.splitlines()))), text)
        return [([int(gpu) for gpu in order.split()], bandwidth, link) for _, order, bandwidth, link in found]

    def test_the_six_rings_of_a_dgx_1(self):
        """Every GPU has 6 NVLinks, so 6 rings use each of the 48 (each way) exactly once, and none needs PCIe."""
        text = (cli.SOURCE_ROOT / "topologies/dgx1-v100.yaml").read_text()
        nvlinks = Counter()
        for a, b, count in re.findall(r"between: \[(\d), (\d)\](?:, count: (\d))?", text):
            nvlinks[int(a), int(b)] = nvlinks[int(b), int(a)] = int(count or 1)
        self.assertEqual(sum(nvlinks.values()), 48)
        rings = self.rings("dgx1-v100.yaml")
        self.assertEqual(len(rings), 6)
        used = Counter()
        for order, _, link in rings:
            self.assertEqual(sorted(order), list(range(8)))
            used.update(zip(order, order[1:] + order[:1]))
            self.assertNotIn("pcie", link)
        self.assertEqual(used, nvlinks)

    def test_tables_for_programs(self):
        printed = self.rings("dgx1-v100.yaml")
        result = json.loads(self.topology("rings", "dgx1-v100.yaml", "--json", "-"))
        self.assertEqual(result["world_size"], 8)
        hops = [ring["narrowest_hop"] for ring in result["rings"]]
        self.assertEqual([(ring["gpus"], f"{hop['bandwidth_Bps'] / 1e9:g} GB/s", hop["link"]) for ring, hop in zip(result["rings"], hops)], printed)
        for hop in hops:
            self.assertEqual(hop["link"], f"node0.gpu{hop['from']}>node0.gpu{hop['to']}")
        rows = list(csv.DictReader(io.StringIO(self.topology("rings", "dgx1-v100.yaml", "--csv", "-"))))
        self.assertEqual([([int(gpu) for gpu in row["gpus"].split()], f"{float(row['bandwidth_Bps']) / 1e9:g} GB/s", row["link"]) for row in rows],
                         printed)
        self.assertEqual([row["ring"] for row in rows], [str(i) for i in range(6)])

    def test_as_many_as_asked_for(self):
        """One ring alone goes where the NVLinks are double."""
        ((order, bandwidth, _),) = self.rings("dgx1-v100.yaml", "--channels", "1")
        self.assertEqual((sorted(order), bandwidth), (list(range(8)), "50 GB/s"))
        self.assertEqual(len(self.rings("dgx1-v100.yaml", "--channels", "4")), 4)
        self.assertEqual(len(self.rings("ring-100gbps.yaml", "--world-size", "8", "--channels", "3")), 3)

    def test_a_ring_for_each_nic(self):
        rings = self.rings("two-level-test.yaml", "--world-size", "16")
        self.assertEqual([bandwidth for _, bandwidth, _ in rings], ["12.5 GB/s"] * 8)
        # In ring c the way to the next node is NIC c's: no cable carries two rings.
        self.assertEqual(len({link for *_, link in rings}), 8)

    def test_long_rings_are_cut_short(self):
        ((order, *_),) = self.rings("ring-100gbps.yaml", "--world-size", "40")
        self.assertEqual(order, list(range(32)))

    def test_every_file_of_the_repository(self):
        for name in self.names():
            with self.subTest(name):
                for order, *_ in self.rings(name, *size_of(name)):
                    # The first 32 are shown, and inside a switch a ring has the GPUs' order.
                    self.assertEqual(sorted(order), list(range(min(gpus_a_node(name), 32))))


class CostsTest(TopologyTest):
    def costs(self, name, *arguments):
        """(collective, algorithm, channels) -> (time, algbw, busbw) in s and GB/s, or the reason there is none."""
        rows = {}
        for row in self.costs_json(name, "--plain", *arguments):
            if row["time_s"] is None:
                rows[row["operation"], row["algorithm"]] = row["why_not"]
            else:
                rows[row["operation"], row["algorithm"], row["channels"]] = (row["time_s"], row["algbw_Bps"] / 1e9, row["busbw_Bps"] / 1e9)
        return rows

    def test_two_levels(self):
        """64 GPUs, S = 25 MiB, a0 = 0.5 us and b0 = 200 GB/s in a node, a = 5 us and b = 12.5 GB/s between nodes:
        hierarchical: 14 (a0 + S/8/b0) + 2 (64/8 - 1) (a + S/64/b) = 14 x 16.884 us + 14 x 37.768 us = 765.128 us;
        one ring: 126 steps of a0 + a + S/64/b = 38.268 us (to get to the NIC on which the next node's ring begins) = 4.82177 ms;
        8 rings: 126 steps with an eighth of the chunk, 126 (5.5 us + 4.096 us) = 1.2091 ms."""
        costs = self.costs("two-level-test.yaml", "--world-size", "64")
        time, algbw, busbw = costs["all_reduce", "hierarchical", 1]
        self.assertAlmostEqual(time, 765.128e-6, delta=1e-9)
        self.assertAlmostEqual(algbw, 34.26, delta=0.005)  # 26214400 B / 765.128 us
        self.assertAlmostEqual(busbw, 67.45, delta=0.005)  # 2 x 63/64 of it
        self.assertAlmostEqual(costs["all_reduce", "ring", 1][0], 4.82177e-3, delta=1e-8)
        self.assertAlmostEqual(costs["all_reduce", "ring", 8][0], 1.2091e-3, delta=1e-7)
        # Half of the steps, and half of what the bus has to carry.
        self.assertEqual(costs["reduce_scatter", "ring", 8], costs["all_gather", "ring", 8])
        self.assertAlmostEqual(costs["all_gather", "ring", 8][2], costs["all_reduce", "ring", 8][2])
        self.assertEqual(costs["all_reduce", "tree"], "no link leads from node2.gpu0 to node4.gpu0")
        self.assertRegex(costs["all_reduce", "nvls"], "^nvls needs a switch in each node")

    def test_what_is_possible_where(self):
        h100 = self.costs("dgx-h100.yaml")
        self.assertIn(("all_reduce", "nvls", 1), h100)
        self.assertRegex(self.costs("dgx-h100.yaml", "--world-size", "16")["all_reduce", "nvls"], "^nvls stays within one node")
        self.assertIn(("all_reduce", "ring", 6), self.costs("dgx1-v100.yaml"))

    def test_size_of_the_buffer(self):
        """A ring of 4: 6 (5 us + S/4/12.5 GB/s); for 1 MiB 6 x 25.97152 us = 155.829 us."""
        costs = self.costs("ring-100gbps.yaml", "--world-size", "4", "--bytes", "1MiB")
        self.assertAlmostEqual(costs["all_reduce", "ring", 1][0], 155.829e-6, delta=1e-9)
        self.assertIn(" 25 MiB ", self.topology("costs", "ring-100gbps.yaml", "--world-size", "4"))

    def costs_json(self, name, *arguments):
        return json.loads(self.topology("costs", name, "--json", "-", *arguments))["costs"]

    def test_json_of_every_operation_and_size(self):
        """Under NCCL a row an operation and size; busbw is algbw times nccl-tests' factor."""
        costs = self.costs_json("dgx-h100.yaml", "--bytes", "8:8GiB")
        self.assertEqual(len(costs), 9 * 31)
        for cost in costs:
            factor = {"all_reduce": 14 / 8, "broadcast": 1, "reduce": 1, "send_recv": 1}.get(cost["operation"], 7 / 8)
            self.assertAlmostEqual(cost["algbw_Bps"] * cost["time_s"] / cost["bytes"], 1)
            self.assertAlmostEqual(cost["busbw_Bps"] / cost["algbw_Bps"], factor)
            self.assertEqual(cost["source"], "class")
            self.assertGreater(cost["channels"], 0)
        self.assertEqual({cost["bytes"] for cost in costs}, {2**k for k in range(3, 34)})
        only = self.costs_json("dgx-h100.yaml", "--bytes", "1MiB,3MiB", "--operation", "all_gather", "--operation", "all_to_all")
        self.assertEqual([(c["operation"], c["bytes"]) for c in only],
                         [(o, b << 20) for o in ("all_gather", "all_to_all") for b in (1, 3)])

    def test_where_a_cost_comes_from(self):
        def source(name, size, operation="all_reduce", size_of="64MiB"):
            return self.costs_json(name, "--world-size", str(size), "--operation", operation, "--bytes", size_of)[0]["source"]
        self.assertEqual(source("dgx-h100.yaml", 32), "calibrated")
        self.assertEqual(source("dgx-h100.yaml", 32, "all_gather"), "links")
        self.assertEqual(source("dgx-a100.yaml", 32, size_of="1MiB"), "tuner")  # a tree
        self.assertEqual(source("dgx-a100.yaml", 8, "reduce_scatter"), "class")
        self.assertEqual(source("pcie-8gpu.yaml", 8), "links")
        self.assertEqual(source("pcie-8xl40s.yaml", 2, "all_gather"), "calibrated")
        self.assertEqual(source("ring-100gbps.yaml", 8), "links")

    def test_a_calibration_of_few_rows_is_no_more_than_they_say(self):
        """Five all-reduces of one rack, of 512 MiB to 8 GiB: everything else is the class's, with its time and its note."""
        table = cli.SOURCE_ROOT / "measurements/coreweave_GB200_72gpu_1rack.csv"
        plain = cli.SOURCE_ROOT / "topologies/gb200-nvl72.yaml"
        self.ok("calibrate", table, "--topology", plain, "--out", self.folder / "rack.yaml")
        self.assertIn("identified: [nvls_large_base, nvls_large_link]", self.read("rack.yaml").decode())
        rack = self.write("rack-topology.yaml", plain.read_text().replace("cpu: arm}", "cpu: arm, calibration: rack.yaml}"))
        def costs(topology):
            done = self.ok("topology", "costs", topology, "--bytes", "4KiB,64MiB,4GiB", "--json", "-")
            result = json.loads(done.stdout)
            self.assertEqual(result["world_size"], 72)
            self.assertEqual([note["code"] for note in result["notes"]], ["nccl-rack-unmeasured"])
            self.assertEqual(done.stderr, f"note: {result['notes'][0]['text']}\n")
            return result["notes"][0]["text"], {(c["operation"], c["bytes"]): c for c in result["costs"]}
        (_, before), (note, after) = costs(plain), costs(rack)
        self.assertIn("nobody calibrated anything but all_reduce (512 MiB to 8 GiB)", note)
        own = ("all_reduce", 4 << 30)
        self.assertEqual([key for key, cost in after.items() if cost["source"] == "calibrated"], [own])
        self.assertGreater(after[own]["time_s"], 1.1 * before[own]["time_s"])
        for key, cost in after.items():
            if key[0] != "all_reduce":
                self.assertEqual(cost["source_text"], "class GB300, not this machine")
                self.assertAlmostEqual(cost["time_s"] / before[key]["time_s"], 1, places=5)
        again = cli.SOURCE_ROOT / "measurements/aiconfigurator_gb300.csv"
        self.ok("calibrate", f"{again}@4/half/all_to_all", "--topology", rack, "--accept", "--out", self.folder / "more.yaml")
        more = self.read("more.yaml").decode()
        self.assertIn('table: "coreweave_GB200_72gpu_1rack.csv"', more, "what was taken over says what it was fitted to")
        self.assertIn("operation: all_to_all", more)

    def test_gathering_takes_less_than_reducing_all(self):
        """Of large buffers; small ones are reduced over trees, whose depth a ring's steps exceed."""
        for size in (8, 16, 64):
            costs = {(c["operation"], c["bytes"]): c["time_s"]
                     for c in self.costs_json("superpod-h100.yaml", "--world-size", str(size), "--bytes", "4MiB:8GiB:4")}
            for (operation, bytes_), time in costs.items():
                if operation in ("all_gather", "reduce_scatter"):
                    self.assertLessEqual(time, costs["all_reduce", bytes_])

    def test_collnet_where_the_network_reduces(self):
        """NCCL's own estimate, and only where both the topology and the user say so."""
        text = (cli.SOURCE_ROOT / "topologies/dgx-h100.yaml").read_text().replace("cpu: intel", "cpu: intel, network_reduces: true")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "sharp.yaml"
            path.write_text(text.replace("../", f"{cli.SOURCE_ROOT}/"))
            def cost(*more):
                (found,) = json.loads(self.ok("topology", "costs", path, "--world-size", "64", "--operation", "all_reduce",
                                          "--bytes", "64MiB", "--json", "-", *more).stdout)["costs"]
                return found
            plain, collnet = cost(), cost("--collnet")
            self.assertEqual(plain["algorithm"], "nvls_tree")
            self.assertEqual(plain["source"], "calibrated")
            self.assertIn(collnet["algorithm"], ("nvls", "collnet_direct", "collnet_chain"))
            self.assertEqual(collnet["source"], "tuner")
            shown = self.ok("topology", "nccl", path, "--world-size", "64", "--collnet")
            self.assertIn("collnet_chain", shown.stdout)
            self.assertIn("CollNet is allowed", shown.stdout + shown.stderr)

    def test_symmetric_kernels_where_buffers_are_registered(self):
        """Small ones take half as long, large ones what NVLS takes; broadcasts have none."""
        def costs(*more):
            out = json.loads(self.ok("topology", "costs", "dgx-h100", "--bytes", "4KiB,4GiB", "--json", "-", *more).stdout)["costs"]
            return {(cost["operation"], cost["bytes"]): cost for cost in out}
        plain, symmetric = costs(), costs("--symmetric")
        for operation in ("all_reduce", "all_gather", "reduce_scatter"):
            for size in (4 << 10, 4 << 30):
                cost = symmetric[operation, size]
                self.assertRegex(cost["algorithm"], "^symmetric")
                self.assertEqual(cost["source"], "tuner")
            self.assertLess(symmetric[operation, 4 << 10]["time_s"], 0.6 * plain[operation, 4 << 10]["time_s"])
        self.assertAlmostEqual(symmetric["all_reduce", 4 << 30]["time_s"] / plain["all_reduce", 4 << 30]["time_s"], 1, delta=0.02)
        for operation in ("broadcast", "all_to_all"):
            self.assertEqual(symmetric[operation, 4 << 30], plain[operation, 4 << 30])
        shown = self.ok("topology", "nccl", "dgx-h100", "--symmetric")
        self.assertIn("symmetric_multicast/simple", shown.stdout)
        self.assertIn("NCCL's own estimate, uncalibrated", shown.stdout)
        self.assertIn("symmetric windows", shown.stderr)

    def test_too_many_to_count_is_a_row(self):
        def cost(name, size):
            (found,) = self.costs_json(name, "--world-size", str(size), "--operation", "all_to_all")
            return found
        self.assertGreater(cost("superpod-h100.yaml", 4096)["time_s"], 0)  # 16 leaves of nodes that are alike
        too_many = cost("fat-tree-3level.yaml", 8224)
        self.assertIsNone(too_many["time_s"])
        self.assertIn("at most 2048 may", too_many["why_not"])

    def test_pcie_is_as_slow_across_nodes(self):
        """A node lets no more through to another one than within, calibrated or not."""
        def busbw(name, size, operation):
            return self.costs_json(name, "--world-size", size, "--operation", operation, "--bytes", "1GiB")[0]["busbw_Bps"]
        for name, most in (("pcie-8x4090.yaml", 2), ("pcie-8xrtxpro6000.yaml", 1), ("pcie-8gpu.yaml", 1)):
            for operation in ("all_reduce", "all_gather"):
                # What a calibrated ramp costs is not carried over.
                self.assertLess(busbw(name, "16", operation), most * busbw(name, "8", operation), f"{name} {operation}")
        self.assertIn("0.47 of the payload of the most loaded slot", self.ok("topology", "costs", "pcie-8xrtxpro6000", "--world-size", "16").stderr)

    def test_measured_pcie_holds_for_who_sends_directly(self):
        """Four RTX 4090, whose all-reduces get 0.11 of their PCIe: an all-to-all of as many bytes over the same links takes no less."""
        costs = {c["operation"]: c for c in self.costs_json("pcie-8x4090.yaml", "--world-size", "4", "--bytes", "256MiB")}
        for operation in ("all_to_all", "send_recv"):
            self.assertEqual(costs[operation]["source"], "calibrated")
            self.assertLess(costs[operation]["busbw_Bps"], 1.2 * costs["all_reduce"]["busbw_Bps"])

    def test_larger_groups_gather_no_faster(self):
        """Through the same nodes: a ring of 16 is no faster than one of 8 for the same bytes."""
        for name in ("dgx-h100.yaml", "dgx-a100.yaml", "dgx-b200.yaml", "dgx-b300.yaml", "hgx-h200.yaml"):
            for operation in ("all_gather", "reduce_scatter"):
                times = [[c["time_s"] for c in self.costs_json(name, "--world-size", str(size), "--operation", operation,
                                                               "--bytes", "64MiB,256MiB,1GiB,4GiB")] for size in (8, 16, 32)]
                for small, middle, large in zip(*times):
                    self.assertLess(small, middle, f"{name} {operation}")
                    self.assertLess(middle, large, f"{name} {operation}")

    def test_more_gpus_than_its_sources_describe(self):
        done = self.ok("topology", "costs", "superpod-a100", "--world-size", "1128", "--operation", "all_reduce", "--json", "-")
        self.assertIn("describe up to 1120 GPUs, and these are 1128: larger ones have a third level of switches", done.stderr)
        self.assertEqual([note["code"] for note in json.loads(done.stdout)["notes"]], ["topology-extent"])
        self.assertNotIn("describe", self.ok("topology", "nccl", "superpod-a100", "--world-size", "1120").stderr)
        self.assertIn("topology's sources", self.ok("topology", "nccl", "superpod-a100", "--world-size", "1128").stderr)

    def test_symmetric_kernels_concern_three_operations(self):
        """Across nodes there are none of them; the others take what they take."""
        def costs(*more):
            out = self.ok("topology", "costs", "dgx-h100", "--world-size", "64", "--json", "-", *more)
            return out.stderr, {c["operation"]: c for c in json.loads(out.stdout)["costs"]}
        _, plain = costs()
        _, symmetric = costs("--symmetric")
        for operation, cost in symmetric.items():
            if operation in ("all_reduce", "all_gather", "reduce_scatter"):
                self.assertIn("one NVLink domain", cost["why_not"])
            else:
                self.assertEqual(cost, plain[operation])
        notes, alone = costs("--symmetric", "--operation", "send_recv")
        self.assertEqual(alone["send_recv"], plain["send_recv"])
        self.assertNotIn("symmetric", notes)
        self.assertIn("direct/simple", self.ok(
            "topology", "nccl", "dgx-h100", "--world-size", "64", "--symmetric", "--operation", "send_recv").stdout)
        for operations in (["all_reduce"], ["all_gather", "reduce_scatter"]):
            arguments = [word for operation in operations for word in ("--operation", operation)]
            error = self.fails(2, "topology", "costs", "dgx-h100", "--world-size", "64", "--symmetric", *arguments)
            self.assertIn("one NVLink domain", error.stderr)

    def test_gather_is_bound_by_the_link_of_rank_0(self):
        """Under NCCL sends to rank 0: in a node they take what an all-to-all of as large a buffer does, 7/8 of it over one GPU's NVLink; on two nodes half of it
        comes through one NIC of 50 GB/s, 1 GiB / 2 / 50 GB/s = 10.737 ms."""
        rows = {row["operation"]: row for row in self.costs_json("dgx-h100.yaml", "--bytes", "1GiB")}
        for operation in ("gather", "scatter"):
            self.assertEqual((rows[operation]["algorithm"], rows[operation]["time_s"]), ("direct", rows["all_to_all"]["time_s"]))
        two = self.costs_json("dgx-h100.yaml", "--world-size", "16", "--operation", "gather", "--bytes", "1GiB")[0]
        self.assertAlmostEqual(two["time_s"], 2**30 / 2 / 50e9, delta=3e-5)

    def test_csv(self):
        rows = self.topology("costs", "dgx-h100.yaml", "--csv", "-", "--bytes", "1MiB").splitlines()
        self.assertEqual(rows[0], "operation,bytes,algorithm,protocol,channels,time_s,algbw_Bps,busbw_Bps,source,source_text")
        self.assertEqual(len(rows), 10)
        rack = self.topology("costs", "dgx-h100.yaml", "--world-size", "64", "--operation", "all_reduce", "--csv", "-", "--bytes", "1MiB,64MiB")
        self.assertTrue(rack.endswith(",calibrated,calibrated on fewer GPUs\n"), rack)

    def test_every_file_of_the_repository(self):
        for name in self.names():
            with self.subTest(name):
                self.assertIn(("all_reduce", "ring", 1), self.costs(name, *size_of(name)))


class ExportTest(TopologyTest):
    def test_every_file_of_the_repository(self):
        for name in self.names():
            with self.subTest(name):
                nodes = 8 if name.startswith("ring") else 2
                size = 8 if name.startswith("ring") else 2 * gpus_a_node(name)
                text = self.topology("export", name, "--dot", "-", "--world-size", str(size))
                self.check_dot(text, nodes)
                self.topology("export", name, "--dot", "graph.dot", *size_of(name))
                self.check_dot(self.read("graph.dot").decode(), nodes if name.startswith("ring") else 1)

    def check_dot(self, text, nodes):
        depth = 0
        for bracket in re.findall(r"[{}]", text):
            depth += 1 if bracket == "{" else -1
            self.assertGreaterEqual(depth, 0)
        self.assertEqual(depth, 0)
        self.assertTrue(text.startswith("digraph cluster {\n") and text.endswith("}\n"))
        self.assertEqual(re.findall(r"subgraph cluster_node(\d+) ", text), [str(node) for node in range(nodes)])
        vertices = re.findall(r'(?m)^ +"([^"]+)" \[shape=', text)
        self.assertEqual(len(vertices), len(set(vertices)))
        edges = re.findall(r'(?m)^  "([^"]+)" -> "([^"]+)" \[', text)
        self.assertTrue(edges)
        for ends in edges:
            self.assertLessEqual(set(ends), set(vertices))

    def test_a_broken_link_is_dashed(self):
        self.write("ring.yaml", cli.RING + "overrides: [{from: 1, broken: true}]\n")
        text = self.ok("topology", "export", "ring.yaml", "--world-size", "4", "--dot", "-").stdout
        self.assertEqual([line.split(" [")[0] for line in text.splitlines() if "style=dashed" in line], ['  "gpu1" -> "gpu2"'])

    def test_without_graphviz_nothing_is_written(self):
        self.write("ring.yaml", cli.RING)
        before = self.files()
        with tempfile.TemporaryDirectory() as empty:
            done = self.fails(3, "topology", "export", "ring.yaml", "--world-size", "4", "--svg", "ring.svg",
                              env=cli.environment(PATH=empty))
            self.ok("topology", "export", "ring.yaml", "--world-size", "4", "--dot", "-", env=cli.environment(PATH=empty))
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr, "error: graphs are drawn by 'dot', which is not installed\n"
                                      "hint: on Debian or Ubuntu: apt-get install graphviz\n")
        self.assertEqual(self.files(), before)

    def test_drawn(self):
        self.topology("export", "dgx1-v100.yaml", "--svg", "dgx1.svg")
        root = xml.etree.ElementTree.fromstring(self.read("dgx1.svg"))
        self.assertTrue(root.tag.endswith("}svg"))
        texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual(texts.count("node0"), 1)
        self.assertLessEqual({f"node0.gpu{gpu}" for gpu in range(8)}, set(texts))


class ImportTest(TopologyTest):
    def fixture(self, name):
        return (cli.SOURCE_ROOT / "tests/topology/fixtures" / name).read_bytes()

    def test_shows_what_nvidia_smi_shows(self):
        self.write("matrix.txt", self.fixture("nvswitch.txt"))
        command = ("topology", "import", "--format", "nvidia-smi", "matrix.txt", "--gpu", "ampere", "--nic-bandwidth",
                   "200Gbps", "--out", "node.yaml")
        done = self.ok(*command)
        wrote = "wrote 8 GPUs, 8 NICs (kind: cluster) to node.yaml\n"
        note = "note: without a section 'nccl', algorithm auto is plain rings there; --cpu adds it\n"
        left_out = "note: left out, as each GPU uses 1 NIC and others are nearer or as near: mlx5_8, mlx5_9\n"
        self.assertEqual((done.stdout, done.stderr), ("", wrote + left_out + note))
        self.assertEqual(self.ok(*command, "--cpu", "amd").stderr, wrote + left_out)
        self.assertIn("nccl: {gpu: ampere, cpu: amd}", self.read("node.yaml").decode())
        self.assertEqual(self.files(), ["matrix.txt", "node.yaml"])
        rows = [line.split()[1:] for line in self.ok("topology", "show", "node.yaml").stdout.splitlines()[-8:]]
        matrix = [line.split()[1:9] for line in self.fixture("nvswitch.txt").decode().splitlines()[1:9]]
        self.assertEqual(rows, matrix)

    def test_links_are_called_as_the_host_calls_them(self):
        """mlx5_3 of nvidia-smi's legend is the fourth NIC; of NCCL's file with two ports a NIC mlx5_9 is the first port of the second."""
        self.write("trace.csv", cli.small_trace())
        for file, form, device, nic in (("nvswitch.txt", "nvidia-smi", "mlx5_3", "nic3"), ("dump_two_ports.xml", "nccl-xml", "mlx5_10", "nic1")):
            self.write(file, self.fixture(file))
            self.ok("topology", "import", "--format", form, file, "--gpu", "ampere", "--cpu", "amd", "--nic-bandwidth", "200Gbps", "--out", "node.yaml")
            self.write("nodes.yaml", self.read("node.yaml").decode() + "fabric: {kind: rail_optimized}\n")
            gpus = 2 * (8 if nic == "nic3" else 2)
            self.write("scenario.yaml", f"workload: {{trace: trace.csv}}\ncluster: {{topology: nodes.yaml, world_size: {gpus}}}\n")
            times = [json.loads(self.ok("simulate", "scenario.yaml", "--json", "-", *more).stdout)["communication_s"]
                     for more in ([], *(["--set", f"cluster.overrides=[{{link: node1.{name}, bandwidth: 1GB/s}}]"] for name in (device, device + ".out", nic)))]
            self.assertEqual(times[1], times[3])
            self.assertLess(times[0], times[2])
            self.assertLessEqual(times[2], times[1])
            self.assertIn("did you mean 'node1.mlx5_", self.fails(2, "simulate", "scenario.yaml", "--set", "cluster.overrides=[{link: node1.mlx5_77, broken: true}]").stderr)

    def test_the_gpu_by_its_name(self):
        """--gpu takes what the key gpu has, and NCCL's file says it by its PCI device id: 0x20b2 is an A100 SXM4 of 80 GB."""
        self.write("matrix.txt", self.fixture("nvswitch.txt"))
        command = ("topology", "import", "matrix.txt", "--cpu", "intel", "--nic-bandwidth", "200Gbps", "--out", "-")
        text = self.ok(*command, "--gpu", "a100-sxm4-80gb").stdout
        self.assertIn("gpu: a100-sxm4-80gb\n", text)
        self.assertIn("nccl: {gpu: ampere, cpu: intel}\n", text)
        self.assertNotIn("\ngpu:", self.ok(*command, "--gpu", "ampere").stdout)
        dump = self.fixture("dump_nvswitch.xml").decode()
        self.assertNotIn("device=", dump)
        self.write("system.xml", dump.replace('class="0x030200"', 'class="0x030200" vendor="0x10de" device="0x20b2"'))
        self.assertIn("gpu: a100-sxm4-80gb\n", self.ok("topology", "import", "system.xml", "--out", "-").stdout)
        self.assertIn("device 0x20b2 is a100-sxm4-80gb, not a100-sxm4-40gb", self.fails(2, "topology", "import", "system.xml", "--gpu", "a100-sxm4-40gb", "--out", "-").stderr)
        self.write("system.xml", dump)
        self.assertNotIn("\ngpu:", self.ok("topology", "import", "system.xml", "--out", "-").stdout)

    def test_switches_of_slurm(self):
        """Four nodes below each of two switches: as a fabric written by hand, and files of the nodes' topology are found from elsewhere."""
        self.write("topology.conf", "SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[4-7] LinkSpeed=1\nSwitchName=top Switches=a,b\n")
        (self.folder / "sub").mkdir()
        done = self.ok("topology", "import", "topology.conf", "--node", "dgx-h100", "--out", "sub/cluster.yaml")
        self.assertIn("wrote 8 nodes below 2 levels of switches to sub/cluster.yaml\n", done.stderr)
        self.assertIn("note: left out: LinkSpeed\n", done.stderr)
        node = (cli.SOURCE_ROOT / "topologies/dgx-h100.yaml").read_text().replace("../calibrations", f"{cli.SOURCE_ROOT}/calibrations")
        self.write("hand.yaml", node.replace("{kind: rail_optimized, nodes_per_leaf: 32, network: infiniband}", "{kind: fat_tree, nodes_per_leaf: 4, network: infiniband}"))
        costs = [self.ok("topology", "costs", file, "--world-size", "64", "--bytes", "64MiB", "--csv", "-").stdout for file in ("sub/cluster.yaml", "hand.yaml")]
        self.assertEqual(*costs)
        self.assertIn("the fabric of dgx-h100 has a leaf for each rail", done.stderr)
        self.assertIn("does not say: as many as down", done.stderr)

    def test_uplinks_of_slurm_s_switches(self):
        """As those of the nodes' own fabric; one switch has none."""
        self.write("node.yaml", (cli.SOURCE_ROOT / "topologies/dgx-h100.yaml").read_text().replace("../calibrations", f"{cli.SOURCE_ROOT}/calibrations").replace(
            "{kind: rail_optimized, nodes_per_leaf: 32,", "{kind: fat_tree, nodes_per_leaf: 32, oversubscription: 3,"))
        self.write("topology.conf", "SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[4-7]\nSwitchName=top Switches=a,b\n")
        done = self.ok("topology", "import", "topology.conf", "--node", "node.yaml", "--out", "-")
        self.assertIn("oversubscription: 3", done.stdout)
        self.assertIn("does not say: one for 3 down, as those of node.yaml", done.stderr)
        self.assertNotIn("rail", done.stderr)
        self.write("topology.conf", "SwitchName=a Nodes=n[0-3]\n")
        self.assertNotIn("upwards", self.ok("topology", "import", "topology.conf", "--node", "node.yaml", "--out", "-").stderr)

    def test_to_standard_output(self):
        """The same bytes as in a file, and what the command knows of the CPU and of PCIe is in them."""
        self.write("matrix.txt", self.fixture("pcie_node.txt"))
        arguments = ["topology", "import", "--format", "nvidia-smi", "matrix.txt", "--pcie-generation", "5", "--cpu",
                     "sapphire-rapids", "--nic-bandwidth", "400Gbps", "--out"]
        text = self.ok(*arguments, "-").stdout
        self.ok(*arguments, "node.yaml")
        self.assertEqual(self.read("node.yaml").decode(), text)
        self.assertIn("bandwidth: 48GB/s", text)
        self.assertIn("socket: {bandwidth: 22GB/s, latency: 0.5us}", text)
        self.assertIn("note: between sockets: 22 GB/s per direction, as NCCL counts sapphire-rapids", self.ok(*arguments, "-").stderr)
        done = self.ok(*arguments, "-", "--socket-bandwidth", "16GB/s")
        self.assertIn("socket: {bandwidth: 16GB/s, latency: 0.5us}", done.stdout)
        self.assertNotIn("sockets", done.stderr)

    def test_the_file_tells_its_format(self):
        fixtures = cli.SOURCE_ROOT / "tests/topology/fixtures"
        for name, file, more in (("nvidia-smi", "nvswitch.txt", ["--gpu", "ampere", "--cpu", "amd", "--nic-bandwidth", "200Gbps"]), ("nvidia-smi", "mesh_blanks.txt", ["--gpu", "volta", "--cpu", "intel"]),
                                 ("nccl-xml", "dump_nvswitch.xml", []), ("nccl-xml", "topo_file.xml", ["--gpu", "volta", "--nvlinks", "1"]), ("nccl-xml", "amd/dump_xgmi.xml", []), ("rocm-smi", "amd/showtopo_hives.txt", ["--gpu", "mi250x"])):
            with self.subTest(file):
                said = self.run_ddpsim("topology", "import", "--format", name, fixtures / file, "--out", "-", *more)
                told = self.run_ddpsim("topology", "import", fixtures / file, "--out", "-", *more)
                self.assertEqual((told.returncode, told.stdout, told.stderr), (said.returncode, said.stdout, said.stderr))

    def test_nccl_xml(self):
        self.write("system.xml", self.fixture("dump_v100_mesh.xml"))
        self.ok("topology", "import", "--format", "nccl-xml", "system.xml", "--out", "node.yaml")
        shown = self.ok("topology", "show", "node.yaml").stdout
        self.assertEqual(shown.splitlines()[5:], self.topology("show", "dgx1-v100.yaml").splitlines()[5:])

    def test_gpus_of_amd(self):
        """Eight GPUs, all of them joined: seven rings of 64 GB/s carry 448 GB/s of bus bandwidth. Nothing of NVIDIA's is taken for them."""
        bus = [f"0000:{i + 16:02x}:00.0" for i in range(8)]
        links = ["".join(f'<xgmi target="{other}" count="1" tclass="0x120000"/>' for other in bus if other != own) for own in bus]
        gpus = "".join(f'<pci busid="{own}" class="0x120000" vendor="0x1002" device="0x74a1" link_speed="32.0 GT/s PCIe" link_width="16">'
                       f'<gpu dev="{i}" sm="304" gcn="gfx942">{links[i]}</gpu></pci>\n' for i, own in enumerate(bus))
        self.write("system.xml", f'<system version="2"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">\n{gpus}</cpu></system>\n')
        done = self.ok("topology", "import", "--format", "nccl-xml", "system.xml", "--out", "node.yaml")
        self.assertEqual(done.stderr, "wrote 8 GPUs, 0 NICs (kind: cluster) to node.yaml\n"
                                      "note: RCCL is not modelled: collectives are plain schedules over the links\n")
        costs = json.loads(self.ok("topology", "costs", "node.yaml", "--operation", "all_reduce", "--bytes", "8GiB", "--json", "-").stdout)
        best = max(row["busbw_Bps"] for row in costs["costs"] if row["time_s"])
        self.assertAlmostEqual(best / 448e9, 1, delta=0.001)
        self.assertEqual([note["code"] for note in costs["notes"]], ["rccl-unmodelled"])
        self.write("scenario.yaml", "workload: {model: gpt2, micro_batch: 4, sequence: 1024}\ncluster: {topology: node.yaml, world_size: 8}\n")
        step = json.loads(self.ok("simulate", "scenario.yaml", "--json", "-").stdout)
        codes = [note["code"] for note in step["notes"]]
        self.assertIn("rccl-unmodelled", codes)
        self.assertNotIn("plain-rings", codes)
        classes = step["evidence"]["classes"]
        self.assertEqual((classes["compute"]["class"], classes["network"]["class"]), ("never", "xgmi"))

    def test_nvlinks_that_the_file_does_not_hold(self):
        self.write("system.xml", self.fixture("topo_self_links.xml"))
        command = ("topology", "import", "--format", "nccl-xml", "system.xml", "--pcie-generation", "4", "--out", "node.yaml")
        notes = [line for line in self.ok(*command).stderr.splitlines() if "NVLinks" in line]
        self.assertEqual(notes[0], "note: left out, as they lead from a GPU to itself: the NVLinks of gpu0, gpu1, gpu2, gpu3")
        self.assertRegex(notes[1], "^note: the file holds no NVLinks, though ampere GPUs have up to 12: .*--nvlinks N adds N")
        added = self.ok(*command, "--nvlinks", "4").stderr.splitlines()
        self.assertEqual([line for line in added if "NVLinks" in line], notes[:1])
        self.assertIn("NV4", self.ok("topology", "show", "node.yaml").stdout)

    def test_two_ports_of_a_gpu(self):
        self.write("system.xml", self.fixture("dump_two_ports.xml"))
        done = self.ok("topology", "import", "--format", "nccl-xml", "system.xml", "--out", "node.yaml")
        self.assertEqual(done.stderr, "wrote 2 GPUs, 2 NICs (kind: cluster) to node.yaml\n"
                                      "note: NCCL uses both NIC ports nearest to a GPU: they are one NIC of 360Gbps here, 2 x 180Gbps\n")


if __name__ == "__main__":
    cli.main()
