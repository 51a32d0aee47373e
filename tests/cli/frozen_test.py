#!/usr/bin/env python3
"""Models of which a part is frozen: what is reduced, gathered and held, counted by hand."""
import ddpsim_cli as cli

# Twelve blocks of 768; the embeddings and the first six are frozen, the matrix of the head is that of the embedding.
MODEL = """workload: {model: gpt2, micro_batch: 4, sequence: 1024, dtype: bf16, framework: megatron-eager-2021,
  frozen: [wte, wpe, h.0, h.1, h.2, h.3, h.4, h.5]}
strategy: ddp
cluster: {topology: topologies/dgx-a100.yaml, world_size: 8}
physics: none
"""
BLOCK = 12 * 768 * 768 + 13 * 768
NORM = 2 * 768
EMBEDDINGS = (50257 + 1024) * 768
TRAINED = 6 * BLOCK + NORM
ALL = 12 * BLOCK + NORM + EMBEDDINGS


class FrozenTest(cli.ModelTest):
    MODEL = MODEL

    def test_all_that_is_reduced_is_trained(self):
        for strategy in ("ddp", "flat", "naive", "overlap"):
            with self.subTest(strategy):
                self.assertEqual(self.operations(f"strategy={strategy}")["data", "all_reduce"]["bytes"], 4 * TRAINED)
        for strategy in ("zero1", "zero2"):
            by = self.operations(f"strategy={strategy}")
            self.assertEqual(by["data", "all_reduce"]["bytes"], 2 * TRAINED)
            self.assertEqual(by["data", "all_gather"]["bytes"], 2 * TRAINED)
        by = self.operations("strategy=megatron")
        self.assertEqual(by["data", "reduce_scatter"]["bytes"], 4 * TRAINED)    # each is a multiple of 64, and all of 128
        self.assertEqual(by["data", "all_gather"]["bytes"], 2 * TRAINED)

    def test_units_are_gathered_as_far_as_the_backward_pass_comes(self):
        """Forward the root and 12 blocks, backward the trained ones but the last, which is still there; all that is trained is reduced once."""
        by = self.operations("strategy=fsdp")
        self.assertEqual((by["data", "all_gather"]["count"], by["data", "all_gather"]["bytes"]), (13 + 5, 2 * (ALL + 5 * BLOCK)))
        self.assertEqual((by["data", "reduce_scatter"]["count"], by["data", "reduce_scatter"]["bytes"]), (7, 4 * TRAINED))
        zero3, whole = (self.operations("strategy=zero3", "zero={max_reuse_distance: 0, max_live_parameters: 0, prefetch_bucket_size: 0, "
                                        "param_persistence_threshold: 0}", *sets) for sets in ((), ("workload.frozen=[h.0.ln_1]",)))
        self.assertEqual(zero3["data", "reduce_scatter"]["bytes"], 2 * TRAINED)
        # Six blocks and the embeddings less in the backward pass, where nothing is kept between two uses.
        self.assertEqual(whole["data", "all_gather"]["bytes"] - zero3["data", "all_gather"]["bytes"], 2 * (6 * BLOCK + EMBEDDINGS))

    def test_memory(self):
        steps = "ddp.accumulation_steps=2"    # which add gradients up
        whole, frozen = self.result(steps, "workload.frozen=[h.0.ln_1]")["memory"], self.result(steps)["memory"]
        self.assertEqual(frozen["parameters_bytes"], whole["parameters_bytes"])
        self.assertEqual(frozen["activations_bytes"], whole["activations_bytes"])
        for key, size in (("gradients_bytes", 4), ("optimizer_bytes", 8)):
            self.assertAlmostEqual(frozen[key], size * TRAINED, delta=1e-4 * frozen[key])    # memory counts no padding, nor small vectors
        sharded = self.result("strategy=fsdp")["memory"]
        self.assertAlmostEqual(sharded["optimizer_bytes"], 8 * TRAINED / 8, delta=1e-4 * sharded["optimizer_bytes"])

    def test_offloaded(self):
        """A host keeps all weights, and gradients and two moments of what is trained: 4 and 16 bytes, of 8 ranks that have an eighth each."""
        stderr = self.ok("simulate", "m.yaml", *cli.set_arguments(["strategy=fsdp", "fsdp.cpu_offload=true"])).stderr
        self.assertIn(f"each host keeps {(16 * TRAINED + 4 * (ALL - TRAINED)) / 1e9:.1f} GB", stderr)

    def test_a_stage_of_which_nothing_is_trained(self):
        """Of two stages the first one computes nothing backward, and reduces nothing."""
        for strategy in ("ddp", "zero1", "megatron", "fsdp"):
            with self.subTest(strategy):
                sets = (f"strategy={strategy}", "parallelism={pipeline: 2}", "batch.global=64")
                frozen, whole = self.result(*sets), self.result(*sets, "workload.frozen=[h.0.ln_1]")
                self.assertLess(frozen["iteration_s"], 0.9 * whole["iteration_s"])
                self.adds_up(frozen)
                self.assertNotIn("embedding", {one["axis"] for one in frozen["communication"]})    # the matrix of both ends is frozen

    def test_buckets_of_every_cap(self):
        """A sweep's caps are those of what is trained, too."""
        done = self.ok("sweep", "m.yaml", "--set", "sweep={ddp.bucket_cap: [1MiB, 10GiB]}", "--csv", "-", "--quiet").stdout
        counts = [line.split(",") for line in done.splitlines()]
        at = counts[0].index("n_buckets")
        self.assertEqual(int(counts[2][at]), 1)
        self.assertGreater(int(counts[1][at]), 12)

    def test_what_is_refused(self):
        for sets, says in [(["workload.frozen=[mpl]"], "no module is called 'mpl'"), (["workload.frozen=['*']"], "all of the model is frozen"),
                           (["workload.frozen=[]"], "no module is named"),
                           (["strategy=data_parallel"], "strategy data_parallel with frozen modules")]:
            with self.subTest(says):
                error = self.fails(2, "simulate", "m.yaml", *cli.set_arguments(sets)).stderr
                self.assertIn(says, error)
                self.assertIn("hint: ", error)
        self.write("t.yaml", "workload: {trace: gpt2-cpu, frozen: [wte]}\ncluster: {topology: topologies/dgx-a100.yaml, world_size: 8}\n")
        self.assertIn("workload.frozen goes with workload.model", self.fails(2, "simulate", "t.yaml").stderr)


if __name__ == "__main__":
    cli.main()
