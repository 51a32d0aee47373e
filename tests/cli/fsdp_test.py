#!/usr/bin/env python3
"""Strategies fsdp and fsdp1: what must hold of any sharded step, and what is refused."""
import json
import math

import ddpsim_cli as cli

MODEL = """workload: {model: gpt2, micro_batch: 4, sequence: 1024, dtype: bf16}
strategy: fsdp
cluster: {topology: ring.yaml, world_size: 8, gpu: a100-sxm4-80gb}
physics: {interference: 0, passes: none}
"""
RING = "kind: ring\nlink: {latency: %s, bandwidth: %s}\n"


class FsdpTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.link_data()
        self.write("m.yaml", MODEL)
        self.write("ring.yaml", RING % ("5us", "20GB/s"))

    def result(self, *sets):
        return self.simulate(*sets, file="m.yaml")


class StepTest(FsdpTest):
    def test_a_free_network_leaves_compute(self):
        """Without a network to speak of and without interference a step is its compute; the optimizer has an eighth to do."""
        self.write("ring.yaml", RING % ("0us", "1000000GB/s"))
        alone = self.result("strategy=ddp")
        for strategy in ("fsdp", "fsdp1"):
            with self.subTest(strategy):
                result = self.result(f"strategy={strategy}")
                # ddp's gradients are cast in its backward pass; here nothing says what casts take.
                self.assertAlmostEqual(result["forward_s"], alone["forward_s"], places=12)
                self.assertLess(result["exposed_communication_s"], 1e-5 * result["iteration_s"])
                self.assertAlmostEqual(result["optimizer_s"], alone["optimizer_s"] / 8, places=12)

    def test_without_interference_and_hops_only_ends_are_waited_for(self):
        """The first gathers, of the root and of block 0, and the last reduce-scatters, of the same; the root's own passes hide a little of
        them. What a ring of 8 takes is 7/8 of the bytes over the bandwidth; gathered is bf16, reduced fp32."""
        self.write("ring.yaml", RING % ("0us", "100GB/s"))
        sets = ("workload.model=mpt-1b", "workload.micro_batch=8", "workload.sequence=2048", "spread=none", "fsdp.reduce_dtype=fp32")
        for strategy in ("fsdp", "fsdp1"):
            with self.subTest(strategy):
                result = self.result(f"strategy={strategy}", *sets)
                block, root = (result["buckets"][unit]["bytes"] for unit in (0, -1))
                ends = (1 + 1 / 2) * 7 / 8 * (block + root) / 100e9
                self.assertLessEqual(result["exposed_communication_s"], ends)
                self.assertGreater(result["exposed_communication_s"], 0.9 * ends)
                self.assertEqual([loss["cause"] for loss in result["losses"]], ["ends", "optimizer"])

    def test_how_often_what_is_communicated(self):
        """GPT-2 has 12 blocks and the root: 13 units. FSDP2 keeps the root and the last block."""
        for strategy, reshard, gathers in [("fsdp", "true", 13 + 11), ("fsdp", "false", 13), ("fsdp1", "true", 13 + 12), ("fsdp1", "false", 13)]:
            with self.subTest(strategy=strategy, reshard=reshard):
                result = self.result(f"strategy={strategy}", f"fsdp.reshard_after_forward={reshard}", "fsdp.reduce_dtype=fp32")
                by = {one["operation"]: one for one in result["communication"]}
                self.assertEqual((by["all_gather"]["count"], by["reduce_scatter"]["count"]), (gathers, 13))
                self.assertEqual(by["reduce_scatter"]["bytes"], 4 * 124439808)
                if reshard == "false":
                    self.assertEqual(by["all_gather"]["bytes"], 2 * 124439808)
                exposed = sum(one["exposed_s"] for one in by.values())
                self.assertAlmostEqual(exposed, result["exposed_communication_s"], places=12)
                self.assertAlmostEqual(sum(one["busy_s"] for one in by.values()), result["communication_s"], places=12)

    def test_units_by_name(self):
        blocks = self.result()
        self.assertEqual(self.result('fsdp.units=["h.*"]')["iteration_s"], blocks["iteration_s"])
        finer = self.result('fsdp.units=["h.*.attn", "h.*.mlp"]')
        self.assertEqual(finer["n_buckets"], 25)
        self.assertNotIn("tied-unit", [note["code"] for note in finer["notes"]])
        self.assertIn("tied-unit", [note["code"] for note in self.result('fsdp.units=["h.*", wte]')["notes"]])

    def test_gathering_again_is_never_faster(self):
        for bandwidth in ("5GB/s", "20GB/s", "100GB/s"):
            self.write("ring.yaml", RING % ("5us", bandwidth))
            again = self.result("strategy=fsdp1")["iteration_s"]
            kept = self.result("strategy=fsdp1", "fsdp.reshard_after_forward=false")["iteration_s"]
            self.assertLessEqual(kept, again * (1 + 1e-12), bandwidth)

    def test_simulated_flow_by_flow(self):
        closed = self.result()["iteration_s"]
        for fidelity in ("exact", "folded", "lazy"):
            with self.subTest(fidelity):
                self.assertAlmostEqual(self.result(f"engine.fidelity={fidelity}")["iteration_s"] / closed, 1, delta=1e-9)

    def test_in_company_it_takes_longer(self):
        """Every second GPU of two nodes, 5 ms after the others: both groups share a NIC."""
        node = ["cluster.topology=topologies/pcie-8gpu.yaml", "cluster.world_size=16", "collective={algorithm: ring}"]
        groups = "[{ranks: {from: 0, to: 14, step: 2}}, {ranks: {from: 1, to: 15, step: 2}, offset: 5ms}]"
        alone = self.result(*node, "cluster.world_size=8")
        shared = self.result(*node, f"cluster.groups={groups}")
        self.assertEqual((alone["network"], shared["network"]), ("alone", "builtin"))
        self.assertGreater(shared["communication_s"], alone["communication_s"])

    def test_accumulation(self):
        one = self.result()
        four = self.result("ddp.accumulation_steps=4")
        last = self.result("ddp.accumulation_steps=4", "fsdp.reduce_every_micro_batch=false")
        counts = [{c["operation"]: c["count"] for c in r["communication"]} for r in (one, four, last)]
        self.assertEqual([c["reduce_scatter"] for c in counts], [13, 52, 13])
        self.assertEqual([c["all_gather"] for c in counts], [24, 96, 96])
        self.assertLess(last["iteration_s"], four["iteration_s"])
        self.assertAlmostEqual(four["forward_s"], 4 * one["forward_s"], places=12)

    def test_the_last_unit(self):
        """It stays gathered from forward to backward, or is gathered again."""
        counts = [next(one["count"] for one in self.result(*sets)["communication"] if one["operation"] == "all_gather")
                  for sets in ([], ["fsdp.reshard_last=false"], ["fsdp.reshard_last=true"])]
        self.assertEqual(counts, [24, 24, 25])

    def test_shard_grad_op_without_reduction_stays_gathered(self):
        sets = ["fsdp.reshard_after_forward=false", "fsdp.reduce_every_micro_batch=false", "ddp.accumulation_steps=4"]
        for strategy, gathers in [("fsdp1", 13), ("fsdp", 52)]:
            by = {one["operation"]: one["count"] for one in self.result(f"strategy={strategy}", *sets)["communication"]}
            self.assertEqual((by["all_gather"], by["reduce_scatter"]), (gathers, 13), strategy)

    def test_units(self):
        for unit, buckets in [("layer", 13), ("{layers: 4}", 4), ("{layers: 12}", 2), ("{bytes: 1GB}", 2), ("{bytes: 1B}", 13)]:
            with self.subTest(unit):
                self.assertEqual(self.result(f"fsdp.unit={unit}")["n_buckets"], buckets)

    def test_memory_is_sharded(self):
        whole = self.result("strategy=ddp")["memory"]
        sharded = self.result()["memory"]
        self.assertEqual(sharded["optimizer_bytes"], whole["optimizer_bytes"] // 8)
        self.assertLess(sharded["peak_bytes"], whole["peak_bytes"])

    def test_side_by_side(self):
        done = self.ok("sweep", "m.yaml", "--set", "sweep.strategy=[ddp, fsdp, fsdp1]", "--json", "r.json", "--csv", "r.csv")
        self.assertRegex(done.stdout, r"(?m)^ +strategy .* MFU % +GB")
        self.assertEqual([row["memory_fits"] for row in self.read_csv("r.csv")], ["1", "1", "1"])
        points = json.loads(self.read("r.json"))["points"]
        self.assertEqual([point["strategy"] for point in points], ["ddp", "fsdp", "fsdp1"])

    def test_a_recorded_trace(self):
        """Version 1 does not say when a layer's forward pass ends: a note."""
        done = self.ok("simulate", "m.yaml", "--set", "workload={trace: traces/gpt2-large-a100-bs4.csv}")
        self.assertIn("36", done.stdout)
        self.assertIn("the trace does not say when a layer's forward pass ends", done.stderr)
        self.assertIn("37 buckets", done.stdout)

    def test_larger_units_hold_more(self):
        peaks = [self.result(f"fsdp.unit={{layers: {n}}}")["memory"]["peak_bytes"] for n in (1, 4, 12)]
        self.assertEqual(peaks, sorted(peaks))    # of small ones the loss hides how large they are
        self.assertGreater(peaks[2], peaks[1])
        self.assertGreater(self.result("fsdp.reduce_every_micro_batch=false", "ddp.accumulation_steps=2")["memory"]["peak_bytes"], peaks[0])

    def test_explained(self):
        for more in ([], ["strategy=fsdp1"], ["workload={trace: traces/gpt2-large-a100-bs4.csv}"]):
            with self.subTest(more):
                done = self.ok("simulate", "m.yaml", "--explain", *cli.set_arguments(more))
                self.assertIn("what would change it", done.stdout)

    def test_timeline(self):
        self.ok("simulate", "m.yaml", "--timeline", "t.json", "--quiet")
        names = {event["name"] for event in json.loads(self.read("t.json"))["traceEvents"]}
        self.assertIn("gather unit 3", names)
        self.assertIn("reduce bucket 3", names)


class DtypeTest(FsdpTest):
    def test_what_is_reduced_unless_somebody_says(self):
        """FullyShardedDataParallel's MixedPrecision reduces in its param_dtype; fully_shard is taken to reduce in float32."""
        for strategy, usual, other in (("fsdp", "fp32", "bf16"), ("hsdp", "fp32", "bf16"), ("fsdp1", "bf16", "fp32"), ("hsdp1", "bf16", "fp32")):
            with self.subTest(strategy):
                sets = [f"strategy={strategy}", "cluster.topology=superpod-h100", "cluster.world_size=16", "fsdp.reshard_after_forward=true"]
                default = self.result(*sets)["communication_s"]
                self.assertEqual(default, self.result(*sets, f"fsdp.reduce_dtype={usual}")["communication_s"])
                self.assertNotEqual(default, self.result(*sets, f"fsdp.reduce_dtype={other}")["communication_s"])
        codes = lambda *sets: [note["code"] for note in self.result(*sets)["notes"]]
        self.assertIn("fsdp1-dtypes", codes("strategy=fsdp1"))
        for sets in (["strategy=fsdp"], ["strategy=fsdp1", "fsdp.reduce_dtype=bf16"]):
            self.assertNotIn("fsdp1-dtypes", codes(*sets))
        sets = ["strategy=fsdp1", "fsdp.param_dtype=fp32"]
        self.assertEqual(self.result(*sets)["communication_s"], self.result(*sets, "fsdp.reduce_dtype=fp32")["communication_s"])


class HybridTest(FsdpTest):
    """hsdp on two or four nodes of 8: shards within a node, copies between them."""

    def setUp(self):
        super().setUp()
        self.write("m.yaml", MODEL.replace("fsdp", "hsdp").replace("ring.yaml, world_size: 8", "topologies/superpod-h100.yaml, world_size: 32").replace("a100-sxm4-80gb", "h100-sxm"))

    def test_one_group_of_all_is_fsdp(self):
        for hybrid, plain in (("hsdp", "fsdp"), ("hsdp1", "fsdp1")):
            one, other = self.result(f"strategy={hybrid}", "fsdp.shard_group=32"), self.result(f"strategy={plain}")
            self.assertEqual(one.pop("strategy"), hybrid)
            self.assertEqual(other.pop("strategy"), plain)
            for result in (one, other):
                result.pop("notes", None)
            self.assertEqual(one, other)

    def test_what_is_communicated(self):
        """Of every unit's reduced bytes an eighth is copied between the four nodes."""
        by = {(c["axis"], c["operation"]): c for c in self.result()["communication"]}
        self.assertEqual(sorted(by), [("replica", "all_reduce"), ("shard", "all_gather"), ("shard", "reduce_scatter")])
        self.assertEqual([by[key]["count"] for key in sorted(by)], [13, 24, 13])
        self.assertEqual(by["shard", "reduce_scatter"]["bytes"], 4 * 124439808)
        self.assertEqual(by["replica", "all_reduce"]["bytes"], 4 * 124439808 // 8)

    def test_every_rank_and_flow(self):
        """One slow rank makes two kinds of its node's, of its replicas' and of all other communicators."""
        for sets in ([], ["workload.stragglers=[{rank: 5, slowdown: 1.2}]"], ["fsdp.shard_group=4"]):
            with self.subTest(sets):
                closed = self.result(*sets)
                for fidelity in ("exact", "folded"):
                    flows = self.result(*sets, f"engine.fidelity={fidelity}", "engine.network=builtin")
                    self.assertAlmostEqual(flows["iteration_s"] / closed["iteration_s"], 1, delta=1e-9)

    def test_thousands_of_flows_that_are_slowed(self):
        """With interference flows are stopped and started anew all the time, more than a thousand of them at once; SimGrid says what the builtin network does."""
        sets = ["strategy=hsdp1", "cluster.topology=topologies/dgx-h100.yaml", "workload.micro_batch=8", "physics.interference=0.3",
                "workload.stragglers=[{rank: 3, slowdown: 1.1}]", "engine.fidelity=folded"]
        simgrid, builtin = (self.result(*sets, f"engine.network={network}") for network in ("simgrid", "builtin"))
        self.assertEqual(simgrid["network"], "simgrid")
        self.assertAlmostEqual(simgrid["iteration_s"] / builtin["iteration_s"], 1, delta=1e-6)

    def test_communicators_share_links(self):
        """Gathers beside reduce-scatters: both on NVLink, and no slower than one after the other."""
        one = self.result()
        two = self.result("fsdp.communicators=2", "engine.network=builtin")
        self.assertEqual((one["network"], two["network"]), ("alone", "builtin"))
        self.assertLessEqual(two["iteration_s"], one["iteration_s"] * 1.001)
        exact = self.result("fsdp.communicators=2", "engine.network=builtin", "engine.fidelity=exact")
        self.assertAlmostEqual(exact["iteration_s"] / two["iteration_s"], 1, delta=0.01)

    def test_groups_of_several_nodes_share_nics(self):
        result = self.result("fsdp.shard_group=16", "engine.network=builtin")
        self.assertEqual(result["network"], "builtin")
        self.assertGreater(result["simulated_flows"], 0)

    def test_fewer_hops_are_never_slower_across_nodes(self):
        """Rings of 8 and of 32 ranks instead of 256: less is waited for. (The whole step may be longer: the optimizer has more to do.)"""
        def waits(*sets):
            return self.result("cluster.world_size=256", *sets)["exposed_communication_s"]
        self.assertLess(waits(), waits("strategy=fsdp"))

    def test_ranks_that_vary(self):
        """Everybody waits for the slowest rank of all."""
        usual, varied = self.result(), self.result("variability={iterations: 20, seed: 1, jitter: none, ranks: 0.02}")
        self.assertEqual(varied["iterations"]["count"], 20)
        slowest = varied["iterations"]["slowest_of"][-1]
        slow = self.result("spread=none", f"workload.stragglers=[{{rank: 3, slowdown: {slowest['slowdown']}}}]")
        self.assertAlmostEqual(varied["iterations"]["median_s"] / slow["iteration_s"], 1, delta=1e-3)
        self.assertAlmostEqual(varied["iteration_s"] / usual["iteration_s"], 1, delta=0.03)

    def test_memory_of_a_group(self):
        sharded = [self.result(f"fsdp.shard_group={ranks}")["memory"]["optimizer_bytes"] for ranks in (4, 8, 32)]
        self.assertAlmostEqual(sharded[0] / sharded[1], 2, delta=1e-6)
        self.assertAlmostEqual(sharded[1] / sharded[2], 4, delta=1e-6)
        self.assertIn("optimizer", self.ok("memory", "m.yaml").stdout)

    def test_refused(self):
        for sets, says in [
                (["fsdp.shard_group=5"], "32 ranks are not groups of 5"),
                (["cluster.world_size=12"], "nodes hold 8 and 4 ranks"),
                (["cluster.groups=[{ranks: {from: 0, to: 15}}, {ranks: {from: 16, to: 31}}]"], "a job that is sharded within groups of ranks is one group"),
                (["collective.backend=gloo"], "what Gloo takes is known of one group alone")]:
            with self.subTest(says):
                self.assertIn(says, self.fails(2, "simulate", "m.yaml", *cli.set_arguments(sets)).stderr)
        self.assertIn("nodes hold 8 and 4 ranks", self.fails(2, "memory", "m.yaml", "--set", "cluster.world_size=12").stderr)
        self.assertIn("it counts with strategies hsdp and hsdp1", self.fails(2, "simulate", "m.yaml", "--set", "strategy=fsdp", "--set", "fsdp.shard_group=8").stderr)


class RefusedTest(FsdpTest):
    def test_validate_has_one_group_of_ranks(self):
        for strategy in ("hsdp", "hsdp1", "data_parallel", "parameter_server"):
            self.assertIn(f"one group, and strategy {strategy} communicates otherwise",
                          self.fails(2, "validate", "m.yaml", "--set", f"strategy={strategy}").stderr)

    def test_what_is_left_out_is_said(self):
        """A note where the file says it; what was typed is a mistake."""
        for key, given, says in [
                ("strategy=ddp", "fsdp: {unit: layer}", "the section 'fsdp' changes nothing here: it counts with strategies fsdp, fsdp1, hsdp and hsdp1"),
                ("strategy=fsdp", "ddp: {bucket_cap: 1MiB, static_graph: true, accumulation_steps: 2}",
                 "ddp.bucket_cap, ddp.static_graph change nothing here: they count with strategy ddp; how much is reduced at once is fsdp.unit"),
                ("strategy=fsdp1", "fsdp: {reshard_last: false}", "fsdp.reshard_last changes nothing here: it counts with strategies fsdp and hsdp"),
                ("strategy=fsdp", "host: {adam_rate: 1e9}", "host.adam_rate changes nothing here")]:
            with self.subTest(says):
                self.write("unused.yaml", f"{MODEL}{given}\n")
                self.assertIn(says, self.ok("simulate", "unused.yaml", "--set", key).stderr)
                section, value = given.split(": ", 1)
                error = self.fails(2, "simulate", "m.yaml", "--set", key, "--set", f"{section}={value}").stderr
                self.assertIn("changes nothing here: it counts with", error)
        self.assertIn("all-gathers and reduce-scatters are rings whatever collective.algorithm says",
                      self.ok("simulate", "m.yaml", "--set", "collective={algorithm: tree}").stderr)

    def test_what_does_not_go_together(self):
        for sets, says in [
                (["cluster.topology=topologies/dgx-a100.yaml", "cluster.groups={tensor_parallel: 2}"], "every GPU would compute the whole model"),
                (["workload.scale_bytes=2"], "workload.scale_bytes and workload.model exclude each other"),
                (["fsdp.unit={layers: 2, bytes: 1MB}"], "a unit has a number of layers or a size"),
                (["fsdp={reshard_after_forward: false, reshard_last: true}"], "without fsdp.reshard_after_forward no unit is resharded"),
                (["fsdp.unit=block"], "unknown value 'block'"),
                (["fsdp.unit=2"], "a unit is a layer, so many layers, or as many as hold a size"),
                (["workload.unused_parameters=[transformer.wte.weight]"], "unused parameters are DistributedDataParallel's"),
                (["cluster.topology=topologies/dgx-a100.yaml", "cluster.groups=[{ranks: [0, 1, 2]}, {ranks: [3, 4, 5, 6, 7]}]"], "groups of different sizes would hold different shards")]:
            with self.subTest(says):
                done = self.fails(2, "simulate", "m.yaml", *cli.set_arguments(sets))
                self.assertIn(says, done.stderr)


if __name__ == "__main__":
    cli.main()
