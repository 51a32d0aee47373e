#!/usr/bin/env python3
"""`ddpsim simulate`: the ring's equation, the keys of its result, PyTorch's buckets of GPT-2, the timeline."""
import itertools
import json
import math
from collections import defaultdict

import ddpsim_cli as cli

# One 25 MiB gradient on a ring of N links of 12.5 GB/s and 5 us: 2 (N-1) (5 us + 26214400 B / N / 12.5 GB/s), in ms; for
# N = 8: 14 x (5 us + 262.144 us).
COLLECTIVE_MS = {8: 3.740016, 64: 4.758768, 256: 6.727920, 1024: 14.420208}
# 125 of them, of which the first is ready at 6 ms and the others come faster than they are reduced: 6 ms + 125 times the above.
BACKWARD_END_MS = {8: 473.502, 64: 600.846, 256: 846.990, 1024: 1808.526}

GRADIENT = 25 * cli.MIB // 4  # elements

# Flow by flow only while that takes seconds.
CASES = [(ranks, fidelity) for ranks in COLLECTIVE_MS for fidelity in ("closed_form", "exact", "folded", "lazy", "fluid", "auto")
         if fidelity != "exact" or ranks <= 64]


class RingTest(cli.CliTest):
    def result(self, ranks, fidelity):
        return self.simulate(f"cluster.world_size={ranks}", f"engine.fidelity={fidelity}")

    def assert_close(self, seconds, milliseconds):
        self.assertAlmostEqual(seconds * 1e3 / milliseconds, 1, delta=1e-9)

    def test_one_bucket_takes_the_time_of_the_equation(self):
        self.write_scenario(cli.trace_text([("weight", GRADIENT, 0.01)]))
        for ranks, fidelity in CASES:
            with self.subTest(ranks=ranks, fidelity=fidelity):
                result = self.result(ranks, fidelity)
                (bucket,) = result["buckets"]
                self.assertEqual(bucket["start_s"], 0.01)
                self.assert_close(bucket["end_s"] - bucket["start_s"], COLLECTIVE_MS[ranks])
                self.assert_close(result["communication_s"], COLLECTIVE_MS[ranks])
                # nccl-tests: algbw = bytes / time, busbw = algbw 2 (N-1)/N.
                self.assert_close(26214400 / result["algbw_Bps"], COLLECTIVE_MS[ranks])
                self.assertAlmostEqual(result["busbw_Bps"] / result["algbw_Bps"], 2 * (ranks - 1) / ranks, delta=1e-12)
                self.assertEqual(result["world_size"], ranks)
                self.assertEqual(result["fidelity"], "closed_form" if fidelity == "auto" else fidelity)

    def test_125_buckets_queue_on_one_lane(self):
        trace = cli.trace_text([(f"g{k}", GRADIENT, 0.006 * math.ceil(36 * (k + 1) / 125)) for k in range(125)])
        self.write_scenario(trace, "ddp: {bucket_cap: 25MiB}")
        for ranks, fidelity in CASES:
            if fidelity == "exact" and ranks > 8:
                continue
            with self.subTest(ranks=ranks, fidelity=fidelity):
                result = self.result(ranks, fidelity)
                self.assertEqual(result["n_buckets"], 125)
                self.assert_close(result["buckets"][-1]["end_s"], BACKWARD_END_MS[ranks])
                self.assertAlmostEqual(result["backward_compute_s"], 36 * 0.006, delta=1e-12)
                self.assert_close(result["iteration_s"], BACKWARD_END_MS[ranks])  # no forward, no optimizer


