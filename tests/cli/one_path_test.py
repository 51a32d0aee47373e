#!/usr/bin/env python3
"""A job in which every degree is 1 is the same job whether a section says so or not: iteration, operations and memory, for every strategy."""
import json

import ddpsim_cli as cli

SCENARIO = """workload: {model: mixtral-8x7b, micro_batch: 1, sequence: 4096, dtype: bf16}
cluster: {topology: superpod-h100, world_size: 64}
"""
# A section `expert`, though no experts are shared, makes it one whose GPUs share a model.
DEGREES_OF_1 = ("parallelism={tensor: 1}", "expert={dispatcher: all_to_all}")
# None is a strategy of ranks that share models: one process has all GPUs; others than ranks hold the parameters; a recorded script is no model.
NOT_SHARED = {"data_parallel", "parameter_server", "recorded"}
# What else a strategy does must be the same, too.
OPTIONS = {
    "ddp": (["ddp.bucket_cap=100MiB", "ddp.accumulation_steps=3"], ["ddp.comm_hook=bf16", "ddp.gradient_as_bucket_view=true"], ["ddp.bucket_caps=[1MiB, 50MiB, 25MiB]", 'ddp.torch="2.11"'],
            ["ddp.reduce_every_micro_batch=true", "ddp.accumulation_steps=2"], ["ddp.static_graph=true", "ddp.iteration=first"], ["physics.passes=none"], ["physics=none"]),
    "overlap": (["physics.gradient=2us"],),
    "hsdp": (["fsdp.shard_group=16"], ["fsdp.communicators=2"]),
    "zero1": (["zero.overlap_comm=true", "ddp.accumulation_steps=3"], ["zero.contiguous_gradients=false", "zero.reduce_bucket_size=100000000"]),
    "zero2": (["zero.overlap_comm=true", "ddp.accumulation_steps=3"],),
    "megatron": (["megatron.overlap_grad_reduce=false", "megatron.overlap_param_gather=false"], ["ddp.accumulation_steps=3"], ["megatron.grad_reduce_in_fp32=false"]),
}
# Ranks that hold a model across nodes share links: every class of them is replayed where models are whole, and the slowest group of each axis where
# they are not. By so much at most, of the iteration.
DIFFER = {("hsdp", "fsdp.shard_group=16"): 0.018}
SAME = 1e-12


class OnePathTest(cli.CliTest):
    def result(self, *sets):
        self.write("s.yaml", SCENARIO)
        done = self.run_ddpsim("simulate", "s.yaml", "--quiet", "--json", "out.json", *cli.set_arguments(sets))
        return self.read_json("out.json") if done.returncode == 0 else None

    def test_every_strategy(self):
        strategies = json.loads(self.ok("internals", "schema").stdout)["properties"]["strategy"]["anyOf"][0]["enum"]
        alone = set()
        for strategy in strategies:
            for sets in ([], *OPTIONS.get(strategy, ())):
                plain, shared = (self.result(f"strategy={strategy}", *sets, *degrees) for degrees in ((), DEGREES_OF_1))
                if shared is None and not sets:
                    alone.add(strategy)
                    continue
                with self.subTest(strategy=strategy, sets=sets):
                    self.assertIn("stages", shared["parallelism"])
                    by, most = self.difference(plain, shared), DIFFER.get((strategy, *sets), 0)
                    self.assertLessEqual(by, most)
                    self.assertEqual(by > 0, most > 0, "what agrees must not be listed")
        self.assertEqual(alone, NOT_SHARED)

    def difference(self, plain, shared):
        """Of the iteration, and at least 1e-12 where operations or memory differ; 0: nothing does."""
        operations = [[(one["operation"], one["count"], one["bytes"]) for one in result["communication"]] for result in (plain, shared)]
        peaks = [result["memory"]["peak_bytes"] for result in (plain, shared)]
        by = max(abs(one / other - 1) for one, other in zip([plain["iteration_s"], *plain.get("evidence", {}).get("interval_80_s", [])],
                                                           [shared["iteration_s"], *shared.get("evidence", {}).get("interval_80_s", [])]))
        alike = operations[0] == operations[1] and abs(peaks[0] / peaks[1] - 1) <= SAME
        return 0 if alike and by <= SAME else max(by, SAME)


if __name__ == "__main__":
    cli.main()
