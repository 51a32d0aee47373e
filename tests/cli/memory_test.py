#!/usr/bin/env python3
"""`ddpsim memory` and what `simulate` says of a model: memory, MFU, tokens, cost."""
import json
import math
import pickle
import pickletools
import re

import ddpsim_cli as cli

MODEL = """workload: {model: llama-2-7b, micro_batch: 1, sequence: 4096}
cluster: {topology: superpod-h100, world_size: 64, gpu: h100-sxm, price: 2.5}
"""


class ModelTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write("m.yaml", MODEL)

    def simulated(self, *arguments):
        self.ok("simulate", "m.yaml", "--quiet", "--json", "r.json", *arguments)
        return json.loads(self.read("r.json"))


class MemoryTest(ModelTest):
    def memory(self, *arguments):
        self.ok("memory", "m.yaml", "--quiet", "--json", "r.json", *arguments)
        return json.loads(self.read("r.json"))

    def test_parts(self):
        """6,738,415,616 parameters: 6 bytes of weights (float32 and
        their casts), 4 of gradients, which several micro-batches add up, and 4 in buckets, 8 of the optimizer."""
        memory = self.memory("--set", "ddp.accumulation_steps=2")["memory"]
        parameters = 6738415616
        self.assertEqual(memory["parameters_bytes"], 6 * parameters)
        self.assertEqual(memory["gradients_bytes"], 4 * parameters)
        self.assertEqual(memory["optimizer_bytes"], 8 * parameters)
        self.assertAlmostEqual(memory["buckets_bytes"], 4 * 6738415616)
        self.assertFalse(memory["fits"])
        self.assertEqual(memory["capacity_bytes"], 81559 * 2**20)
        views = self.memory("--set", "ddp.gradient_as_bucket_view=true")["memory"]
        self.assertEqual(views["buckets_bytes"], 0)

    def test_a_timeline_has_the_peak(self):
        """What PyTorch's viewer reads: each allocation once, freed at most once, and at the highest what the parts add up to."""
        for more in ((), ("--set", "workload.recompute=full"), ("--set", "strategy=fsdp"), ("--set", "batch.global=256"),
                     ("--set", "strategy=megatron", "--set", "parallelism={tensor: 2, pipeline: 4}", "--set", "batch.global=256")):
            with self.subTest(more):
                memory = self.memory(*more, "--timeline", "t.pickle", "--plot", "t.svg")["memory"]
                written = (self.folder / "t.pickle").read_bytes()
                (trace,) = pickle.loads(written)["device_traces"]
                # The viewer, in JavaScript, takes longer numbers for another type, with which it cannot count.
                self.assertTrue(all(len(value) <= 8 for code, value, _ in pickletools.genops(written) if code.name == "LONG1" for value in [pickle.encode_long(value)]))
                held, level, most = {}, 0, 0
                for entry in trace:
                    if entry["action"] == "alloc":
                        self.assertNotIn(entry["addr"], held)
                        held[entry["addr"]] = entry["size"]
                        level += entry["size"]
                    else:
                        self.assertEqual(entry["action"], "free_completed")
                        self.assertEqual(held.pop(entry["addr"]), entry["size"])
                        level -= entry["size"]
                    most = max(most, level)
                self.assertAlmostEqual(most, memory["allocated_bytes"], delta=len(trace))
                self.assertIn(b"the GPU's memory", self.read("t.svg"))
        self.assertIn(".svg", self.fails(2, "memory", "m.yaml", "--plot", "t.png").stderr)

    def test_stages_say_what_each_holds(self):
        report = self.memory("--set", "strategy=megatron", "--set", "parallelism.pipeline=4", "--set", "batch.global=256")
        self.assertEqual([stage["layers"] for stage in report["stages"]], [8, 8, 8, 8])
        self.assertEqual(max(stage["allocated_bytes"] for stage in report["stages"]), report["memory"]["allocated_bytes"])

    def test_modules_are_recomputed(self):
        """Megatron's names: the attention core is what `selective` computes again; a feed-forward layer of 32 kept its three values of 11008 a token."""
        def step(recompute, *more):
            done = self.simulated("--set", f"workload.recompute={recompute}", "--set", "physics=none", "--set", "workload.framework=te-2025", "--set", "ddp.accumulation_steps=2", *more)
            return done["iteration_s"], done["memory"]["activations_bytes"], done["hfu"]
        self.assertEqual(step("{modules: [core_attn]}"), step("selective"))
        none, mlp = step("none"), step("{modules: [mlp]}")
        # The loss hides nothing of it: the block that is worked on is smaller than 6 bytes a logit.
        self.assertAlmostEqual(none[1] - mlp[1], 32 * 4096 * 2 * 3 * 11008, delta=1)
        self.assertGreater(mlp[0], none[0])
        self.assertGreater(mlp[2], step("{modules: [layernorm]}")[2])
        self.assertIn("unknown value 'norms'", self.fails(2, "simulate", "m.yaml", "--set", "workload.recompute={modules: [norms]}").stderr)

    def test_modules_that_a_model_lacks_are_refused(self):
        for module in ("mla_up_proj", "moe", "moe_act", "shared_experts"):
            self.assertIn(f"llama-2-7b has no '{module}' to compute again", self.fails(2, "memory", "m.yaml", "--set", f"workload.recompute={{modules: [{module}]}}").stderr)
        self.assertIn("no module is computed again", self.fails(2, "memory", "m.yaml", "--set", "workload.recompute={modules: []}").stderr)

    def test_megatron_without_its_distributed_optimizer(self):
        """18 bytes a parameter on every rank: 2 of weights, 4 of gradients, 12 of the optimizer; gradients are all-reduced, nothing is gathered, and each rank steps all."""
        megatron = ("--set", "strategy=megatron")
        whole, sharded = (self.simulated(*megatron, "--set", f"megatron.distributed_optimizer={said}") for said in ("false", "true"))
        parameters = whole["memory"]["parameters_bytes"] / 2
        self.assertEqual(whole["memory"]["gradients_bytes"], 4 * parameters)
        self.assertEqual(whole["memory"]["optimizer_bytes"], 12 * parameters)
        self.assertAlmostEqual(sharded["memory"]["optimizer_bytes"], 12 * parameters / 64, delta=1)
        self.assertAlmostEqual(whole["optimizer_s"], 64 * sharded["optimizer_s"], delta=1e-3 * whole["optimizer_s"])    # of padded buckets
        self.assertEqual({one["operation"] for one in whole["communication"]}, {"all_reduce"})
        self.assertIn("nothing is gathered", self.fails(2, "simulate", "m.yaml", *megatron, "--set", "megatron={distributed_optimizer: false, overlap_param_gather: true}").stderr)
        self.ok("simulate", "m.yaml", *megatron, "--set", "megatron={distributed_optimizer: false, overlap_grad_reduce: false}")

    def test_dropout_keeps_masks(self):
        """Two of a byte a hidden value in each of 32 blocks."""
        none, masks = (self.memory("--set", "ddp.accumulation_steps=2", "--set", f"workload.dropout={said}")["memory"]["activations_bytes"] for said in ("false", "true"))
        self.assertAlmostEqual(masks - none, 32 * 4096 * 2 * 4096, delta=1)

    def test_70b_on_one_gpu(self):
        done = self.ok("memory", "m.yaml", "--set", "workload.model=llama-2-70b", "--set", "cluster.world_size=1")
        self.assertRegex(done.stdout, r"\ndoes not fit: 1\d{3}\.\d GB on NVIDIA H100 SXM5 80GB of 86 GB, \d+\.\d\d times its memory\n")
        self.assertIn("over 16 ranks", done.stdout)

    def test_some_blocks_are_recomputed(self):
        """Of 32 blocks: none and all are those words, and in between time and memory are on the line that joins them."""
        def step(recompute):
            done = self.simulated("--set", f"workload.recompute={recompute}", "--set", "physics=none")
            return done["iteration_s"], done["memory"]["activations_bytes"], done["hfu"] * done["iteration_s"]
        for kind in ("full", "selective", "op"):
            none, some, every = step("none"), step(f"{{{kind}: 8}}"), step(kind)
            self.assertEqual(step(f"{{{kind}: 0}}"), none)
            self.assertEqual(step(f"{{{kind}: 32}}"), every)
            for at in (0, 2):
                self.assertAlmostEqual(some[at], none[at] + (every[at] - none[at]) / 4, delta=2e-3 * none[at])
            self.assertLessEqual(some[1], none[1])
        self.assertIn("33 blocks are computed again, and llama-2-7b has 32", self.fails(2, "simulate", "m.yaml", "--set", "workload.recompute={full: 33}").stderr)
        self.assertIn("one kind of recomputation", self.fails(2, "simulate", "m.yaml", "--set", "workload.recompute={full: 1, op: 1}").stderr)

    def test_another_optimizer(self):
        """Of 6.7e9 parameters in pure bfloat16: 2 of weights, 2 of gradients, and moments alone."""
        usual, pure, none = (json.loads(self.ok("simulate", "m.yaml", "--set", "workload.gradients=bf16", *more, "--json", "-").stdout)
                             for more in ([], ["--set", "optimizer={moments: bf16, master: none}"], ["--set", "optimizer={kind: sgd, master: none}"]))
        parameters = pure["memory"]["parameters_bytes"] / 2
        self.assertAlmostEqual(usual["memory"]["optimizer_bytes"], 12 * parameters, delta=1)
        self.assertAlmostEqual(pure["memory"]["optimizer_bytes"], 4 * parameters, delta=1)
        self.assertEqual(none["memory"]["optimizer_bytes"], 0)
        # 34 bytes a parameter of AdamW's step, of which its moments are 16; without a copy the weights are 4 instead of 8 + 2.
        self.assertAlmostEqual(none["optimizer_s"] / usual["optimizer_s"], 12 / 34, delta=1e-9)
        self.assertAlmostEqual(pure["optimizer_s"] / usual["optimizer_s"], 20 / 34, delta=1e-9)
        for strategy in ("ddp", "fsdp"):  # whose weights are as wide as the gradients: fp32
            self.assertIn("optimizer.master changes nothing here: it counts with weights that are held in 16 bits",
                          self.fails(2, "simulate", "m.yaml", "--set", f"strategy={strategy}", "--set", "optimizer.master=none").stderr)
        whole, pure = (json.loads(self.ok("simulate", "m.yaml", "--set", "strategy=megatron", "--set", "cluster.world_size=8", *more, "--json", "-").stdout)
                       for more in ([], ["--set", "optimizer.master=none"]))
        self.assertAlmostEqual(pure["optimizer_s"] / whole["optimizer_s"], 28 / 34, delta=1e-9)
        gradients = ("--set", "workload.gradients=bf16")
        self.assertIn("workload.gradients changes nothing here: it counts with gradients whose type neither param_dtype nor workload.dtype says",
                      self.fails(2, "simulate", "m.yaml", "--set", "strategy=zero3", *gradients).stderr)
        in_fp32 = ("simulate", "m.yaml", "--set", "strategy=zero1", "--set", "workload.dtype=fp32")
        for split in ((), ("--set", "parallelism={pipeline: 2}", "--set", "cluster.world_size=8", "--set", "batch.global=8")):
            held, half = (json.loads(self.ok(*in_fp32, *split, *more, "--json", "-").stdout)["memory"]["parameters_bytes"] for more in ((), gradients))
            self.assertEqual(half, held / 2)

    def test_another_optimizer_of_a_list_of_layers(self):
        """28 bytes a parameter of AdamW's step in float32, of which its moments are 16; momentum is one of the two."""
        layers = ("simulate", "m.yaml", "--set", "workload={model: resnet50, micro_batch: 32}")
        usual, sgd, momentum = (json.loads(self.ok(*layers, *more, "--json", "-").stdout)["optimizer_s"]
                                for more in ([], ["--set", "optimizer.kind=sgd"], ["--set", "optimizer.kind=momentum"]))
        self.assertAlmostEqual(sgd / usual, 12 / 28, delta=1e-9)
        self.assertAlmostEqual(momentum / usual, 20 / 28, delta=1e-9)
        self.assertIn("says nothing of the matrices that muon steps", self.fails(2, *layers, "--set", "optimizer.kind=muon").stderr)
        self.assertIn("all in 16 bits", self.fails(2, *layers, "--set", "optimizer.kind=sgd", "--set", "workload.gradients=bf16").stderr)

    def test_an_optimizer_of_no_model(self):
        self.write_scenario()
        self.assertIn("the section 'optimizer' changes nothing here: it counts with workload.model",
                      self.fails(2, "simulate", "scenario.yaml", "--set", "optimizer.kind=sgd").stderr)

    def test_a_large_batch(self):
        done = self.ok("simulate", "m.yaml", "--set", "workload.micro_batch=64")
        self.assertRegex(done.stdout, r"a step; does not fit: \d+\.\d of 86 GB\.|; does not fit: \d+\.\d of 86 GB\.\n")

    def test_a_small_model_fits(self):
        done = self.ok("memory", "m.yaml", "--set", "workload.model=gpt2", "--set", "workload.sequence=1024")
        self.assertRegex(done.stdout, r"\nfits: \d+\.\d GB")
        self.assertNotIn("what would change it", done.stdout)

    def test_the_host_is_among_what_would_fit(self):
        report = self.memory("--set", "workload.model=llama-2-70b", "--set", "cluster.world_size=8", "--set", "workload.recompute=full")
        fits = {change["change"]: change["fits"] for change in report["changes"]}
        self.assertFalse(fits["strategy: zero3"])
        self.assertTrue(fits["on the host: strategy: zero3, zero.offload_optimizer: true, zero.offload_param: true"])
        self.assertTrue(fits["on the host: strategy: fsdp, fsdp.cpu_offload: true"])

    def test_both_say_it_in_the_same_words(self):
        for sets, word in [(["workload.model=gpt2", "workload.sequence=1024"], "fits"), ([], "does not fit"),
                           (["workload.model=llama-2-7b", "strategy=fsdp", "cluster.world_size=8", "workload.micro_batch=5"], None)]:
            with self.subTest(word):
                arguments = cli.set_arguments(sets)
                line = next(line for line in self.ok("memory", "m.yaml", *arguments).stdout.splitlines() if "fit" in line.split(":")[0])
                self.assertRegex(line, f"^{word}: " if word else "^(fits|may not fit|does not fit): ")
                self.assertRegex(self.ok("simulate", "m.yaml", *arguments).stdout, "(?m)^memory +" + re.escape(line) + ": parameters ")

    def test_what_would_fit_grows_with_what_is_sharded(self):
        peaks = [change["peak_bytes"] for change in self.memory()["changes"] if change["change"].startswith("strategy: zero")]
        self.assertEqual(len(peaks), 3)
        self.assertEqual(peaks, sorted(peaks, reverse=True))

    def test_what_would_fit_starts_from_what_is_sharded(self):
        report = self.memory("--set", "strategy=fsdp", "--set", "workload.model=llama-2-70b", "--set", "cluster.world_size=8")
        changes = {change["change"]: change["peak_bytes"] for change in report["changes"]}
        self.assertLess(changes["recompute: full"], report["memory"]["peak_bytes"])
        self.assertIn("strategy: zero3", changes)
        self.assertNotIn("strategy: fsdp", changes)

    def test_an_unknown_key(self):
        self.assertIn("unknown key 'bogus'", self.fails(2, "memory", "m.yaml", "--set", "bogus.x=1").stderr)

    def test_a_trace_says_nothing_of_memory(self):
        self.link_data()
        done = self.fails(2, "memory", "configs/quickstart.yaml")
        self.assertIn("does not say what a GPU keeps in memory", done.stderr)


