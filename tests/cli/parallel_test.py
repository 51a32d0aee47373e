#!/usr/bin/env python3
"""Models that GPUs share: what is exchanged, counted by hand, what a step is made of, plans, and what is refused."""
import csv
import json
import signal
import subprocess
import time

import ddpsim_cli as cli

# Twelve layers of 768, heads of 64, and 50,257 rows of vocabulary: 4 x 1,024 tokens of 2 bytes are 6,291,456 bytes.
MODEL = """workload: {model: gpt2, micro_batch: 4, sequence: 1024, dtype: bf16, framework: megatron-eager-2021}
strategy: megatron
cluster: {topology: topologies/dgx-a100.yaml, world_size: 8}
parallelism: {tensor: 2, pipeline: 2}
batch: {global: 64}
"""
VALUES = 4 * 1024 * 768 * 2
BLOCK = 12 * 768 * 768 + 13 * 768
TABLE = 50257 * 768
# Of two GPUs that share each layer: matrices and the biases of those cut by column are halved, norms (2 x 2 x 768) and the biases after a sum (2 x 768)
# are whole; 50,257 rows are padded to 2 x 25,216, and positions are whole.
HALF_BLOCK = 12 * 768 * 768 // 2 + (3 + 4) * 768 // 2 + 2 * 768 + 4 * 768
HALF_TABLE = 25216 * 768
EMBEDDINGS = HALF_TABLE + 1024 * 768


class ParallelTest(cli.ModelTest):
    MODEL = MODEL


class VariabilityTest(ParallelTest):
    def test_every_rank_slower(self):
        """All ranks are a fifth slower with certainty: forward takes 1.2 times as long, and nobody knows of it but the draws."""
        as_ever = self.result("physics=none")
        slower = self.result("physics=none", "variability={seed: 1, iterations: 5, jitter: none, slow: [{of: ranks, probability: 1, slowdown: 1.2}]}")
        self.assertAlmostEqual(slower["forward_s"], 1.2 * as_ever["forward_s"], delta=1e-9)
        self.assertAlmostEqual(slower["iterations"]["unvaried_s"], as_ever["iteration_s"], delta=1e-12)
        self.assertEqual(slower["iterations"]["min_s"], slower["iterations"]["max_s"])

    def test_a_stage_waits_for_its_slowest(self):
        """A rank that is known to be slow makes its stage slow: drawn ranks, of which none is slower, change nothing."""
        stragglers = "workload.stragglers=[{rank: 5, slowdown: 1.5}]"
        known = self.result("physics=none", stragglers)
        drawn = self.result("physics=none", stragglers, "variability={seed: 1, iterations: 3, jitter: 0.001}")
        self.assertAlmostEqual(drawn["iteration_s"] / known["iteration_s"], 1, delta=0.003)
        self.assertEqual(drawn["reported_rank"], 5)

    def test_runs_that_are_drawn_are_as_long_as_predicted(self):
        """GPUs drawn with the standard deviation that is the default, 20 runs: as long on average as the prediction without draws."""
        expected = self.result()["iteration_s"]
        runs = [self.result(f"variability={{seed: {seed}, iterations: 1, jitter: none, ranks: 0.02}}")["iteration_s"] for seed in range(20)]
        self.assertGreater(len(set(runs)), 15)
        self.assertAlmostEqual(sum(runs) / len(runs) / expected, 1, delta=0.01)

    def test_the_seed_says_it(self):
        sets = ["variability={seed: 3, iterations: 10, jitter: 0.05}"]
        self.assertEqual(self.result(*sets), self.result(*sets))
        self.assertNotEqual(self.result(*sets)["iteration_s"], self.result("variability={seed: 4, iterations: 10, jitter: 0.05}")["iteration_s"])


class BandwidthTest(ParallelTest):
    """Wider links never make a step longer: nodes of two GPUs on plain links, all of which get more."""

    TOPOLOGY = """kind: cluster
node:
  gpus: 2
  interconnect: {{kind: nvswitch, bandwidth: {0}GB/s, latency: 1us}}
  nics: {{count: 2, bandwidth: {1}GB/s, latency: 2us}}
fabric: {{kind: fat_tree, nodes_per_leaf: 4, latency: 1us}}
"""
    AXES = {"1f1b": ["parallelism={pipeline: 4}"],
            "gpipe": ["parallelism={pipeline: 4}", "pipeline.schedule=gpipe"],
            "interleaved": ["parallelism={pipeline: 2}", "pipeline={schedule: interleaved, virtual: 2}"],
            "zero_bubble": ["parallelism={pipeline: 4}", "pipeline.schedule=zero_bubble"],
            "dualpipe": ["parallelism={pipeline: 4}", "pipeline.schedule=dualpipe"],
            "tensor": ["parallelism={tensor: 4}"],
            "sequence": ["parallelism={tensor: 2, sequence: true, pipeline: 2}"],
            "context": ["parallelism={context: 4}", "workload.framework=te-2025"],
            "context over all-to-alls": ["parallelism={context: 2}", "context.kind=all_to_all", "workload.framework=te-2025"],
            "ddp": ["parallelism={pipeline: 2}", "strategy=ddp"],
            "fsdp": ["parallelism={tensor: 2}", "strategy=fsdp"],
            "zero3": ["parallelism={tensor: 2}", "strategy=zero3"]}

    def test_more_is_never_longer(self):
        for name, sets in self.AXES.items():
            with self.subTest(name):
                times = []
                for factor in (1, 1.5, 2, 4, 16):
                    self.write("wide.yaml", self.TOPOLOGY.format(4 * factor, factor))
                    times.append(self.result("cluster.topology=wide.yaml", "cluster.gpu=a100-sxm4-80gb", "physics=none", *sets)["iteration_s"])
                self.assertGreater(times[0], 1.01 * times[-1])
                for before, after in zip(times, times[1:]):
                    self.assertLessEqual(after, before * (1 + 1e-9))


