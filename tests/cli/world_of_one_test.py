#!/usr/bin/env python3
"""A world of 1 is a job like any other: nothing is communicated, and a note says so. Usage: world_of_one_test.py BINARY SOURCE_ROOT."""
import json

import ddpsim_cli as cli

NOTE = "a world of 1 communicates nothing: collectives take no time"
TOPOLOGIES = ("ring.yaml", "dgx-h100", "gb200-nvl72", "gh200-slingshot", "pcie-8gpu", "dgx1-v100", "two-level-test")
STRATEGIES = ("naive", "flat", "overlap", "ddp", "fsdp", "fsdp1", "hsdp", "hsdp1", "zero1", "zero2", "zero3", "megatron", "data_parallel")


class WorldOfOneTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write_scenario(cli.small_trace(forward="30ms", optimizer="5ms", batch_size="4"), world_size=1)    # backward takes 80 ms
        self.write("model.yaml", "workload: {model: gpt2-medium, micro_batch: 2, sequence: 1024}\nstrategy: ddp\n"
                                 "cluster: {topology: superpod-h100, world_size: 1}\nspread: none\n")

    def check(self, *sets, file="scenario.yaml"):
        """Nothing is communicated, and the note says so; the result."""
        result = self.simulate(*sets, file=file)
        self.assertEqual(result["world_size"], 1)
        self.assertEqual([result[key] for key in ("communication_s", "exposed_communication_s", "algbw_Bps", "busbw_Bps")], [0] * 4)
        self.assertEqual((result["communication"], result["algorithm"], result["network"]), ([], "none", "alone"))
        self.assertEqual([note["text"] for note in result["notes"] if note["code"] == "world-of-one"], [NOTE])
        return result

    def test_traces_under_every_strategy_on_every_kind_of_topology(self):
        for topology in TOPOLOGIES:
            for strategy in STRATEGIES:
                with self.subTest(topology=topology, strategy=strategy):
                    result = self.check(f"cluster.topology={topology}", f"strategy={strategy}", "physics=none")
                    self.assertAlmostEqual(result["iteration_s"], 0.115, delta=1e-9)
                    self.assertAlmostEqual(result["scaling_efficiency"], 1, delta=1e-9)

    def test_estimates_under_every_strategy(self):
        """Copies and hooks stay: a step of two GPUs takes no less, but for the optimizer that is sharded."""
        for strategy in STRATEGIES:
            with self.subTest(strategy=strategy):
                one = self.check(f"strategy={strategy}", file="model.yaml")
                two = self.simulate(f"strategy={strategy}", "cluster.world_size=2", file="model.yaml")
                self.assertGreater(two["exposed_communication_s"] + two["interference_s"], 0)
                self.assertLessEqual(one["iteration_s"] - one["optimizer_s"], two["iteration_s"] - two["optimizer_s"] + 1e-9)

    def test_whatever_else_is_said(self):
        for sets in (["engine.fidelity=exact"], ["engine.network=builtin", "engine.fidelity=folded"], ["collective.backend=gloo"],
                     ["collective.algorithm=tree"], ["physics.first_start=1s"], ["ddp.broadcast_buffers=1MB"], ["batch.global=16"],
                     ["cluster.groups={tensor_parallel: 1}", "workload={trace: trace.csv}"], ["cluster.placement=round_robin"],
                     ["cluster.nodes=4", "cluster.placement={random_nodes: 1}"], ["parallelism={tensor: 1, pipeline: 1}"],
                     ["parallelism={expert: 1}", "workload.model=mixtral-8x7b"], ["variability={iterations: 5, seed: 1, jitter: 0.03}"]):
            with self.subTest(sets=sets):
                self.check(*sets, file="model.yaml")

    def test_pipelines_and_tensors_of_one_copy(self):
        """A data axis of one rank."""
        for degrees in ("tensor: 2", "pipeline: 2", "tensor: 2, data: 1"):
            result = self.simulate(f"parallelism={{{degrees}}}", "cluster.world_size=2", "batch.global=8", file="model.yaml")
            self.assertNotIn("data", {one["axis"] for one in result["communication"]})

    def test_scale(self):
        for file, more in (("scenario.yaml", ()), ("model.yaml", ()), ("model.yaml", ("--strong", "--set", "workload.micro_batch=8"))):
            with self.subTest(file=file, more=more):
                done = self.ok("scale", file, "--gpus", "1:8:2", *more, "--json", "-")
                self.assertIn(f"note: {NOTE}\n", done.stderr)
                points = json.loads(done.stdout)["points"]
                self.assertEqual([point["world_size"] for point in points], [1, 2, 4, 8])
                self.assertEqual(points[0]["exposed_communication_s"], 0)
                self.assertEqual(points[0]["efficiency"], 1)

    def test_every_command(self):
        for arguments in (("memory", "model.yaml"), ("plan", "gpt2-medium", "--topology", "superpod-h100", "--gpus", "1", "--global-batch", "8"),
                          ("init", "--model", "gpt2-medium", "--topology", "superpod-h100", "--gpus", "1"),
                          ("sweep", "scenario.yaml", "--set", "sweep.cluster.world_size=[1, 2, 4]"),
                          ("sweep", "scenario.yaml", "--set", "sweep.ddp.bucket_cap=[1MiB, 25MiB]", "--html", "page.html", "--plot", "plot.svg"),
                          ("sweep", "scenario.yaml", "--exact-optimum"), ("simulate", "scenario.yaml", "--explain"),
                          ("simulate", "scenario.yaml", "--best-caps", "--set", "ddp.torch=2.11"),
                          ("simulate", "model.yaml", "--explain", "--timeline", "t.json", "--csv", "b.csv", "--plot", "gantt.svg"),
                          ("simulate", "model.yaml", "--explain", "--set", "strategy=fsdp"), ("topology", "show", "ring.yaml", "--world-size", "1")):
            with self.subTest(command=arguments):
                done = self.ok(*arguments)
                self.assertNotIn("nan", done.stdout)
        self.assertIn("a world of 1 uses none", self.fails(2, "simulate", "scenario.yaml", "--check-fidelity").stderr)

    def test_what_init_writes_runs(self):
        self.ok("init", "--model", "gpt2-medium", "--topology", "superpod-h100", "--gpus", "1", "--out", "job.yaml")
        self.check(file="job.yaml")


if __name__ == "__main__":
    cli.main()
