#!/usr/bin/env python3
"""The command line itself: wrong usage, --help, --version."""
import re
import shlex

import ddpsim_cli as cli

COMMANDS = [[], ["simulate"], ["sweep"], ["topology"], ["topology", "show"], ["topology", "rings"], ["topology", "costs"],
            ["topology", "nccl"], ["topology", "export"], ["topology", "import"], ["calibrate"], ["trace"], ["trace", "show"],
            ["trace", "import"], ["trace", "synthesize"]]


class UsageTest(cli.CliTest):
    def check(self, arguments, message, hint):
        done = self.fails(2, *arguments)
        self.assertEqual((done.stdout, done.stderr), ("", f"error: {message}\nhint: see '{hint} --help'\n"))

    def test_wrong_usage(self):
        cases = [
            ("", "A subcommand is required", "ddpsim"),
            ("simulat scenario.yaml", "unexpected argument 'simulat'; did you mean 'simulate'?", "ddpsim"),
            ("--fast", "unexpected argument '--fast'", "ddpsim"),
            ("simulate", "FILE is required", "ddpsim simulate"),
            ("simulate a.yaml b.yaml", "unexpected argument 'b.yaml'", "ddpsim simulate"),
            ("simulate a.yaml --jason out.json", "unexpected argument '--jason'; did you mean '--json'?", "ddpsim simulate"),
            ("simulate a.yaml --html a.html", "unexpected argument '--html'", "ddpsim simulate"),
            ("simulate a.yaml --json", "--json: 1 required PATH|- missing", "ddpsim simulate"),
            ("simulate a.yaml --json ''", "--json: needs a file name", "ddpsim simulate"),
            ("simulate a.yaml --timeline ''", "--timeline: needs a file name", "ddpsim simulate"),
            ("sweep", "FILE is required", "ddpsim sweep"),
            ("sweep a.yaml --csv ''", "--csv: needs a file name", "ddpsim sweep"),
            ("sweep a.yaml --plot ''", "--plot: needs a file name", "ddpsim sweep"),
            ("sweep a.yaml --jobs many", "--jobs: Value many not in range 1 to 1024", "ddpsim sweep"),
            ("sweep a.yaml --jobs -1", "--jobs: Value -1 not in range 1 to 1024", "ddpsim sweep"),
            ("sweep a.yaml --jobs 1e400", "--jobs: Value 1e400 not in range 1 to 1024", "ddpsim sweep"),
            ("sweep a.yaml --timeline t.json", "unexpected argument '--timeline'", "ddpsim sweep"),
            ("topology", "A subcommand is required", "ddpsim topology"),
            ("topology cost a.yaml", "unexpected argument 'cost'; did you mean 'costs'?", "ddpsim topology"),
            ("topology show", "FILE is required", "ddpsim topology show"),
            ("topology show a.yaml --channels 2", "unexpected argument '--channels'", "ddpsim topology show"),
            ("topology rings a.yaml --world_size 8", "unexpected argument '--world_size'; did you mean '--world-size'?",
             "ddpsim topology rings"),
            ("topology nccl", "FILE is required", "ddpsim topology nccl"),
            ("topology nccl a.yaml --world-size 0", "--world-size: Value 0 not in range 1 to 1048576", "ddpsim topology nccl"),
            ("topology nccl a.yaml --operation barrier",
             "--operation: barrier not in {all_reduce,all_gather,reduce_scatter,broadcast,reduce,all_to_all,gather,scatter,send_recv}", "ddpsim topology nccl"),
            ("topology nccl a.yaml --bytes 1MiB", "unexpected argument '--bytes'", "ddpsim topology nccl"),
            ("plan gpt2 --topology dgx-h100 --gpus 8 --global-batch 8 --strategy fdsp",
             "--strategy: fdsp not in {naive,flat,overlap,ddp,fsdp,fsdp1,hsdp,hsdp1,zero0,zero1,zero2,zero3,megatron,data_parallel,"
             "parameter_server}; did you mean 'fsdp'?", "ddpsim plan"),
            ("topology export a.yaml --dot ''", "--dot: needs a file name", "ddpsim topology export"),
            ("topology export a.yaml --svg", "--svg: 1 required PATH missing", "ddpsim topology export"),
            ("topology import a.txt", "--out is required", "ddpsim topology import"),
            ("topology import a.txt --format hwloc --out b.yaml", "--format: hwloc not in {nvidia-smi,rocm-smi,nccl-xml,slurm}",
             "ddpsim topology import"),
            ("topology import a.txt --format nccl-xml --out b.yaml --pcie-generation 7",
             "--pcie-generation: Value 7 not in range 1 to 6", "ddpsim topology import"),
            ("simulate a.yaml --check-ranks many", "--check-ranks: Value many not in range 2 to 1024", "ddpsim simulate"),
            ("trace", "A subcommand is required", "ddpsim trace"),
            ("trace shwo a.csv", "unexpected argument 'shwo'; did you mean 'show'?", "ddpsim trace"),
            ("trace show", "FILE is required", "ddpsim trace show"),
            ("trace import", "IN is required", "ddpsim trace import"),
            ("trace synthesize --model gpt2", "--out is required", "ddpsim trace synthesize"),
            ("trace synthesize --model gpt2 --layers m.yaml --out t.csv",
             "--model excludes --layers", "ddpsim trace synthesize"),
            ("trace synthesize --model gpt2 --dtype int8 --out t.csv",
             "--dtype: int8 not in {float32,bfloat16,float16,fp32,bf16,fp16,tf32,fp8}", "ddpsim trace synthesize"),
            ("trace synthesize --model gpt2 --efficiency 2 --out t.csv", "--efficiency: Value 2 not in range 0.001000 to 1.000000",
             "ddpsim trace synthesize"),
        ]
        for arguments, message, hint in cases:
            with self.subTest(arguments):
                self.check(shlex.split(arguments), message, hint)

    def test_help_goes_to_standard_output_and_gives_an_example(self):
        for command in COMMANDS:
            with self.subTest(command):
                done = self.ok(*command, "--help")
                self.assertEqual(done.stderr, "")
                self.assertIn("Usage: ddpsim", done.stdout)
                self.assertRegex(done.stdout, r"\n\nExample:\n  ddpsim " + (" ".join(command) or "plan") + " ")

    def test_help_of_a_command_is_what_its_option_prints(self):
        for command in ([], ["scale"], ["topology"], ["topology", "costs"]):
            self.assertEqual(self.ok("help", *command).stdout, self.ok(*command, "--help").stdout)
        self.assertIn("\n  help ", self.ok("help").stdout)
        self.assertEqual(self.ok("help", "scale", "--help").stdout, self.ok("help", "scale").stdout)
        for wrong, message in ((["scael"], "ddpsim has no command 'scael'; did you mean 'scale'?"),
                               (["topology", "cost"], "topology has no command 'cost'; did you mean 'costs'?"),
                               (["scale", "FILE"], "scale has no command 'FILE'")):
            self.assertEqual(self.fails(2, "help", *wrong).stderr, f"error: {message}\nhint: see 'ddpsim --help'\n")

    def test_an_example_is_of_its_own_command(self):
        for command in re.findall(r"(?m)^  (\w+)  ", self.ok("help").stdout.split("Subcommands:")[1]):
            with self.subTest(command):
                example = re.search(r"Example:\n  (.*)", self.ok("help", command).stdout)
                self.assertTrue(example and example[1].startswith(f"ddpsim {command}"), example)
        self.assertIn("Usage: ddpsim help [OPTIONS] [COMMAND...]\n", self.ok("help", "help").stdout)

    def test_help_lists_every_option_with_a_description(self):
        for command, options in ((["simulate"], "set json csv quiet timeline best-caps check-fidelity check-ranks check-network"),
                                 (["sweep"], "set json csv quiet plot html jobs exact-optimum"),
                                 (["topology", "rings"], "world-size channels"),
                                 (["topology", "costs"], "world-size bytes"),
                                 (["topology", "nccl"], "world-size"),
                                 (["topology", "export"], "world-size dot svg"),
                                 (["topology", "import"], "format out gpu pcie-generation cpu nic-bandwidth"),
                                 (["calibrate"],
                                  "topology world-size algorithm judge every-other-size from-nothing out json plot quiet"),
                                 (["trace", "import"], "format out statistic untied dtype batch-size sequence-length source"),
                                 (["trace", "synthesize"], "model layers batch sequence dtype gradients gpu framework recompute attention efficiency "
                                  "memory-efficiency forward backward optimizer out")):
            text = self.ok(*command, "--help").stdout
            for option in options.split():
                self.assertRegex(text, rf"(?m)^  --{option}\b.*\n? +\w", f"{command} --{option}")

    def test_the_examples_of_the_help_run(self):
        self.link_data()
        for command in COMMANDS:
            text = self.ok(*command, "--help").stdout
            example = re.search(r"\nExample:\n  ddpsim (.*)", text)
            if example and " import " not in example[1]:  # which reads files of the user's own
                with self.subTest(example[1]):
                    self.ok(*shlex.split(example[1]))

    def test_version(self):
        project = (cli.SOURCE_ROOT / "CMakeLists.txt").read_text()
        version = re.search(r"project\(ddpsim VERSION (\S+)", project)[1]
        done = self.ok("--version")
        self.assertRegex(done.stdout, rf"^ddpsim {re.escape(version)} \((commit [0-9a-f]+(-dirty)?, )?SimGrid \d+\.\d+(\.\d+)?\)\n$")
        self.write_scenario()
        tool = self.simulate()["tool"]
        self.assertTrue(done.stdout.endswith(f"SimGrid {tool['simgrid']})\n"))
        self.assertEqual(tool["version"], version)


if __name__ == "__main__":
    cli.main()
