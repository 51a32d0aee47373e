#!/usr/bin/env python3
"""Every `scripts/run ...` line of the README's sh blocks runs as it stands, in the order of the page."""
import re
import subprocess

import ddpsim_cli as cli

FEWEST = 5


def commands_of(text):
    """The `scripts/run` lines of ```sh blocks; a line that ends in a backslash goes on with the next."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if re.match(r"\s*scripts/run\b", line):
                yield line.strip()


def is_real_run(command):
    """Minutes on a machine left alone; tests/cli/validate_test.py has short ones."""
    return command.startswith("scripts/run validate") and "--measured" not in command


class ReadmeTest(cli.CliTest):
    def test_every_command_runs(self):
        commands = list(commands_of((cli.SOURCE_ROOT / "README.md").read_text()))
        self.assertGreaterEqual(len(commands), FEWEST, "commands in README.md")
        self.copy_data()
        # A script of that name in its place: quotes, pipes and paths of the line mean what they mean to a reader. Without
        # arguments the real one runs the quickstart.
        script = self.write("scripts/run", '#!/bin/sh\n[ $# -gt 0 ] || set -- sweep configs/quickstart.yaml\n'
                                           f'exec "{cli.BINARY}" "$@"\n')
        script.chmod(0o755)
        for command in commands:
            if command.startswith("scripts/run capture") and not (cli.BINARY.parent / "ddpsim-capture").exists():
                self.write("gpt2-cpu.csv", (cli.SOURCE_ROOT / "traces/gpt2-cpu.csv").read_bytes())  # built without LibTorch
                continue
            if is_real_run(command):
                continue
            with self.subTest(command):
                done = subprocess.run(["sh", "-c", command], cwd=self.folder, env=cli.environment(), capture_output=True,
                                      timeout=cli.TIMEOUT_S, check=False)
                self.assertEqual(done.returncode, 0, done.stderr.decode())


    def test_the_iterations_that_were_measured_give_the_table_above(self):
        """The run takes minutes; its results are in the repository, and with them the prediction is that of the run."""
        text = (cli.SOURCE_ROOT / "README.md").read_text()
        (command,) = [c for c in commands_of(text) if "--measured validate/results" in c]
        run = next(c for c in commands_of(text) if "testbed-8.yaml --repetitions" in c)
        (table,) = re.findall(re.escape(run) + r"\n```\n\n```\n(.*?)```", text, re.DOTALL)
        done = self.ok(*command.split()[1:], cwd=cli.SOURCE_ROOT)
        self.assertEqual(len(table.splitlines()), 6)
        self.assertIn(table.replace("~", " "), done.stdout)
        errors = re.findall(r"([+-]\d+\.\d) % +[+-]", self.ok("validate", "configs/testbed-8.yaml", "--measured", command.split()[-1], cwd=cli.SOURCE_ROOT).stdout)
        self.assertEqual(len(errors), 5)
        self.assertIn(f"up to {max(abs(float(e)) for e in errors)} % off", text)    # without the calibration
        self.assertIn("it is " + "%s, %s, %s, %s and %s %% off" % tuple(errors), (cli.SOURCE_ROOT / "docs/validation.md").read_text().replace("\n", " "))


class CommandsOfTest(cli.CliTest):
    def test_finds_commands_in_sh_blocks_only(self):
        text = "```sh\nscripts/run a \\\n  --b  # why\ncd x\nscripts/test\n```\nscripts/run no\n```yaml\nscripts/run no\n```\n```sh\nscripts/run\n```\n"
        self.assertEqual(list(commands_of(text)), ["scripts/run a    --b  # why", "scripts/run"])


if __name__ == "__main__":
    cli.main()
