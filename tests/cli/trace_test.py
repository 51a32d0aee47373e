#!/usr/bin/env python3
"""`ddpsim trace`: the summary, and the import that made the trace of GPT-2 large."""
import csv
import io
import json
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
        self.link_data()
        done = self.ok("trace", "show", f"traces/{TRACE}")
        self.assertEqual(done.stderr, "")
        for pattern in (r"^model +gpt2-large$", r"^device +NVIDIA A100$", r"^forward +397.465 ms$", r"^optimizer +79.7461 ms$",
                        # 774,030,080 parameters of 4 bytes are 2.883 GiB.
                        r"^gradients +436 with 774030080 elements, 2.883 GiB \(float32\)$"):
            self.assertRegex(done.stdout, re.compile(pattern, re.MULTILINE))

    def test_show_without_a_header(self):
        whole = cli.small_trace(n_gradients=2)
        self.write("plain.csv", whole.replace("# forward: 0s\n", "").replace("# optimizer: 0s\n", ""))
        done = self.ok("trace", "show", "plain.csv")
        self.assertRegex(done.stdout, r"(?m)^forward +not recorded")
        self.assertRegex(done.stdout, r"(?m)^registration +not recorded: the reverse of arrival is assumed")
        self.assertIn("note: the trace has no forward and optimizer times", done.stderr)
        self.assertIn("2 with 2097152 elements, 8 MiB", done.stdout)

    def test_show_buckets(self):
        """Of 1 MiB each, complete every 2 ms: four to a bucket of 4 MiB, the last one left open."""
        self.write("plain.csv", cli.small_trace(n_gradients=6, elements=cli.MIB // 4))
        table = self.ok("trace", "show", "plain.csv", "--bucket-cap", "4MiB").stdout.split("\n\n")[-1].splitlines()
        self.assertEqual(table[0], "2 buckets, bucket cap 4 MiB, times in ms from the start of the backward pass")
        self.assertEqual([line.split() for line in table[2:]], [["0", "4.0000", "4", "8.000"], ["1", "2.0000", "2", "12.000"]])
        for arguments, n in ((("--torch", "2.3", "--bucket-cap", "4MiB"), 3), (("--first-bucket-cap", "1MiB"), 2), (("--torch", "2.3"), 2),
                             (("--bucket-cap", "1B"), 6)):
            self.assertIn(f"\n\n{n} buckets, ", self.ok("trace", "show", "plain.csv", *arguments).stdout)
        self.assertNotIn("bucket", self.ok("trace", "show", "plain.csv").stdout)

    def test_show_for_programs(self):
        """Six gradients of 1 MiB, 2 ms apart; a bucket of four and one of two, as the table has them."""
        self.write("plain.csv", cli.small_trace(n_gradients=6, elements=cli.MIB // 4))
        caps = ("--bucket-cap", "4MiB")
        result = json.loads(self.ok("trace", "show", "plain.csv", "--json", "-").stdout)
        self.assertEqual([(one["gradient"], one["bytes"], one["ready_s"]) for one in result["gradients"]],
                         [(f"g{k}", cli.MIB, (k + 1) * 0.002) for k in range(6)])
        self.assertEqual((result["backward_s"], result["forward_s"], result["bytes"]), (0.012, 0, 6 * cli.MIB))
        self.assertNotIn("buckets", result)
        rows = list(csv.DictReader(io.StringIO(self.ok("trace", "show", "plain.csv", "--csv", "-").stdout)))
        self.assertEqual([row["gradient"] for row in rows], [f"g{k}" for k in range(6)])
        table = self.ok("trace", "show", "plain.csv", *caps, "--json", "t.json", "--csv", "t.csv").stdout.split("\n\n")[-1].splitlines()
        buckets = self.read_json("t.json")["buckets"]
        self.assertEqual([[str(one["index"]), f"{one['bytes'] / cli.MIB:.4f}", str(one["n_gradients"]), f"{one['ready_s'] * 1e3:.3f}"] for one in buckets],
                         [line.split() for line in table[2:]])
        self.assertEqual([{key: float(value) for key, value in row.items()} for row in self.read_csv("t.csv")], buckets)
        self.assertEqual(self.read_json("t.json")["bucket_cap_bytes"], 4 * cli.MIB)

    def test_show_plot(self):
        self.write("plain.csv", cli.small_trace(n_gradients=6))
        done = self.ok("trace", "show", "plain.csv", "--plot", "trace.svg", "--bucket-cap", "8MiB")
        self.assertIn("\n\n3 buckets, bucket cap 8 MiB, ", done.stdout)
        self.assertIn(b"Backward pass: 3 buckets, bucket cap 8 MiB", self.read("trace.svg"))
        self.assertNotIn("buckets", self.ok("trace", "show", "plain.csv", "--plot", "trace.svg").stdout)

    def test_show_recorded(self):
        self.write("plain.csv", cli.small_trace(n_gradients=4))  # 4 MiB each
        header = "# ddpsim-recorded: 1\n# world_size: 2\n# steps: 1\ncollective,elements,dtype,ready_s,start_s,end_s,duration_s\n"
        self.write("r.csv", header + "0,2097152,float32,0,1,2,1\n1,2097152,float32,0,2,3,1\n")
        done = self.ok("trace", "show", "plain.csv", "--recorded", "r.csv")
        self.assertIn("\nrecorded 2 all-reduces: PyTorch's buckets with bucket_cap 8MiB\n"
                      "  first_bucket_cap  4194305 B to 8388608 B (4 MiB to 8 MiB)\n"
                      "  bucket_cap        4194305 B or more\n", done.stdout)
        self.write("r.csv", header + "0,1048577,float32,0,1,2,1\n")
        self.assertIn("no bucket cap puts these gradients into those buckets",
                      self.ok("trace", "show", "plain.csv", "--recorded", "r.csv").stdout)


class OperatorTableTest(cli.CliTest):
    """ResNet-50 on an H100, as TrioSim's tracer wrote it."""

    def setUp(self):
        super().setUp()
        data = cli.SOURCE_ROOT / "tests/trace/import/data/operator_table/resnet50"
        for name in ("trace.csv", "tensor.csv"):
            self.write(name, (data / name).read_bytes())

    def import_tables(self, *arguments):
        return self.ok("trace", "import", "--format", "operator-table", "trace.csv", "tensor.csv", "--out", "new.csv", *arguments)

    def test_import(self):
        done = self.import_tables("--model", "resnet50", "--device", "NVIDIA H100", "--batch-size", "128")
        self.assertEqual((done.stdout, done.stderr), ("", "wrote 161 gradients to new.csv\n"))
        shown = self.ok("trace", "show", "new.csv").stdout
        for pattern in (r"^model +resnet50$", r"^batch +128 samples a GPU$", r"^forward +23.901 ms$", r"^backward +45.977 ms$",
                        r"^optimizer +845 us$", r"^gradients +161 with 25557032 elements, 97.49 MiB \(float32\)$"):
            self.assertRegex(shown, re.compile(pattern, re.MULTILINE))

    def test_pytorch_makes_the_buckets_that_two_a100_had(self):
        """facebookresearch/HolisticTraceAnalysis, tests/data/nccl_parser_config: a step of ResNet-50 under DDP."""
        self.import_tables()
        self.write_scenario()
        self.assertEqual([bucket["bytes"] for bucket in self.simulate("workload.trace=new.csv")["buckets"]],
                         [4 * elements for elements in (2_049_000, 7_875_584, 6_563_840, 6_637_568, 2_431_040)])

    def test_a_dtype_of_another_size(self):
        done = self.fails(2, "trace", "import", "--format", "operator-table", "trace.csv", "tensor.csv", "--dtype", "float16", "--out", "new.csv")
        self.assertIn("has 4 bytes an element, and float16 has 2\n", done.stderr)
        self.assertNotIn("new.csv", self.files())


if __name__ == "__main__":
    cli.main()
