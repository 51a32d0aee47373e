#!/usr/bin/env python3
"""The commands of README.md and docs/guide run as they stand, in the order of the page, and print what the page shows.

A `console` block holds commands and what they print:

    $ scripts/run sweep configs/quickstart.yaml
    lines of standard output, in their order and nothing left out between them ...
    ...                                   <- but here

The lines of `sh` blocks that begin with scripts/run are run too; what they print depends on the machine, or is of no interest.

After figures changed: pages_test.py BINARY SOURCE_ROOT --update rewrites the blocks; read the difference."""
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import ddpsim_cli as cli

DOTS = "..."
# The interpreter of a build with the Python package; without one commands with python3 are left out.
PACKAGE = os.environ.get("DDPSIM_PYTHON")
PAGES = ["README.md", "docs/guide/your-own-job.md", "docs/guide/your-cluster.md", "docs/guide/your-measurements.md", "docs/guide/coursework.md", "docs/guide/which-method.md", "docs/guide/research.md", "docs/guide/record.md"]


class Command:
    def __init__(self, line, shown=None):
        self.line, self.shown = line, shown    # shown: the lines of the page; None: not compared

    def runs_here(self):
        """Not what takes minutes on a machine left alone: tests/cli/validate_test.py has short ones."""
        if self.line.startswith("python3 "):
            return PACKAGE is not None
        return self.line.startswith("scripts/run") and not (self.line.startswith("scripts/run validate") and "--measured" not in self.line)


