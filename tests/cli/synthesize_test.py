#!/usr/bin/env python3
"""`ddpsim trace synthesize`: estimated layer traces, from a model by its sizes or a list of layers to a simulation."""
import csv
import json
import re

import ddpsim_cli as cli

GPU = "gpus/h100-sxm.yaml"
PARAMETERS = {"gpt2": 124439808, "gpt2-medium": 354823168, "gpt2-large": 774030080, "gpt2-xl": 1557611200}


class SynthesizeTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.link_data()

    def synthesize(self, *arguments, out="t.csv"):
        """What was said, the header as a dictionary and the rows."""
        done = self.ok("trace", "synthesize", *arguments, "--out", out)
        lines = self.read(out).decode().splitlines()
        header = dict(re.fullmatch(r"# (\w\S*): (.*)", line).groups() for line in lines if re.match(r"# \w\S*: ", line))
        return done, header, list(csv.DictReader(line for line in lines if not line.startswith("#")))


class ModelTest(SynthesizeTest):
    def test_all_sizes(self):
        for model, parameters in PARAMETERS.items():
            with self.subTest(model):
                _, header, rows = self.synthesize("--model", model, "--gpu", GPU)
                self.assertEqual(header["model"], model)
                self.assertEqual(sum(int(row["elements"]) for row in rows), parameters)
                self.assertEqual({row["dtype"] for row in rows}, {"float32"})
                self.assertEqual((rows[0]["gradient"], rows[-1]["gradient"]), ("transformer.ln_f.weight", "transformer.wte.weight"))

    def test_says_what_it_is(self):
        done, header, _ = self.synthesize("--model", "gpt2-xl", "--batch", "4", "--gpu", GPU)
        self.assertEqual(done.stdout, "")
        self.assertIn("note: compute times are estimated (framework fsdp-eager-2023, the default)", done.stderr)
        self.assertIn("wrote 580 gradients to t.csv: estimated, forward ", done.stderr)
        self.assertEqual(header["source"], "ddpsim trace synthesize --model gpt2-xl --batch 4 --sequence 1024 --gradients float32 "
                         f"--framework fsdp-eager-2023 --gpu {GPU}")
        self.assertEqual(header["synthetic"], "compute law, framework fsdp-eager-2023")
        self.assertEqual((header["device"], header["batch_size"], header["sequence_length"]), ("NVIDIA H100 SXM5 80GB", "4", "1024"))
        self.assertRegex(self.ok("trace", "show", "t.csv").stdout,
                         r"(?m)^synthetic +estimated, not recorded [(]compute law, framework fsdp-eager-2023[)]$")

    def test_is_what_a_scenario_computes(self):
        """The trace, simulated, takes as long as workload.model does."""
        def iteration(workload):
            (self.folder / "s.yaml").write_text(f"workload: {workload}\n"
                                                "cluster: {topology: dgx-h100, world_size: 8, gpu: h100-sxm}\nphysics: {interference: 0}\nspread: none\n")
            return json.loads(self.ok("simulate", "s.yaml", "--json", "-").stdout)["iteration_s"]
        shape = "micro_batch: 2, sequence: 2048, dtype: bf16, recompute: full, framework: torchtitan-2024"
        arguments = ("--micro-batch", "2", "--sequence", "2048", "--dtype", "bf16", "--recompute", "full", "--framework", "torchtitan-2024")
        for model in ("mpt-1b", "llama-3-8b"):
            self.synthesize("--model", model, *arguments, "--gpu", "h100-sxm")
            self.assertAlmostEqual(iteration("{trace: t.csv}") / iteration(f"{{model: {model}, {shape}}}"), 1, delta=1e-12)

    def test_a_config_json_and_a_step_that_does_not_fit(self):
        (self.folder / "config.json").write_text(json.dumps({
            "model_type": "stablelm", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 8192,
            "hidden_act": "silu", "vocab_size": 32064, "tie_word_embeddings": False}))
        done, header, rows = self.synthesize("--model", "config.json", "--sequence", "4096", "--gpu", "a100-sxm4-40gb")
        self.assertEqual(sum(int(row["elements"]) for row in rows), 3821079552)
        self.assertIn("note: model_type 'stablelm' is none whose parameters were checked", done.stderr)
        self.assertRegex(done.stderr, r"note: does not fit: [0-9.]+ GB on NVIDIA A100 SXM4 40GB of 43 GB, .* with nothing sharded")
        done, _, _ = self.synthesize("--model", "gpt2", "--gpu", GPU)
        self.assertNotIn("fit", done.stderr.replace("fitted", ""))

    def test_known_times_scale_it(self):
        _, header, rows = self.synthesize("--model", "gpt2", "--gpu", GPU, "--forward", "10ms", "--backward", "30ms", "--optimizer", "2ms")
        self.assertEqual((header["forward"], header["optimizer"]), ("10ms", "2ms"))
        self.assertAlmostEqual(float(rows[-1]["ready_s"]), 0.03)
        self.assertLessEqual(max(float(row["forward_s"]) for row in rows), 0.01 + 1e-12)

    def test_its_source_makes_it_again(self):
        self.synthesize("--model", "gpt2", "--batch", "8", "--dtype", "fp16", "--gradients", "fp16", "--gpu", GPU,
                        "--framework", "megatron-eager-2022", "--recompute", "selective", "--attention", "unfused", "--backward", "20ms")
        first = self.read("t.csv")
        source = re.search(r"(?m)^# source: ddpsim (.*)$", first.decode())[1]
        self.ok(*source.split(), "--out", "again.csv")
        self.assertEqual(self.read("again.csv"), first)

    def test_gradients_in_bfloat16_are_half_as_large(self):
        _, _, rows = self.synthesize("--model", "gpt2", "--gpu", GPU, "--gradients", "bfloat16")
        self.assertEqual({row["dtype"] for row in rows}, {"bfloat16"})

    def test_every_gpu(self):
        for path in sorted((self.folder / "gpus").glob("*.yaml")):
            with self.subTest(path.name):
                self.synthesize("--model", "gpt2", "--dtype", "fp16", "--gpu", f"gpus/{path.name}")

    def test_a_faster_gpu_takes_less_time(self):
        last = {}
        for gpu in ("v100-sxm2-32gb", "a100-sxm4-40gb", "h100-sxm", "b200-sxm"):
            _, _, rows = self.synthesize("--model", "gpt2-large", "--dtype", "float16", "--gpu", f"gpus/{gpu}.yaml")
            last[gpu] = float(rows[-1]["ready_s"])
        self.assertEqual(list(last.values()), sorted(last.values(), reverse=True))