class ResultTest(cli.CliTest):
    def test_json_has_the_keys_of_the_contract_in_their_order(self):
        self.write_scenario()
        result = self.simulate()
        self.assertEqual(list(result), cli.JSON_KEYS + ["construction_broadcast_s", "buckets", "notes", "tool"])
        for bucket in result["buckets"]:
            self.assertEqual(list(bucket), cli.BUCKET_KEYS)
        self.assertEqual(list(result["tool"]), ["version", "simgrid"])

    def test_the_bitmap_of_used_parameters_is_a_collective_of_its_own(self):
        self.write_scenario(more="ddp: {find_unused_parameters: true}")
        result = self.simulate()
        self.assertEqual(list(result), cli.JSON_KEYS + ["construction_broadcast_s", "buckets", "used_parameter_bitmap", "notes", "tool"])
        self.assertEqual(result["used_parameter_bitmap"]["bytes"], 40 * 4)  # an int32 for each of 40 parameters

    def test_unused_parameters_are_reduced_by_ddp_and_skipped_by_the_loops(self):
        self.write_scenario()
        unused = "workload.unused_parameters=[g3, g7]"

        def n_gradients(*sets):
            return sum(bucket["n_gradients"] for bucket in self.simulate(unused, *sets)["buckets"])
        self.assertEqual(n_gradients("ddp.find_unused_parameters=true"), 40)  # their zeros are reduced as well
        self.assertEqual(n_gradients("ddp.static_graph=true"), 40)
        self.assertEqual(n_gradients("strategy=naive"), 38)
        self.fails(2, "simulate", "scenario.yaml", "--set", unused)

    def test_without_no_sync(self):
        """Each of k micro-batches waits for its reductions: k steps, but for the optimizers of all but one."""
        self.write_scenario(cli.small_trace(forward="30ms", optimizer="7ms", batch_size=4), "ddp: {bucket_cap: 1MiB}\nphysics: none\n")
        for more in [(), ("workload.stragglers=[{rank: 5, slowdown: 1.5}]",), ("ddp.comm_hook=bf16",), ("ddp.find_unused_parameters=true",)]:
            with self.subTest(more):
                one, three, at_the_end = (self.simulate(*more, *sets) for sets in (
                    (), ("ddp.accumulation_steps=3", "ddp.reduce_every_micro_batch=true"), ("ddp.accumulation_steps=3",)))
                self.assertAlmostEqual(three["iteration_s"], 3 * one["iteration_s"] - 2 * one["optimizer_s"], delta=1e-12)
                self.assertAlmostEqual(three["communication_s"], 3 * one["communication_s"], delta=1e-12)
                self.assertGreater(three["iteration_s"], at_the_end["iteration_s"])
                self.assertEqual(len(three["buckets"]), len(one["buckets"]))
                self.assertAlmostEqual(three["buckets"][0]["ready_s"], one["buckets"][0]["ready_s"], delta=1e-12)
        for sets in ((), ("strategy=flat",), ("strategy=zero1",)):  # of one micro-batch each is the last
            self.fails(2, "simulate", "scenario.yaml", *cli.set_arguments(["ddp.reduce_every_micro_batch=true", *sets]))

    def test_terms_add_up(self):
        trace = cli.small_trace(forward="30ms", optimizer="7ms", batch_size=4)
        self.write_scenario(trace, "ddp: {bucket_cap: 10MiB}")
        for strategy, sets in itertools.product(["ddp", "naive", "flat", "overlap"], [
                (), ("workload.stragglers=[{rank: 5, slowdown: 1.5}]",), ("ddp.accumulation_steps=3",),
                ("cluster.world_size=256",), ("ddp.iteration=first", "ddp.static_graph=true")]):
            if strategy != "ddp" and "ddp.iteration=first" in sets:
                continue
            with self.subTest(strategy=strategy, sets=sets):
                result = self.simulate(f"strategy={strategy}", *sets)
                self.assertAlmostEqual(sum(result[term] for term in cli.TERMS), result["iteration_s"], delta=1e-12)
                self.assertLessEqual(result["exposed_communication_s"], result["communication_s"] + 1e-12)
                self.assertEqual((result["interference_s"], result["overhead_s"]), (0, 0))

    def test_a_straggler_reports_its_own_terms(self):
        self.write_scenario(cli.small_trace(forward="30ms"))
        result = self.simulate("workload.stragglers=[{rank: 5, slowdown: 1.5}]")
        self.assertEqual(result["reported_rank"], 5)
        self.assertAlmostEqual(result["forward_s"], 0.045, delta=1e-15)  # 1.5 x 30 ms

    def test_samples_per_second(self):
        self.write_scenario(cli.small_trace(batch_size=4))
        result = self.simulate()
        self.assertAlmostEqual(result["samples_per_s"], 4 * 8 / result["iteration_s"], delta=1e-9)
        self.write_scenario(cli.small_trace())
        self.assertIsNone(self.simulate()["samples_per_s"])

    def test_csv_is_the_bucket_table(self):
        self.write_scenario()
        self.ok("simulate", "scenario.yaml", "--csv", "out.csv", "--json", "out.json")
        rows = self.read_csv("out.csv")
        self.assertEqual(list(rows[0]), cli.BUCKET_KEYS)
        self.assertEqual([{key: float(value) for key, value in row.items()} for row in rows], self.read_json("out.json")["buckets"])

    def test_console_shows_terms_and_buckets(self):
        self.write_scenario(more="physics: none")
        done = self.ok("simulate", "scenario.yaml")
        self.assertEqual(done.stderr, "")
        for word in ("a step", "backward", "exposed communication", "algbw", "bucket"):
            self.assertIn(word, done.stdout)

    def test_a_sweep_is_left_out_with_a_note(self):
        self.write_scenario(more="physics: none\nsweep: {ddp.bucket_cap: [1MiB, 25MiB]}")
        done = self.ok("simulate", "scenario.yaml", "--json", "out.json")
        self.assertEqual(done.stderr, "note: the sweep over ddp.bucket_cap is left out; see 'ddpsim sweep'\n")
        self.assertEqual(self.read_json("out.json")["bucket_cap_bytes"], 25 * cli.MIB)  # PyTorch's default

    def test_nothing_else_on_standard_output(self):
        self.write_scenario(more="sweep: {ddp.bucket_cap: [1MiB, 25MiB]}")
        json.loads(self.ok("simulate", "scenario.yaml", "--json", "-").stdout)
        text = self.ok("simulate", "scenario.yaml", "--csv", "-").stdout
        self.assertTrue(text.startswith(",".join(cli.BUCKET_KEYS) + "\n"))
        self.assertEqual(len({line.count(",") for line in text.splitlines()}), 1)
        quiet = self.ok("simulate", "scenario.yaml", "--quiet")
        self.assertEqual((quiet.stdout, quiet.stderr), ("", ""))
        both = self.fails(2, "simulate", "scenario.yaml", "--json", "-", "--csv", "-")
        self.assertEqual(both.stdout, "")

    def test_set_reads_any_value(self):
        self.write_scenario()
        self.assertEqual(self.simulate("strategy=flat")["n_buckets"], 1)
        self.assertEqual(self.simulate("ddp={bucket_cap: 4MiB}", "ddp.torch=2.6")["n_buckets"], 40)
        # The later one wins.
        self.assertEqual(self.simulate("cluster.world_size=4", "cluster.world_size=16")["world_size"], 16)

    def test_paths_in_the_file_and_paths_from_the_command_line(self):
        """Paths in a scenario are relative to it, those given by --set to the working directory."""
        self.write_scenario()
        (self.folder / "elsewhere").mkdir()
        self.write("short.csv", cli.small_trace(n_gradients=3))
        self.assertEqual(self.ok("simulate", "../scenario.yaml", "--quiet", cwd=self.folder / "elsewhere").stderr, "")
        done = self.ok("simulate", "../scenario.yaml", "--set", "workload.trace=../short.csv", "--set", "strategy=naive",
                       "--json", "-", cwd=self.folder / "elsewhere")
        self.assertEqual(json.loads(done.stdout)["n_buckets"], 3)