BLOCK = re.compile(r"^```(console|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands_of_block(kind, body):
    """A line that ends in a backslash goes on with the next."""
    lines = body.replace("\\\n", " ").splitlines()
    if kind == "sh":
        return [Command(line.strip()) for line in lines if re.match(r"\s*scripts/run\b", line)]
    commands = []
    for line in lines:
        if line.startswith("$ "):
            commands.append(Command(line[2:].strip(), []))
        else:
            commands[-1].shown.append(line)
    return commands


def commands_of(text):
    return [command for block in BLOCK.finditer(text) for command in commands_of_block(block[1], block[2])]


def difference(shown, printed):
    """What of the lines shown was not printed so; None where all were."""
    at, free = 0, False
    for line in shown:
        if line == DOTS:
            free = True
            continue
        try:
            found = printed.index(line, at)
        except ValueError:
            return f"not printed there: {line!r}; most like it: {difflib.get_close_matches(line, printed, 1, 0)}"
        if found != at and not free:
            return f"before {line!r} this was printed: {printed[at]!r}"
        at, free = found + 1, False
    return None if free or at == len(printed) else f"not shown: {printed[at]!r}"


def likeness(shown, printed):
    """The first words say which row of a table it is; figures may all have changed."""
    words, others = shown.split(), printed.split()
    same = next((k for k, (one, other) in enumerate(zip(words, others)) if one != other), min(len(words), len(others)))
    without = lambda text: re.sub(r"[\d.]+", "0", text)
    return same + difflib.SequenceMatcher(None, without(shown), without(printed)).ratio()


def updated(shown, printed):
    """The lines printed that are most like those shown, in order."""
    if not [line for line in shown if line != DOTS] or DOTS not in shown:
        return printed
    lines, at, last = [], 0, -1
    wanted = [line for line in shown if line != DOTS]
    for place, line in enumerate(wanted):
        rest = range(at, len(printed) - (len(wanted) - place - 1))
        if not rest:
            break
        best = max(rest, key=lambda k: (likeness(line, printed[k]), -k))
        if best != last + 1:
            lines.append(DOTS)
        lines.append(printed[best])
        at, last = best + 1, best
    return lines + ([DOTS] if last + 1 < len(printed) else [])


class Runner:
    """Runs a page's commands in a folder with the data a user finds in the repository."""

    def __init__(self, folder, captures):
        self.folder, self.captures = folder, captures
        script = folder / "scripts/run"
        script.parent.mkdir()
        # Without arguments the real one runs the quickstart.
        script.write_text(f'#!/bin/sh\n[ $# -gt 0 ] || set -- sweep configs/quickstart.yaml\nexec "{cli.BINARY}" "$@"\n')
        script.chmod(0o755)

    def run(self, command):
        """Lines printed, or None where it cannot run here."""
        if command.line.startswith("scripts/run capture") and not self.captures:
            (self.folder / "gpt2-cpu.csv").write_bytes((cli.SOURCE_ROOT / "traces/gpt2-cpu.csv").read_bytes())
            return None
        own = cli.environment(COLUMNS="100")  # as on a terminal of so many
        if PACKAGE:
            own = cli.environment(COLUMNS="100", PYTHONPATH=str(cli.BINARY.parents[1] / "python"), PATH=f"{Path(PACKAGE).parent}:{os.environ['PATH']}")
        done = subprocess.run(["sh", "-c", command.line], cwd=self.folder, env=own, capture_output=True, timeout=5 * cli.TIMEOUT_S, check=False)
        if done.returncode:
            raise AssertionError(f"{command.line}\n{done.stderr.decode()}")
        return [line.rstrip() for line in done.stdout.decode().splitlines()]


class PagesTest(cli.CliTest):
    def check(self, page):
        commands = commands_of((cli.SOURCE_ROOT / page).read_text())
        self.assertGreaterEqual(len(commands), 3, f"commands in {page}")
        self.link_data()
        runner = Runner(self.folder, captures=(cli.BINARY.parent / "ddpsim-capture").exists())  # built with LibTorch
        for command in filter(Command.runs_here, commands):
            with self.subTest(command.line):
                printed = runner.run(command)
                if printed is not None and command.shown is not None:
                    self.assertIsNone(difference(command.shown, printed))

    def test_every_page_is_checked(self):
        guide = {str(path.relative_to(cli.SOURCE_ROOT)) for path in (cli.SOURCE_ROOT / "docs/guide").glob("*.md")}
        self.assertEqual(set(PAGES), {"README.md"} | guide)

    def test_what_is_compared(self):
        """The test of the test: a figure, a line left out without dots, and a line too few are all found."""
        printed = ["a 1", "b 2", "c 3"]
        self.assertIsNone(difference(printed, printed))
        self.assertIsNone(difference([DOTS, "b 2", DOTS], printed))
        for shown in (["a 1", "b 2"], ["a 1", "c 3"], ["a 1", "b 9", "c 3"], [DOTS, "c 3", "a 1"]):
            self.assertIsNotNone(difference(shown, printed))
        self.assertEqual(updated(["b 7", DOTS], printed), [DOTS, "b 2", DOTS])

    def test_finds_commands_in_blocks(self):
        text = "```sh\nscripts/run a \\\n  --b  # why\ncd x\n```\nscripts/run no\n```yaml\nscripts/run no\n```\n```console\n$ scripts/run c\nout\n...\n```\n"
        self.assertEqual([(c.line, c.shown) for c in commands_of(text)], [("scripts/run a    --b  # why", None), ("scripts/run c", ["out", DOTS])])


for page in PAGES:
    setattr(PagesTest, "test_" + Path(page).stem.replace("-", "_").lower(), lambda self, page=page: self.check(page))


def update():
    for page in PAGES:
        test = PagesTest()
        with tempfile.TemporaryDirectory() as folder:
            test.folder = Path(folder)
            test.link_data()
            runner = Runner(test.folder, captures=False)

            def rewritten(block):
                body = ""
                for command in commands_of_block(block[1], block[2]):
                    printed = runner.run(command) if command.runs_here() else None    # those of sh blocks may write files for others
                    lines = command.shown if printed is None else updated(command.shown or [], printed)
                    body += "".join(line + "\n" for line in (f"$ {command.line}", *(lines or [])))
                return f"```console\n{body}```" if block[1] == "console" else block[0]

            path = cli.SOURCE_ROOT / page
            path.write_text(BLOCK.sub(rewritten, path.read_text()))


if __name__ == "__main__":
    if "--update" in sys.argv:
        cli.BINARY, cli.SOURCE_ROOT = (Path(argument).resolve() for argument in sys.argv[1:3])
        update()
    else:
        cli.main()