class LayersTest(SynthesizeTest):
    def test_models(self):
        for model, gradients, parameters in (("bert-base-qa", 199, 108893186), ("cs336-xl", 435, 1998235200)):
            _, header, rows = self.synthesize("--layers", f"models/{model}.yaml", "--batch", "2", "--sequence", "512", "--gpu", GPU)
            self.assertEqual((header["model"], len(rows)), (model, gradients))
            self.assertEqual(sum(int(row["elements"]) for row in rows), parameters)

    def test_names_and_order(self):
        _, _, rows = self.synthesize("--layers", "models/cs336-xl.yaml", "--gpu", GPU)
        self.assertEqual([row["gradient"] for row in rows[:5]],
                         ["lm_head.weight", "ln_final.weight", "layers.47.ffn.w2.weight", "layers.47.ffn.w3.weight",
                          "layers.47.ffn.w1.weight"])
        self.assertEqual([int(row["parameter"]) for row in rows], list(reversed(range(len(rows)))))

    def test_known_times(self):
        done, header, rows = self.synthesize("--layers", "models/cs336-xl.yaml", "--batch", "2", "--sequence", "512",
                                             "--forward", "155ms", "--backward", "296ms", "--optimizer", "272ms")
        self.assertEqual((header["forward"], header["optimizer"], header["synthetic"]), ("155ms", "272ms", "FLOPs"))
        self.assertAlmostEqual(float(rows[-1]["ready_s"]), 0.296)
        self.assertNotIn("device", header)
        self.assertEqual(done.stderr,
                         "wrote 435 gradients to t.csv: estimated, forward 155 ms, backward 296 ms, optimizer 272 ms\n")

    def test_known_times_with_the_shape_of_a_gpu(self):
        _, header, rows = self.synthesize("--layers", "models/bert-base-qa.yaml", "--gpu", GPU, "--forward", "10ms")
        self.assertEqual(header["forward"], "10ms")
        self.assertNotAlmostEqual(float(rows[-1]["ready_s"]), 0.02)


class EstimateTest(SynthesizeTest):
    def test_simulates(self):
        self.synthesize("--model", "gpt2", "--dtype", "bf16", "--gpu", GPU)
        self.write_scenario()
        result = self.simulate("workload.trace=t.csv")
        self.assertEqual(sum(bucket["bytes"] for bucket in result["buckets"]), 4 * PARAMETERS["gpt2"])

    def test_the_same_bytes_every_time(self):
        arguments = ("--layers", "models/bert-base-qa.yaml", "--gpu", GPU)
        self.synthesize(*arguments)
        first = self.read("t.csv")
        self.synthesize(*arguments)
        self.assertEqual(self.read("t.csv"), first)

    def test_to_standard_output(self):
        done = self.ok("trace", "synthesize", "--model", "gpt2", "--gpu", GPU, "--out", "-")
        self.synthesize("--model", "gpt2", "--gpu", GPU)
        self.assertEqual(done.stdout.encode(), self.read("t.csv"))

    def test_recorded_traces_say_nothing_of_it(self):
        for path in sorted((self.folder / "traces").glob("gpt2-*-cpu.csv")):
            self.assertNotIn("synthetic", self.ok("trace", "show", f"traces/{path.name}").stdout)


if __name__ == "__main__":
    cli.main()
