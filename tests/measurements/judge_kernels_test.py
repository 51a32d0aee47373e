#!/usr/bin/env python3
"""What measurements/RESULTS.md says of attention kernels and of BERT on V100s is what judge_attention.py and judge_bert.py print; kernels/attention.yaml has what kernels say.

Usage: judge_kernels_test.py DDPSIM SOURCE_ROOT [unittest arguments]
"""
import re
import subprocess
import sys

from chapter import Chapter, main

# Mean error in %: half a point above what it was when the chapter was written.
BERT = {"fp32": 7.5, "fp16": 9.5}
# Of which a comment of kernels/attention.yaml says that they are not the table's.
OTHERS = {("triton-2023", "A100"), ("triton-2023", "H100"), ("fa2", "500W"), ("cudnn8", "H100"), ("cudnn9", "B200")}


class Kernels(Chapter):
    def table(self):
        return subprocess.run([sys.executable, "-B", str(self.root / "measurements/judge_attention.py")], capture_output=True, text=True, check=True).stdout.strip().splitlines()

    def test_the_document_is_up_to_date(self):
        self.assert_same(self.written(script="judge_attention.py"), self.table())

    def test_the_file_has_what_kernels_say(self):
        lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in self.table()[2:]]
        told = {(line[0], line[1].replace("GB300", "B300")): (float(line[3]), float(line[4])) for line in lines}
        kernel, found = "", set()
        for line in (self.root / "kernels/attention.yaml").read_text().splitlines():
            if name := re.match(r"  ([\w-]+):", line):
                kernel = name[1]
            if entry := re.match(r"    (\w+): {attention: ([\d.]+)(?:, attention_ramp: (\d+))?", line):
                found.add((kernel, entry[1]))
                if (kernel, entry[1]) not in OTHERS:
                    self.assertEqual((float(entry[2]), float(entry[3])), told[kernel, entry[1]], line)
        self.assertEqual(found - OTHERS, set(told) - {("cudnn9", "B200")})


class Bert(Chapter):
    script = "judge_bert.py"

    def test_the_document_is_up_to_date(self):
        self.assert_same(self.written(), self.answer_to())

    def test_no_set_is_judged_worse_than_before(self):
        for line in self.answer_to()[2:]:
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            self.assertLessEqual(float(cells[6]), BERT[cells[1]], line)


if __name__ == "__main__":
    main()
