#!/usr/bin/env python3
"""What measurements/RESULTS.md says of DeepSpeed's host is what measurements/judge_deepspeed.py gets from this build, and not worse than it was.

Usage: judge_deepspeed_test.py DDPSIM SOURCE_ROOT [unittest arguments]
"""
from chapter import Chapter, main


class Tables(Chapter):
    script = "judge_deepspeed.py"

    def test_the_document_is_up_to_date(self):
        self.assert_same(self.written(), self.answer_to(), count_tolerance=1)

    def test_no_stage_is_off_by_more_than_it_was(self):
        """Errors in %, some above what they were when the chapter was written."""
        most = {"zero1": 37, "zero2": 42, "zero3": 15}
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


class Reports(Chapter):
    script = "judge_deepspeed.py"

    def rows(self):
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in self.answer_to("--reports")[2:]]

    def test_the_document_is_up_to_date(self):
        self.assert_same(self.written("--reports"), self.answer_to("--reports"), count_tolerance=1)

    def test_what_is_faster_is_predicted_to_be(self):
        """Of two rows of a report and job that differ by more than a tenth: stages, releases, and stage 3 as it grows."""
        groups = {}
        for row in self.rows():
            groups.setdefault((row[0], row[1].split(", ")[0], row[5]), []).append((float(row[6]), float(row[7])))
        compared = 0
        for key, rows in groups.items():
            for i, (measured, predicted) in enumerate(rows):
                for other_measured, other_predicted in rows[:i]:
                    if not 0.9 < measured / other_measured < 1 / 0.9:
                        self.assertEqual(predicted > other_predicted, measured > other_measured, key)
                        compared += 1
        self.assertGreaterEqual(compared, 25)


if __name__ == "__main__":
    main()
