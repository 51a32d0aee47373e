#!/usr/bin/env python3
"""`scale`: what a job loses as it grows, by cause, and the spread of GPUs that is part of it."""
import json
import math

import ddpsim_cli as cli

MODEL = """workload: {model: gpt2-medium, micro_batch: 4, sequence: 1024, framework: fsdp-eager-2023}
strategy: %s
cluster: {topology: topologies/superpod-h100.yaml, world_size: 64, gpu: h100-sxm}
"""


def mean_largest_normal(n):
    """Of n standard normal ones: the integral of 1 - F^n above zero less that of F^n below."""
    cumulated = lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2)))
    step = 0.002
    points = [step * (k + 0.5) for k in range(4000)]
    return step * sum(1 - cumulated(x) ** n - cumulated(-x) ** n for x in points)


class ScaleTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.link_data()
        self.write("m.yaml", MODEL % "fsdp")

    def points(self, *arguments):
        return json.loads(self.ok("scale", "m.yaml", "--json", "-", *arguments).stdout)["points"]


class GrowthTest(ScaleTest):
    def test_losses_add_up(self):
        for point in self.points("--gpus", "8:512:8"):
            ideal = point["iteration_s"] - sum(loss["seconds"] for loss in point["losses"])
            slowdown = 1 + next((loss["seconds"] for loss in point["losses"] if loss["cause"] == "spread"), 0) / ideal
            computed = point["forward_s"] + point["backward_compute_s"]
            self.assertAlmostEqual(computed / ideal, slowdown, delta=0.01)

    def test_as_simulated(self):
        """A point is what simulate says of that many GPUs."""
        for point in self.points("--gpus", "8,64"):
            alone = self.simulate(f"cluster.world_size={point['world_size']}", file="m.yaml")
            for key in ("iteration_s", "losses", "evidence"):
                self.assertEqual(point[key], alone[key])

    def test_efficiency_falls(self):
        points = self.points("--gpus", "8:512")
        efficiencies = [point["efficiency"] for point in points]
        self.assertEqual(efficiencies[0], 1)
        self.assertEqual(efficiencies, sorted(efficiencies, reverse=True))
        for point in points:
            least, most = point["efficiency_range"]
            self.assertLessEqual(least, point["efficiency"] + 1e-12)
            self.assertGreaterEqual(most, point["efficiency"] - 1e-12)

    def test_a_spread_of_so_many(self):
        """Nothing else grows on a free network: E[max] of 64 normal factors of 1 % over that of the 8 that an estimate has in it."""
        self.write("m.yaml", MODEL % "ddp" + "physics: {interference: 0, passes: none}\nspread: {ranks: 0.01}\n")
        self.write("ring.yaml", "kind: ring\nlink: {latency: 0us, bandwidth: 1000000GB/s}\n")
        eight, many = self.points("--gpus", "8,64", "--set", "cluster.topology=ring.yaml")
        self.assertAlmostEqual(many["iteration_s"] / eight["iteration_s"], math.exp(0.01 * 2.3437) / math.exp(0.01 * 1.4236), delta=2e-4)

    def test_as_in_closed_form(self):
        """What is exposed, what is hidden and slows compute down, and the slowest of more GPUs, each by a formula, where nothing but the ends
        is waited for: T(n) of the ring's ends, s (T(n) of all the others), spread (z(n) - z(8)), less the optimizer's share."""
        s, spread = 0.25, 0.02
        self.write("m.yaml", f"""workload: {{model: mpt-1b, micro_batch: 8, sequence: 2048, framework: fsdp-eager-2023}}
strategy: fsdp1
fsdp: {{reshard_after_forward: false, reduce_dtype: fp32}}    # ZeRO-2
cluster: {{topology: topologies/superpod-h100.yaml, world_size: 8}}
physics: {{interference: {s}, passes: none}}
spread: {{ranks: {spread}}}
""")
        first, *others = self.points("--gpus", "8:2048:4")
        units = [bucket["bytes"] for bucket in self.simulate(file="m.yaml")["buckets"]]    # reduced as fp32; gathered as bf16, half of it
        block, root = units[0], units[-1]
        self.assertEqual(units[1:-1], units[:-2])

        def time(operation, ranks, size):
            answer = self.ok("topology", "costs", "topologies/superpod-h100.yaml", "--world-size", str(ranks), "--operation", operation, "--bytes",
                             f"{size:.0f}B", "--json", "-")
            return json.loads(answer.stdout)["costs"][0]["time_s"]

        def ends_and_hidden(ranks):
            of = lambda size: time("all_gather", ranks, size / 2) + time("reduce_scatter", ranks, size)
            return of(block) + of(root), (len(units) - 2) * of(block)

        def lost(point):
            ends, hidden = ends_and_hidden(point["world_size"])
            return ends + s * hidden

        for point in others:
            optimizer = point["optimizer_s"] - first["optimizer_s"]
            z = mean_largest_normal(point["world_size"]) - mean_largest_normal(8)
            formula = (lost(point) - lost(first) + optimizer) / first["iteration_s"] + spread * z
            self.assertAlmostEqual(point["iteration_s"] / first["iteration_s"] - 1, formula, delta=0.001, msg=point["world_size"])

    def test_fewer_than_an_estimate_was_fitted_to(self):
        """Two GPUs wait for the slower of two, not for the slowest of 8: little is lost, and the range has its ends in order."""
        point = self.points("--gpus", "2,8", "--set", "cluster.topology=topologies/dgx-h100.yaml", "--set", "physics={interference: 0, passes: none}")[0]
        losses = {loss["cause"]: loss["seconds"] for loss in point["losses"]}
        self.assertGreater(losses["spread"], 0)
        least, most = point["evidence"]["interval_80_s"]
        self.assertLess(least, point["iteration_s"])
        self.assertLess(point["iteration_s"], most)
        self.assertAlmostEqual((point["forward_s"] + point["backward_compute_s"]) / (point["iteration_s"] - sum(losses.values())),
                               math.exp(0.02 * 0.5642), delta=2e-3)

    def test_two_frameworks_are_two_estimates(self):
        """One fitted to steps of 4096 GPUs has more of the spread in it: never the other's times."""
        text = (cli.SOURCE_ROOT / "software/fsdp-eager-2023.yaml").read_text()
        self.write("a.yaml", text)
        self.write("b.yaml", text.replace("early_stop: true", "early_stop: true\nranks: 4096"))
        self.ok("sweep", "m.yaml", "--set", "spread={ranks: 0.02}", "--set", "sweep.workload.framework=[a.yaml, b.yaml]", "--jobs", "1", "--json", "r.json")
        a, b = (point["iteration_s"] for point in json.loads(self.read("r.json"))["points"])
        self.assertLess(b, a * 0.98)
        self.assertEqual(b, self.simulate("spread={ranks: 0.02}", "workload.framework=b.yaml", file="m.yaml")["iteration_s"])

    def test_what_does_not_fit_is_said(self):
        self.write("m.yaml", MODEL.replace("gpt2-medium", "llama-2-70b") % "fsdp" + "sweep: {strategy: [fsdp, ddp]}\n")
        done = self.ok("scale", "m.yaml", "--gpus", "8,16")
        self.assertIn("on 8 GPUs it does not fit", done.stdout)
        self.assertIn("the sweep over strategy is left out", done.stderr)

    def test_strong_scaling(self):
        """256 samples of a step: 4 micro-batches of 4 each on 16 GPUs, one on 64, one sample on 256."""
        sets = ["--set", "cluster.world_size=64", "--strong"]
        points = self.points("--gpus", "16,64,256", *sets)
        self.assertEqual([round(point["samples_per_s"] * point["iteration_s"]) for point in points], [256, 256, 256])
        first = points[0]
        for point in points:
            self.assertAlmostEqual(point["efficiency"], first["iteration_s"] * 16 / (point["iteration_s"] * point["world_size"]), places=9)
        done = self.fails(2, "scale", "m.yaml", "--gpus", "24", *sets)
        self.assertIn("64 micro-batches of 4 samples cannot be shared equally by 24 GPUs", done.stderr)

    def test_counts_that_a_shared_model_can_have(self):
        """Powers of two times the product of the degrees; experts are spread over the GPUs of a stage."""
        self.write("m.yaml", MODEL % "ddp" + "parallelism: {tensor: 4, pipeline: 3}\n")
        self.assertEqual([point["world_size"] for point in self.points()], [12 * 2**k for k in range(9)])
        self.assertEqual([point["world_size"] for point in self.points("--gpus", "36,60")], [36, 60])
        done = self.fails(2, "scale", "m.yaml", "--gpus", "12:64:3,16")
        self.assertEqual(done.stderr, "--gpus: error: the scenario cannot run on 16 GPUs: 'parallelism' takes multiples of 12\n"
                                      "hint: name such numbers, like --gpus 12:4096\n")
        self.assertIn("takes multiples of 32\n", self.fails(2, "scale", "every-axis-mixtral-8x7b", "--gpus", "16", "--set", "parallelism={tensor: 2, "
                                                            "pipeline: 4, expert: 8, sequence: true}").stderr)
        done = self.fails(2, "scale", "groups-1024", "--gpus", "8:64")
        self.assertIn("cannot run on 8 GPUs: 'cluster.groups' takes multiples of 8 from 16 on", done.stderr)

    def test_outputs(self):
        done = self.ok("scale", "m.yaml", "--gpus", "8,16", "--csv", "s.csv", "--plot", "s.svg")
        self.assertRegex(done.stdout, r"(?m)^ *GPUs +step ms +keeps %")
        self.assertEqual([row["world_size"] for row in self.read_csv("s.csv")], ["8", "16"])
        self.assertIn(b"<svg", self.read("s.svg"))


