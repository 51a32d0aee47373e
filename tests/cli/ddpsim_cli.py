"""What the command-line tests share: the binary under test, a scratch folder for each test, and small inputs.

Every test file runs by hand as `python3 tests/cli/X_test.py BINARY SOURCE_ROOT [TEST ...]`; ctest calls it the same way.
"""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BINARY = Path()
SOURCE_ROOT = Path()

MIB = 2**20
TIMEOUT_S = 120
SKIPPED = 77  # every test of a file or class; ctest reports it by name

RING = "kind: ring\nlink: {bandwidth: 12.5GB/s, latency: 5us}\n"

POINT_KEYS = [
    "world_size", "strategy", "bucket_cap_bytes", "n_buckets", "forward_s", "backward_compute_s", "interference_s",
    "overhead_s", "communication_s", "exposed_communication_s", "optimizer_s", "iteration_s", "algorithm", "fidelity",
    "network", "simulated_flows", "algbw_Bps", "busbw_Bps", "samples_per_s", "scaling_efficiency", "comm_frac", "reported_rank", "group_size",
]
# Of a JSON point: what was communicated is a list, and no column.
JSON_KEYS = [*POINT_KEYS]
for key, before in (("losses", "algorithm"), ("communication", "algbw_Bps"), ("parallelism", "optimizer_s")):
    JSON_KEYS.insert(JSON_KEYS.index(before), key)
TERMS = ["forward_s", "backward_compute_s", "interference_s", "overhead_s", "exposed_communication_s", "optimizer_s"]
BUCKET_KEYS = ["index", "bytes", "n_gradients", "ready_s", "start_s", "end_s"]


def environment(**changes):
    """Without what says how wide or colourful the output is."""
    given = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "CLICOLOR_FORCE")}
    return {**given, "LC_ALL": "C.UTF-8", **changes}


def trace_text(gradients, **header):
    """A layer trace; `gradients` are (name, elements, ready_s) in arrival order. Nothing but backward takes time unless told."""
    header = {"forward": "0s", "optimizer": "0s", **header}
    lines = ["# ddpsim-trace: 1", *(f"# {key}: {value}" for key, value in header.items()), "gradient,elements,dtype,ready_s"]
    return "\n".join(lines + [f"{name},{elements},float32,{ready!r}" for name, elements, ready in gradients]) + "\n"


def small_trace(n_gradients=40, elements=MIB, step_s=0.002, **header):
    """Equal gradients (4 MiB each unless told) that become ready one after the other, `step_s` apart."""
    return trace_text([(f"g{k}", elements, (k + 1) * step_s) for k in range(n_gradients)], **header)


def gpt2_small_trace(step_s=0.001):
    """GPT-2 124M, output layer tied to the token embedding: 148 gradients in the reverse of registration order."""
    d = 768
    parameters = [("transformer.wte.weight", 50257 * d), ("transformer.wpe.weight", 1024 * d)]
    for layer in range(12):
        for name, inputs, outputs in [("ln_1", 1, d), ("attn.c_attn", d, 3 * d), ("attn.c_proj", d, d), ("ln_2", 1, d),
                                      ("mlp.c_fc", d, 4 * d), ("mlp.c_proj", 4 * d, d)]:
            parameters.append((f"transformer.h.{layer}.{name}.weight", inputs * outputs))
            parameters.append((f"transformer.h.{layer}.{name}.bias", outputs))
    parameters += [("transformer.ln_f.weight", d), ("transformer.ln_f.bias", d)]
    return trace_text([(name, elements, (k + 1) * step_s) for k, (name, elements) in enumerate(reversed(parameters))])


class CliTest(unittest.TestCase):
    """A test in a scratch folder of its own, in which the binary runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ddpsim-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.assertTrue(path.resolve().is_relative_to(self.folder.resolve()), f"{name} is not this test's own")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def read(self, name):
        return (self.folder / name).read_bytes()

    def read_json(self, name):
        return json.loads(self.read(name))

    def read_csv(self, name):
        return list(csv.DictReader(io.StringIO(self.read(name).decode())))

    def link_data(self):
        """The data a user finds in the repository, to be read: each folder is a link into it."""
        for name in ("calibrations", "configs", "fabrics", "gpus", "measurements", "models", "topologies", "traces", "tests/topology/fixtures",
                     "tests/trace/data", "tests/trace/import/data", "validate/published", "validate/results", "examples"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).symlink_to(SOURCE_ROOT / name)

    def write_scenario(self, trace=None, more="", world_size=8, topology=RING, evidence="none"):
        self.write("trace.csv", trace or small_trace())
        self.write("ring.yaml", topology)
        return self.write(
            "scenario.yaml",
            f"workload: {{trace: trace.csv}}\ncluster: {{topology: ring.yaml, world_size: {world_size}}}\n{more}\nevidence: {evidence}\n")

    def files(self):
        """Every file below the scratch folder, hidden ones too."""
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*") if not p.is_dir())

    def run_ddpsim(self, *arguments, **options):
        options = {"cwd": self.folder, "env": environment(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                   "stdin": subprocess.DEVNULL, "timeout": TIMEOUT_S, **options}
        done = subprocess.run([BINARY, *arguments], **options)
        done.stdout = (done.stdout or b"").decode()
        done.stderr = (done.stderr or b"").decode(errors="backslashreplace")
        return done

    def ok(self, *arguments, **options):
        done = self.run_ddpsim(*arguments, **options)
        self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def fails(self, code, *arguments, **options):
        done = self.run_ddpsim(*arguments, **options)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def simulate(self, *sets, file="scenario.yaml"):
        """The JSON result of one simulation with these --set arguments."""
        return json.loads(self.ok("simulate", file, *set_arguments(sets), "--json", "-").stdout)

    def sweep(self, *arguments, sets=(), file="scenario.yaml"):
        return json.loads(self.ok("sweep", file, *arguments, *set_arguments(sets), "--json", "-").stdout)


class ModelTest(CliTest):
    """Of one scenario, MODEL, and what differs from it."""
    MODEL: str

    def setUp(self):
        super().setUp()
        self.link_data()
        self.write("m.yaml", self.MODEL)

    def result(self, *sets):
        return self.simulate(*sets, file="m.yaml")

    def adds_up(self, result):
        """Its terms, a pipeline's bubble too, are the iteration."""
        total = sum(result[term] for term in TERMS) + result.get("bubble_s", 0)
        self.assertAlmostEqual(total, result["iteration_s"], delta=1e-9 * result["iteration_s"])

    def operations(self, *sets):
        return {(one["axis"], one["operation"]): one for one in self.result(*sets)["communication"]}


def set_arguments(sets):
    return [argument for assignment in sets for argument in ("--set", assignment)]


def main():
    """unittest.main, except that finding no test is a failure, and skipping all of them is not success."""
    global BINARY, SOURCE_ROOT
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    BINARY, SOURCE_ROOT = (Path(argument).resolve() for argument in sys.argv[1:3])
    program = unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[3:]], exit=False)
    if program.result.testsRun == 0:
        sys.exit("no test was found")
    if program.result.wasSuccessful() and len(program.result.skipped) == program.result.testsRun:
        sys.exit(SKIPPED)
    sys.exit(not program.result.wasSuccessful())
