#!/usr/bin/env python3
"""`ddpsim list`, presets by their names wherever a file is taken, and an installed program. Usage: list_test.py BINARY SOURCE_ROOT."""
import json
import shutil
import subprocess

import ddpsim_cli as cli

BY_NAMES = """workload: {model: llama-2-7b, micro_batch: 1, sequence: 4096}
cluster: {topology: superpod-h100, world_size: 16, gpu: h100-sxm}
"""


class ListTest(cli.CliTest):
    def list(self, kind):
        rows = json.loads(self.ok("list", kind, "--json", "-").stdout)[kind]
        self.assertEqual([row["name"] for row in rows], sorted(row["name"] for row in rows))
        return {row.pop("name"): row for row in rows}

    def names_of_files(self, kind):
        return {path.stem for path in (cli.SOURCE_ROOT / kind).glob("*.yaml")}

    def test_kinds(self):
        kinds = json.loads(self.ok("list", "--json", "-").stdout)["kinds"]
        self.assertEqual([row["kind"] for row in kinds], ["topologies", "gpus", "models", "software", "kernels", "fabrics", "calibrations", "evidence", "configs"])
        for row in kinds:
            names = list(self.list(row["kind"]))
            self.assertEqual((row["names"], row["example"]), (len(names), names[0]))
        self.assertIn("'ddpsim list KIND' lists", self.ok("list").stdout)
        self.assertIn("the kinds are", self.fails(2, "list", "gpu").stderr)

    def test_models(self):
        models = self.list("models")
        self.assertLessEqual(self.names_of_files("models"), set(models))
        self.assertEqual(models["llama-2-7b"], {"parameters": 6_738_415_616, "layers": 32, "hidden": 4096, "kind": "transformer", "also": None})
        self.assertEqual(models["resnet50"], {"parameters": 25_557_032, "layers": 175, "hidden": None, "kind": "list of layers", "also": None})
        self.assertTrue(models["llama-3-8b"]["also"].startswith("llama-3.1-8b, "))
        self.assertGreater(len(models), 100)
        self.assertIn("4096 parameters a token of the sequence", models["mpt-7b"]["kind"])

    def test_gpus(self):
        gpus = self.list("gpus")
        self.assertEqual(set(gpus), self.names_of_files("gpus"))
        self.assertEqual(gpus["h100-sxm"], {"memory_bytes": 81559 * 2**20, "bfloat16_flops_per_s": 989.4e12,
                                            "device": "NVIDIA H100 SXM5 80GB"})
        self.assertIsNone(gpus["v100-sxm2-32gb"]["bfloat16_flops_per_s"])

    def test_topologies(self):
        topologies = self.list("topologies")
        self.assertEqual(set(topologies), self.names_of_files("topologies"))
        self.assertEqual(topologies["superpod-h100"], {"kind": "cluster", "gpus_per_node": 8, "gpu": "h100-sxm",
                                                       "about": "NVIDIA DGX SuperPOD with DGX H100 (reference architecture RA-11333-001)"})
        self.assertEqual(topologies["ring-100gbps"], {"kind": "ring", "gpus_per_node": None, "gpu": "-", "about": "One ring over all GPUs"})

    def test_software(self):
        software = self.list("software")
        self.assertEqual(set(software), self.names_of_files("software"))
        self.assertEqual(software["te-2025"]["fitted_on"], "GB300, H100, B200")
        self.assertTrue(software["te-2025"]["about"].startswith("Megatron-Bridge with Transformer Engine"))

    def test_fabrics(self):
        fabrics = self.list("fabrics")
        self.assertEqual(set(fabrics), self.names_of_files("fabrics"))
        self.assertEqual(fabrics["efa-shared"]["shares"], "0.11, 0.225, 1")

    def test_calibrations(self):
        calibrations = self.list("calibrations")
        self.assertEqual(set(calibrations), self.names_of_files("calibrations"))
        self.assertEqual(calibrations["l40s-pair"], {"curves": "all_reduce ring", "fitted_to": "aiconfigurator_l40s.csv, 2 GPUs, half"})
        self.assertEqual(calibrations["h100-infiniband"]["curves"], "all_reduce nvls_tree across nodes")

    def test_the_table_has_a_line_each_in_columns(self):
        lines = self.ok("list", "gpus").stdout.splitlines()
        self.assertEqual(lines[0].split(), ["name", "memory", "bf16", "peak", "device"])
        self.assertEqual(lines.index(""), 1 + len(self.names_of_files("gpus")))
        self.assertEqual(lines[-1], "of AMD's (mi250x, mi300x, mi325x, mi355x) the data sheets are known: no step and no collective of theirs was measured here")
        self.assertIn("h100-sxm                85.52 GB  989.4 TFLOP/s  NVIDIA H100 SXM5 80GB", lines)
        self.assertIn("v100-sxm2-32gb          34.09 GB              -  NVIDIA V100 SXM2 32GB", lines)
        models = self.ok("list", "models").stdout.splitlines()
        self.assertIn("mpt-7b                  6650470400      32    4096  transformer; and 4096 parameters a token of the sequence  -", models)
        self.assertTrue(any(line.startswith("qwen2.5-3b ") and line.endswith("  qwen2.5-coder-3b") for line in models))

    def test_json_into_a_file_leaves_the_table(self):
        done = self.ok("list", "software", "--json", "list.json")
        self.assertIn("fsdp-eager-2023", done.stdout)
        self.assertEqual(len(self.read_json("list.json")["software"]), len(self.names_of_files("software")))

    def test_a_folder_of_ones_own(self):
        """DDPSIM_PRESETS in place of what comes with ddpsim; models that are no files stay."""
        self.write("mine/gpus/my-gpu.yaml", (cli.SOURCE_ROOT / "gpus/h100-sxm.yaml").read_bytes())
        own = {"env": cli.environment(DDPSIM_PRESETS="mine")}
        self.assertEqual(len(self.ok("list", "gpus", **own).stdout.splitlines()), 2)
        self.assertIn("my-gpu", self.ok("list", "gpus", **own).stdout)
        self.assertEqual(self.ok("list", "software", **own).stdout, "none\n")
        self.assertIn("gpt2-xl", self.ok("list", "models", **own).stdout)

    def test_an_unknown_kind(self):
        done = self.fails(2, "list", "gpu")
        self.assertEqual(done.stderr, "error: nothing of the kind 'gpu' can be listed; did you mean 'gpus'?\n"
                                      "hint: the kinds are topologies, gpus, models, software, kernels, fabrics, calibrations, evidence, configs\n")
        self.assertEqual(done.stdout, "")


