#!/usr/bin/env python3
"""The figures of measurements/RESULTS.md are those that measurements/judge.py gets from this build.

Usage: judge_test.py DDPSIM SOURCE_ROOT
"""
import re
import subprocess
import sys
import unittest
from pathlib import Path

NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Judge(unittest.TestCase):
    def test_the_document_is_up_to_date(self):
        document = (ROOT / "measurements/RESULTS.md").read_text()
        start, end = "<!-- measurements/judge.py -->\n", "<!-- end -->"
        written = document[document.index(start) + len(start):document.index(end, document.index(start))].strip().splitlines()
        command = [sys.executable, str(ROOT / "measurements/judge.py"), DDPSIM]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()
        self.assertEqual(len(written), len(answer))
        for old, new in zip(written, answer):
            self.assertEqual(NUMBER.sub("0", old), NUMBER.sub("0", new))
            for a, b in zip(NUMBER.findall(old), NUMBER.findall(new)):
                # The last printed digit may fall either way.
                tolerance = 0.11 if "." in a else 1.0
                self.assertLessEqual(abs(float(a) - float(b)), tolerance, f"{old}\n{new}")


if __name__ == "__main__":
    DDPSIM, ROOT = sys.argv[1], Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