class StepTest(ParallelTest):
    def test_terms_add_up(self):
        for sets in ([], ["parallelism.sequence=true"], ["pipeline.virtual=2"], ["pipeline.schedule=zero_bubble"], ["strategy=ddp"],
                     ["parallelism={tensor: 4}"], ["parallelism={pipeline: 4}", "pipeline.schedule=gpipe"]):
            with self.subTest(sets):
                result = self.result(*sets)
                self.adds_up(result)
                tokens = 64 * 1024 / result["iteration_s"]
                self.assertAlmostEqual(result["tokens_per_s"], tokens, delta=1e-9 * tokens)
                self.assertAlmostEqual(result["tokens_per_s_per_gpu"], tokens / 8, delta=1e-9 * tokens)

    def test_losses_are_by_how_much_passes_are_longer(self):
        """Launches take as long as these products, so that they hide most of what is exchanged: the loss is what a step without it gains, and what is
        left of the iteration is its forward and backward passes."""
        sets = ["parallelism={tensor: 4}", "physics=none", "spread=none"]
        with_it, free = self.result(*sets, "tensor.overlap=none"), self.result(*sets, "tensor={overlap: te, hidden: 1}")
        passes = [result["forward_s"] + result["backward_compute_s"] for result in (with_it, free)]
        lost = {loss["cause"]: loss["seconds"] for loss in with_it["losses"]}
        self.assertAlmostEqual(lost["tensor"], passes[0] - passes[1], delta=1e-9)
        self.assertAlmostEqual(sum(lost.values()) + passes[1], with_it["iteration_s"], delta=1e-9)
        busy = sum(one["busy_s"] for one in with_it["communication"] if one["axis"] == "tensor")
        self.assertLess(lost["tensor"], 0.5 * busy)

    def test_nobody_to_reduce_with(self):
        """Tensor-parallel GPUs alone, without the norm: nothing but what passes exchange, and no buckets."""
        result = self.result("parallelism={tensor: 4}", "cluster.world_size=4", "optimizer.clip_norm=false", "strategy=ddp")
        self.assertEqual({one["axis"] for one in result["communication"]}, {"tensor"})
        self.assertEqual((result["exposed_communication_s"], result["memory"]["buckets_bytes"]), (0, 0))

    def test_the_ends_add_up_in_what_is_reduced(self):
        for sets, size in ((("strategy=zero1",), 2), (("strategy=megatron",), 4), (("strategy=megatron", "megatron.grad_reduce_in_fp32=false"), 2)):
            self.assertEqual(self.operations(*sets)["embedding", "all_reduce"]["bytes"], size * HALF_TABLE)

    def test_copies_do_not_grow_with_what_is_in_flight(self):
        """GPipe runs all forward passes first; FSDP copies a stage's units out of their buffers once."""
        sets = ("strategy=fsdp", "pipeline.schedule=gpipe")
        few, many = (self.result(*sets, f"batch.global={batch}")["overhead_s"] for batch in (32, 128))
        self.assertAlmostEqual(few, many, delta=1e-9 * few)

    def test_what_each_axis_exchanges(self):
        """The first stage: 6 layers and the embeddings, 8 micro-batches. Each block 2 all-reduces forward and 2 backward, the lookup one more; a
        message to the second stage and one back."""
        by = self.operations("physics=none", "pipeline.overlap_p2p=false")
        self.assertEqual(by["tensor", "all_reduce"]["count"], 8 * (6 * 4 + 1))
        self.assertEqual(by["tensor", "all_reduce"]["bytes"], 8 * (6 * 4 + 1) * VALUES)
        self.assertEqual((by["pipeline", "send_recv"]["count"], by["pipeline", "send_recv"]["bytes"]), (2 * 8, 2 * 8 * VALUES))
        parameters = 6 * HALF_BLOCK + EMBEDDINGS
        self.assertEqual(by["data", "reduce_scatter"]["bytes"], 4 * parameters)
        self.assertEqual(by["data", "all_gather"]["bytes"], 2 * parameters)
        self.assertEqual(by["embedding", "all_reduce"]["bytes"], 4 * HALF_TABLE)
        self.assertEqual(by["all", "all_reduce"]["bytes"], 4)
        self.assertNotIn(("all", "all_reduce"), self.operations("optimizer.clip_norm=false"))

    def test_a_split_sequence(self):
        """All-gathers and reduce-scatters in place of all-reduces, two more all-gathers a block in backward, and messages of half."""
        by = self.operations("parallelism.sequence=true")
        # GPT-2's positions are learned: the lookup is still all-reduced, and gathered in backward.
        self.assertEqual(by["tensor", "all_reduce"]["count"], 8)
        self.assertEqual(by["tensor", "all_gather"]["count"], 8 * (6 * 6 + 1))
        self.assertEqual(by["tensor", "reduce_scatter"]["count"], 8 * 6 * 4)
        self.assertEqual(by["pipeline", "send_recv"]["bytes"], 2 * 8 * VALUES // 2)

    def test_bubble(self):
        """1F1B's is (p - 1)/m of the passes where stages are equal, as they nearly are with a vocabulary of 1,024. Interleaved chunks cut it."""
        sets = ["parallelism={pipeline: 4}", "physics=none", "batch.global=256",
                "workload.model={kind: transformer, hidden: 2048, layers: 24, heads: 16, vocab: 1024, positions: 1024}"]
        plain, chunks = self.result(*sets), self.result(*sets, "pipeline.virtual=3")
        self.assertEqual(plain["parallelism"]["micro_batches"], 32)
        self.assertLess(chunks["bubble_s"], 0.6 * plain["bubble_s"])
        passes = plain["forward_s"] + plain["backward_compute_s"]
        self.assertAlmostEqual(plain["bubble_s"] / passes, 3 / 32, delta=0.3 * 3 / 32)
        gpipe = self.result(*sets, "pipeline.schedule=gpipe")
        self.assertAlmostEqual(gpipe["iteration_s"], plain["iteration_s"], delta=0.02 * plain["iteration_s"])

    def test_a_pipeline_alone(self):
        """No data axis, a head of its own: messages are the pipeline's on every stage, whoever is reported."""
        for sets in (["parallelism={pipeline: 4}", "cluster.world_size=4"], ["parallelism={pipeline: 4}", "cluster.world_size=8"]):
            result = self.result("workload.model=llama-2-7b", *sets)
            by = {(one["axis"], one["operation"]): one for one in result["communication"]}
            steps = result["parallelism"]["micro_batches"]
            self.assertIn(by["pipeline", "send_recv"]["count"], (2 * steps, 4 * steps))
            self.assertNotIn(("all", "send_recv"), by)

    def test_dualpipe_has_a_shared_matrix_once(self):
        """Both ends are on one rank, whose embedding and head are one matrix: as many gradients as 12 layers, that and the last norm. The other ranks have no end."""
        sets = ["parallelism={pipeline: 2}", "pipeline.schedule=dualpipe", "physics=none", "strategy=flat"]
        by = {(one["axis"], one["operation"]): one for one in self.result(*sets)["communication"]}
        self.assertEqual(by["data", "all_reduce"]["bytes"], 4 * (12 * BLOCK + TABLE + 1024 * 768 + 2 * 768))
        self.assertNotIn(("embedding", "all_reduce"), by)

    def test_a_straggler_slows_its_own_stage(self):
        sets = ["parallelism={pipeline: 4}", "pipeline.layers=[1, 5, 5, 1]", "batch.global=256"]
        plain, slow = self.result(*sets), self.result(*sets, "workload.stragglers=[{rank: 0, slowdown: 1.5}]")
        self.assertLess(slow["iteration_s"], 1.03 * plain["iteration_s"])

    def test_groups_that_cross_nodes(self):
        """Every third GPU of a group of three is on another node for some groups: all wait for those."""
        sets = ["parallelism={tensor: 3}", "cluster.world_size=24", "batch.global=96", "physics=none"]
        packed, apart = self.result(*sets), self.result(*sets, "cluster.placement=round_robin")
        self.assertGreater(self.tensor_time(packed), 2 * self.tensor_time(self.result("parallelism={tensor: 3}", "cluster.world_size=6",
                                                                                       "batch.global=24", "physics=none")))
        self.assertGreater(self.tensor_time(apart), 0.9 * self.tensor_time(packed))

    def tensor_time(self, result):
        return sum(one["busy_s"] for one in result["communication"] if one["axis"] == "tensor")

    def test_caps_of_ddp(self):
        points = json.loads(self.ok("sweep", "m.yaml", "--set", "strategy=ddp", "--set", "sweep.ddp.bucket_cap=[1MiB, 25MiB, 1GiB]", "--json", "-").stdout)["points"]
        counts = [next(one["count"] for one in point["communication"] if one["axis"] == "data") for point in points]
        self.assertGreater(counts[0], counts[1])
        self.assertEqual(counts[2], 1)
        whole, halved = (self.result("strategy=ddp", f"ddp.comm_hook={hook}")["communication"] for hook in ("none", "bf16"))
        self.assertEqual(*(sum(one["bytes"] for one in all_ if one["axis"] == "data") // share for all_, share in ((whole, 2), (halved, 1))))

    def test_tensor_overlap(self):
        none, async_, hidden, free = (self.result("parallelism={tensor: 4}", *more)["iteration_s"] for more in
                                      (["tensor.overlap=none"], ["tensor.overlap=async"], ["tensor.hidden=0.5"], ["tensor.hidden=1"]))
        self.assertLess(async_, none)
        self.assertAlmostEqual(hidden, (none + free) / 2, delta=0.3 * (none - free))    # the host's pace hides a part of it besides

    def test_memory_by_stage(self):
        """1F1B: the first stage holds p micro-batches, the last one; GPipe all of them. `memory` gives the fullest."""
        sets = ["parallelism={pipeline: 4}", "batch.global=256"]
        stages = self.result(*sets)["parallelism"]["stages"]
        self.assertEqual([stage["layers"] for stage in stages], [3, 3, 3, 3])
        self.assertGreater(stages[0]["peak_bytes"], stages[1]["peak_bytes"])
        self.assertGreater(stages[1]["peak_bytes"], stages[2]["peak_bytes"])
        gpipe = self.result(*sets, "pipeline.schedule=gpipe")
        self.assertGreater(gpipe["memory"]["activations_bytes"], 3 * self.result(*sets)["memory"]["activations_bytes"])
        told = json.loads(self.ok("memory", "m.yaml", *cli.set_arguments(sets), "--json", "-").stdout)
        self.assertEqual(told["memory"]["peak_bytes"], max(stage["peak_bytes"] for stage in stages))

    def test_the_timeline_has_every_stage(self):
        self.ok("simulate", "m.yaml", "--timeline", "t.json", "--set", "parallelism={pipeline: 4}")
        events = json.loads((self.folder / "t.json").read_text())["traceEvents"]
        self.assertEqual({event["pid"] for event in events}, {0, 2, 4, 6})
        self.assertTrue(any(event["name"].startswith("message") for event in events))

    def test_one_stage_and_one_gpu_a_layer_is_no_split(self):
        whole = self.result("parallelism={tensor: 1}", "strategy=ddp")
        self.write("ddp.yaml", MODEL.replace("parallelism: {tensor: 2, pipeline: 2}\n", "").replace("megatron\n", "ddp\n")
                   .replace("strategy: megatron", "strategy: ddp"))
        self.assertEqual(whole["iteration_s"], self.simulate(file="ddp.yaml")["iteration_s"])
        self.assertEqual(whole["parallelism"], {"tensor": 1, "context": 1, "pipeline": 1, "data": whole["world_size"]})

    def test_terms_add_up_in_csv(self):
        sweep = ("sweep", "m.yaml", "--set", "sweep.batch.global=[32, 64]", "--csv", "-")
        for row in csv.DictReader(line for line in self.ok(*sweep).stdout.splitlines() if not line.startswith("#")):
            self.adds_up({key: float(row[key]) for key in (*cli.TERMS, "bubble_s", "iteration_s")})
            self.assertGreater(float(row["bubble_s"]), 0)

    def test_weak_scaling_keeps_micro_batches(self):
        points = json.loads(self.ok("scale", "m.yaml", "--gpus", "8:32", "--json", "-").stdout)["points"]
        self.assertEqual([point["parallelism"]["micro_batches"] for point in points], [8, 8, 8])
        strong = json.loads(self.ok("scale", "m.yaml", "--gpus", "8:32", "--strong", "--json", "-").stdout)["points"]
        self.assertEqual([point["parallelism"]["micro_batches"] for point in strong], [8, 4, 2])

    def test_the_builtin_network_agrees(self):
        for sets in ([], ["parallelism={tensor: 2, pipeline: 4}", "pipeline.virtual=3"], ["cluster.world_size=32", "parallelism={pipeline: 4}"]):
            with self.subTest(sets):
                simgrid, builtin = self.result(*sets, "engine.network=simgrid"), self.result(*sets)
                self.assertAlmostEqual(simgrid["iteration_s"], builtin["iteration_s"], delta=1e-9 * simgrid["iteration_s"])
                for key in ("axis", "operation", "count", "bytes"):
                    self.assertEqual([one[key] for one in simgrid["communication"]], [one[key] for one in builtin["communication"]])
                self.assertEqual([loss["cause"] for loss in simgrid["losses"]], [loss["cause"] for loss in builtin["losses"]])
                self.assertEqual(simgrid["reported_rank"], builtin["reported_rank"])


class LinksTest(ParallelTest):
    """What axes exchange meets on links of the same kind: in nodes, or between them. `interference_s` without physics is what it costs."""
    BIG = ("physics=none", "strategy=ddp", "workload.model=llama-2-7b", "workload.micro_batch=1", "workload.sequence=2048", "batch.global=16")

    def lost(self, *sets):
        return self.result(*self.BIG, *sets)["interference_s"]

    def test_gradients_meet_tensor_parallel_groups_in_a_node(self):
        """Two GPUs a group, four copies: both over NVLink, while the last backward pass reduces."""
        self.assertGreater(self.lost("parallelism={tensor: 2}"), 0)
        self.assertEqual(self.lost("parallelism={tensor: 2}", "strategy=flat"), 0)                 # reduced once all is computed
        self.assertEqual(self.lost("parallelism={tensor: 2}", "tensor={overlap: te, hidden: 1}"), 0)    # nobody waits for it

    def test_gradients_that_leave_the_node_do_not(self):
        """Eight GPUs a group: its collectives go over NVLink, gradients over NICs. Across nodes both go over NICs."""
        sets = ("parallelism={tensor: 8}", "cluster.world_size=16")
        self.assertEqual(self.lost(*sets), 0)
        self.assertGreater(self.lost("parallelism={tensor: 2}", "cluster.world_size=24", "batch.global=24", "cluster.placement=round_robin"), 0)

    def test_messages_that_block_meet_nothing(self):
        sets = ("parallelism={tensor: 2, pipeline: 4}", "strategy=flat")
        self.assertEqual(self.lost(*sets), 0)
        self.assertGreater(self.lost(*sets, "pipeline.virtual=2"), 0)

    def test_exchanges_between_nodes_meet_gradients(self):
        """Sequences over sixteen GPUs: a ring through both nodes, and so do gradients."""
        sets = ("cluster.world_size=16", "batch.global=2", "context.kind=all_gather", "workload.framework=te-2025", "cluster.gpu=h100-sxm")
        self.assertGreater(self.lost("parallelism={context: 16}", *sets), 0)

    def test_terms_add_up(self):
        """And the more of what passes exchange is hidden, the shorter is the step."""
        sets = self.BIG + ("parallelism={tensor: 2, pipeline: 2}", "pipeline.virtual=2")
        results = [self.result(*sets, f"tensor.hidden={share}") for share in (0, 0.3, 0.6, 1)]
        for result in results:
            self.adds_up(result)
        iterations = [result["iteration_s"] for result in results]
        self.assertEqual(iterations, sorted(iterations, reverse=True))


class ShardedTest(ParallelTest):
    """One stage of tensor-parallel GPUs whose parts of the layers are sharded over the data axis: gpt2 over 2 x 4 GPUs, 4 micro-batches."""
    ROOT = EMBEDDINGS + 2 * 768    # with the last norm
    SETS = ("parallelism={tensor: 2}", "strategy=fsdp", "physics=none")

    def test_units_of_fsdp(self):
        """Each micro-batch gathers the root and 12 blocks, and 11 again backward; all are reduced, in float32."""
        by = self.operations(*self.SETS)
        whole = self.ROOT + 12 * HALF_BLOCK
        gathered, reduced = by["data", "all_gather"], by["data", "reduce_scatter"]
        self.assertEqual((gathered["count"], gathered["bytes"]), (4 * 24, 4 * 2 * (whole + 11 * HALF_BLOCK)))
        self.assertEqual((reduced["count"], reduced["bytes"]), (4 * 13, 4 * 4 * whole))
        self.assertEqual(by["tensor", "all_reduce"]["count"], 4 * (12 * 4 + 1 + 3 + 1))
        kept = self.operations(*self.SETS, "fsdp.reshard_after_forward=false", "fsdp.reduce_every_micro_batch=false")
        self.assertEqual(kept["data", "reduce_scatter"]["count"], 13)
        self.assertEqual(kept["data", "all_gather"]["count"], 4 * 13)

    def test_terms_add_up(self):
        for strategy in ("fsdp", "fsdp1", "hsdp", "hsdp1", "zero2", "zero3"):
            with self.subTest(strategy):
                result = self.result("parallelism={tensor: 2, sequence: true}", f"strategy={strategy}",
                                     *(["fsdp.shard_group=2"] if strategy.startswith("hsdp") else []))
                self.adds_up(result)
                self.assertEqual(result["bubble_s"], 0)
                lost = sum(one["seconds"] for one in result["losses"])
                self.assertLess(lost, result["iteration_s"])
                self.assertGreater(next(one["seconds"] for one in result["losses"] if one["cause"] == "tensor"), 0)
                self.assertAlmostEqual(result["tokens_per_s"], 64 * 1024 / result["iteration_s"], delta=1e-9 * result["tokens_per_s"])

    def test_free_collectives_leave_what_megatron_computes(self):
        """Forward and backward are of the same passes: whole blocks, whoever shards them."""
        fsdp = self.result(*self.SETS)
        megatron = self.result("parallelism={tensor: 2}", "physics=none")
        for term in ("forward_s", "backward_compute_s"):    # both cast gradients as they reduce them
            self.assertAlmostEqual(fsdp[term] / megatron[term], 1, delta=1e-9)

    def test_shard_groups(self):
        by = self.operations(*self.SETS[:1], "strategy=hsdp", "fsdp.shard_group=2", "physics=none")
        self.assertEqual({axis for axis, _ in by}, {"tensor", "shard", "replica", "all"})
        self.assertEqual(by["replica", "all_reduce"]["bytes"], by["shard", "reduce_scatter"]["bytes"] // 2)
        whole = self.result(*self.SETS)
        self.assertEqual(self.result(*self.SETS[:1], "strategy=hsdp", "fsdp.shard_group=4", "physics=none")["iteration_s"], whole["iteration_s"])

    def test_deepspeed(self):
        zero2, zero3 = (self.operations("parallelism={tensor: 2}", f"strategy={name}", "physics=none") for name in ("zero2", "zero3"))
        whole = self.ROOT + 12 * HALF_BLOCK
        self.assertEqual(zero2["data", "all_reduce"]["bytes"], 4 * 2 * whole)
        self.assertEqual(zero2["data", "all_gather"]["bytes"], 2 * whole)
        self.assertEqual(zero3["data", "reduce_scatter"]["bytes"], 4 * 2 * whole)

    def test_memory_of_shards(self):
        """Of a GPU's half of the parameters, positions and the last norm whole, a fourth: 4 bytes of weights, 4 of gradients, 8 of moments."""
        memory = self.result(*self.SETS)["memory"]
        parameters = ((12 * BLOCK + TABLE) / 2 + 1024 * 768 + 2 * 768) / 4
        for key, size in (("parameters_bytes", 4), ("gradients_bytes", 4), ("optimizer_bytes", 8)):
            self.assertAlmostEqual(memory[key], size * parameters, delta=1)
        told = json.loads(self.ok("memory", "m.yaml", *cli.set_arguments(self.SETS), "--json", "-").stdout)["memory"]
        self.assertEqual(told["peak_bytes"], memory["peak_bytes"])
        halved = self.result(*self.SETS[:1], "strategy=hsdp", "fsdp.shard_group=2")["memory"]
        self.assertAlmostEqual(halved["parameters_bytes"], 2 * memory["parameters_bytes"], delta=2)

    def test_stages_stay_gathered(self):
        """torchtitan's pipelines: of the first stage six blocks and the embeddings are gathered once, before the first micro-batch, and reduced once after
        the last; meanwhile 2 bytes of each parameter and 4 of its gradient are whole."""
        result = self.result("strategy=fsdp", "physics=none", "pipeline.layers=[7, 5]")
        by = {(one["axis"], one["operation"]): one for one in result["communication"]}
        parameters = (7 * BLOCK + TABLE) // 2 + 1024 * 768
        held = 7 * HALF_BLOCK + EMBEDDINGS
        self.assertEqual((by["data", "all_gather"]["count"], by["data", "all_gather"]["bytes"]), (8, 2 * held))
        self.assertEqual((by["data", "reduce_scatter"]["count"], by["data", "reduce_scatter"]["bytes"]), (8, 4 * held))
        self.assertEqual(result["memory"]["buckets_bytes"], 6 * held)
        self.assertAlmostEqual(result["memory"]["optimizer_bytes"], 8 * parameters / 2, delta=1)
        pairs = self.operations("strategy=fsdp", "physics=none", "pipeline.layers=[7, 5]", "fsdp.unit={layers: 2}")
        self.assertEqual(pairs["data", "all_gather"]["count"], 5)    # three of two blocks, one of a block, the embeddings

    def test_simulated_by_choice(self):
        """One group that reduces, on a GPU's part of the layers: the closed form is what simulation gives."""
        sets = ("parallelism={tensor: 8}", "cluster.world_size=16", "workload.model=gpt3-175b", "workload.sequence=2048", "batch.global=16", "strategy=fsdp")
        alone = self.result(*sets)
        lazy = self.result(*sets, "engine.fidelity=lazy")
        self.assertEqual(lazy["network"], "builtin")
        self.assertAlmostEqual(lazy["iteration_s"], alone["iteration_s"], delta=1e-12 * alone["iteration_s"])

    def test_units_by_name(self):
        by = self.operations(*self.SETS, 'fsdp.units=["h.*.mlp", "h.*.attn"]')
        self.assertEqual(by["data", "reduce_scatter"]["count"], 4 * 25)
        self.assertIn("no module is called 'block.*'", self.fails(2, "simulate", "m.yaml", *cli.set_arguments([*self.SETS, 'fsdp.units=["block.*"]'])).stderr)


class ContextTest(ParallelTest):
    """llama-3-8b: 32 layers, queries of 4,096 values, and as many keys as torchtitan repeats them for, on 32 H100s; a sequence of 65,536 tokens shared by 4."""
    SETS = ("physics=none", "parallelism={context: 4}")
    KEYS_VALUES = 2 * 16384 * 4096 * 2
    QUERIES = 16384 * 4096 * 2

    def setUp(self):
        super().setUp()
        self.write("m.yaml", """workload: {model: llama-3-8b, micro_batch: 1, sequence: 65536, dtype: bf16, framework: torchtitan-2024-compile}
strategy: fsdp
cluster: {topology: superpod-h100, world_size: 32}
parallelism: {context: 4}
batch: {global: 16}
""")

    def test_what_each_kind_exchanges(self):
        """Two micro-batches on each of 8 copies. A ring: 3 messages forward, 2 and 2 double ones backward. Gathers of all four ranks' keys and values, twice, and a
        reduce-scatter. Queries, keys and values there, attention's output back, and both again in backward."""
        ring, gathered, exchanged = (self.operations("physics=none", f"context.kind={kind}") for kind in ("ring", "all_gather", "all_to_all"))
        self.assertEqual((ring["context", "send_recv"]["count"], ring["context", "send_recv"]["bytes"]), (2 * 32 * 7, 2 * 32 * (3 + 2 + 4) * self.KEYS_VALUES))
        self.assertEqual((gathered["context", "all_gather"]["count"], gathered["context", "all_gather"]["bytes"]), (2 * 32 * 2, 2 * 32 * 2 * 4 * self.KEYS_VALUES))
        self.assertEqual(gathered["context", "reduce_scatter"]["bytes"], 2 * 32 * 4 * self.KEYS_VALUES)
        self.assertEqual((exchanged["context", "all_to_all"]["count"], exchanged["context", "all_to_all"]["bytes"]),
                         (2 * 32 * 4, 2 * 32 * 2 * (2 * self.QUERIES + self.KEYS_VALUES)))
        self.assertEqual(ring["context", "send_recv"]["exposed_s"], 0)
        for by, operation in ((gathered, "all_gather"), (exchanged, "all_to_all")):
            self.assertAlmostEqual(by["context", operation]["exposed_s"], by["context", operation]["busy_s"], delta=1e-9)

    def test_halved_by_tensor_parallel_groups(self):
        by = self.operations("physics=none", "parallelism={tensor: 2, context: 4}")
        self.assertEqual(by["context", "send_recv"]["bytes"], 4 * 32 * 9 * self.KEYS_VALUES // 2)
        self.assertEqual(by["tensor", "all_reduce"]["bytes"], 4 * (32 * 4 + 2) * 16384 * 4096 * 2 + 4 * 3 * 16384 * 4)

    def test_gradients_are_reduced_over_data_and_context(self):
        """Eight copies of four ranks are 32 that reduce, as without context parallelism."""
        shared = self.operations("physics=none", "batch={global: 8}")
        alone = self.operations("physics=none", "parallelism={tensor: 1}", "batch={global: 32}")
        for operation in ("all_gather", "reduce_scatter"):
            for key in ("count", "bytes"):
                self.assertEqual(shared["data", operation][key], alone["data", operation][key])
            self.assertAlmostEqual(shared["data", operation]["busy_s"], alone["data", operation]["busy_s"], delta=1e-9)
        # Over one copy, too, and with every other strategy.
        for strategy, operation in (("ddp", "all_reduce"), ("megatron", "reduce_scatter"), ("zero1", "all_reduce"), ("zero3", "all_gather")):
            with self.subTest(strategy):
                self.assertIn(("data", operation), self.operations("parallelism={tensor: 8, context: 4}", "batch.global=2", f"strategy={strategy}"))

    def test_terms_add_up(self):
        for sets in (["context.kind=all_gather"], ["parallelism={context: 4, pipeline: 2}", "context.kind=all_to_all"],
                     ["parallelism={context: 8, tensor: 2, sequence: true}", "strategy=megatron"], ["workload.recompute=full"]):
            with self.subTest(sets):
                result = self.result(*sets)
                self.adds_up(result)
                tokens = 16 * 65536 / result["iteration_s"]
                self.assertAlmostEqual(result["tokens_per_s"], tokens, delta=1e-9 * tokens)
                self.assertAlmostEqual(result["tokens_per_s_per_gpu"], tokens / 32, delta=1e-9 * tokens)
                exposed = sum(one["exposed_s"] for one in result["communication"] if one["axis"] == "context")
                self.assertAlmostEqual(sum(one["seconds"] for one in result["losses"] if one["cause"] == "context"), exposed, delta=1e-12)

    def test_messages_of_stages_and_activations_are_divided(self):
        sets = ("physics=none", "strategy=megatron")
        four = self.result(*sets, "parallelism={context: 4, pipeline: 2}")
        eight = self.result(*sets, "parallelism={context: 8, pipeline: 2}", "batch.global=8")
        message = [next(one for one in result["communication"] if one["operation"] == "send_recv" and one["axis"] == "pipeline") for result in (four, eight)]
        self.assertEqual(message[0]["bytes"], message[0]["count"] * 16384 * 4096 * 2)
        self.assertEqual(message[0]["bytes"] / message[0]["count"], 2 * message[1]["bytes"] / message[1]["count"])
        self.assertAlmostEqual(four["memory"]["activations_bytes"], 2 * eight["memory"]["activations_bytes"], delta=10)

    def test_neighbours_on_other_nodes_are_slower(self):
        near, far = (self.result("physics=none", "context.kind=ring", "parallelism={context: 8, tensor: 1}", *more)["communication"]
                     for more in ([], ["cluster.placement=round_robin"]))
        busy = [next(one["busy_s"] for one in all_ if one["axis"] == "context") for all_ in (near, far)]
        self.assertGreater(busy[1], 2 * busy[0])

    def test_a_sweep(self):
        points = json.loads(self.ok("sweep", "m.yaml", "--set", "sweep={parallelism.context: [1, 2, 4], context.kind: [ring, all_to_all]}", "--set", "batch.global=32",
                                    "--json", "-").stdout)["points"]
        self.assertEqual([point["axes"]["context.kind"] for point in points], ["-", "ring", "all_to_all", "ring", "all_to_all"])  # shared by nobody: of no kind
        self.assertEqual([point["parallelism"]["context"] for point in points], [1, 2, 2, 4, 4])

    def test_what_a_plan_looks_for(self):
        arguments = ("plan", "llama-3-8b", "--topology", "superpod-h100", "--gpus", "8", "--global-batch", "8", "--framework", "torchtitan-2024-compile", "--top", "1000")
        def contexts(*more):
            points = json.loads(self.ok(*arguments, *more, "--json", "-").stdout)["points"]
            return {point["set"].get("parallelism.context", "1") for point in points}
        self.assertEqual(contexts("--sequence", "4096"), {"1"})
        self.assertEqual(contexts("--sequence", "4096", "--context"), {"1", "2", "4", "8"})
        self.assertLess({"4"}, contexts("--sequence", "65536"))

    def test_what_is_refused(self):
        for sets, says in [
                (["workload.sequence=65532"], "65532 tokens of a sequence are not 8 equal pieces, two for each of 4 ranks"),
                (["context.kind=all_to_all", "parallelism={context: 16}", "batch.global=2"], "8 key-value heads of a GPU are not split over 16 ranks"),
                (["workload.framework=megatron-eager-2021"], "framework megatron-eager-2021 keeps whole scores"),
                (["parallelism={context: 3}"], "32 GPUs are not a multiple of 1 x 3 x 1 (tensor x context x pipeline)"),
                (["parallelism={context: 4, data: 4}"], "4 x 1 x 4 x 1 (data x tensor x context x pipeline) are 16 GPUs"),
                (["context={kind: tree}"], "'tree'"),
                (["parallelism={context: 4, expert: 2}"], "llama-3-8b has no experts")]:
            with self.subTest(says):
                stderr = self.fails(2, "simulate", "m.yaml", *cli.set_arguments(sets)).stderr
                self.assertIn(says, stderr)
                self.assertIn("hint: ", stderr)
        self.write("alone.yaml", (self.folder / "m.yaml").read_text().replace("parallelism: {context: 4}", "context: {kind: ring}"))
        self.assertIn("alone.yaml:4:10: error: nothing says over how many GPUs", self.fails(2, "simulate", "alone.yaml").stderr)


class ExpertTest(ParallelTest):
    """mixtral-8x7b: 32 layers of 4,096 with 8 experts of 3 x 4,096 x 14,336, of which a token goes to 2, on 16 H100s: two micro-batches of 4,096 tokens each."""
    LAYER_PASSES = 2 * 32
    TOKENS = 2 * 4096 * 4096 * 2        # what 4,096 tokens send, 2 copies of 4,096 values of 2 bytes
    EXPERT = 3 * 4096 * 14336
    COMMON = 46_702_792_704 - 32 * 8 * EXPERT

    def setUp(self):
        super().setUp()
        self.write("m.yaml", """workload: {model: mixtral-8x7b, micro_batch: 1, sequence: 4096, dtype: bf16, framework: te-2025}
strategy: megatron
cluster: {topology: superpod-h100, world_size: 16}
parallelism: {expert: 8}
batch: {global: 32}
""")

    def test_exchanges_by_hand(self):
        """Forward tokens and their probabilities go to experts, and tokens come back; backward the same; before, ranks gather counts of 8 experts."""
        by = self.operations("physics=none")
        tokens, probabilities = 4 * self.LAYER_PASSES, 2 * self.LAYER_PASSES
        self.assertEqual((by["expert", "all_to_all"]["count"], by["expert", "all_to_all"]["bytes"]),
                         (tokens + probabilities, tokens * self.TOKENS + probabilities * 4096 * 2 * 4))
        self.assertEqual((by["expert", "all_gather"]["count"], by["expert", "all_gather"]["bytes"]), (self.LAYER_PASSES, self.LAYER_PASSES * 8 * 8 * 4))
        for operation in ("all_to_all", "all_gather"):
            # Launches hide hardly anything of it.
            share = by["expert", operation]["exposed_s"] / by["expert", operation]["busy_s"]    # the host sets a part of the pace
            self.assertTrue(0.95 < share <= 1 + 1e-9, share)
        # Once more with full recomputation.
        again = self.operations("physics=none", "workload.recompute=full")
        self.assertEqual(again["expert", "all_to_all"]["count"], (tokens + probabilities) * 3 // 2)
        # All tokens to all: 8 times 4,096 of them, and as many sums back.
        gathered = self.operations("physics=none", "expert={dispatcher: all_gather}")
        self.assertEqual(gathered["expert", "reduce_scatter"]["bytes"], 2 * self.LAYER_PASSES * 8 * 4096 * 4096 * 2)
        # Padded to a capacity nobody counts, and a quarter more is sent.
        padded = self.operations("physics=none", "expert={capacity: 1.25}")
        self.assertNotIn(("expert", "all_gather"), padded)
        self.assertEqual(padded["expert", "all_to_all"]["bytes"], 1.25 * by["expert", "all_to_all"]["bytes"])

    def test_gradients_of_experts_are_reduced_by_those_that_have_the_same(self):
        by = self.operations("physics=none")
        self.assertEqual(by["expert_data", "reduce_scatter"]["bytes"], 32 * self.EXPERT * 4)
        self.assertEqual(by["expert_data", "all_gather"]["bytes"], 32 * self.EXPERT * 2)
        self.assertEqual(by["data", "reduce_scatter"]["bytes"], self.COMMON * 4)
        # Eight ranks are one group: nobody else has its experts.
        self.assertNotIn(("expert_data", "reduce_scatter"), self.operations("cluster.world_size=8"))
        # Without expert parallelism all are reduced together.
        whole = self.operations("physics=none", "parallelism={expert: 1}", "expert={dispatcher: all_to_all}")
        self.assertEqual(whole["data", "reduce_scatter"]["bytes"], (self.COMMON + 32 * 8 * self.EXPERT) * 4)
        for strategy, operation, width in (("ddp", "all_reduce", 4), ("flat", "all_reduce", 4), ("zero1", "all_reduce", 2)):
            with self.subTest(strategy):
                self.assertEqual(self.operations("physics=none", f"strategy={strategy}")["expert_data", operation]["bytes"], 32 * self.EXPERT * width)

    ROOT = 2 * 32000 * 4096 + 4096   # embeddings, head, last norm

    def test_fsdp_shards_experts_over_those_that_have_the_same(self):
        """In each of two micro-batches 32 blocks, their experts (one a rank, which 2 ranks have) and the root are gathered forward, all blocks but the
        last and their experts once more backward, in bf16; and all are reduced in float32. A rank keeps 1/16 of what is common and half an expert."""
        common, experts, block = self.COMMON, 32 * self.EXPERT, (self.COMMON - self.ROOT) // 32
        by = self.operations("physics=none", "strategy=fsdp")
        self.assertEqual(by["data", "all_gather"]["bytes"], 2 * 2 * (common + 31 * block))
        self.assertEqual(by["expert_data", "all_gather"]["bytes"], 2 * 2 * (32 + 31) * self.EXPERT)
        self.assertEqual(by["data", "reduce_scatter"]["bytes"], 2 * 4 * common)
        self.assertEqual(by["expert_data", "reduce_scatter"]["bytes"], 2 * 4 * experts)
        memory = self.result("physics=none", "strategy=fsdp")["memory"]
        self.assertAlmostEqual(memory["parameters_bytes"], 4 * (common / 16 + experts / 2), delta=1e-6 * memory["parameters_bytes"])
        # One group of 8 has each expert once: nobody to gather it from.
        alone = self.operations("physics=none", "strategy=fsdp", "cluster.world_size=8")
        self.assertNotIn(("expert_data", "all_gather"), alone)

    def test_hsdp_adds_up_experts_over_its_groups(self):
        """Groups of 8 have each expert once: all of its gradient is added up by the two groups, and an eighth of what is common."""
        by = self.operations("physics=none", "strategy=hsdp")
        self.assertEqual(by["replica", "all_reduce"]["bytes"], 2 * 4 * (self.COMMON / 8 + 32 * self.EXPERT))
        self.assertFalse([axis for axis, _ in by if axis == "expert_data"])
        # One group of all 16 is FSDP.
        one, fsdp = (self.result("physics=none", f"strategy={sets}") for sets in ("hsdp", "fsdp"))
        whole = self.result("physics=none", "strategy=hsdp", "fsdp={shard_group: 16}")
        self.assertAlmostEqual(whole["iteration_s"], fsdp["iteration_s"], delta=1e-9 * fsdp["iteration_s"])
        self.assertGreater(one["memory"]["parameters_bytes"], fsdp["memory"]["parameters_bytes"])

    def test_stages_are_sharded_with_their_experts(self):
        """Two stages of 16 blocks, 8 ranks each that share 4 by 4: two experts a rank, which 2 ranks have. Gathered and reduced once a step."""
        stages = ["physics=none", "parallelism={expert: 4, pipeline: 2}"]
        by = self.operations("strategy=fsdp", *stages)
        self.assertEqual(by["expert_data", "all_gather"]["bytes"], 16 * 2 * self.EXPERT * 2)
        self.assertEqual(by["expert_data", "reduce_scatter"]["bytes"], 16 * 2 * self.EXPERT * 4)
        groups = self.operations("strategy=hsdp", "fsdp={shard_group: 4}", *stages)
        common = groups["shard", "reduce_scatter"]["bytes"]
        self.assertEqual(groups["replica", "all_reduce"]["bytes"], common / 4 + 16 * 2 * self.EXPERT * 4)
        self.assertNotIn(("expert_data", "reduce_scatter"), groups)

    def test_memory_by_hand(self):
        """bf16 weights, float32 gradients, and 12 bytes of the optimizer over those that step together: 16 ranks, of experts 2."""
        memory = self.result("physics=none")["memory"]
        common, experts = self.COMMON, 32 * self.EXPERT
        self.assertAlmostEqual(memory["parameters_bytes"], 2 * (common + experts), delta=1e-6 * memory["parameters_bytes"])
        self.assertAlmostEqual(memory["optimizer_bytes"], 12 * (common / 16 + experts / 2), delta=1e-6 * memory["optimizer_bytes"])

    def test_terms_add_up(self):
        for sets in ([], ["parallelism={expert: 4, pipeline: 2}", "pipeline.virtual=2"], ["parallelism={expert: 8, tensor: 2, sequence: true}"],
                     ["parallelism={expert: 8, context: 2}", "strategy=ddp"], ["expert={imbalance: 1, seed: 5}"], ["parallelism={expert: 1}", "strategy=fsdp"]):
            with self.subTest(sets):
                result = self.result(*sets)
                self.adds_up(result)
                exposed = sum(one["exposed_s"] for one in result["communication"] if one["axis"] == "expert")
                self.assertAlmostEqual(sum(one["seconds"] for one in result["losses"] if one["cause"] == "expert"), exposed, delta=1e-12)
                # 12,879,925,248 active parameters, lookups and norms apart, 6 operations each; attention 12 x 32 x 4,096 a token and position.
                matrices = 12_879_925_248 - 65 * 4096 - 32000 * 4096
                flops = 32 * 4096 * (6 * matrices + 12 * 32 * 4096 * 4096)
                self.assertAlmostEqual(result["model_flops_per_s_per_gpu"], flops / 16 / result["iteration_s"], delta=1e-9 * result["model_flops_per_s_per_gpu"])

    def test_drawn_loads(self):
        drawn = self.result("physics=none", "expert={imbalance: 2, seed: 5}")
        self.assertEqual(drawn, self.result("physics=none", "expert={imbalance: 2, seed: 5}"))
        balanced = self.result("physics=none")
        self.assertEqual(balanced["parallelism"]["expert_load"], 1)
        load = drawn["parallelism"]["expert_load"]
        self.assertGreater(load, 1.5)
        self.assertLess(load, 4)
        self.assertGreater(drawn["iteration_s"], balanced["iteration_s"])
        # What the slowest rank receives.
        busy = [next(one["bytes"] for one in result["communication"] if one["operation"] == "all_to_all") for result in (drawn, balanced)]
        self.assertAlmostEqual(busy[0] / busy[1], load, delta=1e-6)
        stderr = self.ok("simulate", "m.yaml", "--set", "expert={imbalance: 2, seed: 5}").stderr
        self.assertIn(f"tokens of experts are drawn (imbalance 2, seed 5): of the 8 ranks that share them the one with most has {load:.2f} times the mean", stderr)
        self.assertNotEqual(self.result("physics=none", "expert={imbalance: 2, seed: 6}")["parallelism"]["expert_load"], load)
        nearly = self.result("physics=none", "expert={imbalance: 1e9}")
        self.assertAlmostEqual(nearly["parallelism"]["expert_load"], 1, delta=0.02)
        self.assertIn("are dropped", self.ok("simulate", "m.yaml", "--set", "expert={imbalance: 2, capacity: 1.25}").stderr)

    def test_ranks_that_share_each_expert(self):
        """Tensor 2: a rank routes 2,048 tokens to 2 experts each. Cut in two, an expert takes the rows of both ranks, gathered before it and scattered after,
        forward and backward; a rank holds half of its parameters, and nobody else has them."""
        sets = ["physics=none", "parallelism={expert: 8, tensor: 2, sequence: true}"]
        whole, cut = (self.result(*sets, *more) for more in ([], ["expert={tensor: 2}"]))
        by = {(one["axis"], one["operation"]): one for one in cut["communication"]}
        before = {(one["axis"], one["operation"]): one for one in whole["communication"]}
        passes = by["expert", "all_to_all"]["count"] // 3
        for operation in ("all_gather", "reduce_scatter"):
            self.assertEqual(by["expert-tensor", operation]["count"], passes)
            self.assertEqual(by["expert-tensor", operation]["bytes"], passes * 2 * (2048 * 2) * 4096 * 2)
        self.assertEqual(by["expert", "all_to_all"]["bytes"], before["expert", "all_to_all"]["bytes"])
        # Whose other ends are now every second rank: half of them on the other node.
        self.assertGreater(by["expert", "all_to_all"]["busy_s"], 2 * before["expert", "all_to_all"]["busy_s"])
        self.assertNotIn(("expert_data", "reduce_scatter"), by)
        self.assertIn(("expert_data", "reduce_scatter"), before)
        self.assertAlmostEqual(whole["memory"]["parameters_bytes"] - cut["memory"]["parameters_bytes"], 32 * self.EXPERT, delta=1)
        exposed = sum(one["exposed_s"] for one in cut["communication"] if one["axis"] in ("expert", "expert-tensor"))
        self.assertAlmostEqual(sum(one["seconds"] for one in cut["losses"] if one["cause"] == "expert"), exposed, delta=1e-12)
        for more, says in [(["expert={tensor: 4}"], "2 ranks of a tensor-parallel group do not share experts in groups of 4"),
                           (["expert={tensor: 2, dispatcher: all_gather}"], "experts that ranks share take tokens by dispatcher: all_to_all"),
                           (["parallelism={tensor: 2, sequence: true}", "expert={tensor: 2}"], "experts that nobody has a share of are cut like all else")]:
            self.assertIn(says, self.fails(2, "simulate", "m.yaml", *cli.set_arguments([*sets, *more])).stderr)

    def test_shared_experts_hide_exchanges(self):
        sets = ("physics=none", "workload.model={kind: transformer, hidden: 4096, layers: 8, heads: 32, ffn: 14336, gated: true, vocab: 32000, experts: 8, top_k: 2, shared_experts: 1}")
        waited = self.operations(*sets)["expert", "all_to_all"]
        hidden = self.operations(*sets, "expert={shared_overlap: true}")["expert", "all_to_all"]
        self.assertEqual(hidden["bytes"], waited["bytes"])
        self.assertLess(hidden["exposed_s"], 0.5 * waited["exposed_s"])

    def test_a_measured_step_calibrates(self):
        """Exchanges of experts stay what they are while products are fitted: the step measured is the step predicted with what was fitted."""
        iteration = self.result()["iteration_s"]
        self.ok("calibrate", "--step", f"{1.1 * iteration}s", "m.yaml", "--out", "s.yaml")
        self.assertAlmostEqual(self.result("workload.framework=s.yaml")["iteration_s"] / (1.1 * iteration), 1, delta=1e-5)

    def test_groups_on_other_nodes_are_slower(self):
        near, far = (self.operations("physics=none", *more)["expert", "all_to_all"]["busy_s"] for more in ([], ["cluster.placement=round_robin"]))
        self.assertGreater(far, 2 * near)

    def test_no_gpu_alone_has_all_experts(self):
        self.assertIsNone(self.result()["scaling_efficiency"])
        self.assertIsNotNone(self.result("parallelism={tensor: 1}")["scaling_efficiency"])

    def test_every_result_says_whose_host_such_models_have(self):
        for sets, whose in (([], "what they take of the host's time is te-2025's"),
                            (["parallelism={tensor: 1}", "strategy=fsdp", "workload.framework=fsdp-eager-2023"], "is not known of fsdp-eager-2023")):
            said = self.ok("simulate", "m.yaml", *cli.set_arguments(sets)).stderr
            self.assertIn("is a mixture of experts, with 1.288e+10 of 4.67e+10 parameters active", said)
            self.assertIn(whose, said)

    def test_a_sweep(self):
        points = json.loads(self.ok("sweep", "m.yaml", "--set", "sweep={parallelism.expert: [1, 2, 4, 8]}", "--json", "-").stdout)["points"]
        self.assertEqual([point.get("parallelism", {}).get("expert", 1) for point in points], [1, 2, 4, 8])
        peaks = [point["memory"]["peak_bytes"] for point in points]
        self.assertEqual(peaks[1:], sorted(peaks[1:], reverse=True))

    def test_what_a_plan_looks_for(self):
        arguments = ("--topology", "superpod-h100", "--gpus", "16", "--global-batch", "32", "--sequence", "4096", "--framework", "te-2025", "--top", "1000")
        def degrees(model):
            points = json.loads(self.ok("plan", model, *arguments, "--json", "-").stdout)["points"]
            return {point["set"].get("parallelism.expert", "1") for point in points}
        self.assertLess({"8"}, degrees("mixtral-8x7b"))
        self.assertEqual(degrees("llama-3-8b"), {"1"})

    def test_what_is_refused(self):
        for sets, says in [
                (["parallelism={expert: 3}"], "8 experts are not split over 3 ranks"),
                (["batch.global=24", "cluster.world_size=12"], "groups of 8 ranks that share experts do not divide the 12 ranks of the job"),
                (["parallelism={expert: 8, pipeline: 4}"], "do not divide the 4 ranks of a stage"),
                (["parallelism={expert: 8, tensor: 2}"], "the same tokens to experts, and Megatron refuses to"),
                (["strategy=fsdp1"], "strategy fsdp1 of experts that ranks share is not simulated"),
                (["strategy=zero3"], "DeepSpeed takes no experts that ranks share with zero3"),
                (["strategy=hsdp", "fsdp={shard_group: 4}"], "8 ranks share all experts, and a shard group has 4"),
                (["strategy=fsdp", "fsdp={unit: {layers: 2}}"], "fsdp.unit changes nothing here"),
                (["strategy=fsdp", "fsdp={communicators: 2}"], "fsdp.communicators changes nothing here"),
                (["expert={dispatcher: tree}"], "'tree'"),
                (["expert={seed: 3}"], "nothing is drawn"),
                (["expert={imbalance: 0}"], "0"),
                (["expert={shared_overlap: true}"], "mixtral-8x7b has no shared experts"),
                (["expert={dispatcher: all_gather, capacity: 1}"], "expert.capacity needs tokens that go to their experts only"),
                (["workload.model=llama-3-8b"], "llama-3-8b has no experts"),
                (["workload.model=llama-3-8b", "parallelism={tensor: 2}", "expert={capacity: 1}"], "llama-3-8b has no experts")]:
            with self.subTest(says):
                stderr = self.fails(2, "simulate", "m.yaml", *cli.set_arguments(sets)).stderr
                self.assertIn(says, stderr)
                self.assertIn("hint: ", stderr)
        self.write("alone.yaml", (self.folder / "m.yaml").read_text().replace("parallelism: {expert: 8}", "expert: {capacity: 1}"))
        self.assertIn("nothing says over how many GPUs", self.fails(2, "simulate", "alone.yaml").stderr)


class DispatcherTest(ParallelTest):
    """48 layers of 2,048 with 128 experts, of which a token goes to 8 (Qwen3-30B-A3B): a micro-batch of 4,096 tokens sends rows of 4,096 bytes."""
    LAYERS, TOKENS, ROW = 48, 4096, 2 * 2048
    MODEL = """workload:
  model: {kind: transformer, hidden: 2048, layers: 48, heads: 32, kv_heads: 4, head_dim: 128, ffn: 768, gated: true, vocab: 151936, experts: 128, top_k: 8}
  micro_batch: 1
  sequence: 4096
  dtype: bf16
  framework: te-2025
strategy: megatron
cluster: {topology: superpod-h100, world_size: 16}
parallelism: {expert: 8}
batch: {global: 16}
"""

    @staticmethod
    def reached(places):
        return places * (1 - (1 - 1 / places) ** 8)

    def setUp(self):
        super().setUp()
        self.write("m.yaml", self.MODEL)

    def exchanged(self, *sets):
        return self.operations("physics=none", *sets)["expert", "all_to_all"]

    def test_in_a_node_by_hand(self):
        """Forward and backward a dispatch and a combine in each layer; probabilities and counts travel with the tokens."""
        sets = ["physics=none", "expert={dispatcher: deepep}"]
        by = self.operations(*sets)
        self.assertNotIn(("expert", "all_gather"), by)
        one = by["expert", "all_to_all"]
        self.assertEqual(one["count"], 4 * self.LAYERS)
        copies = self.TOKENS * self.ROW * self.reached(8)
        self.assertAlmostEqual(one["bytes"] / (4 * self.LAYERS * copies), 1, delta=1e-9)
        dispatch = 26e-6 + (copies + self.TOKENS * 7750) / 392e9
        combine = 39e-6 + (copies + self.TOKENS * 15700) / 429e9
        self.assertAlmostEqual(one["busy_s"] / (2 * self.LAYERS * (dispatch + combine)), 1, delta=1e-6)
        eight = self.exchanged("expert={dispatcher: deepep, dtype: fp8}")
        self.assertAlmostEqual(one["busy_s"] - eight["busy_s"], 2 * self.LAYERS * (1 - 33 / 64) * copies / 392e9, delta=1e-6 * one["busy_s"])
        few = self.exchanged("expert={dispatcher: deepep, dispatch_sms: 10}")
        self.assertGreater(few["busy_s"], 1.7 * one["busy_s"])
        self.adds_up(self.result(*sets))

    def test_over_nodes_it_is_faster_than_nccl(self):
        """16 ranks on 2 nodes, 64 on 8: a token goes once to each node and not to each expert."""
        for gpus in (16, 64):
            with self.subTest(gpus):
                sets = [f"cluster.world_size={gpus}", f"batch.global={gpus}", f"parallelism={{expert: {gpus}}}"]
                deepep, nccl = (self.exchanged(*sets, f"expert={{dispatcher: {name}}}") for name in ("deepep", "all_to_all"))
                self.assertLess(deepep["busy_s"], 0.75 * nccl["busy_s"])
                self.assertLess(deepep["bytes"], nccl["bytes"])
                steps = [self.result(*sets, f"expert={{dispatcher: {name}}}")["iteration_s"] for name in ("deepep", "all_to_all")]
                self.assertLess(*steps)
        nodes = self.TOKENS * self.ROW * self.reached(2) / 2
        moved = self.TOKENS * self.ROW * self.reached(16) + self.TOKENS * 7750 + 2 * nodes
        dispatch = 38e-6 + ((moved / 392e9) ** 4 + (nodes / 48.5e9) ** 4) ** 0.25
        moved = self.TOKENS * self.ROW * self.reached(16) + self.TOKENS * 15700 + 6.6 * nodes
        combine = 59e-6 + moved / 429e9
        sixteen = self.exchanged("parallelism={expert: 16}", "expert={dispatcher: deepep}")
        self.assertAlmostEqual(sixteen["busy_s"] / (2 * self.LAYERS * (dispatch + combine)), 1, delta=1e-6)

    def test_a_limit_of_nodes(self):
        sets = ["cluster.world_size=64", "batch.global=64", "parallelism={expert: 64}"]
        all_nodes, limited = (self.exchanged(*sets, f"expert={{dispatcher: deepep{limit}}}")["busy_s"] for limit in ("", ", node_limit: 4"))
        self.assertLess(limited, all_nodes)

    def test_racks(self):
        """32 of the 64 GPUs of a rack that a job takes are in one NVLink domain."""
        sets = ["cluster.topology=gb200-nvl72", "cluster.world_size=64", "batch.global=64", "parallelism={expert: 32}"]
        one = self.exchanged(*sets, "expert={dispatcher: rack}")
        sent = self.TOKENS * self.ROW * self.reached(32) * 31 / 32
        self.assertAlmostEqual(one["busy_s"] / (2 * self.LAYERS * (26e-6 + sent / 460e9 + sent / 420e9)), 1, delta=1e-6)
        self.assertGreater(self.exchanged(*sets, "expert={dispatcher: deepep}")["busy_s"], one["busy_s"])

    def test_what_is_said(self):
        for sets, says in ((["expert={dispatcher: deepep}"], "one machine each: in a node 6 to 11 % off"),
                           (["expert={dispatcher: deepep_low_latency}", "parallelism={expert: 16}"], "over nodes 5 to 9 % off"),
                           (["expert={dispatcher: deepep}", "parallelism={expert: 16}"], "over 2 and 4 nodes 7 to 16 % off")):
            self.assertIn(says, self.ok("simulate", "m.yaml", *cli.set_arguments(sets)).stderr)
        self.assertNotIn("one machine each", self.ok("simulate", "m.yaml").stderr)

    def test_what_is_explained(self):
        """The other dispatchers are tried; why the job cannot have one is said."""
        said = self.ok("simulate", "m.yaml", "--set", "parallelism={expert: 16}", "--explain").stdout
        self.assertRegex(said, r"ms +-\d+\.\d % +expert\.dispatcher deepep\n")
        self.assertIn("not tried: expert.dispatcher rack: dispatcher: rack is of NVLink domains", said)
        self.assertNotIn("deepep_low_latency", said)


class PlanTest(ParallelTest):
    ARGUMENTS = ("plan", "gpt3-175b", "--topology", "superpod-h100", "--gpus", "64", "--global-batch", "128", "--sequence", "2048")

    found = None

    def three(self):
        """The three best: JSON, lines of CSV and what is noted, of one search for all tests."""
        if not PlanTest.found:
            done = self.ok(*self.ARGUMENTS, "--top", "3", "--json", "-", "--csv", "plan.csv")
            PlanTest.found = json.loads(done.stdout), self.read("plan.csv").decode().splitlines(), done.stderr
        return PlanTest.found

    def test_the_best_is_what_simulate_says(self):
        best = self.three()[0]["points"][0]
        self.write("best.yaml", """workload: {model: gpt3-175b, sequence: 2048}
cluster: {topology: superpod-h100, world_size: 64}
batch: {global: 128}
engine: {network: builtin}
""")
        sets = [f"{key}={value}" for key, value in best["set"].items()]
        self.assertEqual(self.simulate(*sets, file="best.yaml")["iteration_s"], best["iteration_s"])
        self.assertTrue(best["memory"]["fits"])

    def test_a_line_a_plan(self):
        """CSV: every degree, whether or not the plan has one; together they are all GPUs."""
        found, lines, _ = self.three()
        self.assertEqual(lines[0], "iteration_s,tokens_per_s,mfu,memory_peak_bytes,tensor,context,pipeline,virtual,expert,data,micro_batch,recompute,strategy,bucket_size,p10_s,p90_s,p_best,regret")
        for line, point in zip(lines[1:], found["points"], strict=True):
            values = dict(zip(lines[0].split(","), line.split(",")))
            self.assertEqual(float(values["iteration_s"]), point["iteration_s"])
            self.assertEqual(int(values["tensor"]) * int(values["context"]) * int(values["pipeline"]) * int(values["data"]), 64)
            self.assertEqual([float(values[key]) for key in ("p10_s", "p90_s")], point["evidence"]["interval_80_s"])
            self.assertEqual([float(values[key]) for key in ("p_best", "regret")], [point["p_best"], point["regret"]])
            self.assertEqual((values["strategy"], values["micro_batch"]), (point["set"]["strategy"], point["set"]["workload.micro_batch"]))

    def test_bounds_rule_out_none_of_the_best(self):
        few, all_ = (json.loads(self.ok(*self.ARGUMENTS, "--set", "evidence=none", "--top", top, "--json", "-").stdout) for top in ("3", "1000"))
        self.assertEqual(all_["ruled_out"], 0)
        self.assertEqual(few["points"], all_["points"][:3])
        iterations = [point["iteration_s"] for point in all_["points"]]
        self.assertEqual(iterations, sorted(iterations))
        self.assertGreater(few["ruled_out"], 0)
        strategies = {point["set"]["strategy"] for point in all_["points"]}
        self.assertLessEqual({"megatron", "fsdp", "zero1", "ddp"}, strategies)

    def test_how_sure_the_best_is(self):
        """Plans in order of regret; each has the interval that simulate has, and together they are the fastest for sure."""
        found = self.three()[0]
        regrets = [point["regret"] for point in found["points"]]
        self.assertEqual(regrets, sorted(regrets))
        self.assertAlmostEqual(sum(point["p_best"] for point in found["points"]), 1)
        self.ok(*self.ARGUMENTS, "--top", "3", "--json", "plan.json", "--out", "best.yaml")
        best = self.read_json("plan.json")["points"][found["best"]]
        simulated = json.loads(self.ok("simulate", "best.yaml", "--json", "-").stdout)
        self.assertEqual(simulated["evidence"], best["evidence"])
        self.assertTrue(best["tied"])
        told = self.ok(*self.ARGUMENTS, "--top", "3").stdout
        first = found["points"][0]
        chosen = found["points"][found["best"]]
        self.assertIn(f"{100 * chosen['p_best']:.0f} % sure that it is the fastest; it loses {100 * chosen['regret']:.1f} % on average\n", told)
        self.assertLessEqual(first["regret"], chosen["regret"])
        self.assertIn("not told apart from", told)

    def test_bare_numbers(self):
        """Nothing is in doubt: the shortest first, and no word of how sure that is."""
        arguments = (*self.ARGUMENTS, "--top", "3", "--set", "evidence=none")
        points = json.loads(self.ok(*arguments, "--json", "-", "--csv", "bare.csv").stdout)["points"]
        self.assertEqual([point["iteration_s"] for point in points], sorted(point["iteration_s"] for point in points))
        self.assertFalse([key for point in points for key in ("evidence", "p_best", "regret", "tied") if key in point])
        self.assertTrue(self.read("bare.csv").decode().splitlines()[0].endswith(",bucket_size"))
        self.assertNotIn("sure", self.ok(*arguments).stdout)

    def test_an_interrupt_tells_what_was_found(self):
        """The batch that is under way is the last one, and a bound says how good the others may be."""
        command = [cli.BINARY, "plan", "llama-3-70b", "--topology", "superpod-h100", "--gpus", "4096", "--global-batch", "4096", "--sequence", "8192"]
        for seconds in (0, 1, 2, 4, 8):
            process = subprocess.Popen([*command, "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(0.2 + seconds)
            process.send_signal(signal.SIGINT)
            out, said = process.communicate(timeout=100)
            self.assertEqual(process.returncode, 4)
            if out:
                break
        self.assertEqual(said.splitlines()[-1], "interrupted")
        plan = json.loads(out)
        note, = (note["text"] for note in plan["notes"] if note["code"] == "interrupted")
        self.assertRegex(note, r"^interrupted when \d+ of \d+ plans that fit were looked at: none of the others ")
        self.assertTrue(plan["points"][0]["memory"]["fits"])

    def test_strategies_of_a_model_that_a_gpu_holds(self):
        """Bounds rule out none of the best; each way with the fewest seconds is that of a search of its strategy alone."""
        arguments = ("plan", "gpt2-xl", "--topology", "superpod-h100", "--gpus", "16", "--global-batch", "64", "--set", "evidence=none", "--json", "-")
        few, all_ = (json.loads(self.ok(*arguments, "--top", top).stdout) for top in ("5", "1000"))
        self.assertEqual(few["points"], all_["points"][:5])
        for strategy in ("ddp", "zero1", "zero2", "zero3", "fsdp", "megatron"):
            with self.subTest(strategy):
                alone = json.loads(self.ok(*arguments, "--top", "1", "--strategy", strategy).stdout)["points"][0]
                among = next(point for point in all_["points"] if point["set"]["strategy"] == strategy)
                # Sizes of buckets are tried for the fastest only.
                saves = alone.get("bucket_size_saves", 0) - among.get("bucket_size_saves", 0)
                self.assertAlmostEqual(alone["iteration_s"], among["iteration_s"] * (1 - saves), delta=1e-4 * among["iteration_s"])
                self.assertLessEqual(among["set"].items() - alone["set"].items(), set())

    SEVEN = ("plan", "llama-2-7b", "--topology", "superpod-h100", "--gpus", "128", "--global-batch", "256", "--sequence", "4096")

    def test_bucket_sizes_of_the_fastest(self):
        """One that saves 0.5 % or more is a setting; no other is faster, and the default is as much slower as is said."""
        found = json.loads(self.ok(*self.SEVEN, "--strategy", "megatron", "--top", "3", "--json", "-", "--out", "best.yaml").stdout)
        best = found["points"][0]
        self.assertEqual(found["bucket_sizes"], 15)
        self.assertGreaterEqual(best["bucket_size_saves"], 0.005)
        chosen = best["set"]["megatron.bucket_size"]
        times = {size: self.simulate(f"megatron.bucket_size={size}", file="best.yaml")["iteration_s"] for size in ("auto", "10000000", "40000000", "160000000", "640000000")}
        self.assertEqual(min(times, key=times.get), chosen)
        self.assertEqual(times[chosen], best["iteration_s"])
        self.assertAlmostEqual(1 - times[chosen] / times["auto"], best["bucket_size_saves"], delta=1e-12)
        self.assertIn(f"15 other bucket sizes of the fastest: megatron.bucket_size={chosen} makes row 1 {100 * best['bucket_size_saves']:.1f} %",
                      self.ok(*self.SEVEN, "--strategy", "megatron", "--top", "3").stdout)

    def test_a_bucket_size_of_ones_own(self):
        found = json.loads(self.ok(*self.SEVEN, "--strategy", "megatron", "--set", "megatron.bucket_size=40000000", "--top", "3", "--json", "-").stdout)
        self.assertEqual(found["bucket_sizes"], 0)
        self.assertFalse([point for point in found["points"] if "megatron.bucket_size" in point["set"]])

    def test_units_of_the_fastest(self):
        self.ok(*self.SEVEN, "--strategy", "fsdp", "--top", "1", "--json", "plan.json", "--out", "best.yaml", "--csv", "plan.csv")
        best = self.read_json("plan.json")["points"][0]
        self.assertEqual(best["set"]["fsdp.unit"], "{layers: 4}")
        self.assertEqual(self.simulate(file="best.yaml")["iteration_s"], best["iteration_s"])
        self.assertIn(",fsdp,fsdp.unit={layers: 4},", self.read("plan.csv").decode())

    def test_one_framework_for_all(self):
        """Said where strategies are compared, and only there."""
        self.assertIn("strategies are compared with the kernels of one framework", self.three()[2])
        self.assertNotIn("one framework", self.ok(*self.ARGUMENTS, "--strategy", "megatron", "--top", "1").stderr)

    def test_layers_that_do_not_divide(self):
        """126 layers over 4 or 16 stages: one less at both ends."""
        points = json.loads(self.ok("plan", "llama-3-405b", "--topology", "superpod-h100", "--gpus", "64", "--global-batch", "64", "--sequence", "1024",
                                    "--set", "cluster.gpu=b300-sxm", "--top", "100", "--json", "-").stdout)["points"]
        uneven = [point for point in points if "pipeline.layers" in point["set"]]
        self.assertTrue(uneven)
        for point in uneven:
            layers = json.loads(point["set"]["pipeline.layers"])
            self.assertEqual(sum(layers), 126)
            self.assertLessEqual(layers[0], layers[1])
            self.assertLessEqual(layers[-1], layers[1])
            self.assertLessEqual(max(layers) - min(layers), 1)

    def test_what_fits_nowhere(self):
        arguments = [word if word != "64" else "8" for word in self.ARGUMENTS]
        told = self.fails(1, *arguments).stdout
        self.assertIn("nothing fits: the smallest takes", told)

    def test_the_fastest_as_a_scenario(self):
        arguments = ("plan", "gpt2", "--topology", "superpod-h100", "--gpus", "16", "--global-batch", "64", "--top", "2")
        self.ok(*arguments, "--json", "plan.json", "--out", "best.yaml")    # the sequence is GPT-2's own
        plan = self.read_json("plan.json")
        self.assertEqual(plan["considered"], plan["too_large"] + plan["ruled_out"] + plan["simulated"])
        best = plan["points"][plan["best"]]
        self.assertEqual(json.loads(self.ok("simulate", "best.yaml", "--json", "-").stdout)["iteration_s"], best["iteration_s"])
        self.assertIn("sequence: 1024\n", self.read("best.yaml").decode())
        done = self.fails(2, "plan", "llama-3-8b", *arguments[2:])
        self.assertIn("'llama-3-8b' takes samples of any length", done.stderr)

    def test_deepspeeds_hooks_cost_the_host(self):
        """A small model's stages are the host's: 75 modules of GPT-2 at 0.88 ms in each pass, 148 parameters at 0.2; 148 gradients at 0.18 and parameters at 0.06; and launches."""
        arguments = ("plan", "gpt2", "--topology", "superpod-h100", "--gpus", "16", "--global-batch", "64", "--top", "3", "--json", "plan.json")
        self.ok(*arguments)
        plan = self.read_json("plan.json")
        self.assertFalse({point["strategy"] for point in plan["points"]} & {"zero2", "zero3"})
        for strategy, least in (("zero3", 0.132 + 0.0296), ("zero2", 0.0266 + 0.00888)):
            self.ok(*arguments, "--strategy", strategy)
            best = self.read_json("plan.json")["points"][0]
            self.assertGreater(best["iteration_s"], least)
            self.assertLess(best["iteration_s"], least * 1.6)

    def test_where_nothing_fits(self):
        done = self.fails(1, "plan", "llama-3-405b", "--topology", "dgx-h100", "--gpus", "8", "--global-batch", "8", "--sequence", "4096", "--out", "best.yaml")
        self.assertIn("nothing fits: the smallest takes", done.stdout)
        self.assertFalse((self.folder / "best.yaml").exists())

    def test_what_cannot_be_planned(self):
        for more, says in [(["--set", "workload.micro_batch=2"], "a plan looks for workload.micro_batch itself"),
                           (["--set", "workload.colour=red"], "--set:1:1: error: unknown key 'colour'"), (["--max-memory", "2"], "--max-memory"),
                           (["--set", "engine.network=carrier-pigeon"], "unknown value 'carrier-pigeon'"),
                           (["--strategy", "best"], "--strategy: best not in {naive,"),
                           (["--dtype", "int3"], "--dtype:1:16: error: unknown value 'int3'")]:
            with self.subTest(says):
                self.assertIn(says, self.fails(2, *self.ARGUMENTS, *more).stderr)


class RefusedTest(ParallelTest):
    def test_splits_that_are_none(self):
        for sets, says in [
                (["parallelism={tensor: 3}"], "8 GPUs are not a multiple of 3 x 1"),
                (["parallelism={tensor: 8}", "workload.model=gpt2-xl"], "25 heads of gpt2-xl are not split over 8 GPUs"),
                (["parallelism={tensor: 2, pipeline: 2, data: 4}"], "4 x 2 x 2 (data x tensor x pipeline) are 16 GPUs"),
                (["parallelism={pipeline: 8}"], "12 layers are no 8 equal stages"),
                (["pipeline.layers=[6, 5]"], "2 stages with 11 layers"),
                (["pipeline={schedule: interleaved}"], "two chunks of layers a rank or more"),
                (["pipeline={schedule: 1f1b, virtual: 2}"], "schedule 1f1b has one chunk"),
                (["pipeline={overlap_p2p: true}"], "1F1B does not overlap its messages"),
                (["pipeline={schedule: dualpipe}", "batch.global=24"], "DualPipe on 2 ranks with 3 micro-batches"),
                (["pipeline={schedule: dualpipe, virtual: 4}"], "two stages, one of each direction"),
                (["pipeline={schedule: dualpipe, overlap_p2p: false}"], "it would hang"),
                (["parallelism={pipeline: 4}", "pipeline={virtual: 3, overlap_p2p: false}", "batch.global=32"], "calls that block would hang"),
                (["pipeline={group: 4}"], "only the interleaved schedule has groups"),
                (["pipeline={virtual: 1000}"], "2000 stages, and the model has 12 layers"),
                (["parallelism={tensor: 65536, pipeline: 65536}"], "more than 1048576 GPUs"),
                (["strategy=ddp", "ddp.comm_hook=powersgd"], "ddp.comm_hook of a model that GPUs share"),
                (["strategy=ddp", "ddp.compiled=true"], "ddp.compiled of a model that GPUs share"),
                (["strategy=ddp", "ddp.broadcast_buffers=1MB"], "ddp.broadcast_buffers of the stages of a pipeline"),
                (["tensor={overlap: te}"], "nobody measured what share"),
                (["tensor={overlap: async, hidden: 0.5}"], "only overlap: te hides a measured share"),
                (["parallelism={pipeline: 2, sequence: true}"], "and there is none"),
                (["batch.global=1", "cluster.world_size=4"], "a batch of 1 sample cannot be split into micro-batches of 4 on 1 data-parallel rank\n"),
                (["batch.global=63"], "63 samples cannot be split into micro-batches of 4 on 2"),
                (["ddp.accumulation_steps=2"], "batch.global says how many"),
                (["strategy=parameter_server"], "strategy parameter_server of a model that GPUs share is not simulated"),
                (["strategy=zero2"], "DeepSpeed's pipelines take no zero2"),
                (["strategy=hsdp"], "2 data-parallel ranks are not groups of 4"),
                (["strategy=hsdp1"], "strategy hsdp1 of the stages of a pipeline is not simulated"),
                (["strategy=fsdp", "fsdp={reshard_after_forward: true}"], "under a pipeline fsdp.reshard_after_forward is false"),
                (["strategy=fsdp", "fsdp={reduce_every_micro_batch: true}"], "under a pipeline fsdp.reduce_every_micro_batch is false"),
                (["strategy=fsdp", "fsdp={cpu_offload: true}"], "offloading of a model that GPUs share"),
                (["parallelism={tensor: 2}", "strategy=zero3", "zero={offload_optimizer: true}"], "offloading of a model that GPUs share"),
                (["parallelism={tensor: 2}", "strategy=hsdp", "fsdp={shard_group: 3}"], "4 data-parallel ranks are not groups of 3"),
                (["parallelism={tensor: 8}", "strategy=fsdp", "workload.model=gpt3-175b", "workload.sequence=2048"], "and that is one rank"),
                (["cluster.groups={tensor_parallel: 2}"], "cluster.groups of a job whose GPUs share the model"),
                (["variability={seed: 1}"], "the trace records no spread over its iterations")]:
            with self.subTest(says):
                self.assertIn(says, self.fails(2, "simulate", "m.yaml", *cli.set_arguments(sets)).stderr)

    def test_some_blocks_of_each_chunk_are_recomputed(self):
        sets = ["parallelism={pipeline: 2, data: auto}", "pipeline={virtual: 2}", "physics=none"]    # 3 layers a chunk
        def step(recompute):
            done = self.result(*sets, f"workload.recompute={recompute}")
            return [done["iteration_s"], done["memory"]["peak_bytes"], done["hfu"] * done["iteration_s"]]
        none, two, every = step("none"), step("{full: 2}"), step("full")
        self.assertEqual(step("{full: 3}"), every)
        self.assertEqual(step("{full: 0}"), none)
        self.assertAlmostEqual(two[2] / none[2], 1 + (every[2] / none[2] - 1) * 2 / 3, delta=1e-9)
        self.assertTrue(none[0] < two[0] < every[0] and none[1] > two[1] > every[1], (none, two, every))

    def test_stages_unlike_the_others(self):
        """Said in any of three ways, the same step; chunks may have no layer."""
        sets = ["parallelism={pipeline: 2, tensor: 2, data: auto}", "strategy=ddp"]
        listed = self.result(*sets, "pipeline={layers: [7, 5]}")["iteration_s"]
        self.assertEqual(self.result(*sets, "pipeline={layers: {first: 7, last: 5}}")["iteration_s"], listed)
        self.assertEqual(self.result(*sets, "pipeline={layers: {last: 5}}")["iteration_s"], listed)
        even = self.result(*sets)["iteration_s"]
        self.assertEqual(self.result(*sets, "pipeline={count_embedding: true, count_loss: true}")["iteration_s"], even)
        self.assertNotEqual(listed, even)
        for strategy in ("ddp", "flat", "fsdp", "zero1", "megatron"):
            empty = self.result(f"strategy={strategy}", "parallelism={pipeline: 4, data: auto}", "pipeline={layers: [0, 6, 6, 0]}")
            self.assertGreater(empty["iteration_s"], even / 4)

    def test_too_many_passes(self):
        done = self.fails(2, "simulate", "m.yaml", "--set", "batch.global=4000000")
        self.assertIn("500000 micro-batches through 2 stages are more than 400000 passes", done.stderr)
        self.assertIn("hint: use larger micro-batches", done.stderr)

    def test_sections_that_change_nothing(self):
        """A note each, and the same step; what was typed, and mistakes in them, are refused."""
        plain = self.result()
        scenario = (self.folder / "m.yaml").read_text()
        for given, says in [("fsdp: {unit: {bytes: 1MB}}", "the section 'fsdp' changes nothing here: it counts with strategies fsdp"),
                            ("zero: {overlap_comm: true}", "the section 'zero' changes nothing here: it counts with strategies zero0"),
                            ("ddp: {bucket_cap: 1MiB}", "ddp.bucket_cap changes nothing here: it counts with strategy ddp; how much is reduced at once is megatron.bucket_size"),
                            ("host: {adam_rate: 1e9}", "host.adam_rate changes nothing here: it counts with what is offloaded"),
                            ("physics: {gradient: 1ms}", "physics.gradient changes nothing here"),
                            ("context: {kind: all_gather}", "the section 'context' changes nothing here: it counts with parallelism.context above 1")]:
            with self.subTest(says):
                self.write("unused.yaml", f"{scenario}\n{given}\n")
                done = self.ok("simulate", "unused.yaml", "--json", "-")
                self.assertIn(says, done.stderr)
                self.assertEqual(json.loads(done.stdout)["iteration_s"], plain["iteration_s"])
                section, value = given.split(": ", 1)
                self.assertIn("changes nothing here: it counts with", self.fails(2, "simulate", "m.yaml", "--set", f"{section}={value}").stderr)
        self.fails(2, "simulate", "m.yaml", "--set", "zero={colour: red}")

    def test_check_fidelity(self):
        """With fewer copies of the model, each with the micro-batches that it has: 4 x 2 of 16 ranks are one copy with four."""
        text = self.ok("simulate", "m.yaml", "--check-fidelity", "--check-ranks", "4", *cli.set_arguments(
            ["cluster.world_size=16", "batch.global=64", "physics=none"])).stdout
        self.assertIn("fidelity checked with 4 ranks: ", text)
        line = next(line for line in text.splitlines() if line.startswith("  iteration "))
        self.assertLess(abs(float(line.split()[-2])), 5)
        self.fails(2, "simulate", "m.yaml", "--recorded", "traces/gpt2-large-a100-bs4.csv")

    def test_sections_without_a_split(self):
        self.write("ddp.yaml", MODEL.replace("parallelism: {tensor: 2, pipeline: 2}", "pipeline: {virtual: 2}"))
        self.assertIn("nothing says over how many GPUs", self.fails(2, "simulate", "ddp.yaml").stderr)
        self.write("trace.yaml", "workload: {trace: traces/gpt2-large-a100-bs4.csv}\n" + MODEL.split("\n", 1)[1])
        self.assertIn("says nothing of how its layers split", self.fails(2, "simulate", "trace.yaml").stderr)

    def test_what_is_not_written_yet(self):
        self.fails(2, "simulate", "m.yaml", "--best-caps")
        self.fails(2, "validate", "m.yaml")


if __name__ == "__main__":
    cli.main()
