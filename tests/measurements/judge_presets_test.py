#!/usr/bin/env python3
"""What measurements/RESULTS.md says of each preset's public figure is what measurements/judge_presets.py gets from this build; no machine is without a row.

Usage: judge_presets_test.py DDPSIM SOURCE_ROOT [unittest arguments]
"""
import csv
import sys

from chapter import Chapter, main

# Ratios of predicted to published that count as agreement, and the rows beyond, each with the reason as far as one is known.
LEAST, MOST = 0.75, 1.25
OFF = {
    ("azure-nc-v100", "8"): "a ring over TCP; threads and sockets are not the preset's, and three of five public pairs of sockets are slower",
    ("gcp-a3", "16"): "what GPUDirect-TCPX costs is not public: the preset has the line rate",
    ("hgx-h20", "8"): "times are those of the class H100, with 132 multiprocessors; an H20 has 78",
    ("p4d", "16"): "a tree by NCCL's own estimate; the two public pairs, 57 and 33 GB/s, differ as much",
    ("pcie-2x4090", "2"): "interleaved host memory: public pairs reach 0.9 to 3.9 GB/s",
    ("pcie-2xh100-bridge", "2"): "half of what 12 NVLinks give; why is not known",
}


class Presets(Chapter):
    script = "judge_presets.py"

    def rows(self):
        with open(self.root / "measurements/transports/presets.csv", newline="") as file:
            return list(csv.DictReader(file))

    def test_the_document_is_up_to_date(self):
        self.assert_same(self.written(), self.answer_to(), count_tolerance=1)

    def test_every_machine_has_a_row_and_every_row_a_source(self):
        machines = {path.stem for path in (self.root / "topologies").glob("*.yaml") if "\ngpu: " in path.read_text()}
        self.assertEqual({row["preset"] for row in self.rows()}, machines)
        for row in self.rows():
            self.assertTrue(row["source"], row)
            self.assertEqual(bool(row["busbw_GBps"]), row["fitted"] in ("y", "n"), row)

    def test_figures_are_met_but_for_those_named(self):
        off = set()
        checked = [line for line in self.answer_to() if len(line.split("|")) == 9 and line.split("|")[5].strip()[:1].isdigit()]
        figures = [row for row in self.rows() if row["busbw_GBps"]]
        self.assertEqual(len(checked), len(figures))
        for row, line in zip(figures, checked):
            ratio = float(line.split("|")[5])
            if not LEAST <= ratio <= MOST:
                off.add((row["preset"], row["gpus"]))
                self.assertTrue(0.4 < ratio < 2.6, line)
        self.assertEqual(off, set(OFF))

    def test_says_where_none_was_checked(self):
        none = [row["preset"] for row in self.rows() if not row["busbw_GBps"]]
        printed = [line.split("|")[1].strip() for line in self.answer_to() if "none checked" in line]
        self.assertEqual(printed, none)
        print("none checked:", ", ".join(none), file=sys.stderr)


if __name__ == "__main__":
    main()