class BucketsTest(cli.CliTest):
    """GPT-2 124M, whose buckets tests/ddp derives by hand."""

    def setUp(self):
        super().setUp()
        self.write_scenario(cli.gpt2_small_trace())

    def n_buckets(self, *sets):
        return self.simulate(*sets)["n_buckets"]

    def test_caps(self):
        result = self.simulate()
        self.assertEqual(result["n_buckets"], 13)
        self.assertEqual(sum(b["n_gradients"] for b in result["buckets"]), 148)
        self.assertEqual(sum(b["bytes"] for b in result["buckets"]), 4 * 124_439_808)  # the model's parameters in fp32
        expected = {25: 13, 50: 7, 100: 4, 200: 2, 500: 1}  # as DistributedDataParallel, PyTorch 2.6
        for cap, n_buckets in expected.items():
            self.assertEqual(self.n_buckets(f"ddp.bucket_cap={cap}MiB"), n_buckets, f"{cap} MiB")

    def test_the_first_bucket_before_and_after_torch_2_4(self):
        """Up to 2.3 the first bucket closes at 1 MiB whatever the cap, from 2.4 on at the cap that is given."""
        def first(*sets):
            return self.simulate(*sets)["buckets"][0]["bytes"]
        # ln_f's weight and bias, the last block's mlp.c_proj bias and its weight, which is what reaches 1 MiB.
        head = 4 * (3 * 768 + 3072 * 768)
        self.assertEqual(first("ddp.bucket_cap=500MiB", "ddp.torch=2.3"), head)
        self.assertEqual(first("ddp.bucket_cap=500MiB", "ddp.torch=2.6"), 4 * 124_439_808)
        self.assertEqual(self.n_buckets("ddp.bucket_cap=500MiB", "ddp.torch=2.3"), 2)
        for torch in ("2.3", "2.6"):  # no cap given: 1 MiB and then 25 MiB in both
            self.assertEqual(first(f"ddp.torch={torch}"), head)
            self.assertEqual(first("ddp.first_bucket_cap=1MiB", "ddp.bucket_cap=25MiB", f"ddp.torch={torch}"), head)

    def test_strategies(self):
        self.assertEqual(self.n_buckets("strategy=naive"), 148)
        self.assertEqual(self.n_buckets("strategy=overlap"), 148)
        self.assertEqual(self.n_buckets("strategy=flat"), 1)
        self.assertIsNone(self.simulate("strategy=flat")["bucket_cap_bytes"])


