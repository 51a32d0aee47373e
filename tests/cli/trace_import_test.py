#!/usr/bin/env python3
"""`ddpsim trace import` of the PyTorch profiler: a real trace, and files that are too large or too odd for bad_input/profiler.txt."""
import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import ddpsim_cli as cli

TRACE = "resnet50-ddp-2xa100.json.gz"
DATA = "tests/trace/import/data"
IMPORT = ["trace", "import", "--format", "pytorch-profiler"]
BUCKETS = [2049000, 7875584, 6563840, 6637568, 2431040]

# A file of which nothing may be kept must not need more, sanitizers and all (they hold freed memory back).
MOST_MIB = 600
LONGEST_S = 60

NODE = {"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "pid": 1,
        "tid": 2, "ts": 10, "dur": 9}
GRADIENT = {"ph": "X", "cat": "cpu_op", "name": "torch::autograd::AccumulateGrad", "pid": 1, "tid": 2, "ts": 11, "dur": 4,
            "args": {"Input Dims": [[3]], "Input type": ["float"]}}
SMALL = json.dumps([NODE, GRADIENT]).encode()


def repeated(start, filler, n_bytes, end=b""):
    """A gzip file of much of the same, made without holding it."""
    out = io.BytesIO()
    block = filler * (2**20 // len(filler))
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as file:
        file.write(start)
        for _ in range(n_bytes // len(block)):
            file.write(block)
        file.write(end)
    return out.getvalue()


def reads(process, name):
    try:
        return any(os.readlink(link).endswith("/" + name) for link in Path(f"/proc/{process}/fd").iterdir())
    except OSError:
        return False  # a file that was closed meanwhile


def damaged(data, at, change=0xFF):
    return data[:at] + bytes([data[at] ^ change]) + data[at + 1:]


GIANT = 400 * 2**20
EXPORT = "hint: give the file that prof.export_chrome_trace() or tensorboard_trace_handler() wrote\n"
DEEP = "error: brackets are nested more than 64 deep\n" + EXPORT
TOKEN = "error: a single string, number or gap is longer than 16 MiB (at byte {})\nhint: is it a trace of the PyTorch profiler?\n"
TRUNCATED = "t.json: error: ends in the middle of its gzip data\nhint: is it still being written, or was a copy cut off?\n"
GZIPPED = gzip.compress(SMALL, mtime=0)
NUL_BYTES = "t.json: error: holds NUL bytes; it is not a trace of the PyTorch profiler\nhint: is it a binary file?\n"
REASON = "t.json: error: is a damaged gzip file: {}\nhint: copy it again; 'gzip -t' checks it\n"

# Title -> (file, standard error).
BROKEN = {
    "a_million_brackets": (lambda: b"[" * 10**6, "t.json:1:65: " + DEEP),
    "a_million_brackets_in_the_args": (lambda: b'[{"ph": "X",\n"args": ' + b"[" * 10**6, "t.json:2:71: " + DEEP),
    "a_million_braces": (lambda: b'{"a": ' * 10**6, "t.json:1:385: " + DEEP),
    "a_giant_string": (lambda: repeated(b'[{"name": "', b"a", GIANT, b'"}]'), "t.json: " + TOKEN.format(16777216 + 262144)),
    "a_giant_key": (lambda: repeated(b'[{"', b"k", GIANT, b'": 1}]'), "t.json: " + TOKEN.format(16777216 + 262144)),
    "a_giant_number": (lambda: repeated(b'{"a": 1', b"0", GIANT, b"}"), "t.json: " + TOKEN.format(16777216 + 262144)),
    "a_giant_gap": (lambda: repeated(b"[", b" ", GIANT, b"]"), "t.json: " + TOKEN.format(16777216 + 262144)),
    "a_gzip_file_cut_off": (lambda: GZIPPED[:-12], TRUNCATED),
    "a_gzip_file_without_its_checksum": (lambda: GZIPPED[:-8], TRUNCATED),
    "a_gzip_file_cut_off_early": (lambda: GZIPPED[:12], TRUNCATED),
    "a_gzip_file_with_a_wrong_checksum": (lambda: damaged(GZIPPED, -8), REASON.format("incorrect data check")),
    "a_gzip_file_with_a_wrong_length": (lambda: damaged(GZIPPED, -4), REASON.format("incorrect length check")),
    "a_gzip_file_with_damaged_data": (lambda: damaged(GZIPPED, 10, GZIPPED[10] ^ (GZIPPED[10] | 0x06)), REASON.format("invalid block type")),
    "an_empty_gzip_file": (lambda: gzip.compress(b"", mtime=0),
                           "t.json: error: is empty (expected a trace of the PyTorch profiler)\nhint: is it the right file?\n"),
    "a_gzip_file_in_a_gzip_file": (lambda: gzip.compress(GZIPPED, mtime=0), NUL_BYTES),
    "only_zeros": (lambda: bytes(5000), NUL_BYTES),
    "zeros_after_the_end": (lambda: SMALL + bytes(5000), NUL_BYTES),
    "a_zero_far_behind_the_end": (lambda: SMALL + b" " * 10**6 + b"\0", NUL_BYTES),
    "something_far_behind_the_end": (lambda: SMALL + b" \n" * 10**6 + b"x",
                                     "t.json:1000001:1: error: not JSON: while parsing value - invalid literal; last read: '..." +
                                     "<U+000A> " * 3 + "<U+000A>x'; expected end of input\nhint: is it a trace that the PyTorch profiler wrote?\n"),
}


class BrokenTest(cli.CliTest):
    def check(self, contents, stderr):
        self.write("t.json", contents)
        begin = time.monotonic()
        process = subprocess.Popen([cli.BINARY, *IMPORT, "t.json", "--out", "t.csv", "--collectives", "c.csv"], cwd=self.folder,
                                   env=cli.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        watch = threading.Timer(LONGEST_S, process.kill)
        watch.start()
        self.addCleanup(watch.cancel)
        output, errors = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        process.stderr.close()
        self.assertEqual((process.returncode, output, errors.decode()), (2, b"", stderr))
        self.assertLess(usage.ru_maxrss / 1024, MOST_MIB)
        self.assertLess(time.monotonic() - begin, LONGEST_S)
        self.assertEqual(self.files(), ["t.json"])


def add_tests():
    for title, (contents, stderr) in BROKEN.items():
        setattr(BrokenTest, f"test_{title}",
                lambda self, contents=contents, stderr=stderr: self.check(contents(), stderr))


class CutOffTest(cli.CliTest):
    def test_anywhere(self):
        """However much of a trace is there, it is a trace or an error with a hint, and never anything else."""
        for length in [*range(0, len(SMALL), 9), len(SMALL) - 1]:
            self.write("t.json", SMALL[:length])
            done = self.fails(2, *IMPORT, "t.json", "--out", "t.csv")
            self.assertRegex(done.stderr, r"(?m)\At\.json.* error: .*(\n|.)*^hint: ", f"{length} bytes")
        self.write("t.json", SMALL)
        self.ok(*IMPORT, "t.json", "--out", "t.csv")


class RecordedTest(cli.CliTest):
    def import_recorded(self, *arguments):
        self.write(TRACE, (cli.SOURCE_ROOT / DATA / TRACE).read_bytes())
        return self.ok(*IMPORT, TRACE, "--out", "t.csv", *arguments)

    def rows(self, name):
        lines = [line for line in self.read(name).decode().splitlines() if not line.startswith("#")]
        return list(csv.DictReader(lines))

    def test_every_output(self):
        done = self.import_recorded("--collectives", "c.csv", "--recorded", "r.csv", "--model", "resnet50", "--batch-size", "32",
                                    "--source", "somewhere")
        self.assertEqual((done.stdout, done.stderr),
                         ("", "note: the GPU computed for only 30 % of the backward pass: its times are those of the Python and CPU "
                              "side rather than of the GPU\n"
                              "note: 15.89 ms of a step's 222.4 ms are neither forward, backward, its all-reduces nor the optimizer "
                              "(DDP's copies out of its buckets, clipping gradients, logging, loading data?) and belong to nothing here\n"
                              "wrote 161 gradients to t.csv\n"))
        self.assertEqual(self.files(), sorted([TRACE, "c.csv", "r.csv", "t.csv"]))
        trace = self.read("t.csv").decode()
        for line in ("model: resnet50", "device: NVIDIA A100-PG509-200", "batch_size: 32", "source: somewhere",
                     "Recorded on one rank, NCCL 2.17.1, 2 ranks."):
            self.assertIn(f"\n# {line}\n", trace)
        gradients = self.rows("t.csv")
        self.assertEqual([int(row["elements"]) for row in gradients[:4]], [1000, 2048000, 2048, 2048])
        self.assertEqual(sum(int(row["elements"]) for row in gradients), 25557032)
        collectives = self.rows("r.csv")
        self.assertEqual([int(row["elements"]) for row in collectives], BUCKETS)
        # A row a message size, each the duration of its all-reduce.
        table = {int(row["bytes"]): float(row["time_s"]) for row in self.rows("c.csv")}
        self.assertEqual(table, {4 * int(row["elements"]): float(row["duration_s"]) for row in collectives})
        self.assertIn("\n# world_size: 2\n", self.read("c.csv").decode())

    def test_its_buckets_are_ddps(self):
        """PyTorch's rules for the imported gradients give the buckets that the recorded run had."""
        self.import_recorded()
        self.write("ring.yaml", cli.RING)
        self.write("scenario.yaml", "workload: {trace: t.csv}\ncluster: {topology: ring.yaml, world_size: 2}\n")
        self.assertEqual([bucket["bytes"] for bucket in self.simulate()["buckets"]], [4 * elements for elements in BUCKETS])

    def test_means(self):
        self.import_recorded()
        medians = [float(row["ready_s"]) for row in self.rows("t.csv")]
        self.import_recorded("--statistic", "mean")
        means = [float(row["ready_s"]) for row in self.rows("t.csv")]
        self.assertNotEqual(means, medians)
        self.assertEqual(means, sorted(means))

    def test_the_file_tells_its_format(self):
        """Compressed, plain, and the pairs of tables by their first one."""
        data = cli.SOURCE_ROOT / DATA
        (self.folder / "plain.json").write_bytes(gzip.decompress((data / TRACE).read_bytes()))
        tables = [data / "operator_table/vgg13" / name for name in ("trace.csv", "tensor.csv")]
        layers = [cli.SOURCE_ROOT / "tests/trace/data" / f"layer-{of}-gpt2_large-bs4.csv" for of in ("sizes", "times")]
        for name, files in (("pytorch-profiler", [data / TRACE]), ("pytorch-profiler", ["plain.json"]), ("operator-table", tables), ("layer-times", layers)):
            with self.subTest(name, files=files):
                self.ok("trace", "import", "--format", name, *files, "--out", "said.csv")
                self.ok("trace", "import", *files, "--out", "told.csv")
                self.assertEqual(self.read("told.csv"), self.read("said.csv"))

    def test_plain_and_gzipped_are_the_same(self):
        self.import_recorded()
        zipped = self.read("t.csv")
        self.write("plain.json", gzip.decompress((cli.SOURCE_ROOT / DATA / TRACE).read_bytes()))
        self.ok(*IMPORT, "plain.json", "--out", "p.csv")
        self.assertEqual(self.read("p.csv").replace(b"plain.json", TRACE.encode()), zipped)

    def test_nothing_is_written_when_one_output_cannot_be(self):
        self.write(TRACE, (cli.SOURCE_ROOT / DATA / TRACE).read_bytes())
        done = self.fails(2, *IMPORT, TRACE, "--out", "t.csv", "--recorded", "none/r.csv")
        self.assertIn("none", done.stderr)
        self.assertEqual(self.files(), [TRACE])

    def test_an_input_is_never_written_over(self):
        original = (cli.SOURCE_ROOT / DATA / TRACE).read_bytes()
        self.write(TRACE, original)
        for options in (["--out", TRACE], ["--out", "./" + TRACE], ["--out", "t.csv", "--recorded", TRACE]):
            done = self.fails(2, *IMPORT, TRACE, *options)
            self.assertEqual(done.stderr, f"error: {options[-2]} {options[-1]} would overwrite the input\nhint: give it another name\n")
            self.assertEqual((self.files(), self.read(TRACE)), ([TRACE], original))

    def test_an_interrupt_leaves_nothing(self):
        self.write("big.json.gz", repeated(b"[" + json.dumps(NODE).encode(), b"," + json.dumps(NODE | {"cat": "none"}).encode(),
                                           GIANT, b"]"))
        process = subprocess.Popen([cli.BINARY, *IMPORT, "big.json.gz", "--out", "t.csv"], cwd=self.folder, stderr=subprocess.PIPE)
        try:
            deadline = time.monotonic() + 20
            while not reads(process.pid, "big.json.gz") and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=cli.TIMEOUT_S)
        finally:
            process.kill()
        self.assertEqual((process.returncode, stderr), (4, b"interrupted\n"))
        self.assertEqual(self.files(), ["big.json.gz"])

    def test_help_names_the_format(self):
        self.assertRegex(self.ok("trace", "import", "--help").stdout, re.compile(r"pytorch-profiler\s+\(TRACE\.json\[\.gz\]\)"))


if __name__ == "__main__":
    add_tests()
    cli.main()
