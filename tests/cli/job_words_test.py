#!/usr/bin/env python3
"""A job in a few words: a model, or its config.json, in the place of a scenario, and options that stand for keys."""
import json

import ddpsim_cli as cli

SAID = ("--on", "superpod-h100", "--gpus", "16", "--sequence", "1024", "--micro-batch", "2", "--strategy", "zero1", "--dtype", "fp16",
        "--framework", "fsdp-eager-2023", "--batch", "64")
SCENARIO = """workload: {model: gpt2-large, micro_batch: 2, sequence: 1024, dtype: fp16, framework: fsdp-eager-2023}
cluster: {topology: superpod-h100, world_size: 16}
strategy: zero1
batch: {global: 64}
"""
CONFIG = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 1280, "n_layer": 36, "n_head": 20, "n_positions": 1024, "vocab_size": 50257}


class JobWordsTest(cli.CliTest):
    def answer(self, *arguments):
        answer = json.loads(self.ok(*arguments, "--quiet", "--json", "-").stdout)
        answer.pop("scenario", None)
        return answer

    def test_each_command_takes_a_model_as_it_takes_the_scenario(self):
        self.write("scenario.yaml", SCENARIO)
        axis = ("--set", "sweep.zero.reduce_bucket_size=[1e6, 5e8]")
        for command, more in (("simulate", ()), ("memory", ()), ("sweep", axis)):
            with self.subTest(command):
                self.assertEqual(self.answer(command, "gpt2-large", *SAID, *more), self.answer(command, "scenario.yaml", *more))
        sized = tuple(word for word in SAID if word not in ("--gpus", "16"))
        ours, theirs = (self.answer("scale", *job, "--gpus", "8,16")["points"] for job in (("gpt2-large", *sized), ("scenario.yaml", "--set", "cluster.world_size=8")))
        self.assertEqual(ours, theirs)

    def test_a_config_json_is_its_model(self):
        self.write("models/config.json", json.dumps(CONFIG))
        ours, theirs = (self.answer("simulate", model, *SAID) for model in ("models/config.json", "gpt2-large"))
        self.assertEqual(ours["iteration_s"], theirs["iteration_s"])

    def test_words_go_on_top_of_a_scenario(self):
        self.write("scenario.yaml", SCENARIO)
        on_top = self.answer("simulate", "scenario.yaml", "--gpus", "32", "--batch", "128")
        self.assertEqual(on_top, self.answer("simulate", "scenario.yaml", "--set", "cluster.world_size=32", "--set", "batch.global=128"))
        for said in ("cluster.world_size=16", "sweep.cluster.world_size=[8, 16]"):
            done = self.fails(2, "sweep", "scenario.yaml", "--gpus", "32", "--set", said)
            self.assertIn(f"error: --gpus and --set {said.split('=')[0]} exclude each other", done.stderr)

    def test_older_spellings_are_the_same(self):
        older = ["--topology" if word == "--on" else "--global-batch" if word == "--batch" else word for word in SAID]
        self.assertEqual(self.answer("simulate", "gpt2-large", *older), self.answer("simulate", "gpt2-large", *SAID))
        plan = ("plan", "gpt2-large", "--gpus", "8", "--top", "1")
        self.assertEqual(self.answer(*plan, "--on", "dgx-h100", "--batch", "64"), self.answer(*plan, "--topology", "dgx-h100", "--global-batch", "64"))

    def test_what_nobody_says_is_said(self):
        done = self.ok("simulate", "gpt2-large", "--on", "superpod-h100", "--gpus", "16")
        self.assertIn("note: nobody says otherwise: a micro-batch of 1, a sequence of 1024, the model's own, strategy ddp\n", done.stderr)
        done = self.ok("simulate", "llama-3-8b", "--on", "superpod-h100", "--gpus", "16", "--sequence", "2048")
        self.assertIn("note: nobody says otherwise: a micro-batch of 1, strategy fsdp, as ddp would not fit\n", done.stderr)
        self.assertNotIn("nobody says otherwise", self.ok("simulate", "gpt2-large", *SAID).stderr)

    def test_the_scenario_that_is_written_is_the_job(self):
        (self.folder / "elsewhere").mkdir()
        self.write("models/config.json", json.dumps(CONFIG))
        words = ("models/config.json", "--on", "superpod-h100", "--gpus", "16", "--micro-batch", "2")
        self.ok("simulate", *words, "--quiet", "--out", "elsewhere/job.yaml")
        ours, theirs = self.answer("simulate", "elsewhere/job.yaml"), self.answer("simulate", *words)
        self.assertEqual([note for note in theirs.pop("notes") if note["code"] != "usual-job"], ours.pop("notes"))
        self.assertEqual(ours, theirs)

    def test_days_and_money(self):
        """tokens / tokens a second, and as many hours of all GPUs at the price."""
        bare = self.answer("simulate", "gpt2-large", *SAID)
        self.assertNotIn("training_days", bare)
        answer = self.answer("simulate", "gpt2-large", *SAID, "--tokens", "1.5T", "--price", "2.5")
        days = 1.5e12 / answer["tokens_per_s"] / 86400
        self.assertAlmostEqual(answer["training_days"] / days, 1, delta=1e-9)
        self.assertAlmostEqual(answer["training_cost"] / (2.5 * 16 * 24 * days), 1, delta=1e-9)
        self.assertEqual(answer["iteration_s"], bare["iteration_s"])
        failures = ("--set", "failures={mtbf: 5000h, checkpoint: 30s, restart: 10min}")
        lost = self.answer("simulate", "gpt2-large", *SAID, "--tokens", "1500B", *failures)
        self.assertAlmostEqual(lost["training_days"] * lost["goodput"]["share"] / days, 1, delta=1e-9)
        text = self.ok("plan", "gpt2-large", "--on", "dgx-h100", "--gpus", "8", "--batch", "64", "--tokens", "1.5T", "--price", "2.5").stdout
        self.assertRegex(text, r"\n1\.5T tokens in [\d.]+ days, \d+ at 2\.5 a GPU and hour\n")
        for wrong in ("many", "0", "-3B", "15X"):
            self.assertIn("--tokens:1:17", self.fails(2, "simulate", "gpt2-large", *SAID, "--tokens", wrong).stderr)

    def test_all_that_is_missing_is_one_error(self):
        self.assertIn("error: --on, --gpus, --sequence are required", self.fails(2, "simulate", "llama-3-8b").stderr)
        self.assertIn("error: --on is required", self.fails(2, "scale", "gpt2-large").stderr)
        self.assertIn("error: --on, --gpus, --batch are required", self.fails(2, "plan", "llama-3-8b").stderr)

    def test_wrong_words_are_named(self):
        done = self.fails(2, "simulate", "gpt2-large", "--on", "superpod-h100", "--gpus", "many")
        self.assertIn("--gpus:1:20: error: 'many' is not a whole number", done.stderr)
        self.assertIn("did you mean 'superpod-h100'", self.fails(2, "simulate", "gpt2-large", "--on", "superpod-h10", "--gpus", "8").stderr)
        self.assertIn("a scenario is needed", self.fails(2, "validate", "gpt2-large").stderr)


if __name__ == "__main__":
    cli.main()