class RatesTest(ModelTest):
    def test_mfu_by_hand(self):
        """A token of Llama 2 7B: its matrices have 32 x (4 x 4096^2 + 3 x 4096 x 11008) + 32000 x 4096 = 6,607,077,376 elements,
        6 operations each; attention 12 x 32 x 4096 x 4096. 64 GPUs, 4096 tokens each a step, at a peak of 989.4e12."""
        result = self.simulated()
        operations = 6 * 6607077376 + 12 * 32 * 4096 * 4096
        self.assertAlmostEqual(result["mfu"], 4096 * operations / result["iteration_s"] / 989.4e12, places=12)
        self.assertEqual(result["hfu"], result["mfu"])
        self.assertEqual((result["model_parameters"], result["active_parameters"]), (6738415616, 6738415616))
        self.assertAlmostEqual(result["tokens_per_s"], 64 * 4096 / result["iteration_s"])
        self.assertAlmostEqual(result["tokens_per_s_per_gpu"], 4096 / result["iteration_s"])
        self.assertAlmostEqual(result["cost_per_step"], 64 * 2.5 * result["iteration_s"] / 3600)

    def test_parameters_of_a_mixture(self):
        """Of Mixtral's 8 experts a token meets 2: 12,879,925,248 of 46,702,792,704."""
        result = self.simulated("--set", "workload.model=mistralai/Mixtral-8x7B-v0.1")
        self.assertEqual((result["model_parameters"], result["active_parameters"]), (46702792704, 12879925248))

    def test_a_file_of_a_models_name_comes_first(self):
        """gpt2, but a block of 64 values: 100 x 64 + 2 x 64, and 12 x 64^2 + 13 x 64."""
        name = "openai-community/gpt2"
        self.assertEqual(self.simulated("--set", f"workload.model={name}", "--set", "workload.sequence=1024")["model_parameters"], 124439808)
        (self.folder / "openai-community").mkdir()
        (self.folder / name).write_text("{kind: transformer, hidden: 64, layers: 1, heads: 4, vocab: 100}\n")
        result = self.simulated("--set", f"workload.model={name}", "--set", "workload.sequence=1024")
        self.assertEqual(result["model_parameters"], 100 * 64 + 2 * 64 + 12 * 64 * 64 + 13 * 64)

    def test_what_failures_leave(self):
        """64 GPUs of 1,000 hours fail every 15.625 h: by equation 20 of Daly, with checkpoints of a minute after an hour of steps."""
        self.assertNotIn("goodput", self.simulated())
        goodput = self.simulated("--set", "failures={mtbf: 1000h, checkpoint: 1min, restart: 10min, interval: 1h}")["goodput"]
        mtbf = 1000 * 3600 / 64
        share = 3600 / mtbf / (math.exp(600 / mtbf) * (math.exp(3660 / mtbf) - 1))
        self.assertEqual((goodput["mtbf_s"], goodput["checkpoint_interval_s"]), (mtbf, 3600))
        self.assertAlmostEqual(goodput["share"], share, places=12)
        self.assertAlmostEqual(goodput["tokens_per_s"], share * self.simulated()["tokens_per_s"])
        done = self.ok("simulate", "m.yaml", "--set", "failures={mtbf: 1000h, checkpoint: 1min, restart: 10min}")
        self.assertRegex(done.stdout, r"goodput +9\d\.\d % of the time, with a failure every 15.6 h and a checkpoint every 42\.\d min: ")

    def test_recomputation_counts_as_hardware_only(self):
        result = self.simulated("--set", "workload.recompute=full")
        self.assertGreater(result["hfu"], 1.2 * result["mfu"])


