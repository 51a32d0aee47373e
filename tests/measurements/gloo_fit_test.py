#!/usr/bin/env python3
"""measurements/gloo/README.md has what measurements/gloo/fit.py gets, and sim/gloo/host.cpp the numbers fitted.

Usage: gloo_fit_test.py SOURCE_ROOT
"""
import re
import subprocess
import sys
import unittest
from pathlib import Path


class GlooFit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        command = [sys.executable, "-B", str(ROOT / "measurements/gloo/fit.py")]
        cls.answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def test_the_document_is_up_to_date(self):
        document = (ROOT / "measurements/gloo/README.md").read_text()
        start, end = "<!-- fit.py -->\n", "<!-- end -->"
        self.assertEqual(document[document.index(start) + len(start):document.index(end)].strip(), self.answer)

    def test_the_model_has_the_fitted_numbers(self):
        host = (ROOT / "sim/gloo/host.cpp").read_text()
        process, cached = re.search(r"a process sends ([\d.]+) GB/s from memory, ([\d.]+) GB/s from the cache", self.answer).groups()
        self.assertIn(f".process_bandwidth = {process}_GBps", host)
        self.assertIn(f".cached_bandwidth = {cached}_GBps", host)

    def test_the_note_says_the_errors_of_the_rows_that_were_not_fitted(self):
        said = re.search(r'"(with 4 and 6 .*)";', (ROOT / "sim/gloo/host.cpp").read_text().replace('"\n      "', "")).group(1)
        server = self.answer[self.answer.index("Host of H20s"):self.answer.index("The same numbers elsewhere")]
        judged = [int(error) for error, fitted in re.findall(r"\| ([+-]\d+) % \| (\w*) \|", server) if not fitted]
        self.assertEqual(len(judged), 8)
        self.assertIn(f"{min(judged)} to +{max(judged)} %", said)
        elsewhere = re.search(r"25 GbE, bfloat16 .*\| ([+-]\d+) % \|", self.answer).group(1)
        infiniband = re.search(r"InfiniBand, bfloat16 .*\| ([+-]\d+) % \|", self.answer).group(1)
        self.assertIn(f"{min(int(elsewhere), int(infiniband))} %", said)


if __name__ == "__main__":
    ROOT = Path(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
