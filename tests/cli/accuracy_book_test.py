#!/usr/bin/env python3
"""The accuracy book: docs/accuracy.md is what validate/published/book.py writes with this build."""
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
        done = subprocess.run([sys.executable, "-B", script, cli.BINARY, "--out", self.folder / "accuracy.md", "--no-plots"], env=cli.environment(),
                              capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.folder / "accuracy.md").read_text()
        self.assertEqual(page.count("(calibrated)"), 6, "one overlapped row a set")
        book, end, rest = (cli.SOURCE_ROOT / "docs/accuracy.md").read_text().partition("<!-- end of validate/published/book.py -->\n")
        self.assertIn("## Whole steps", rest)
        self.assertEqual(without_places(page), without_places(book + end),
                         "validate/published/book.py BINARY --out docs/accuracy.md")


if __name__ == "__main__":
    cli.main()
