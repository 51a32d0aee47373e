#!/usr/bin/env python3
"""What measurements/RESULTS.md says of recorded scripts is what measurements/judge_recorded.py gets from this build, and no set is further off than it was.

Usage: judge_recorded_test.py DDPSIM SOURCE_ROOT [unittest arguments]
"""
from chapter import Chapter, main

# Mean error in %, of passes on the H200 and on the H100 and of memory: half a point above what it was when the chapter was written.
BARS = {"bf16": (4.2, 2.9, 1.4), "autocast": (3.1, 6.1, 2.4), "float32 and TF32": (9, 8.7, 0.8), "DistributedDataParallel": (2.4, None, 1.2), "FSDP2": (2.4, None, 1.8)}


class Tables(Chapter):
    script = "judge_recorded.py"

    def test_the_document_is_up_to_date(self):
        self.assert_same(self.written(), self.answer_to())

    def test_no_set_is_further_off(self):
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in self.answer_to()[2:]]
        sets = {line[0]: line for line in cells}
        for name, bars in BARS.items():
            for bar, column in zip(bars, (3, 7, 11)):
                if bar is not None:
                    self.assertLessEqual(float(sets[name][column]), bar, sets[name])


if __name__ == "__main__":
    main()