class SpreadTest(ScaleTest):
    def test_as_drawn(self):
        """The expected slowest is the mean of runs that are drawn."""
        expected = self.simulate("strategy=ddp", "physics={interference: 0, passes: none}", file="m.yaml")["iteration_s"]
        drawn = [self.simulate("strategy=ddp", "physics={interference: 0, passes: none}", f"variability={{seed: {seed}, iterations: 1, jitter: none, ranks: 0.02}}",
                               file="m.yaml")["iteration_s"] for seed in range(40)]
        self.assertAlmostEqual(expected / (sum(drawn) / len(drawn)), 1, delta=0.004)

    def test_off(self):
        none = self.simulate("spread=none", file="m.yaml")
        self.assertNotIn("spread", [loss["cause"] for loss in none["losses"]])
        textbook = self.simulate("physics=none", file="m.yaml")
        self.assertEqual([loss["cause"] for loss in textbook["losses"]], ["ends", "optimizer"])
        self.assertEqual(set(textbook["evidence"]["classes"]) & {"interference", "spread"}, set())

    def test_refused(self):
        for sets, says in [
                (["spread.ranks=2"], "2 is outside [0, 1]"),
                (["spread.node=0.1"], "unknown key 'node'"),
                (["physics=none", "spread={ranks: 0.01}"], "physics: none leaves out what GPUs differ in"),
                (["spread={ranks: 0.01}", "variability={seed: 1, jitter: none, ranks: 0.02}"], "variability.ranks and .nodes draw what GPUs differ in")]:
            with self.subTest(says):
                self.assertIn(says, self.fails(2, "simulate", "m.yaml", *cli.set_arguments(sets)).stderr)
        for gpus, says in [("8:x", "x"), ("64:8", "the range ends before it starts"), ("0", "outside"), ("8.5", "not a whole number")]:
            with self.subTest(gpus):
                self.assertIn(says, self.fails(2, "scale", "m.yaml", "--gpus", gpus).stderr)


if __name__ == "__main__":
    cli.main()
