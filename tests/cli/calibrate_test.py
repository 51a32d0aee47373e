#!/usr/bin/env python3
"""`ddpsim calibrate` on the tables of measurements/: how well fits predict, what it writes, wrong usage."""
import json
import math
import re
import shlex
import xml.etree.ElementTree

import ddpsim_cli as cli

A100, H100, L40S = "topologies/dgx-a100.yaml", "topologies/dgx-h100.yaml", "topologies/pcie-8xl40s.yaml"
RINGS = ("all_reduce", "all_gather", "reduce_scatter")
AIC_A, AIC_H, AIC_L = (f"measurements/aiconfigurator_{name}.csv" for name in ("a100_sxm", "h100_sxm", "l40s"))
AIC_H_OLD = "measurements/aiconfigurator_h100_sxm_2.23.csv"
DGXC = "measurements/dgxh100_8xH100_dgxc_benchmarking.csv"
ISSUE = "measurements/nccltests_issue309_"
A16, A32 = f"{ISSUE}A_16xH100_IB400_default.csv", f"{ISSUE}A_32xH100_IB400_default.csv"


def mean_error(tables, least=1 << 18):
    """The geometric mean over all rows of all tables from 256 KiB up, as a share."""
    logs = [abs(math.log(p["predicted_s"] / p["measured_s"])) for t in tables for p in t["points"] if p["bytes"] >= least]
    return math.expm1(sum(logs) / len(logs))


class CalibrateTest(cli.CliTest):
    def calibrate(self, *arguments, **options):
        """The JSON of a run where the data is."""
        options = {"cwd": cli.SOURCE_ROOT, **options}
        return json.loads(self.ok("calibrate", *arguments, "--json", "-", **options).stdout)

    def judged(self, *arguments):
        tables = [t for t in self.calibrate(*arguments, "--from-nothing")["tables"] if not t["fitted"]]
        self.assertNotEqual(tables, [])
        return mean_error(tables)


class AccuracyTest(CalibrateTest):
    """Bounds a little above what docs/accuracy.md reports: a change that predicts worse is noticed."""

    def test_fewer_gpus_predict_more(self):
        for fitted, judged, topology, bound in [
                (f"{AIC_A}@2+4/half", f"{AIC_A}@8/half", A100, 0.06),
                (f"{AIC_H}@2+4/int8", f"{AIC_H}@8/int8", H100, 0.06),
                (A16, A32, H100, 0.08)]:
            with self.subTest(fitted):
                self.assertLess(self.judged(fitted, "--judge", judged, "--topology", topology), bound)

    def test_the_class_predicts_machines_it_was_not_fitted_to(self):
        for table, bound in ((DGXC, 0.05), (f"{AIC_H_OLD}@2+4+8/half/all_gather", 0.11), (f"{AIC_H_OLD}@2+4+8/half/reduce_scatter", 0.09),
                             (f"{AIC_H_OLD}@2+4+8/half/all_to_all", 0.11)):
            with self.subTest(table):
                self.assertLess(self.judged("--judge", table, "--topology", H100), bound)

    def test_every_other_size_predicts_the_rest(self):
        result = self.calibrate(f"{AIC_H}@8/half", "--topology", H100, "--every-other-size", "--from-nothing")
        self.assertEqual([t["fitted"] for t in result["tables"]], [False] * 24)  # four operations, three runs, both ways round
        for operation in (*RINGS, "all_to_all"):
            self.assertLess(mean_error([t for t in result["tables"] if t["operation"] == operation]), 0.06)

    def test_a_fit_is_better_than_nothing_measured(self):
        for table, topology in ((f"{AIC_H_OLD}@2+4+8/half", H100), (DGXC, H100), (A32, H100)):
            with self.subTest(table):
                before = self.calibrate("--judge", table, "--topology", topology, "--from-nothing")
                fitted = self.calibrate(table, "--topology", topology, "--from-nothing")
                self.assertEqual((before["curves"], before["lines"]), ([], []))
                self.assertLess(mean_error(fitted["tables"]), mean_error(before["tables"]))
                self.assertLess(mean_error(fitted["tables"]), 0.07)

    def test_the_calibrations_of_the_presets_belong_to_their_tables(self):
        for topology, table, bound in ((H100, A16, 0.06), (H100, A32, 0.08), (L40S, f"{AIC_L}@2/half/all_reduce", 0.03)):
            with self.subTest(table):
                result = self.calibrate("--judge", table, "--topology", topology)
                self.assertNotEqual(result["curves"], [])
                self.assertLess(mean_error(result["tables"]), bound)

    def test_what_is_judged_has_the_topologys_other_entries(self):
        """A fit inside a node leaves the curves across nodes as they are."""
        [alone] = self.calibrate("--judge", A16, "--topology", H100)["tables"]
        _, beside = self.calibrate(DGXC, "--judge", A16, "--topology", H100)["tables"]
        self.assertEqual(beside["points"], alone["points"])