class TimelineTest(cli.CliTest):
    def lanes(self, *sets, more=""):
        """(pid, tid) -> [(start, end, name)] in ns."""
        self.write_scenario(cli.small_trace(forward="30ms", optimizer="7ms"), more)
        self.ok("simulate", "scenario.yaml", *cli.set_arguments(sets), "--timeline", "t.json", "--json", "out.json")
        lanes = defaultdict(list)
        for event in self.read_json("t.json")["traceEvents"]:
            if event["ph"] == "X":
                start, duration = round(event["ts"] * 1e3), round(event["dur"] * 1e3)
                self.assertGreaterEqual(start, 0)
                self.assertGreaterEqual(duration, 0)
                lanes[event["pid"], event["tid"]].append((start, start + duration, event["name"]))
        return lanes

    def test_events_of_a_lane_do_not_overlap(self):
        for sets in ((), ("ddp.bucket_cap=4MiB", "cluster.world_size=256"), ("ddp.accumulation_steps=3",),
                     ("workload.stragglers=[{rank: 5, slowdown: 1.5}, {rank: 6, slowdown: 1.25}]",),
                     ("strategy=naive",), ("ddp.find_unused_parameters=true",)):
            with self.subTest(sets=sets):
                lanes = self.lanes(*sets)
                self.assertEqual(len(lanes), 2 * (3 if "straggler" in str(sets) else 1))  # a class of ranks has two lanes
                for lane in lanes.values():
                    lane.sort()
                    for (_, end, name), (start, _, next_name) in itertools.pairwise(lane):
                        self.assertLessEqual(end, start, f"{name} runs into {next_name}")

    def test_agrees_with_the_result(self):
        lanes = self.lanes(more="ddp: {bucket_cap: 20MiB}")
        result = self.read_json("out.json")
        compute, communication = (sorted(lanes[0, thread]) for thread in (0, 1))
        self.assertEqual([name for _, _, name in compute], ["forward", "backward", "wait for communication", "optimizer"])
        self.assertEqual(len(communication), result["n_buckets"])
        self.assertAlmostEqual(compute[-1][1], result["iteration_s"] * 1e9, delta=1)
        for (start, end, _), bucket in zip(communication, result["buckets"]):
            for time, key in ((start, "start_s"), (end, "end_s")):  # the result counts from the start of backward
                self.assertAlmostEqual(time, (bucket[key] + result["forward_s"]) * 1e9, delta=1)


