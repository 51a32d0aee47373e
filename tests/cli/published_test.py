#!/usr/bin/env python3
"""The published sets as a reader finds them: their scenarios run as they stand, on traces that the accuracy book's script makes."""
import shutil
import subprocess
import sys

import ddpsim_cli as cli

BOOK = "validate/published"


class PublishedTest(cli.CliTest):
    def test_every_scenario_runs_as_it_stands(self):
        scenarios = sorted((cli.SOURCE_ROOT / BOOK).glob("*/scenario.yaml"))
        self.assertEqual(len(scenarios), 6)
        for scenario in scenarios:
            with self.subTest(scenario):
                self.ok("simulate", scenario, cwd=cli.SOURCE_ROOT)

    def test_traces_are_those_that_the_book_makes(self):
        for name in (BOOK, "models"):
            shutil.copytree(cli.SOURCE_ROOT / name, self.folder / name)
        made = sorted((self.folder / BOOK).glob("*/trace.csv"))
        for trace in made:
            trace.unlink()
        subprocess.run([sys.executable, "-B", self.folder / BOOK / "book.py", cli.BINARY, "--traces"], check=True, env=cli.environment(), timeout=cli.TIMEOUT_S)
        self.assertEqual(len(made), 6)
        for trace in made:
            self.assertEqual(trace.read_text(), (cli.SOURCE_ROOT / trace.relative_to(self.folder)).read_text(), trace)

    def test_a_sentence_is_not_taken_for_a_list_of_them(self):
        done = subprocess.run([sys.executable, "-B", "-c", 'import dataclasses, sets; dataclasses.replace(sets.REFERENCE, remarks=("one sentence"))'],
                              cwd=cli.SOURCE_ROOT / BOOK, capture_output=True, text=True, timeout=cli.TIMEOUT_S, check=False)
        self.assertIn("TypeError: reference: remarks must be a tuple; is a comma missing?", done.stderr)


if __name__ == "__main__":
    cli.main()
