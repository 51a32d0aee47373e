#!/usr/bin/env python3
"""PowerSGD, compiled graphs, process groups that take turns and `simulate --best-caps`."""
import re

import ddpsim_cli as cli

MODEL = ("workload: {model: {kind: transformer, hidden: 1024, layers: 4, heads: 16, vocab: 5000, tied: true}, micro_batch: 1, "
         "sequence: 256}\ncluster: {topology: ring.yaml, world_size: 8, gpu: h100-sxm}\nphysics: {interference: 0}\n")


def note_codes(result):
    return [note["code"] for note in result["notes"]]


class PowerSgdTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write("ring.yaml", cli.RING)
        self.write("scenario.yaml", MODEL)

    def test_three_all_reduces_a_bucket(self):
        """One bucket of all: vectors and positions whole, of each matrix of n x m 2 (n + m) elements."""
        result = self.simulate("ddp.bucket_cap=1GB", "ddp.comm_hook={powersgd: {rank: 2}}")
        h = 1024
        vectors = 4 * (4 * h + 3 * h + h + 4 * h + h) + 2 * h  # norms, biases; the last norm
        matrices = 4 * ((h + 3 * h) + 2 * h + (h + 4 * h) + (4 * h + h)) + 5000 + h
        (bucket,) = result["buckets"]
        self.assertEqual(bucket["wire_bytes"], 4 * (vectors + 2 * matrices))
        (all_reduces,) = result["communication"]
        self.assertEqual(all_reduces["count"], 3)
        self.assertNotIn("compression-free", note_codes(result))

    def test_nothing_is_hidden(self):
        """Each bucket stops the backward pass: of what is in flight all is exposed."""
        result = self.simulate("ddp.comm_hook={powersgd: {rank: 2}}", "physics.passes=none")
        self.assertAlmostEqual(result["exposed_communication_s"], result["communication_s"], delta=1e-12)
        self.assertEqual(result["overhead_s"], 0)
        self.assertIn("compression-free", note_codes(result))
        computed = self.simulate("ddp.comm_hook={powersgd: {rank: 2}}")
        self.assertGreater(computed["overhead_s"], 0)
        causes = [loss["cause"] for loss in computed["losses"]]
        self.assertIn("copies", causes)
        self.assertNotIn("launches", causes)

    def test_less_rank_is_less_to_send(self):
        times = [self.simulate(f"ddp.comm_hook={{powersgd: {{rank: {rank}}}}}")["communication_s"] for rank in (1, 4, 16)]
        self.assertEqual(times, sorted(times))
        self.assertLess(times[-1], self.simulate()["communication_s"])

    def test_it_starts_later(self):
        hook = "ddp.comm_hook={powersgd: {rank: 2}}"
        self.assertAlmostEqual(self.simulate(hook, "ddp.iteration=second")["communication_s"],
                               self.simulate("ddp.iteration=second")["communication_s"], delta=1e-12)

    def test_a_trace_of_a_known_model(self):
        trace = cli.gpt2_small_trace().replace("# ddpsim-trace: 1\n", "# ddpsim-trace: 1\n# model: gpt2\n")
        self.write_scenario(trace)
        result = self.simulate("ddp.comm_hook={powersgd: {rank: 4, warm_start: false}}")
        self.assertLess(sum(b["wire_bytes"] for b in result["buckets"]), 0.03 * 4 * 124439808)
        self.assertIn("powersgd-random", note_codes(result))


