#!/usr/bin/env python3
"""What docs/accuracy.md says of PCIe and sockets is what measurements/judge_transports.py gets from this build, and not worse than it was.

Usage: judge_transports_test.py DDPSIM SOURCE_ROOT [unittest arguments]
"""
from chapter import Chapter, main


class Tables(Chapter):
    script = "judge_transports.py"

    def test_the_document_is_up_to_date(self):
        self.assert_same(self.written(), self.answer_to(), count_tolerance=1)

    def test_no_kind_of_row_is_off_by_more_than_it_was(self):
        """Errors in %, some above what they were when the chapter was written."""
        most = {"peer": 8, "host": 25, "interleaved": 20, "judged": 150, "fitted": 1}
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in self.answer_to() if line.startswith("| all")]
        self.assertEqual({use for _, use, *_ in rows}, set(most))
        for _, use, _, _, error in rows:
            self.assertLessEqual(float(error), most[use], use)


if __name__ == "__main__":
    main()
