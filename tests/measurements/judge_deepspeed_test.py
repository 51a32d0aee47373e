#!/usr/bin/env python3
"""What docs/accuracy.md says of DeepSpeed's host is what measurements/judge_deepspeed.py gets from this build, and not worse than it was.

Usage: judge_deepspeed_test.py DDPSIM SOURCE_ROOT [unittest arguments]
"""
from chapter import Chapter, main


class Tables(Chapter):
    script = "judge_deepspeed.py"

    def test_the_document_is_up_to_date(self):
        self.assert_same(self.written(), self.answer_to(), count_tolerance=1)

    def test_no_stage_is_off_by_more_than_it_was(self):
        """Errors in %, some above what they were when the chapter was written."""
        most = {"zero1": 44, "zero2": 56, "zero3": 17}
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in self.answer_to()[2:]]
        self.assertEqual(len(rows), 14)
        for model, _, _, stage, _, _, error in rows:
            self.assertLessEqual(abs(float(error)), most[stage], (model, stage))

    def test_stage_three_takes_longest_wherever_the_host_sets_the_pace(self):
        """As measured, in each group of three rows."""
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in self.answer_to()[2:]]
        for group in range(0, 12, 3):
            for column in (4, 5):
                first, second, third = (float(row[column]) for row in rows[group:group + 3])
                self.assertGreater(third, 2 * max(first, second))


if __name__ == "__main__":
    main()
