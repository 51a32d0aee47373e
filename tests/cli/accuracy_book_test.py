#!/usr/bin/env python3
"""validate/published/BOOK.md is what validate/published/book.py writes with this build."""
import re
import subprocess
import sys

import ddpsim_cli as cli

TIMEOUT_S = 900  # some 300 runs of the binary, with sanitizers perhaps

def without_places(page):
    """Links depend on where the page lies; pictures cost time."""
    return [re.sub(r"\]\([^)]*\)", "]", line) for line in page.splitlines() if line and not line.startswith("![")]


class BookTest(cli.CliTest):
    def test_the_page_is_what_the_binary_says(self):
        script = cli.SOURCE_ROOT / "validate/published/book.py"
        done = subprocess.run([sys.executable, "-B", script, cli.BINARY, "--out", self.folder / "BOOK.md", "--no-plots"], env=cli.environment(),
                              capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.folder / "BOOK.md").read_text()
        self.assertEqual(page.count("(calibrated)"), 6, "one overlapped row a set")
        book = (cli.SOURCE_ROOT / "validate/published/BOOK.md").read_text()
        self.assertEqual(without_places(page), without_places(book), "validate/published/book.py BINARY --out validate/published/BOOK.md")


if __name__ == "__main__":
    cli.main()