class OutputsTest(CalibrateTest):
    def setUp(self):
        super().setUp()
        self.link_data()

    def test_json_is_whole(self):
        result = self.calibrate(DGXC, "--judge", f"{AIC_H}@8/half/all_gather", "--judge", A16, "--topology", H100)
        self.assertEqual(list(result), ["curves", "lines", "tables"])
        for curve in result["curves"]:
            self.assertEqual(list(curve), ["algorithm", "across_nodes", "latency_scale", "efficiency", "ramp_s"])
        self.assertEqual([(c["algorithm"], c["across_nodes"]) for c in result["curves"]], [("nvls_tree", True)])
        [lines] = result["lines"]
        self.assertEqual((lines["operation"], len(lines["parameters"])), ("all_reduce", 19))
        self.assertEqual([t["fitted"] for t in result["tables"]], [True] + [False] * 4)
        self.assertEqual([t["operation"] for t in result["tables"]], ["all_reduce"] + ["all_gather"] * 3 + ["all_reduce"])
        for table in result["tables"]:
            self.assertEqual(list(table), ["table", "operation", "ranks", "nodes", "algorithm", "fitted", "mean_error", "worst_error", "bands",
                                           "points"])
            sizes = [p["bytes"] for p in table["points"]]
            self.assertEqual(sizes, sorted(set(sizes)))
            self.assertEqual(sizes[0], 512)
            self.assertAlmostEqual(table["mean_error"], mean_error([table]), delta=1e-12)
            self.assertEqual([b.get("below") for b in table["bands"]], [1 << 18, 1 << 22, None])
            self.assertAlmostEqual(table["bands"][2]["mean_error"], mean_error([table], 1 << 22), delta=1e-12)
            worst = max(abs(math.log(p["predicted_s"] / p["measured_s"])) for p in table["points"] if p["bytes"] >= 1 << 18)
            self.assertAlmostEqual(table["worst_error"], math.expm1(worst), delta=1e-12)

    def test_the_calibration_is_what_a_topology_then_uses(self):
        """Written, named by a topology, judged with: the same predictions up to the four digits of the file."""
        fitted = self.calibrate(DGXC, "--topology", H100, "--from-nothing", "--out", str(self.folder / "mine.yaml"))
        mine = re.sub(r"calibration: \S+}", "calibration: mine.yaml}", (cli.SOURCE_ROOT / H100).read_text())
        self.write("mine-h100.yaml", mine)
        again = self.calibrate("--judge", DGXC, "--topology", "mine-h100.yaml", cwd=self.folder)
        for one, other in zip(fitted["tables"][0]["points"], again["tables"][0]["points"]):
            self.assertAlmostEqual(one["predicted_s"] / other["predicted_s"], 1, delta=1e-3)
        self.assertTrue(self.ok("topology", "nccl", "mine-h100.yaml").stdout.endswith("\ncalibration: mine.yaml\n"))
        # And an iteration on it takes what the curve says: 25 MiB are between its points of 16 and 32 MiB.
        self.write("trace.csv", cli.trace_text([("g", 25 * cli.MIB // 4, 0.01)]))
        self.write("scenario.yaml", "workload: {trace: trace.csv}\ncluster: {topology: mine-h100.yaml, world_size: 8}\n")
        points = {p["bytes"] // cli.MIB: p["predicted_s"] for p in fitted["tables"][0]["points"]}
        time = self.simulate()["communication_s"]
        self.assertGreater(time, points[16])
        self.assertLess(time, points[32])
        self.assertNotAlmostEqual(self.simulate("collective.nccl.calibration=none")["communication_s"], time, delta=1e-6)

    def test_out_on_standard_output_is_a_calibration(self):
        text = self.ok("calibrate", DGXC, "--topology", H100, "--out", "-").stdout
        self.assertTrue(text.startswith("# What NCCL's collectives take, fitted to measured tables by `ddpsim calibrate`."), text)
        self.ok("calibrate", DGXC, "--topology", H100, "--quiet", "--out", "mine.yaml")
        self.assertEqual(self.read("mine.yaml").decode(), text)

    def test_summary(self):
        done = self.ok("calibrate", DGXC, "--judge", f"{AIC_H}@8/half/all_gather", "--judge", f"{ISSUE}B_16xH100_IB400_default.csv",
                       "--topology", H100)
        self.assertEqual(done.stderr, "")
        head, tables = done.stdout.split("\n\n")
        self.assertRegex(head, r"^curve +latency scale +efficiency +ramp\nnvls_tree +across nodes +[\d.]+ +[\d.]+ +[\d.]+ us\nlines ")
        self.assertRegex(head, r"\nlines of all_reduce in a node:\n  ll_base [\d.]+ us, ll_step [\d.]+ us, ll_rise [\d.]+,")
        lines = tables.splitlines()
        self.assertRegex(lines[0], r"^ GPUs nodes  rows  operation +algorithm +mean error +worst +< 256 KiB  table$")
        self.assertRegex(lines[1], r"^    8     1    26  all_reduce +nvls +[\d.]+ % +\d+ % +[\d.]+ %  dgxh100_8xH100_dgxc_benchmarking.csv$")
        self.assertRegex(lines[2], r"all_gather .* aiconfigurator_h100_sxm.csv, 8 GPUs, all_gather, half, run 1 \(judged\)$")
        self.assertRegex(lines[5], r"nvls_tree +[\d.]+ % +\d+ % +-  nccltests_issue309_B_16xH100_IB400_default.csv \(judged\)$")
        self.assertEqual(self.ok("calibrate", DGXC, "--topology", H100, "--quiet").stdout, "")

    def test_distrusted_rows_are_named(self):
        done = self.ok("calibrate", A32, "--topology", H100, "--json", "out.json")
        rows = re.findall(r"(?m)^distrusted: (\S+):(\d+): (.*): (.*)$", done.stdout)
        [table] = self.read_json("out.json")["tables"]
        doubts = [p["doubt"] for p in table["points"] if "doubt" in p]
        self.assertNotEqual(doubts, [])
        self.assertEqual([(name, doubt) for name, _, _, doubt in rows], [(A32, doubt) for doubt in doubts])
        lines = (cli.SOURCE_ROOT / A32).read_text().splitlines()
        for (_, number, _, _), point in zip(rows, [p for p in table["points"] if "doubt" in p]):
            self.assertTrue(lines[int(number) - 1].startswith(f"{point['bytes']},"), lines[int(number) - 1])

    def test_plot(self):
        self.ok("calibrate", DGXC, "--judge", A16, "--topology", H100, "--plot", "plot.svg", "--quiet")
        svg = self.read("plot.svg").decode()
        xml.etree.ElementTree.fromstring(svg)
        for title in ("8 GPUs: dgxh100", "16 GPUs: nccltests"):
            self.assertIn(title, svg)

    def test_the_same_bytes_twice(self):
        texts = set()
        for name in ("first", "second"):
            arguments = ["calibrate", f"{AIC_H}@8/half", DGXC, A32, "--judge", A16, "--topology", H100, "--json", f"{name}.json",
                         "--out", f"{name}.yaml", "--plot", f"{name}.svg"]
            texts.add((self.ok(*arguments).stdout, *(self.read(f"{name}.{kind}") for kind in ("json", "yaml", "svg"))))
        self.assertEqual(len(texts), 1)

    def test_the_order_of_a_machines_tables_does_not_matter(self):
        one, other = f"{AIC_A}@2/half", f"{AIC_A}@8/half"
        first, second = (self.calibrate(tables, "--topology", A100)["lines"] for tables in (f"{one},{other}", f"{other},{one}"))
        self.assertEqual(len(first), 4)
        for a, b in zip(first, second):
            for key, value in a["parameters"].items():
                self.assertAlmostEqual(value / b["parameters"][key], 1, delta=1e-3)

    def test_a_single_machine_far_off_is_refused_only_where_something_is_written(self):
        """8 L40S: 16 %, which is no machine's curve, but within what machines that are averaged differ by. They are taken for four below each of two switches."""
        topology = (cli.SOURCE_ROOT / L40S).read_text().replace("gpus_per_switch: 1 ", "gpus_per_switch: 4 ").replace("switches_per_socket: 4", "switches_per_socket: 1")
        topology = topology.replace("16GB/s", "22GB/s").replace("cpu: amd", "cpu: intel").replace("../calibrations/l40s-pair.yaml", "l40s-pair")
        table, options = f"{AIC_L}@8/half/all_reduce", ("--topology", self.write("switches.yaml", topology), "--from-nothing")
        self.calibrate(table, *options)
        done = self.fails(2, "calibrate", table, *options, "--out", "-", cwd=cli.SOURCE_ROOT)
        self.assertRegex(done.stderr, r"what was fitted is 16 % off aiconfigurator_l40s.csv, 8 GPUs, all_reduce, half \(at most 15 % may be\)")
        self.ok("calibrate", table, table, *options, "--out", "-", cwd=cli.SOURCE_ROOT)


class UsageTest(CalibrateTest):
    def test_wrong_usage(self):
        for arguments, message in [
                ("calibrate t.csv", "--topology is required"),
                ("calibrate t.csv --topology", "--topology: 1 required TEXT missing"),
                ("calibrate t.csv --topology a.yaml --world-size 1", "--world-size: Value 1 not in range 2 to 1048576"),
                ("calibrate t.csv --topology a.yaml --world-size many", "--world-size: Value many not in range 2 to 1048576"),
                ("calibrate t.csv --topology a.yaml --algorithm collnet", "--algorithm: collnet not in {ring,tree,nvls}"),
                ("calibrate t.csv --topology a.yaml --jugde b.csv", "unexpected argument '--jugde'; did you mean '--judge'?"),
                ("calibrate t.csv --topology a.yaml --judge", "--judge: 1 required FILE missing"),
                ("calibrate t.csv --topology a.yaml --out ''", "--out: needs a file name"),
                ("calibrate t.csv --topology a.yaml --plot ''", "--plot: needs a file name"),
                ("calibrate t.csv --topology a.yaml --csv t.csv", "unexpected argument '--csv'")]:
            with self.subTest(arguments):
                done = self.fails(2, *shlex.split(arguments))
                self.assertEqual((done.stdout, done.stderr), ("", f"error: {message}\nhint: see 'ddpsim calibrate --help'\n"))

    def test_nothing_is_written_when_something_is_wrong(self):
        self.link_data()
        before = self.files()
        self.fails(2, "calibrate", DGXC, "--topology", H100, "--judge", "nothing.csv", "--out", "o.yaml", "--json", "o.json",
                   "--plot", "o.svg")
        self.assertEqual(self.files(), before)


if __name__ == "__main__":
    cli.main()
