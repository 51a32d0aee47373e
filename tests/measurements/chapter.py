"""A block of measurements/RESULTS.md, held to what a script of measurements/ prints."""
import functools
import re
import subprocess
import sys
import unittest
from pathlib import Path

NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


class Chapter(unittest.TestCase):
    ddpsim: str
    root: Path
    script: str

    @classmethod
    @functools.cache
    def answer_to(cls, *arguments, script=None):
        command = [sys.executable, "-B", str(cls.root / "measurements" / (script or cls.script)), cls.ddpsim, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()

    @classmethod
    def written(cls, *arguments, script=None):
        document = (cls.root / "measurements/RESULTS.md").read_text()
        start = f"<!-- {' '.join(['measurements/' + (script or cls.script), *arguments])} -->\n"
        begin = document.index(start) + len(start)
        return document[begin:document.index("<!-- end -->", begin)].strip().splitlines()

    def assert_same(self, document, answer, count_tolerance=0):
        self.assertEqual(len(document), len(answer))
        for old, new in zip(document, answer):
            self.assertEqual(NUMBER.sub("0", old), NUMBER.sub("0", new))
            for a, b in zip(NUMBER.findall(old), NUMBER.findall(new)):
                # The last printed digit may fall either way; counts may not.
                self.assertLessEqual(abs(float(a) - float(b)), 0.11 if "." in a else count_tolerance, f"{old}\n{new}")


def main():
    """SCRIPT DDPSIM SOURCE_ROOT [unittest arguments]"""
    Chapter.ddpsim, Chapter.root = sys.argv[1], Path(sys.argv[2])
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[3:]])
