#!/usr/bin/env python3
"""`trace compare`: recordings beside profiles of real runs of the same scripts (tests/trace/import/data/SOURCE.md). Usage: step_comparison_test.py BINARY SOURCE_ROOT."""
import json

import ddpsim_cli as cli


def data(name):
    return str(cli.SOURCE_ROOT / "tests/trace/import/data" / name)


class StepComparisonTest(cli.CliTest):
    def compare(self, folder, *arguments, kind="ddp"):
        done = self.run_ddpsim("trace", "compare", data(f"{folder}/{kind}.jsonl.gz"), data(f"{folder}/{kind}-rank0.json.gz"), "--json", "-", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def named(self, rows):
        return {row["name"]: row for row in rows}

    def test_two_ranks_on_gloo(self):
        """52,428 bytes a bucket: 16,896 elements and the rest of 30,080. On a CPU attention is another kernel, and AdamW steps one parameter after another."""
        found = self.compare("two_ranks_gloo")
        self.assertEqual([(one["operation"], one["elements"], one["recorded"], one["profiled"]) for one in found["collectives"]],
                         [("all_reduce", 16896, 1, 1), ("all_reduce", 13184, 1, 1)])
        self.assertTrue(found["same_order"])
        self.assertFalse(found["has_kernels"])
        products = self.named(found["classes"])["products"]
        self.assertEqual(products["recorded"], products["profiled"])
        only = self.named(found["only_profiled"])
        self.assertIn("_scaled_dot_product_flash_attention_for_cpu", only)
        self.assertIn("_scaled_dot_product_efficient_attention", self.named(found["only_recorded"]))

    def test_two_ranks_on_a_gpu(self):
        """The 13 buckets of GPT-2 small: PyTorch's first of 1 MiB, 11 of 27 MiB, one with the embeddings. 12 blocks have 4 products and the head one, forward, and twice as
        many backward: 147. cuDNN's attention was taken there, where the recording has the flash kernel."""
        found = self.compare("two_ranks_h200", "--framework", "pytorch-2026")
        self.assertEqual([(one["elements"], one["ranks"], one["recorded"], one["profiled"]) for one in found["collectives"]],
                         [(2360832, 2, 1, 1), (7087872, 2, 11, 11), (44898816, 2, 1, 1)])
        self.assertTrue(found["same_order"])
        products = self.named(found["classes"])["products"]
        self.assertEqual((products["recorded"], products["profiled"]), (147, 147))
        self.assertGreater(products["recorded_s"] / products["profiled_s"], 0.8)
        self.assertLess(products["recorded_s"] / products["profiled_s"], 1.4)
        self.assertEqual(self.named(found["only_profiled"])["_cudnn_attention_forward"]["profiled"], 12)

    def test_shards_on_a_gpu(self):
        """12 blocks and the root, which keeps its parameters: each block is gathered twice. FSDP2 pads what FSDP1 does not."""
        for kind, root in (("fsdp1", 40171776), ("fsdp2", 40172544)):
            found = self.compare("two_ranks_h200", kind=kind)
            self.assertEqual([(one["operation"], one["elements"], one["ranks"], one["recorded"], one["profiled"]) for one in found["collectives"]],
                             [("all_gather", root, 2, 1, 1), ("all_gather", 7087872, 2, 24, 24), ("reduce_scatter", 7087872, 2, 12, 12), ("reduce_scatter", root, 2, 1, 1)])
            self.assertTrue(found["same_order"])
            self.assertEqual(found["alike_in_order"], 38)
            products = self.named(found["classes"])["products"]
            self.assertEqual((products["recorded"], products["profiled"]), (147, 147))

    def test_another_step(self):
        """Whose collectives are others."""
        done = self.run_ddpsim("trace", "compare", data("two_ranks_gloo/ddp.jsonl.gz"), data("two_ranks_h200/ddp-rank0.json.gz"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("alike until number 1: there all_reduce of 16896 is recorded, and all_reduce of 2360832 profiled", done.stdout)


if __name__ == "__main__":
    cli.main()
