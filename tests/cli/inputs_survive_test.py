#!/usr/bin/env python3
"""No command writes over a file that it reads: not by its name, another spelling of it, a hard link or a symbolic one. Usage:
inputs_survive_test.py BINARY SOURCE_ROOT."""
import json
import os
from pathlib import Path

import ddpsim_cli as cli

TABLE = "# ddpsim-allreduce: 1\n# world_size: 8\nbytes,time_s\n1048576,0.0001\n16777216,0.001\n67108864,0.004\n"
MEASURED = "bucket_cap_bytes,iteration_s\n4194304,0.2\n16777216,0.21\n"
MATRIX = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV12\t0-63\nGPU1\tNV12\t X \t0-63\n"
MODEL = "workload: {model: gpt2-medium, micro_batch: 1, sequence: 128}\ncluster: {topology: dgx.yaml, world_size: 8}\n"

# Of each command: its arguments, files that it reads, and its options that write.
COMMANDS = (
    (("simulate", "scenario.yaml"), ("scenario.yaml", "trace.csv", "ring.yaml"), ("--json", "--csv", "--timeline", "--plot")),
    (("simulate", "scenario.yaml", "--set", "collective={algorithm: measured, measured: table.csv}"), ("table.csv",), ("--json",)),
    (("sweep", "scenario.yaml"), ("scenario.yaml", "trace.csv", "ring.yaml"), ("--json", "--csv", "--plot", "--html", "--results")),
    (("sweep", "scenario.yaml", "--resume"), ("scenario.yaml", "trace.csv"), ("--results",)),
    (("scale", "scenario.yaml", "--gpus", "4,8"), ("scenario.yaml", "trace.csv", "ring.yaml"), ("--json", "--csv", "--plot")),
    (("memory", "model.yaml"), ("model.yaml", "dgx.yaml"), ("--json", "--csv")),
    (("simulate", "model.yaml"), ("model.yaml", "dgx.yaml", "calibration.yaml"), ("--json", "--timeline")),
    (("plan", "llama-2-7b", "--topology", "./dgx.yaml", "--gpus", "8", "--global-batch", "8", "--sequence", "512"), ("dgx.yaml",),
     ("--json", "--csv", "--out")),
    (("calibrate", "table.csv", "--topology", "./dgx.yaml"), ("table.csv", "dgx.yaml"), ("--out", "--json", "--plot")),
    (("calibrate", "--step", "1s", "model.yaml"), ("model.yaml",), ("--out",)),
    (("calibrate", "--overlap", "scenario.yaml", "--measured", "measured.csv"), ("scenario.yaml", "trace.csv", "measured.csv"), ("--out",)),
    (("results", "merge", "rows.jsonl"), ("rows.jsonl",), ("--out",)),
    (("topology", "show", "dgx.yaml"), ("dgx.yaml",), ("--json", "--csv")),
    (("topology", "rings", "dgx.yaml"), ("dgx.yaml",), ("--json", "--csv")),
    (("topology", "costs", "dgx.yaml"), ("dgx.yaml",), ("--json", "--csv")),
    (("topology", "export", "dgx.yaml"), ("dgx.yaml",), ("--dot", "--svg")),
    (("topology", "import", "--format", "nvidia-smi", "matrix.txt", "--gpu", "ampere", "--nic-bandwidth", "100Gbps"), ("matrix.txt",), ("--out",)),
    (("trace", "show", "trace.csv"), ("trace.csv",), ("--json", "--csv", "--plot")),
    (("trace", "synthesize", "--layers", "./layers.yaml", "--batch", "1", "--forward", "1ms", "--backward", "2ms"), ("layers.yaml",), ("--out",)),
    (("validate", "scenario.yaml", "--measured", "measured.csv"), ("scenario.yaml", "measured.csv", "trace.csv"), ("--json", "--csv", "--plot")),
)


class InputsSurviveTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write_scenario(more="sweep: {ddp.bucket_cap: [4MiB, 16MiB]}\n")
        for name, text in (("table.csv", TABLE), ("measured.csv", MEASURED), ("matrix.txt", MATRIX)):
            self.write(name, text)
        self.write("model.yaml", MODEL)
        self.write("layers.yaml", (cli.SOURCE_ROOT / "models/cs336-xl.yaml").read_bytes())
        self.write("calibration.yaml", (cli.SOURCE_ROOT / "calibrations/h100-infiniband.yaml").read_bytes())
        self.write("dgx.yaml", (cli.SOURCE_ROOT / "topologies/dgx-h100.yaml").read_text().replace("../calibrations/h100-infiniband.yaml", "calibration.yaml"))
        self.ok("sweep", "scenario.yaml", "--results", "rows.jsonl", "--quiet")
        self.before = {name: self.read(name) for name in self.files()}

    def survives(self, make):
        """make(name, extension) makes another name of that file."""
        tried = 0
        for arguments, inputs, options in COMMANDS:
            for option in options:
                for name in inputs:
                    output = make(name, ".svg" if option in ("--plot", "--svg") else Path(name).suffix)
                    if output is None:
                        continue
                    with self.subTest(command=arguments, option=option, output=output):
                        done = self.fails(2, *arguments, option, output)
                        self.assertIn(f"error: {option} {output} would overwrite the input", done.stderr)
                        self.assertIn("hint: give it another name", done.stderr)
                        self.assertEqual(done.stdout, "")
                        self.assertEqual({name: self.read(name) for name in self.before}, self.before)
                        tried += 1
        self.assertGreater(tried, 30)

    def test_by_its_name(self):
        self.survives(lambda name, ending: name if name.endswith(ending) else None)

    def test_by_another_way_to_it(self):
        self.survives(lambda name, ending: str(self.folder / "." / name) if name.endswith(ending) else None)

    def test_by_a_hard_link(self):
        self.survives(lambda name, ending: self.link(os.link, name, ending))

    def test_by_a_symbolic_link(self):
        self.survives(lambda name, ending: self.link(os.symlink, name, ending))

    def link(self, make, name, ending):
        path = self.folder / f"other-{name}{ending}"
        if not path.exists():
            make(self.folder / name, path)
        return path.name

    def test_what_comes_with_ddpsim(self):
        (self.folder / "topologies").mkdir()
        (self.folder / "gpus").mkdir()
        self.write("topologies/own.yaml", cli.RING)
        own = cli.environment(DDPSIM_PRESETS=str(self.folder))
        done = self.fails(2, "simulate", "scenario.yaml", "--set", "cluster.topology=own", "--json", "topologies/own.yaml", env=own)
        self.assertIn("error: --json topologies/own.yaml would overwrite the input", done.stderr)
        self.assertEqual(self.read("topologies/own.yaml").decode(), cli.RING)

    def test_a_folder_of_results(self):
        """Whose names nobody types."""
        self.write("out/measured.csv", MEASURED)
        done = self.fails(2, "validate", "scenario.yaml", "--measured", "out/measured.csv", "--out", "out")
        self.assertEqual(done.stderr, "error: --out out/measured.csv would overwrite the input\nhint: give it another name\n")
        self.assertEqual((self.read("out/measured.csv").decode(), done.stdout), (MEASURED, ""))

    def test_pipes_and_devices_may_be_both(self):
        paths = ("--set", "workload.trace=trace.csv", "--set", "cluster.topology=ring.yaml")
        for output in ("/dev/stdout", "-"):
            done = self.ok("simulate", "/dev/stdin", *paths, "--json", output, "--csv", "/dev/null", "--quiet", input=self.read("scenario.yaml"), stdin=None)
            self.assertEqual(json.loads(done.stdout)["world_size"], 8)

    def test_results_are_gone_on_with(self):
        self.ok("sweep", "scenario.yaml", "--results", "rows.jsonl", "--resume")
        self.assertEqual(self.read("rows.jsonl"), self.before["rows.jsonl"])


if __name__ == "__main__":
    cli.main()