class NamesTest(cli.CliTest):
    def same(self, *by_name, file):
        """What a command says with a preset's name it says with its file."""
        name = by_name[-1]
        path = str(cli.SOURCE_ROOT / file)
        by_file = [path if argument == name else argument for argument in by_name]
        self.assertEqual(self.ok(*by_name).stdout.replace(name, "X"), self.ok(*by_file).stdout.replace(path, "X"))

    def test_topologies(self):
        for command in (("show",), ("rings",), ("costs", "--bytes", "1MiB"), ("nccl",), ("export", "--dot", "-")):
            with self.subTest(command=command):
                self.same("topology", *command, "dgx-h100", file="topologies/dgx-h100.yaml")

    def test_calibrate(self):
        tables = str(cli.SOURCE_ROOT / "measurements/dgxh100_8xH100_dgxc_benchmarking.csv")
        arguments = ("calibrate", tables, "--topology")
        self.same(*arguments, "dgx-h100", file="topologies/dgx-h100.yaml")

    def test_gpus_and_models(self):
        for gpu, layers, out in (("h100-sxm", "bert-base-qa", "a.csv"),
                                 (cli.SOURCE_ROOT / "gpus/h100-sxm.yaml", cli.SOURCE_ROOT / "models/bert-base-qa.yaml", "b.csv")):
            self.ok("trace", "synthesize", "--layers", str(layers), "--gpu", str(gpu), "--batch", "8", "--sequence", "384", "--out", out)
        by_name, by_file = (self.read(name).decode().splitlines() for name in ("a.csv", "b.csv"))
        source = "# source: ddpsim trace synthesize --layers bert-base-qa --batch 8"
        self.assertTrue(any(line.startswith(source) for line in by_name), by_name[:20])
        self.assertEqual([line for line in by_name if not line.startswith("# source")],
                         [line for line in by_file if not line.startswith("# source")])

    def test_a_file_comes_before_a_name(self):
        self.write("dgx-h100", cli.RING)
        self.assertIn("8 GPUs in 8 nodes", self.ok("topology", "show", "dgx-h100", "--world-size", "8").stdout)

    def test_a_folder_of_the_name_does_not(self):
        (self.folder / "dgx-h100").mkdir()
        self.assertIn("8 GPUs in 1 node", self.ok("topology", "show", "dgx-h100").stdout)

    def test_a_name_that_nothing_has(self):
        self.assertEqual(self.fails(2, "topology", "show", "dgx-h10").stderr,
                         "FILE: error: no topology of the name 'dgx-h10'; did you mean 'dgx-h100'?\n"
                         "hint: 'ddpsim list topologies' lists them; a path has a '/' or an extension\n")
        self.assertEqual(self.fails(2, "trace", "synthesize", "--model", "gpt2", "--gpu", "h100-smx", "--out", "t.csv").stderr,
                         "--gpu: error: no GPU of the name 'h100-smx'; did you mean 'h100-sxm'?\n"
                         "hint: 'ddpsim list gpus' lists them; a path has a '/' or an extension\n")

    def test_a_scenario_whose_topology_refers_to_other_files(self):
        """superpod-h100 names ../calibrations/h100-infiniband.yaml, relative to itself."""
        self.write("scenario.yaml", BY_NAMES)
        by_name = self.simulate()
        self.assertTrue((cli.SOURCE_ROOT / "topologies/superpod-h100.yaml").read_text().count("../calibrations/h100-infiniband.yaml"))
        by_path = self.simulate(f"cluster.topology={cli.SOURCE_ROOT}/topologies/superpod-h100.yaml",
                                f"cluster.gpu={cli.SOURCE_ROOT}/gpus/h100-sxm.yaml")
        self.assertEqual(by_name["iteration_s"], by_path["iteration_s"])
        none = self.simulate("collective.nccl.calibration=none")["iteration_s"]
        self.assertNotEqual(by_name["iteration_s"], none)
        self.assertEqual(by_name["iteration_s"], self.simulate("collective.nccl.calibration=h100-infiniband")["iteration_s"])
        done = self.fails(2, "simulate", "scenario.yaml", "--set", "collective.nccl.calibration=h100-infinband")
        self.assertIn("no calibration of the name 'h100-infinband'; did you mean 'h100-infiniband'?", done.stderr)


