#!/usr/bin/env python3
"""What measurements/RESULTS.md says of memory is what measurements/judge_memory.py gets from this build, and not worse than it was.

Usage: judge_memory_test.py DDPSIM SOURCE_ROOT [unittest arguments]
"""
from chapter import Chapter, main

# Rows, and a mean error in % some above what it was when the chapter was written.
BARS = {"**Megatron-LM's tests**": (157, 2.8), "**PyTorch, H100 and H200**": (126, 1.7), "experts": (16, 3.2), "context": (37, 2.7), "FSDP1": (6, 1.2), "FSDP2": (14, 2.3), "DDP": (5, 1.6)}


class Tables(Chapter):
    script = "judge_memory.py"

    def test_the_document_is_up_to_date(self):
        for arguments in ((), ("--recipes",)):
            self.assert_same(self.written(*arguments), self.answer_to(*arguments))

    def test_no_set_is_judged_worse_than_before(self):
        rows = {name: (number, error) for name, number, _, error, *_ in ([cell.strip() for cell in line.split("|")[1:-1]] for line in self.answer_to()[2:])}
        for name, (number, most) in BARS.items():
            self.assertEqual(int(rows[name][0]), number, name)
            self.assertLessEqual(float(rows[name][1]), most, name)

    def test_most_runs_that_fitted_are_said_to(self):
        shares = [float(line.split("|")[2]) for line in self.answer_to("--recipes")[2:]]
        self.assertEqual(len(shares), 11)
        self.assertEqual(sum(share > 1 for share in shares), 2)


if __name__ == "__main__":
    main()
