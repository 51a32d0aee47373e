#!/usr/bin/env python3
"""What measurements/RESULTS.md says of one job on several numbers of GPUs is what measurements/judge_growth.py gets from this build, and within its aims.

Usage: judge_growth_test.py DDPSIM SOURCE_ROOT [unittest arguments]
"""
import subprocess
import sys

from chapter import Chapter, main


class Tables(Chapter):
    script = "judge_growth.py"

    def test_the_document_is_up_to_date(self):
        self.assert_same(self.written(), self.answer_to(), count_tolerance=1)

    def test_aims(self):
        """Grok-1 within 8 %, growth within 1.5 points, means of absolute values."""
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in self.answer_to() if line]
        grok = next(row for row in cells if row[0].startswith("grok-1 in bf16"))
        self.assertLessEqual(float(grok[3]), 8)
        self.assertEqual(cells[-1][0], "mean of absolute values")
        self.assertLessEqual(float(cells[-1][4]), 1.5)

    def test_a_word_in_no_name(self):
        done = subprocess.run([sys.executable, "-B", self.root / "measurements/judge_growth.py", self.ddpsim, "--only", "nosuch"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("error: --only nosuch: no series has it in its name; there are gpt3-175b in bf16, H100, 24.11.1; ", done.stderr)


if __name__ == "__main__":
    main()