class CompiledTest(cli.CliTest):
    def test_a_later_subgraph_delays_a_bucket(self):
        """Gradients of 4 MiB every 2 ms; the first subgraph is one, the next ones two: the first bucket of two waits 2 ms."""
        self.write_scenario(cli.small_trace(6))
        ready = lambda *sets: [b["ready_s"] for b in self.simulate("ddp.bucket_cap=8MiB", *sets)["buckets"]]
        self.assertEqual(ready(), [0.004, 0.008, 0.012])
        self.assertEqual(ready("ddp.compiled=true"), [0.006, 0.01, 0.012])

    def test_caps_with_the_same_buckets_differ(self):
        """8 MiB, then 2, 2 and 2: one bucket with a first cap of 100 MiB, cut as the cap says."""
        self.write_scenario(cli.trace_text([("a", 2 * cli.MIB, 0.01), ("b", cli.MIB // 2, 0.02), ("c", cli.MIB // 2, 0.03),
                                            ("d", 25 * cli.MIB, 0.04), ("e", cli.MIB, 0.05)]))
        sets = ["ddp.compiled=true", "ddp.first_bucket_cap=12MiB", "sweep.ddp.bucket_cap=[1MiB,3MiB]"]
        swept = self.sweep(sets=sets)["points"]
        for point, cap in zip(swept, ("1MiB", "3MiB")):
            alone = self.simulate(*sets[:2], f"ddp.bucket_cap={cap}")
            self.assertEqual(point["iteration_s"], alone["iteration_s"])

    def test_the_exact_optimum(self):
        """Of every cap that gives other buckets or other subgraphs: none of many caps between is shorter."""
        self.write_scenario(cli.trace_text([(name, mib * cli.MIB // 4, 0.002 * (k + 1)) for k, (name, mib) in enumerate(
            [("g", 1), ("f", 3), ("e", 2), ("d", 5), ("c", 1), ("b", 4), ("a", 2)])]))
        sets = ["ddp.compiled=true", "ddp.first_bucket_cap=3MiB"]
        best = self.sweep("--exact-optimum", sets=sets)["points"]
        tried = self.sweep(sets=[*sets, f"sweep.ddp.bucket_cap=[{', '.join(f'{n}MiB, {n * cli.MIB + 1}B' for n in range(1, 20))}]"])["points"]
        self.assertEqual(min(p["iteration_s"] for p in best), min(p["iteration_s"] for p in tried))
        self.assertEqual({p["iteration_s"] for p in best}, {p["iteration_s"] for p in tried})

    def test_gpt2_pays_for_its_cuts(self):
        self.link_data()
        base = ["cluster.world_size=1024", "ddp.bucket_cap=100MiB", "physics=none"]
        run = lambda *sets: self.simulate(*base, *sets, file="configs/ring-1024.yaml")
        eager, compiled = run("ddp.first_bucket_cap=1MiB"), run("ddp.first_bucket_cap=1MiB", "ddp.compiled=true")
        self.assertAlmostEqual(compiled["iteration_s"] / eager["iteration_s"], 1.0156, delta=1e-4)
        # The tied head is the first subgraph: without a first bucket of its own DDP's buckets end where subgraphs do.
        self.assertEqual(run()["iteration_s"], run("ddp.compiled=true")["iteration_s"])
        self.assertEqual(note_codes(compiled).count("compiled-times"), 1)


class ProcessGroupsTest(cli.CliTest):
    def test_two_share_the_links(self):
        """Two buckets ready at once, each 3.74 ms alone: by turns both end when the two would have ended one after the other,
        but for the latency that now passes once."""
        self.write_scenario(cli.trace_text([("a", 25 * cli.MIB // 4, 0.01), ("b", 25 * cli.MIB // 4, 0.01)]), "ddp: {bucket_cap: 1MiB}")
        one = self.simulate("ddp.torch=2.4")
        two = self.simulate("ddp.torch=2.4", "ddp.process_groups=2")
        self.assertEqual([b["start_s"] for b in two["buckets"]], [0.01, 0.01])
        ends = [b["end_s"] - 0.01 for b in two["buckets"]]
        self.assertAlmostEqual(ends[0], ends[1], delta=1e-9)
        bandwidth = 2 * 14 * (25 * cli.MIB / 8) / 12.5e9
        self.assertAlmostEqual(ends[1], bandwidth + 14 * 5e-6, delta=1e-6)
        self.assertAlmostEqual(one["iteration_s"] - 0.01, bandwidth + 2 * 14 * 5e-6, delta=1e-9)
        self.assertEqual(two["fidelity"], "lazy")


class BestCapsTest(cli.CliTest):
    def best(self, *sets, file="scenario.yaml"):
        done = self.ok("simulate", file, "--best-caps", "--json", "r.json", *cli.set_arguments(sets))
        return done.stdout, self.read_json("r.json")["best_caps"]

    def test_the_list_that_is_printed_gives_the_time_that_is_printed(self):
        """An all-reduce takes 2 ms and 1 ms a MiB. The first two gradients go together, the others by themselves: 10, then
        10.5 + 6, then 17 + 3. One by one 18 + 3, and no other single cap is as good."""
        self.write_scenario(cli.trace_text([("a", cli.MIB, 0.0), ("b", cli.MIB, 0.0), ("c", cli.MIB, 0.0105), ("d", cli.MIB // 4, 0.017)]),
                            world_size=2, topology="kind: ring\nlink: {bandwidth: 1.048576GB/s, latency: 1ms}\n")
        text, best = self.best()
        self.assertAlmostEqual(best["list"]["iteration_s"], 0.020, delta=1e-12)
        self.assertAlmostEqual(best["single"]["iteration_s"], 0.021, delta=1e-12)
        self.assertEqual(best["list"]["bucket_caps_bytes"], [8 * cli.MIB, 4 * cli.MIB])
        self.assertIn("3 buckets, 20 ms, 4.76 % less\n  --set ddp.torch=2.11 --set 'ddp.bucket_caps=[8MiB,4MiB]'\n"
                      "  bucket_cap_mb_list=[8, 4]\n", text)
        self.assertEqual(best["search_leaves_out"], "")
        arguments = re.search(r"--set ddp.torch=2.11 --set '(ddp.bucket_caps=\[.*\])'", text)[1]
        again = self.simulate("ddp.torch=2.11", arguments)
        self.assertEqual(again["iteration_s"], best["list"]["iteration_s"])
        self.assertEqual(again["n_buckets"], best["list"]["n_buckets"])
        exact = self.sweep("--exact-optimum", sets=[])["best"]["iteration_s"]
        self.assertEqual(best["single"]["iteration_s"], exact)

    def test_what_the_search_leaves_out_is_said(self):
        self.write_scenario(cli.gpt2_small_trace())
        text, best = self.best("physics.interference=0.3")
        self.assertLessEqual(best["list"]["iteration_s"], best["single"]["iteration_s"])
        self.assertIn("leaves out that compute and communication slow one another down", text)

    def test_how_sure_it_beats_the_default(self):
        path = cli.SOURCE_ROOT / "configs/quickstart.yaml"
        text, best = self.best(file=path)
        usual = best["default"]
        self.assertEqual(usual["iteration_s"], self.simulate("evidence=none", file=path)["iteration_s"])
        self.assertAlmostEqual(sum(choice["p_best"] for choice in {one["n_buckets"]: one for one in (best["single"], best["list"], usual)}.values()), 1)
        self.assertIn(f"{100 * (1 - usual['p_best']):.0f} % sure that it takes longer, {100 * usual['regret']:.1f} % on average\n", text)
        self.assertNotIn("default", self.best("evidence=none", file=path)[1])

    def test_nothing_to_gain(self):
        self.write_scenario(cli.trace_text([("a", cli.MIB, 0.01)]))
        self.assertIn("no list of caps is better\n", self.best()[0])


if __name__ == "__main__":
    cli.main()
