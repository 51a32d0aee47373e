#!/usr/bin/env python3
"""The tables of docs/accuracy.md are those of the pages they link to.

A row whose first cell is a link to measurements/RESULTS.md or validate/published/BOOK.md: the numbers of its other cells, but for columns named in ASIDE, stand
in one line of the section that the link leads to. Usage: summary_test.py SOURCE_ROOT
"""
import re
import sys
import unittest
from pathlib import Path

LINKED = re.compile(r"\| \[[^]]+\]\(\.\./((?:measurements/RESULTS|validate/published/BOOK)\.md)#([^)]+)\) \|(.*)\|$")
NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?!\w)")
ASIDE = {"fitted", "aim"}  # words of ours
FIRST = "the-book-of-overlapped-steps"  # its table has a row a set


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def sections(text):
    """By anchor, a heading's text down to the next heading of any level."""
    parts = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {anchor(heading): body for heading, body in zip(parts[1::2], parts[2::2])}


class Summary(unittest.TestCase):
    def test_figures_are_those_of_the_generated_pages(self):
        pages = {name: sections((ROOT / name).read_text()) for name in ("measurements/RESULTS.md", "validate/published/BOOK.md")}
        columns, checked, missing = [], 0, []
        for line in (ROOT / "docs/accuracy.md").read_text().splitlines():
            found = LINKED.match(line)
            if line.startswith("|") and not found and "---" not in line:
                columns = [cell.strip() for cell in line.split("|")[1:-1]]
            if not found:
                continue
            page, name, rest = found.groups()
            numbers = [number for column, cell in zip(columns[1:], rest.split("|")) if column not in ASIDE for number in NUMBER.findall(cell)]
            checked += len(numbers)
            if not any(set(numbers) <= set(NUMBER.findall(there)) for there in pages[page][name if "RESULTS" in page else FIRST].splitlines()):
                missing.append(line)
        self.assertGreater(checked, 300)
        self.assertEqual(missing, [])


if __name__ == "__main__":
    ROOT = Path(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