class InstalledTest(cli.CliTest):
    def test_runs_from_where_it_was_installed(self):
        build = cli.BINARY.parents[1]
        if not (build / "cmake_install.cmake").exists() or not shutil.which("cmake"):
            self.skipTest("the binary does not lie in a build folder")
        subprocess.run(["cmake", "--install", build, "--prefix", self.folder / "usr", "--component", "simulator"], check=True,
                       stdout=subprocess.DEVNULL)
        program = self.folder / "usr/bin/ddpsim"
        for kind in ("topologies", "gpus", "models", "software", "kernels", "fabrics", "calibrations"):
            self.assertEqual({path.name for path in (self.folder / "usr/share/ddpsim" / kind).iterdir()},
                             {path.name for path in (cli.SOURCE_ROOT / kind).glob("*.yaml")})
        # Its own presets, not those of the sources.
        (self.folder / "usr/share/ddpsim/gpus/t4.yaml").rename(self.folder / "usr/share/ddpsim/gpus/renamed.yaml")

        def run(*arguments):
            return subprocess.run([program, *arguments], cwd=self.folder, env=cli.environment(), check=True, capture_output=True,
                                  text=True).stdout
        self.assertIn("llama-2-7b", run("list", "models"))
        self.assertIn("\nrenamed ", run("list", "gpus"))
        self.write("scenario.yaml", BY_NAMES)
        result = json.loads(run("simulate", "scenario.yaml", "--json", "-"))
        self.assertEqual(result["iteration_s"], self.simulate()["iteration_s"])
        # SimGrid's library is found there, too.
        shared = ("--set", "cluster.background=[{links: [node0.nic0.out], start: 1ms, size: 2GB}]", "--set", "engine.network=simgrid",
                  "--set", "collective.algorithm=ring")
        self.assertEqual(json.loads(run("simulate", "scenario.yaml", "--json", "-", *shared))["network"], "simgrid")


