#!/usr/bin/env python3
"""What measurements/RESULTS.md says of this project's own GPUs is what measurements/judge_gpu.py gets from this build, and not worse than it was.

Usage: judge_gpu_test.py DDPSIM SOURCE_ROOT [unittest arguments]
"""
from chapter import Chapter, main

# Mean error of the judged rows in %: half a point above what it was when the chapter was written.
BARS = {"h200": {"Llama, bf16": 2.9, "GPT-2, bf16": 11.7, "float32 and TF32": 12.4, "autocast": 8.9, "torch.compile, autocast": 5.4},
        "h100": {"Llama, bf16": 3.5, "GPT-2, bf16": 12.7, "float32 and TF32": 12.6, "autocast": 6.9, "torch.compile, bf16": 5.8}}
ROWS = {"h200": {"Llama, bf16": (11, 10), "GPT-2, bf16": (0, 5), "float32 and TF32": (0, 2), "autocast": (9, 9), "torch.compile, bf16": (3, 0), "torch.compile, autocast": (0, 2)},
        "h100": {"Llama, bf16": (0, 19), "Llama, bf16, paced by the host": (0, 2), "GPT-2, bf16": (0, 4), "GPT-2, bf16, paced by the host": (0, 1), "float32 and TF32": (0, 2), "autocast": (0, 14), "autocast, paced by the host": (0, 4), "torch.compile, bf16": (0, 1)}}


class Tables(Chapter):
    script = "judge_gpu.py"

    def test_the_document_is_up_to_date(self):
        for gpu in ROWS:
            with self.subTest(gpu):
                self.assert_same(self.written(gpu), self.answer_to(gpu))

    def test_no_set_is_judged_worse_than_before(self):
        for gpu, rows in ROWS.items():
            with self.subTest(gpu):
                cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in self.answer_to(gpu)[2:]]
                self.assertEqual({line[0]: (int(line[2]), int(line[4])) for line in cells}, rows)
                for line in cells:
                    if line[0] in BARS[gpu]:
                        self.assertLessEqual(float(line[6]), BARS[gpu][line[0]], line)


if __name__ == "__main__":
    main()
