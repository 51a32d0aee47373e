#!/usr/bin/env python3
"""Random valid scenarios of a fixed seed, and what must hold of any of them: parts add up, nothing is lost that was not there, more of what costs
never shortens a step and more of what helps never lengthens it, and the same said another way is the same."""
import collections
import json
import math
import random
import subprocess

import ddpsim_cli as cli

SEED, SCENARIOS = 42, 600
TRACES = ["gpt2-large-a100-bs4", "resnet50-2xa100", "gpt2-cpu", "gpt2-medium-cpu"]
TOPOLOGIES = ["ring-100gbps", "dgx-h100", "dgx-a100", "superpod-h100", "superpod-a100", "p4d", "p5", "pcie-8gpu", "ndv4", "two-level-test", "dgx1-v100",
              "gb200-nvl72", "fat-tree-3level", "jean-zay-a100"]
ONE_NODE = ("dgx-a100", "dgx-h100", "dgx1-v100", "pcie-8gpu")
PARTS = ["forward_s", "backward_compute_s", "interference_s", "overhead_s", "exposed_communication_s", "optimizer_s", "bubble_s"]
MEMORY = ["parameters_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes", "buckets_bytes", "workspaces_bytes", "other_bytes"]
ROUNDING = 1e-9


def data_parallel(draw):
    """A recorded or an estimated model, one copy a GPU."""
    keys = {}
    if draw.random() < 0.5:
        keys["workload.trace"] = f"../traces/{draw.choice(TRACES)}.csv"
        keys["strategy"] = draw.choice(["ddp", "ddp", "naive", "flat", "overlap"])
    else:
        keys["workload.model"] = draw.choice(["gpt2", "gpt2-medium", "mpt-1b", "llama-2-7b"])
        keys["workload.micro_batch"] = draw.choice([1, 2, 3, 4])
        keys["workload.sequence"] = draw.choice([128, 256, 512, 1000, 1024])
        keys["workload.recompute"] = draw.choice(["none", "none", "selective", "full"])
        keys["strategy"] = draw.choice(["ddp", "flat", "overlap", "fsdp", "fsdp1", "hsdp", "zero1", "zero2", "zero3", "megatron"])
        if keys["strategy"] == "hsdp":
            keys["fsdp.shard_group"] = 8
    topology = keys["cluster.topology"] = draw.choice(TOPOLOGIES)
    gpus = draw.choice([2, 4, 8, 16, 24, 32, 64])
    if topology == "gb200-nvl72" and gpus >= 24:
        gpus = draw.choice([72, 73, 128, 144])    # of racks
    keys["cluster.world_size"] = min(gpus, 8) if topology in ONE_NODE else gpus
    if topology == "ring-100gbps" and "workload.model" in keys:
        keys["cluster.gpu"] = "a100-sxm4-80gb"
    if draw.random() < 0.4:
        keys["physics"] = "none"
    if draw.random() < 0.4:
        keys["collective.algorithm"] = draw.choice(["ring", "tree", "hierarchical"])
    if keys["strategy"] == "ddp":
        keys["ddp.bucket_cap"] = draw.choice(["1MiB", "3MB", "25MiB", "100MiB", "1GiB"])
    if draw.random() < 0.3:
        keys["ddp.accumulation_steps"] = draw.choice([1, 2, 5])
    return keys


def model_parallel(draw):
    """GPUs that share a model."""
    tensor, pipeline, context, data = draw.choice([1, 2, 4]), draw.choice([1, 2, 4]), draw.choice([1, 1, 2]), draw.choice([1, 2, 4])
    if tensor * pipeline * context * data < 2:
        data = 2
    keys = {"workload.model": draw.choice(["gpt2", "gpt2-medium", "llama-2-7b", "mpt-1b"]), "workload.micro_batch": draw.choice([1, 2, 4]),
            "workload.sequence": draw.choice([512, 1024]), "workload.recompute": draw.choice(["none", "selective", "full"]),
            "workload.framework": draw.choice(["te-2025", "megatron-eager-2022", "fsdp-eager-2023"]),
            "strategy": draw.choice(["ddp", "flat", "fsdp", "zero1", "megatron"]),
            "cluster.topology": draw.choice(["superpod-h100", "superpod-a100", "p5", "gb200-nvl72"]),
            "parallelism.tensor": tensor, "parallelism.pipeline": pipeline, "parallelism.context": context,
            "cluster.world_size": tensor * pipeline * context * data}
    if tensor > 1 and draw.random() < 0.6:
        keys["parallelism.sequence"] = "true"
    if pipeline > 1:
        keys["pipeline.schedule"] = draw.choice(["1f1b", "gpipe"])
    keys["batch.global"] = keys["workload.micro_batch"] * data * draw.choice([2, 4]) * pipeline
    if draw.random() < 0.5:
        keys["physics"] = "none"
    return keys