class ShowTest(cli.CliTest):
    def test_a_model_that_is_no_file_is_one_when_shown(self):
        self.write("mine.yaml", self.ok("show", "llama-3-8b").stdout)
        self.write("scenario.yaml", BY_NAMES.replace("llama-2-7b", "llama-3-8b"))
        by_name = self.simulate()
        self.write("scenario.yaml", BY_NAMES.replace("llama-2-7b", "./mine.yaml"))
        self.assertEqual(self.simulate()["iteration_s"], by_name["iteration_s"])

    def test_a_file_with_where_it_is(self):
        shown = self.ok("show", "h100-sxm").stdout
        self.assertEqual(shown.split("\n", 1)[1], (cli.SOURCE_ROOT / "gpus/h100-sxm.yaml").read_text())
        self.assertRegex(shown, r"^# /.*gpus/h100-sxm\.yaml\n")

    def test_names_of_none_and_of_several(self):
        self.assertIn("did you mean 'h100-sxm'?", self.fails(2, "show", "h100-sx").stderr)
        for kind in ("models", "configs"):
            self.write(f"presets/{kind}/own.yaml", f"# of {kind}\nstrategy: ddp\n")
        own = {"env": cli.environment(DDPSIM_PRESETS=str(self.folder / "presets"))}
        self.assertIn("'own' is the name of several: models, configs", self.fails(2, "show", "own", **own).stderr)
        self.assertIn("# of configs\n", self.ok("show", "own", "--kind", "configs", **own).stdout)

    def test_help_of_a_key(self):
        text = self.ok("help", "ddp.bucket_cap").stdout
        self.assertTrue(text.startswith("ddp.bucket_cap: "))
        self.assertIn("bucket_cap_mb", text)
        self.assertTrue(self.ok("help", "gpus").stdout.startswith("cluster.world_size: "))
        self.assertIn("no key is called 'ddp.bucket_caq'", self.fails(2, "help", "ddp.bucket_caq").stderr)
        self.assertIn("did you mean 'simulate'?", self.fails(2, "help", "simulte").stderr)
        self.assertIn("Usage: ddpsim plan", self.ok("help", "plan").stdout)

    def test_no_scenario_has_the_name_of_a_model(self):
        """Commands take either in the same place."""
        names = [{line.split()[0] for line in self.ok("list", kind).stdout.splitlines()[1:]} for kind in ("models", "configs")]
        self.assertEqual(names[0] & names[1], set())
        self.assertGreater(len(names[0]), 30)

    def test_a_model_as_people_write_it(self):
        self.assertEqual(self.ok("show", "meta-llama/Llama-3.2-1B-Instruct").stdout, self.ok("show", "llama-3.2-1b").stdout)
        self.assertIn("ResNet", self.ok("show", "ResNet50").stdout)

    def test_a_name_of_another_kind(self):
        done = self.fails(2, "validate", "llama-3-8b")
        self.assertIn("'llama-3-8b' is the name of a model, and a scenario is needed", done.stderr)
        self.assertIn("ddpsim init --model llama-3-8b", done.stderr)