class RecordedTest(cli.CliTest):
    """Two buckets of 8 MiB on a ring of 8, ready at 4 and 8 ms: 14 x (5 us + 1 MiB / 12.5 GB/s) = 1.244405 ms each."""

    TABLE = ("# ddpsim-recorded: 1\n# world_size: 8\n# steps: 3\n"
             "collective,elements,dtype,ready_s,start_s,end_s,duration_s\n"
             "0,2097152,float32,0.003,0.0045,0.0055,0.001\n"
             "1,2097152,float32,0.008,0.008,0.01,0.0018\n")

    def setUp(self):
        super().setUp()
        self.write_scenario(cli.small_trace(n_gradients=4), "ddp: {bucket_cap: 8MiB}\n")
        self.write("r.csv", self.TABLE)

    def test_summary(self):
        lines = self.ok("simulate", "scenario.yaml", "--recorded", "r.csv").stdout.splitlines()
        at = lines.index("recorded (3 steps) and simulated, in ms from the start of the backward pass")
        self.assertEqual([line.split() for line in lines[at + 3:at + 5]], [
            ["0", "8.0000", "3.000", "4.500", "5.500", "4.000", "4.000", "5.244", "-0.500", "-0.256", "-4.6", "%"],
            ["1", "8.0000", "8.000", "8.000", "10.000", "8.000", "8.000", "9.244", "+0.000", "-0.756", "-7.6", "%"]])
        self.assertEqual([line.split()[-5:] for line in lines[at + 7:]], [
            ["8.000", "8.000", "+0.000", "+0.0", "%"], ["10.000", "9.244", "-0.756", "-7.6", "%"],
            ["2.000", "1.244", "-0.756", "-37.8", "%"], ["2.800", "2.489", "-0.311", "-11.1", "%"]])

    def test_json(self):
        result = json.loads(self.ok("simulate", "scenario.yaml", "--recorded", "r.csv", "--json", "-").stdout)
        recorded = result["recorded"]
        self.assertEqual(list(recorded), ["world_size", "steps", "collectives", "last_ready_s", "last_end_s",
                                          "exposed_communication_s", "communication_s", "simulated"])
        self.assertEqual(list(recorded["collectives"][0]), ["bytes", "ready_s", "start_s", "end_s", "duration_s",
                                                            "start_difference_s", "end_difference_s",
                                                            "end_relative_difference"])
        self.assertEqual(recorded["communication_s"], 0.0028)
        simulated = recorded["simulated"]
        self.assertAlmostEqual(simulated["last_end_s"] * 1e3, 8 + 1.24440512, delta=1e-9)
        # Nothing else waits for the last gradient here, so it is the iteration's own.
        self.assertAlmostEqual(simulated["exposed_communication_s"], result["exposed_communication_s"], delta=1e-12)
        self.assertEqual(simulated["communication_s"], result["communication_s"])
        for (one, bucket) in zip(recorded["collectives"], result["buckets"]):
            self.assertEqual(one["bytes"], bucket["bytes"])
            self.assertEqual(one["end_difference_s"], bucket["end_s"] - one["end_s"])

    def test_without_it_nothing_changes(self):
        self.assertNotIn("recorded", self.simulate())
        self.assertNotIn("recorded", self.ok("simulate", "scenario.yaml").stdout)

    def test_mistakes(self):
        for arguments, message in (
                (("--set", "ddp.bucket_cap=16MiB"), "the scenario has 1 all-reduce of 16 MiB\nhint: bucket_cap 8MiB gives"),
                (("--set", "cluster.world_size=4"), "was recorded among 8 ranks, and the scenario reduces among 4")):
            done = self.fails(2, "simulate", "scenario.yaml", "--recorded", "r.csv", *arguments)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stdout, "")
        self.assertIn("trace.csv: error: is a layer trace, not a table of recorded collectives",
                      self.fails(2, "simulate", "scenario.yaml", "--recorded", "trace.csv").stderr)
        self.assertIn("no such file", self.fails(2, "simulate", "scenario.yaml", "--recorded", "").stderr)


if __name__ == "__main__":
    cli.main()
