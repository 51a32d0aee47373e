#!/usr/bin/env python3
"""What docs/accuracy.md says of one H200 is what measurements/judge_h200.py gets from this build, and not worse than it was.

Usage: judge_h200_test.py DDPSIM SOURCE_ROOT [unittest arguments]
"""
from chapter import Chapter, main

# Mean error of the judged rows in %: half a point above what it was when the chapter was written.
BARS = {"Llama, bf16": 2.9, "GPT-2, bf16": 11.7, "float32 and TF32": 12.4, "autocast": 8.9, "torch.compile, autocast": 5.4}
ROWS = {"Llama, bf16": (11, 10), "GPT-2, bf16": (0, 5), "float32 and TF32": (0, 2), "autocast": (9, 9), "torch.compile, bf16": (3, 0), "torch.compile, autocast": (0, 2)}


class Tables(Chapter):
    script = "judge_h200.py"

    def test_the_document_is_up_to_date(self):
        self.assert_same(self.written(), self.answer_to())

    def test_no_set_is_judged_worse_than_before(self):
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in self.answer_to()[2:]]
        self.assertEqual({line[0]: (int(line[2]), int(line[4])) for line in cells}, ROWS)
        for line in cells:
            if line[0] in BARS:
                self.assertLessEqual(float(line[6]), BARS[line[0]], line)


if __name__ == "__main__":
    main()