class InitTest(cli.CliTest):
    def init(self, model, gpus, *more):
        return self.ok("init", "--model", model, "--topology", "superpod-h100", "--gpus", str(gpus), *more)

    def test_what_is_written_runs(self):
        for model, strategy in (("gpt2", "ddp"), ("llama-2-7b", "fsdp"), ("resnet50", "ddp"), ("vit-l", "ddp")):
            name = f"{model}.yaml"
            self.init(model, 64, "--out", name)
            result = json.loads(self.ok("simulate", name, "--json", "-").stdout)
            self.assertEqual((result["strategy"], result["world_size"]), (strategy, 64))
            if "memory" in result:
                self.assertTrue(result["memory"]["fits"], model)
            self.ok("sweep", name)

    def test_what_does_not_fit_even_in_shards_is_said(self):
        done = self.init("llama-3-405b", 64)
        self.assertIn("recompute: full", done.stdout)
        self.assertIn("'ddpsim plan' shares the model itself over GPUs", done.stderr)

    def test_a_path_is_as_the_file_sees_it(self):
        self.write("mine.yaml", self.ok("show", "gpt2").stdout)
        (self.folder / "jobs").mkdir()
        self.init("./mine.yaml", 8, "--out", "jobs/job.yaml")
        self.assertIn("model: ../mine.yaml", self.read("jobs/job.yaml").decode())
        self.ok("simulate", "jobs/job.yaml")

    def test_a_gpu_where_the_topology_names_none(self):
        arguments = ("init", "--model", "llama-2-7b", "--topology", "ring-100gbps", "--gpus", "16", "--out", "ring.yaml")
        self.assertEqual(self.fails(2, *arguments).stderr,
                         "error: --gpu is missing: topology ring-100gbps names no GPU, and there is no terminal to ask at\n"
                         "hint: add --gpu h100-sxm; 'ddpsim list gpus' lists them\n")
        self.assertIn("did you mean 'h100-sxm'?", self.fails(2, *arguments, "--gpu", "h100-sx").stderr)
        self.ok(*arguments, "--gpu", "h100-sxm")
        self.assertIn("  gpu: h100-sxm   # ddpsim list gpus\n", self.read("ring.yaml").decode())
        self.ok("simulate", "ring.yaml")
        self.assertNotIn("gpu: ", self.init("gpt2", 8).stdout)

    def test_pictures_have_no_tokens(self):
        self.assertNotIn("sequence", self.init("resnet50", 8).stdout)
        self.assertIn("sequence: 2 ", self.init("resnet50", 8, "--sequence", "2").stdout)
        self.assertIn("sequence: 197 ", self.init("vit-l", 8).stdout)

    def test_refusals(self):
        self.write("there.yaml", "mine")
        done = self.fails(2, "init", "--model", "gpt2", "--topology", "dgx-h100", "--gpus", "8", "--out", "there.yaml")
        self.assertIn("is there already", done.stderr)
        self.assertEqual(self.read("there.yaml"), b"mine")
        self.assertIn("--model is missing", self.fails(2, "init").stderr)
        self.assertIn("no topology of the name 'dgx'", self.fails(2, "init", "--model", "gpt2", "--topology", "dgx", "--gpus", "8").stderr)


class CompletionTest(cli.CliTest):
    def completed(self, *words):
        self.write("ddpsim.bash", self.ok("internals", "completion", "bash").stdout)
        words = ("ddpsim", *words)
        line = " ".join(f"'{word}'" for word in words)
        script = f"source ./ddpsim.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _ddpsim; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, text=True, check=True).stdout.split()

    def test_commands_options_words_and_files(self):
        self.write("scenario.yaml", "")
        self.assertEqual(self.completed("swe"), ["sweep"])
        self.assertIn("costs", self.completed("topology", ""))
        self.assertEqual(self.completed("sweep", "--jo"), ["--jobs"])
        self.assertEqual(self.completed("calibrate", "--fit", "at"), ["attention"])
        self.assertEqual(self.completed("simulate", "scen"), ["scenario.yaml"])
        self.assertEqual(self.completed("simulate", "--json", "scen"), ["scenario.yaml"])

    def test_names_of_presets_and_files_beside_them(self):
        self.write("dgx-mine.yaml", "")
        self.assertEqual(self.completed("simulate", "degr"), ["degraded-link"])
        self.assertEqual(self.completed("simulate", "gpt3"), ["gpt3-175b"])
        self.assertEqual(self.completed("topology", "show", "dgx-"), ["dgx-a100", "dgx-b200", "dgx-b300", "dgx-h100", "dgx-mine.yaml"])
        for spelling in ("--on", "--topology"):
            self.assertEqual(self.completed("plan", "llama-2-7b", spelling, "dgx-h"), ["dgx-h100"])
        self.assertEqual(self.completed("trace", "synthesize", "--gpu", "h100-s"), ["h100-sxm", "h100-sxm-96gb-500w"])
        self.assertEqual(self.completed("init", "--model", "bert-base-q"), ["bert-base-qa"])
        self.assertEqual(self.completed("init", "--gpu", "h20"), ["h20", "h200-sxm"])
        self.assertEqual(self.completed("show", "efa"), ["efa-shared"])
        self.assertEqual(self.completed("list", "g"), ["gpus"])
        self.assertEqual(self.completed("internals", "completion", "z"), ["zsh"])

    def test_strategies(self):
        self.write("zebra.yaml", "")
        self.assertEqual(self.completed("plan", "--strategy", "z"), ["zero0", "zero1", "zero2", "zero3"])
        self.assertEqual(self.completed("init", "--strategy", "z"), ["zero1", "zero2", "zero3"])

    def test_keys_of_scenarios(self):
        self.assertEqual(self.completed("simulate", "--set", "cluster.nics."), [f"cluster.nics.{key}=" for key in ("bandwidth", "count", "latency")])
        self.assertEqual(self.completed("plan", "--set", "optimizer.m"), ["optimizer.master=", "optimizer.moments="])
        offered = self.completed("sweep", "--set", "")
        self.assertLess({"strategy=", "ddp.bucket_cap=", "workload.model="}, set(offered))
        self.assertFalse({"ddp=", "cluster.nics="} & set(offered))

    def test_help_is_followed_by_commands(self):
        self.assertEqual(self.completed("help", "s"), ["simulate", "sweep", "scale", "show"])
        self.assertIn("costs", self.completed("help", "topology", ""))
        self.assertEqual(self.completed("help", "scale", ""), ["--help"])

    def test_the_page_for_man_names_every_command(self):
        page = self.ok("internals", "man").stdout
        for command in ("simulate", "topology import", "show", "internals completion"):
            self.assertIn(f".SS ddpsim {command}\n", page)


