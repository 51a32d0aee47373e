#!/usr/bin/env python3
"""`ddpsim capture`: a real capture on the CPU, and what goes wrong. Usage: capture_test.py BINARY SOURCE_ROOT."""
import csv
import shutil
import subprocess

import ddpsim_cli as cli

SMALL = ["--model", "gpt2", "--device", "cpu", "--batch", "1", "--sequence", "16", "--warmup", "0"]


class CaptureTest(cli.CliTest):
    def capture(self, *arguments):
        return self.ok("capture", *SMALL, *arguments)

    def test_gpt2_on_the_cpu(self):
        """148 gradients, the tied embedding last; PyTorch's default buckets of them are 13."""
        done = self.capture("--iterations", "3", "--out", "t.csv", "--steps", "steps.csv")
        self.assertIn("148 gradients, 124439808 elements", done.stdout)
        lines = self.read("t.csv").decode().splitlines()
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
        self.assertEqual(len(rows), 148)
        self.assertEqual(sum(int(row["elements"]) for row in rows), 124_439_808)
        self.assertEqual(rows[0]["gradient"], "transformer.ln_f.weight")
        self.assertEqual(rows[-1]["gradient"], "transformer.wte.weight")
        self.assertEqual(rows[-1]["parameter"], "0")
        times = [float(row["ready_s"]) for row in rows]
        self.assertEqual(times, sorted(times))
        self.assertGreater(times[0], 0)
        self.assertGreater(times[-1], times[0])
        self.assertTrue(all(float(row["ready_std_s"]) >= 0 for row in rows))
        self.check_forward_times({row["gradient"]: float(row["forward_s"]) for row in rows})
        for start in ("# model: gpt2", "# device: ", "# batch_size: 1", "# sequence_length: 16", "# torch: ", "# forward: ",
                      "# optimizer: ", "# source: ddpsim capture --model gpt2 ", "# captured: 20"):
            self.assertTrue(any(line.startswith(start) for line in lines), start)

        steps = list(csv.DictReader(self.read("steps.csv").decode().splitlines()))
        self.assertEqual([row["step"] for row in steps], ["1", "2", "3"])
        backward = sorted(float(row["backward_s"]) for row in steps)
        self.assertEqual(backward[1], times[-1])
        for row in steps:
            parts = sum(float(row[part]) for part in ("forward_s", "backward_s", "optimizer_s"))
            self.assertAlmostEqual(float(row["compute_s"]), parts, places=8)

        self.write_scenario(self.read("t.csv").decode())
        self.assertEqual(len(self.simulate()["buckets"]), 13)
        jittered = self.simulate("variability={seed: 1, iterations: 50, jitter: {observed: steps.csv}}")
        self.assertEqual(jittered["iterations"]["count"], 50)

    def check_forward_times(self, ends):
        """A module after the other; weight and bias end together; the head comes after the last of them."""
        blocks = [f"transformer.h.{block}.{module}" for block in range(12)
                  for module in ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")]
        modules = ["transformer.wte", "transformer.wpe", *blocks, "transformer.ln_f"]
        times = [ends[module + ".weight"] for module in modules]
        self.assertEqual(times, sorted(times))
        self.assertGreater(times[0], 0)
        for block in blocks:
            self.assertEqual(ends[block + ".weight"], ends[block + ".bias"])
        text = self.read("t.csv").decode()
        forward = text.split("# forward: ")[1].split("\n")[0]
        seconds = float(forward.removesuffix("ms")) / 1e3 if forward.endswith("ms") else float(forward.removesuffix("s"))
        self.assertLess(times[-1], seconds)

    def test_two_captures_agree_in_all_but_time(self):
        """The order is the same, and the trace of one is what the other would have been called."""
        arguments = ("--iterations", "1", "--optimizer", "sgd", "--out")
        done = self.capture(*arguments, "t.csv", "--quiet")
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        printed = self.capture(*arguments, "-").stdout
        self.assertTrue(printed.startswith("# ddpsim-trace: 2\n"))
        tables = [[line for line in text.splitlines() if not line.startswith("#")] for text in (printed, self.read("t.csv").decode())]
        self.assertEqual(len(tables[0]), 149)
        self.assertEqual(*([(row["gradient"], row["elements"], row["dtype"], row["parameter"]) for row in csv.DictReader(table)] for table in tables))

    def test_bfloat16(self):
        done = self.capture("--iterations", "1", "--optimizer", "sgd", "--precision", "bfloat16", "--out", "t.csv")
        text = self.read("t.csv").decode()
        self.assertIn("# Autocast to bfloat16; parameters and gradients are float32.", text)
        self.assertIn("transformer.wte.weight,38597376,float32,", text)


class UsageTest(cli.CliTest):
    def refused(self, code, *arguments):
        """What is said on standard error; nothing is written."""
        before = self.files()
        done = self.fails(code, "capture", *arguments)
        self.assertEqual((done.stdout, self.files()), ("", before))
        return done.stderr

    def test_no_gpu(self):
        """No GPU can be seen, or no CUDA is in this LibTorch; either way the message says what was looked for."""
        done = self.fails(3, "capture", "--device", "cuda", "--out", "t.csv", env=cli.environment(CUDA_VISIBLE_DEVICES=""))
        self.assertEqual((done.stdout, self.files()), ("", []))
        stderr = done.stderr
        self.assertRegex(stderr, "^error: (--device cuda needs a LibTorch with CUDA; this ddpsim was built with LibTorch [0-9.]+, "
                                 "without|no CUDA GPU was found: cudaGetDeviceCount says '.*')\nhint: ")

    def test_without_libtorch(self):
        """A ddpsim that stands alone says how to get the rest."""
        alone = shutil.copy(cli.BINARY, self.folder)
        done = subprocess.run([alone, "capture", *SMALL, "--out", "t.csv"], cwd=self.folder, env=cli.environment(),
                              capture_output=True, text=True, timeout=cli.TIMEOUT_S)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertEqual(done.stderr, "error: capture needs LibTorch, and this ddpsim was built without it\n"
                                 "hint: 'scripts/run capture ...' installs LibTorch and builds what is missing; in a build of your "
                                 "own, install libtorch-dev and configure with -DDDPSIM_WITH_LIBTORCH=ON\n")

    def test_a_full_disk(self):
        with open("/dev/full", "w") as full:
            done = self.fails(2, "capture", *SMALL, "--iterations", "1", "--optimizer", "sgd", "--out", "-", stdout=full)
        self.assertIn("standard output cannot be written to its end", done.stderr)

    def test_an_output_that_cannot_be_written(self):
        self.assertIn("nowhere", self.refused(2, *SMALL, "--out", "nowhere/t.csv"))

    def test_values_out_of_range(self):
        for option, value in (("--model", "gpt3"), ("--sequence", "1025"), ("--sequence", "0"), ("--batch", "0"), ("--batch", "-1"),
                              ("--iterations", "0"), ("--dropout", "1"), ("--dropout", "nan"), ("--device", "tpu"),
                              ("--precision", "fp8"), ("--optimizer", "lion"), ("--threads", "-1"), ("--seed", "x"),
                              ("--warmup", "-1")):
            with self.subTest(option=option, value=value):
                stderr = self.refused(2, option, value, "--out", "t.csv")
                self.assertIn(option, stderr)
                self.assertIn("hint: see 'ddpsim capture --help'", stderr)

    def test_help(self):
        self.assertIn("ddpsim capture --model gpt2 --device cpu", self.ok("capture", "--help").stdout)


if __name__ == "__main__":
    cli.main()
