#!/usr/bin/env python3
"""A job in which every degree is 1 is the same job whether a section says so or not: iteration, operations and memory, for every strategy."""
import json

import ddpsim_cli as cli

SCENARIO = """workload: {model: mixtral-8x7b, micro_batch: 1, sequence: 4096, dtype: bf16}
cluster: {topology: superpod-h100, world_size: 64}
"""
# A section `expert`, though no experts are shared, makes it one whose GPUs share a model.
DEGREES_OF_1 = ("parallelism={tensor: 1}", "expert={dispatcher: all_to_all}")
# Two implementations, which differ: by so much at most, of the iteration. What agrees must not be here.
DIFFER = {"ddp": 0.082, "flat": 0.216, "zero1": 0.166, "megatron": 0.022}
# And so many have one only.
ONE_ONLY = {"naive", "overlap", "hsdp", "hsdp1", "data_parallel", "parameter_server"}
SAME = 1e-12


class OnePathTest(cli.CliTest):
    def result(self, *sets):
        self.write("s.yaml", SCENARIO)
        done = self.run_ddpsim("simulate", "s.yaml", "--quiet", "--json", "out.json", *cli.set_arguments(sets))
        return self.read_json("out.json") if done.returncode == 0 else None

    def test_every_strategy(self):
        strategies = json.loads(self.ok("schema").stdout)["properties"]["strategy"]["enum"]
        one_only, differ = set(), {}
        for strategy in strategies:
            plain, shared = self.result(f"strategy={strategy}"), self.result(f"strategy={strategy}", *DEGREES_OF_1)
            if plain is None or shared is None:
                one_only.add(strategy)
                continue
            self.assertIn("parallelism", shared)
            if by := self.difference(plain, shared):
                differ[strategy] = by
        self.assertEqual(one_only, ONE_ONLY)
        self.assertEqual(set(differ), set(DIFFER))
        for strategy, most in DIFFER.items():
            self.assertLess(differ[strategy], most, strategy)

    def difference(self, plain, shared):
        """Of the iteration, and at least 1e-12 where operations or memory differ; 0: nothing does."""
        operations = [[(one["operation"], one["count"], one["bytes"]) for one in result["communication"]] for result in (plain, shared)]
        peaks = [result["memory"]["peak_bytes"] for result in (plain, shared)]
        by = abs(plain["iteration_s"] / shared["iteration_s"] - 1)
        alike = operations[0] == operations[1] and abs(peaks[0] / peaks[1] - 1) <= SAME
        return 0 if alike and by <= SAME else max(by, SAME)


if __name__ == "__main__":
    cli.main()