class ShownFileTest(cli.CliTest):
    """`show NAME > t.yaml` is a file that works from anywhere, as the name itself does."""

    JOB = ("workload: {model: gpt2-medium, micro_batch: 1, sequence: 128}\nstrategy: ddp\n"
           "cluster: {topology: superpod-h100, world_size: 16}\n")

    def setUp(self):
        super().setUp()
        self.write("job.yaml", self.JOB)

    def names(self, kind):
        names = sorted(path.stem for path in (cli.SOURCE_ROOT / kind).glob("*.yaml"))
        self.assertTrue(names)
        return names

    def shown(self, kind, name):
        text = self.ok("show", name, "--kind", kind).stdout
        self.assertNotIn(" ../", "\n".join(line.split(" #")[0] for line in text.splitlines() if not line.startswith("#")))
        self.write("deep/er/t.yaml", text)
        return "deep/er/t.yaml"

    def results(self, *arguments):
        done = self.run_ddpsim(*arguments, "--quiet", "--json", "-")
        return done.returncode, done.stdout, [line.split(" error: ")[-1] for line in done.stderr.splitlines()[:1]]

    def check_key(self, kind, key, *more):
        """As a scenario's key, the file does what the name does; most of them are no error."""
        works = 0
        for name in self.names(kind):
            with self.subTest(kind=kind, name=name):
                file = self.shown(kind, name)
                code, by_name, _ = self.results("simulate", "job.yaml", "--set", f"{key}={name}", *more)
                self.assertEqual(self.results("simulate", "job.yaml", "--set", f"{key}=./{file}", *more)[:2], (code, by_name))
                works += code == 0
        self.assertGreater(works, 0)

    def test_topologies(self):
        self.check_key("topologies", "cluster.topology", "--set", "cluster.gpu=h100-sxm")

    def test_gpus(self):
        self.check_key("gpus", "cluster.gpu")

    def test_software(self):
        self.check_key("software", "workload.framework")

    def test_fabrics(self):
        self.check_key("fabrics", "variability.weather", "--set", "variability={iterations: 3, seed: 1, jitter: 0.03}", "--set", "cluster.topology=p5")

    def test_calibrations(self):
        self.check_key("calibrations", "collective.nccl.calibration")

    def test_models(self):
        for name in self.names("models"):
            file = self.shown("models", name)
            made = [self.ok("trace", "synthesize", "--layers", given, "--batch", "1", "--forward", "10ms", "--backward", "20ms", "--out", "t.csv") and
                    self.read("t.csv").decode().split("gradient,", 1)[1] for given in (name, file)]
            self.assertEqual(made[0], made[1])

    def test_scenarios(self):
        for name in self.names("configs"):
            with self.subTest(name=name):
                file = self.shown("configs", name)
                self.assertEqual(self.results("simulate", file), self.results("simulate", name))


if __name__ == "__main__":
    cli.main()
