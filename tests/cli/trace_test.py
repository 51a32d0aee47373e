#!/usr/bin/env python3
"""`ddpsim trace`: the summary, and the import that made the trace of GPT-2 large."""
import re

import ddpsim_cli as cli

TRACE = "gpt2-large-a100-bs4.csv"
SIZES, TIMES = "layer-sizes-gpt2_large-bs4.csv", "layer-times-gpt2_large-bs4.csv"


class TraceTest(cli.CliTest):
    def import_tables(self, *arguments):
        data = cli.SOURCE_ROOT / "tests/trace/data"
        for name in (SIZES, TIMES):
            self.write(name, (data / name).read_bytes())
        return self.ok("trace", "import", "--format", "layer-times", SIZES, TIMES, *arguments)

    def test_import_makes_the_recorded_trace_again(self):
        """The command that the trace's own `source` line gives."""
        original = (cli.SOURCE_ROOT / "traces" / TRACE).read_bytes()
        source = re.search(r"^# source: (.*)$", original.decode(), re.MULTILINE).group(1)
        for part in (f"ddpsim trace import --format layer-times {SIZES} {TIMES}", '--device "NVIDIA A100"', "--batch-size 4",
                     "--sequence-length 1024"):
            self.assertIn(part, source)
        done = self.import_tables("--device", "NVIDIA A100", "--batch-size", "4", "--sequence-length", "1024", "--source", source,
                                  "--out", TRACE)
        self.assertEqual(self.read(TRACE), original)
        # 36 blocks of 12 tensors, the final norm's 2, both embeddings: 436.
        self.assertEqual((done.stdout, done.stderr), ("", f"wrote 436 gradients to {TRACE}\n"))
        self.assertEqual(self.files(), sorted([SIZES, TIMES, TRACE]))

    def test_import_untied(self):
        self.import_tables("--untied", "--out", "untied.csv")
        self.assertIn(b"\nlm_head.weight,64328960,", self.read("untied.csv"))

    def test_an_imported_trace_simulates(self):
        self.import_tables("--out", "new.csv")
        self.write_scenario()
        self.assertEqual(self.simulate("workload.trace=new.csv", "strategy=naive")["n_buckets"], 436)

    def test_show(self):
        self.copy_data()
        done = self.ok("trace", "show", f"traces/{TRACE}")
        self.assertEqual(done.stderr, "")
        for pattern in (r"^model +gpt2-large$", r"^device +NVIDIA A100$", r"^forward +397.465 ms$", r"^optimizer +79.7461 ms$",
                        # 774,030,080 parameters of 4 bytes are 2.883 GiB.
                        r"^gradients +436 with 774030080 elements, 2.883 GiB \(float32\)$"):
            self.assertRegex(done.stdout, re.compile(pattern, re.MULTILINE))

    def test_show_without_a_header(self):
        self.write("plain.csv", cli.small_trace(n_gradients=2))
        done = self.ok("trace", "show", "plain.csv")
        self.assertRegex(done.stdout, r"(?m)^forward +not recorded")
        self.assertIn("2 with 2097152 elements, 8 MiB", done.stdout)


if __name__ == "__main__":
    cli.main()