class FittingTest(cli.CliTest):
    """A 7B on 128 H100s: what is fastest holds 81.6 GB, and what is best must fit."""
    SCENARIO = """workload: {model: llama-2-7b, micro_batch: 2, sequence: 4096}
cluster: {topology: superpod-h100, world_size: 128, gpu: h100-sxm}
strategy: ddp
sweep: {strategy: [ddp, fsdp, megatron]}
"""

    def test_the_best_of_a_sweep_fits(self):
        self.write("scenario.yaml", self.SCENARIO)
        done = self.ok("sweep", "scenario.yaml", "--json", "s.json")
        result = self.read_json("s.json")
        fits = {point["strategy"]: point["memory"]["fits"] for point in result["points"]}
        times = {point["strategy"]: point["iteration_s"] for point in result["points"]}
        self.assertEqual(fits, {"ddp": False, "fsdp": True, "megatron": False})
        self.assertLess(times["megatron"], times["fsdp"])
        self.assertEqual(result["best"]["strategy"], "fsdp")
        self.assertIn("(faster, but does not fit into a GPU's memory: strategy megatron, ", done.stdout)
        done = self.ok("sweep", "scenario.yaml", "--set", "sweep.strategy=[ddp, megatron]")
        self.assertIn("none of the points fits into a GPU's memory", done.stdout)

    def test_memory_and_sweep_say_the_same(self):
        """Of a GPU of 85.5 GB: 81.2 GB surely fit. In the table a sign of one function's word."""
        self.write("scenario.yaml", self.SCENARIO)
        signs = {"fits": r"\d+\.\d", "may not fit": r"\? \d+\.\d", "does not fit": r"! \d+(\.\d)?"}
        seen = set()
        for sequence in (4096, 5120, 8192):
            sets = ["--set", "strategy=fsdp", "--set", "workload.micro_batch=3", "--set", f"workload.sequence={sequence}"]
            shown = self.ok("memory", "scenario.yaml", *sets).stdout
            word, = (word for word in signs if f"\n{word}: " in shown)
            head, row = self.ok("sweep", "scenario.yaml", *sets, "--set", "sweep={strategy: [fsdp]}").stdout.splitlines()[:2]
            end = re.search(r" GB( |$)", head).start() + 3
            self.assertRegex(row[:end], rf" {signs[word]}$")
            seen.add(word)
        self.assertEqual(seen, set(signs))

    def test_a_node_that_is_not_full_is_said(self):
        self.write("scenario.yaml", self.SCENARIO)
        codes = lambda n: [note["code"] for note in self.simulate("strategy=fsdp", f"cluster.world_size={n}")["notes"]]
        self.assertIn("partial-node", codes(100))
        nine = self.ok("simulate", "scenario.yaml", "--set", "strategy=fsdp", "--set", "cluster.world_size=9").stderr
        self.assertIn("9 GPUs fill 1 node of 8 and leave 1 on another", nine)
        self.assertNotIn("partial-node", codes(104))
        self.assertNotIn("partial-node", codes(4))

    def test_who_calibrated_a_step_is_not_told_to(self):
        self.write("scenario.yaml", self.SCENARIO)
        usual = self.simulate("strategy=fsdp")
        fit = ("calibrate", "scenario.yaml", "--set", "strategy=fsdp", "--out", "mine.yaml", "--step")
        self.assertNotIn("machines and frameworks that were measured", self.ok(*fit, f"{1.02 * usual['iteration_s']}s").stderr)
        notes = lambda *sets: [note["text"] for note in self.simulate("strategy=fsdp", *sets)["notes"] if note["code"] == "compute-estimated"]
        self.assertIn("calibrate --step", notes()[0])
        for key in ("framework", "compute"):
            self.assertNotIn("calibrate --step", notes(f"workload.{key}=mine.yaml")[0])
        self.assertIn("machines and frameworks that were measured reach 0.52 to 0.834", self.ok(*fit, "1.4s").stderr)


if __name__ == "__main__":
    cli.main()
