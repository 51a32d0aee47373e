#!/usr/bin/env python3
"""Intervals hold as often as they say on the published steps, and measurements/RESULTS.md has how often.

Usage: judge_coverage_test.py DDPSIM SOURCE_ROOT [unittest arguments]
"""
from chapter import Chapter, main


class Coverage(Chapter):
    script = "judge_coverage.py"

    def test_the_document_is_up_to_date_and_intervals_hold(self):
        self.assert_same(self.written("--check"), self.answer_to("--check"), count_tolerance=2)

    def test_the_document_says_how_often_the_advised_way_was_the_fastest(self):
        self.assert_same(self.written("--choices --check"), self.answer_to("--choices", "--check"), count_tolerance=2)


if __name__ == "__main__":
    main()