class Refused(Exception):
    """Not every drawn scenario can be: ddpsim says so."""


class MetamorphicTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.link_data()
        self.write("drawn/base.yaml", b"{}\n")
        self.held = collections.Counter()

    def run_json(self, command, keys, *options, base="base.yaml"):
        sets = cli.set_arguments(f"{key}={value}" for key, value in keys.items())
        done = subprocess.run([cli.BINARY, command, base, *sets, "--quiet", "--json", "-", *options], cwd=self.folder / "drawn", env=cli.environment(),
                              capture_output=True, timeout=cli.TIMEOUT_S, check=False)
        if done.returncode == 2:
            raise Refused(done.stderr.decode())
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def step(self, keys):
        result = self.run_json("simulate", keys)
        self.check_parts(result)
        return result

    def seconds(self, keys):
        return self.step(keys)["iteration_s"]

    def check_parts(self, result):
        self.assertAlmostEqual(sum(result.get(part) or 0 for part in PARTS) / result["iteration_s"], 1, delta=ROUNDING)
        for loss in result.get("losses", []):
            self.assertGreaterEqual(loss["seconds"], -1e-12, loss)
        self.assertLess(sum(loss["seconds"] for loss in result.get("losses", [])), result["iteration_s"])
        if memory := result.get("memory"):
            self.assertAlmostEqual(sum(memory[part] for part in MEMORY), memory["peak_bytes"], delta=8)
        for share in ("mfu", "hfu"):
            self.assertTrue(0 < result.get(share, 0.5) <= 1, share)
        if evidence := result.get("evidence"):
            (least, most), (low, high) = evidence["interval_80_s"], evidence["interval_50_s"]
            self.assertTrue(0 < least <= low <= high <= most, evidence)
            self.assertEqual(evidence["quantiles_s"], sorted(evidence["quantiles_s"]))
        for one in result.get("communication", []):
            self.assertLessEqual(one["exposed_s"], one["busy_s"] * (1 + ROUNDING) + 1e-12)

    def not_longer(self, shorter, longer, tolerance=ROUNDING):
        self.assertLessEqual(self.seconds(shorter), self.seconds(longer) * (1 + tolerance), f"{shorter}\nis longer than\n{longer}")

    def same(self, one, other):
        self.assertAlmostEqual(self.seconds(one) / self.seconds(other), 1, delta=ROUNDING, msg=f"{one}\nis not\n{other}")

    # What holds of data parallelism.

    def wider_links_never_hurt(self, keys, draw):
        self.not_longer({**keys, "collective.scale": f"{{latency: 1, bandwidth: {draw.choice([1.1, 1.5, 3])}}}"}, keys)

    def less_latency_never_hurts(self, keys, draw):
        self.not_longer({**keys, "collective.scale": f"{{latency: {draw.choice([0, 0.5, 0.9])}, bandwidth: 1}}"}, keys)

    def a_scale_of_one_is_none(self, keys, _):
        self.same({**keys, "collective.scale": "{latency: 1, bandwidth: 1}"}, keys)

    def a_slower_gpu_never_helps(self, keys, _):
        slow = [{**keys, "workload.stragglers": f"[{{rank: 1, slowdown: {slowdown}}}]"} for slowdown in (1, 1.1, 1.3)]
        self.same(slow[0], keys)
        self.not_longer(slow[0], slow[1])
        self.not_longer(slow[1], slow[2])

    def which_gpu_is_slow_matters_not(self, keys, draw):
        keys = {**keys, "physics": "none"}
        one, other = (f"[{{rank: {draw.randrange(keys['cluster.world_size'])}, slowdown: 1.2}}]" for _ in range(2))
        self.same({**keys, "workload.stragglers": one}, {**keys, "workload.stragglers": other})

    def more_spread_never_helps(self, keys, draw):
        if keys.get("physics") == "none":
            raise Refused("spread is nothing here")
        shares = sorted(draw.choice([0, 0.005, 0.02, 0.05, 0.2]) for _ in range(2))
        for key in ("spread.ranks", "spread.nodes"):
            self.not_longer({**keys, key: shares[0]}, {**keys, key: shares[1]})

    def one_token_more_is_one_more(self, keys, draw):
        """Tokens need no alignment: what tiles and waves of a kernel round up is all that a token may cost beyond its own work."""
        if "workload.model" not in keys:
            raise Refused("a trace was recorded at a length")
        sequence = draw.choice([500, 1000, 1004, 2000])
        one, more = (self.seconds({**keys, "workload.sequence": length}) for length in (sequence, sequence + 1))
        self.assertLessEqual(one, more * (1 + ROUNDING))
        self.assertLessEqual(more, one * 1.05)

    def even_experts_are_even_however_said(self, _, draw):
        """Routers that spread evenly, and no word of imbalance: the load that is drawn is all that differs."""
        keys = {"workload.model": "mixtral-8x7b", "workload.micro_batch": draw.choice([2, 4]), "workload.sequence": draw.choice([512, 1024, 2048]),
                "strategy": "flat", "cluster.topology": "gb200-nvl72", "cluster.world_size": 16, "batch.global": 128, "parallelism.tensor": 4,
                "parallelism.pipeline": 2, "parallelism.expert": 2, "parallelism.sequence": "true"}
        self.assertAlmostEqual(self.seconds(keys) / self.seconds({**keys, "expert.imbalance": 1e9}), 1, delta=0.02)

    def micro_batches_add_up(self, keys, _):
        two, three, four = (self.seconds({**keys, "ddp.accumulation_steps": steps}) for steps in (2, 3, 4))
        self.assertGreater(three, two)
        self.assertAlmostEqual((three - two) / (four - three), 1, delta=1e-6)

    def sizes_have_units(self, keys, draw):
        keys = {**keys, "strategy": "ddp"}
        self.same({**keys, "ddp.bucket_cap": "25MiB"}, {**keys, "ddp.bucket_cap": draw.choice(["26214400B", "0.0244140625GiB", "26214.4kB"])})

    def packed_is_the_usual_placement(self, keys, _):
        self.same({**keys, "cluster.placement": "packed"}, keys)

    def a_slow_link_never_helps(self, keys, draw):
        """Against a whole one; of two slow ones NCCL may go around the slower, which can be the better choice."""
        link = "gpu0>gpu1" if keys["cluster.topology"] == "ring-100gbps" else "node0.nic0"
        self.not_longer(keys, {**keys, "cluster.overrides": f"[{{link: {link}, bandwidth: {draw.choice([1, 3])}GB/s}}]"})

    def a_sweeps_point_is_a_simulation(self, keys, _):
        size = keys.pop("cluster.world_size")
        point, = self.run_json("sweep", {**keys, "sweep": f"{{cluster.world_size: [{size}]}}"})["points"]
        result = self.step({**keys, "cluster.world_size": size})
        for key, value in point.items():
            if isinstance(value, float) and key not in ("p_best", "regret"):
                self.assertEqual(value, result[key], key)

    def jobs_change_nothing(self, keys, _):
        size = keys.pop("cluster.world_size")
        keys["sweep"] = f"{{cluster.world_size: [{size}, 2], collective.scale.latency: [0, 1]}}"
        one, two = (self.run_json("sweep", keys, "--jobs", jobs) for jobs in "12")
        self.assertEqual(one, two)

    def a_preset_is_its_file(self, keys, _):
        self.same({**keys, "cluster.topology": f"../topologies/{keys['cluster.topology']}.yaml"}, keys)

    def time_is_only_scaled(self, keys, _):
        if "workload.trace" not in keys:
            raise Refused("times are estimated")
        keys = {**keys, "physics": "none", "collective.algorithm": "ring"}
        twice = self.seconds({**keys, "workload.rescale.factor": 2, "collective.scale": "{latency: 2, bandwidth: 0.5}"})
        self.assertAlmostEqual(twice / self.seconds(keys), 2, delta=ROUNDING)

    def prices_are_of_gpus_and_time(self, keys, _):
        result = self.step({**keys, "cluster.price": 3.6})
        self.assertAlmostEqual(result["cost_per_step"] / (result["iteration_s"] * 1e-3 * keys["cluster.world_size"]), 1, delta=ROUNDING)

    def more_samples_take_longer(self, keys, _):
        if "workload.model" not in keys:
            raise Refused("a recorded batch is as it was")
        self.not_longer(keys, {**keys, "workload.micro_batch": keys["workload.micro_batch"] + 1})

    # What holds where GPUs share a model.

    def all_samples_count(self, keys, _):
        result = self.step(keys)
        self.assertAlmostEqual(result["samples_per_s"] * result["iteration_s"] / keys["batch.global"], 1, delta=ROUNDING)
        self.assertAlmostEqual(result["tokens_per_s"] / result["samples_per_s"] / keys["workload.sequence"], 1, delta=ROUNDING)
        if "stages" in result.get("parallelism", {}):
            self.assertEqual(result["memory"]["peak_bytes"], max(stage["peak_bytes"] for stage in result["parallelism"]["stages"]))

    def twice_the_batch_takes_longer_and_at_most_twice_as_long(self, keys, _):
        once, twice = (self.seconds({**keys, "batch.global": times * keys["batch.global"]}) for times in (1, 2))
        self.assertLess(once, twice)
        self.assertLessEqual(twice, 2 * once * (1 + ROUNDING))

    def the_data_degree_may_be_said(self, keys, _):
        shared = keys["parallelism.tensor"] * keys["parallelism.pipeline"] * keys["parallelism.context"]
        self.same({**keys, "parallelism.data": keys["cluster.world_size"] // shared}, keys)

    def recomputing_saves_memory_for_time(self, keys, _):
        none, full = (self.step({**keys, "workload.recompute": kind}) for kind in ("none", "full"))
        self.assertLessEqual(none["iteration_s"], full["iteration_s"] * (1 + ROUNDING))
        self.assertLessEqual(full["memory"]["activations_bytes"], none["memory"]["activations_bytes"])

    def a_slow_rank_never_helps(self, keys, _):
        self.not_longer(keys, {**keys, "workload.stragglers": "[{rank: 0, slowdown: 1.3}]"})

    def hold(self, draw_keys, relations, seeds):
        for seed in seeds:
            draw = random.Random(seed)
            keys = draw_keys(draw)
            relation = relations[seed % len(relations)]
            with self.subTest(f"{relation.__name__}, seed {seed}", keys=keys):
                try:
                    relation(dict(keys), draw)
                    self.held[relation.__name__] += 1
                except Refused:
                    pass
        for relation in relations:
            self.assertGreaterEqual(self.held[relation.__name__], 3, f"{relation.__name__} was hardly tried: {self.held}")

    def test_data_parallelism(self):
        self.hold(data_parallel, [
            self.wider_links_never_hurt, self.less_latency_never_hurts, self.a_scale_of_one_is_none, self.a_slower_gpu_never_helps,
            self.which_gpu_is_slow_matters_not, self.more_spread_never_helps, self.one_token_more_is_one_more, self.micro_batches_add_up, self.sizes_have_units,
            self.packed_is_the_usual_placement, self.a_slow_link_never_helps, self.a_sweeps_point_is_a_simulation, self.jobs_change_nothing,
            self.a_preset_is_its_file, self.time_is_only_scaled, self.prices_are_of_gpus_and_time, self.more_samples_take_longer],
                  range(SEED, SEED + SCENARIOS * 3 // 4))

    def test_models_that_gpus_share(self):
        self.hold(model_parallel, [
            self.all_samples_count, self.twice_the_batch_takes_longer_and_at_most_twice_as_long, self.the_data_degree_may_be_said,
            self.recomputing_saves_memory_for_time, self.even_experts_are_even_however_said, self.a_slow_rank_never_helps, self.less_latency_never_hurts],
                  range(SEED, SEED + SCENARIOS // 4))


if __name__ == "__main__":
    cli.main()
