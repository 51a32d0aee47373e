#!/usr/bin/env python3
"""What the commands print at 80, 120 and 200 columns, piped, coloured and without UTF-8. Screens are data: `--update` writes them anew."""
import re
import sys
import unicodedata

import ddpsim_cli as cli

WIDTHS = (80, 120, 200)
UPDATE = "--update" in sys.argv
if UPDATE:
    sys.argv.remove("--update")
JOB = ["llama-3-8b", "--on", "superpod-h100", "--gpus", "64", "--sequence", "8192"]
COMMANDS = {
    "caps": ["sweep", "configs/quickstart.yaml"],
    "links": ["sweep", "llama-3-8b", "--on", "superpod-h100", "--gpus", "64,512", "--sequence", "8192",
              "--set", "sweep.cluster.nics.bandwidth=[100Gbps,200Gbps,400Gbps,800Gbps]"],
    "strategies": ["sweep", "llama-3-8b", "--on", "superpod-h100", "--gpus", "64,512", "--sequence", "8192", "--strategy", "fsdp,hsdp,zero3,ddp"],
    "plan": ["plan", "llama-3-8b", "--on", "superpod-h100", "--gpus", "64", "--batch", "256", "--sequence", "8192", "--tokens", "15T", "--price", "2.5", "--top", "6"],
    "scale": ["scale", "llama-3-8b", "--on", "superpod-h100", "--gpus", "64:4096:4", "--sequence", "8192", "--tokens", "15T", "--price", "2.5"],
    "simulate": ["simulate", *JOB],
    "memory": ["memory", "llama-2-7b", "--on", "dgx-h100", "--gpus", "8", "--sequence", "4096", "--strategy", "ddp"],
    "costs": ["topology", "costs", "superpod-h100", "--world-size", "64", "--bytes", "1MiB:1GiB:32"],
    "spread": ["simulate", "configs/jitter-1024xh100.yaml"],
    "recorded": ["simulate", "configs/recorded-llama-8b.yaml"],
}
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def columns(line):
    return sum(0 if unicodedata.combining(c) else 1 for c in line)


class TerminalTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.link_data()

    def shown(self, command, *options, **environment):
        return self.ok(*command, *options, env=cli.environment(**environment)).stdout

    def test_screens(self):
        for name, command in COMMANDS.items():
            text = "".join(f"--- {width} columns\n{self.shown(command, '--width', str(width))}" for width in WIDTHS)
            path = cli.SOURCE_ROOT / f"tests/cli/screens/{name}.txt"
            if UPDATE:
                path.write_text(text)
            with self.subTest(name):
                self.assertEqual(path.read_text(), text, f"{name}: python3 -B tests/cli/terminal_test.py BINARY SOURCE --update writes it anew")

    def test_no_line_is_wider_than_the_terminal(self):
        """Nor adds colour a word, nor does a terminal without UTF-8 get a sign of it. A wider one shows no column less."""
        for name, command in COMMANDS.items():
            before = 0
            for width in (72, 80, 101, 120, 160, 200, 240):
                plain = self.shown(command, "--width", str(width))
                with self.subTest(f"{name} at {width}"):
                    self.assertLessEqual(max(map(columns, plain.splitlines())), width)
                    shown = len(plain.split("\n\n")[0].splitlines()[0].split())
                    self.assertGreaterEqual(shown, before)
                    before = shown if name != "simulate" else 0
            coloured = self.shown(command, "--width", "120", "--color", "always")
            self.assertIn("\x1b[2m", coloured)
            self.assertEqual(ESCAPE.sub("", coloured), self.shown(command, "--width", "120"))
            self.assertTrue(self.shown(command, "--width", "120", LC_ALL="C").isascii())

    def test_every_scenario_fits(self):
        for path in sorted((cli.SOURCE_ROOT / "configs").glob("*.yaml")):
            for width in ("80", "120"):
                done = self.run_ddpsim("simulate", f"configs/{path.name}", "--width", width)
                text = done.stdout if done.returncode == 0 else self.shown(["sweep", f"configs/{path.name}"], "--width", width)  # it needs its axes
                with self.subTest(f"{path.name} at {width}"):
                    self.assertLessEqual(max(map(columns, text.splitlines())), int(width))

    def test_who_says_how_wide_and_how_colourful(self):
        """The option before the environment, and a pipe has every column and no colour."""
        command = COMMANDS["scale"]
        pipe = self.shown(command)
        self.assertGreater(max(map(columns, pipe.splitlines())), 100)
        self.assertNotIn("not shown", pipe)
        self.assertEqual(self.shown(command, COLUMNS="80"), self.shown(command, "--width", "80"))
        self.assertEqual(self.shown(command, "--width", "120", COLUMNS="80"), self.shown(command, "--width", "120"))
        for environment, options, is_coloured in [({}, [], False), ({"CLICOLOR_FORCE": "1"}, [], True), ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, [], False),
                                                  ({"NO_COLOR": "1"}, ["--color", "always"], True), ({"CLICOLOR_FORCE": "1"}, ["--color", "never"], False)]:
            self.assertEqual("\x1b[" in self.shown(command, *options, **environment), is_coloured, (environment, options))
        self.assertIn("not in range", self.fails(2, *command, "--width", "3").stderr)


if __name__ == "__main__":
    cli.main()
