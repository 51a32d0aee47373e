#!/usr/bin/env python3
"""`ddpsim calibrate --step`: what a measured step tells, which key explains one, and which to measure next."""
import json
import re

import ddpsim_cli as cli

MODEL = """workload: {model: llama-2-7b, micro_batch: 1, sequence: 4096}
cluster: {topology: superpod-h100, world_size: 64, gpu: h100-sxm, price: 2.5}
"""


class StepTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write("m.yaml", MODEL)

    def simulated(self, *arguments):
        return json.loads(self.ok("simulate", "m.yaml", "--json", "-", *arguments).stdout)

    def test_the_measured_step_comes_back(self):
        self.ok("calibrate", "--step", "700ms", "m.yaml", "--out", "s.yaml")
        self.assertAlmostEqual(self.simulated("--set", "workload.compute=s.yaml")["iteration_s"], 0.7, delta=0.7e-6)

    def test_host_of_a_host_bound_step(self):
        small = ["--set", "workload={model: gpt2, micro_batch: 1, sequence: 128}", "--set", "cluster.gpu=h100-sxm"]
        step = 1.5 * self.simulated(*small)["iteration_s"]
        self.ok("calibrate", "--step", f"{step}s", "--fit", "host", "m.yaml", "--out", "s.yaml", *small)
        again = self.simulated(*small, "--set", "workload.compute=s.yaml")["iteration_s"]
        self.assertAlmostEqual(again / step, 1, delta=1e-6)

    def test_what_it_refuses(self):
        for arguments, says in [
                (["--step", "700ms", "--fit", "host"], "this step does not identify host"),
                (["--step", "70s"], "what is described is not what was measured: 70 s was measured"),
                (["--step", "70s", "--accept"], "no gemm from 0.1 of the peak to 1.1 of the peak gives 70 s: the scenario takes"),
                (["--step", "20ms", "--fit", "gemm", "--set", "workload={model: gpt2, micro_batch: 1, sequence: 128}", "--set", "evidence=none"], "launches are")]:
            with self.subTest(says):
                done = self.fails(2, "calibrate", "m.yaml", "--out", "s.yaml", *arguments)
                self.assertIn(says, done.stderr)


class LogTest(cli.CliTest):
    """The log of a training program in place of a time."""
    SCENARIO = "workload: {model: gpt2, micro_batch: 4, sequence: 1024}\ncluster: {topology: dgx-a100, world_size: 8, gpu: a100-sxm4-80gb}\n"

    def log(self, *milliseconds):
        return "".join(f"0:  iteration {i:8}/  40 | elapsed time per iteration (ms): {ms} | global batch size:    32 |\n" for i, ms in enumerate(milliseconds, 1))

    def test_its_median_is_the_step(self):
        self.write("scenario.yaml", self.SCENARIO)
        self.write("run.log", self.log(500, 120, 119, 118, 117, 90, 92, 96, 91, 300))
        done = self.ok("calibrate", "--step", "run.log", "scenario.yaml", "--out", "s.yaml")
        self.assertIn("run.log: Megatron-LM's log: 92 ms, the median of 5 lines, half of them 91 ms to 96 ms, all 90 ms to 300 ms; the first 5 lines left out as warm-up\n", done.stderr)
        self.assertIn(b"the median of 5 lines of run.log", self.read("s.yaml"))
        taken = json.loads(self.ok("simulate", "scenario.yaml", "--json", "-", "--set", "workload.compute=s.yaml").stdout)["iteration_s"]
        self.assertAlmostEqual(taken / 0.092, 1, delta=1e-5)
        done = self.ok("calibrate", "--step", "run.log", "scenario.yaml", "--solve", "workload.micro_batch", "--quiet")
        self.assertEqual(done.stderr, "")


class EthernetTest(cli.CliTest):
    """GPT-2 on two nodes that Ethernet joins, which nobody measured."""
    TOPOLOGY = """kind: cluster
node: {gpus: 8, interconnect: {kind: nvswitch, bandwidth: 300GB/s, latency: 1us}, nics: {count: 1, bandwidth: 25Gbps, latency: 20us}}
fabric: {kind: fat_tree, nodes_per_leaf: 16, network: ethernet, cloud: gcp}
nccl: {gpu: ampere, cpu: intel}
"""
    SCENARIO = """workload: {model: gpt2, micro_batch: 8, sequence: 512}
cluster: {topology: ethernet.yaml, gpu: a100-sxm4-40gb, world_size: 16}
strategy: ddp
"""

    def setUp(self):
        super().setUp()
        self.write("ethernet.yaml", self.TOPOLOGY)
        self.write("scenario.yaml", self.SCENARIO)

    def interval(self, *sets):
        answer = self.simulate(*sets)
        least, most = answer["evidence"]["interval_80_s"]
        return least, answer["iteration_s"], most

    def calibrate(self, step, *sets, out="mine.yaml"):
        self.ok("calibrate", "--step", f"{step}s", "scenario.yaml", "--out", out, "--quiet", *cli.set_arguments(sets))
        return f"workload.framework={out}"


class WeighedTest(EthernetTest):
    """What a step tells of other jobs, which share its compute and its network."""
    def test_a_step_narrows_itself_and_what_is_like_it(self):
        for sets, most in (((), 0.5), (("cluster.world_size=64",), 0.6)):
            least, _, greatest = self.interval(*sets)
            mine = self.calibrate(2 * self.interval()[1])
            now = self.interval(*sets, mine)
            self.assertLess(now[2] / now[0] - 1, most * (greatest / least - 1))
            self.assertLess(now[0], now[1])
            self.assertLess(now[1], now[2])

    def test_what_the_network_is_to_blame_for_is_not_the_computes(self):
        """Half as long again with 25 Gb/s of Ethernet between the nodes: on one node hardly anything changes, where a share of the peak alone would have taken all of it."""
        one_node = self.interval("cluster.world_size=8")[1]
        step = 1.5 * self.interval()[1]
        mine = self.calibrate(step)
        self.assertAlmostEqual(self.interval(mine)[1] / step, 1, delta=1e-6)
        self.assertLess(self.interval("cluster.world_size=8", mine)[1] / one_node, 1.3)
        alone = self.calibrate(step, "evidence=none", out="alone.yaml")
        self.assertGreater(self.simulate("cluster.world_size=8", alone)["iteration_s"] / one_node, 1.6)

    def test_what_was_found_of_a_network_is_in_every_cost(self):
        """The formula of a sweep, and what the constructor broadcasts, take the network as the prediction does; whether intervals are asked for or not."""
        mine = self.calibrate(1.5 * self.interval()[1])
        factor = float(re.search(rb"found: {ethernet: ([\d.]+)}", self.read("mine.yaml"))[1])
        self.assertGreater(factor, 1)
        bandwidth = lambda *sets: self.sweep("--formula", sets=["sweep={ddp.bucket_cap: [1MiB, 25MiB, 100MiB]}", *sets])["formulas"][0]["bandwidth_Bps"]    # noqa: E731
        self.assertAlmostEqual(bandwidth() / bandwidth(mine) / factor, 1, delta=0.02)
        self.assertAlmostEqual(self.simulate(mine, "evidence=none")["iteration_s"], self.interval(mine)[1])

    def test_two_steps_tell_more_than_one(self):
        usual, one_node = self.interval()[1], self.interval("cluster.world_size=8")[1]
        mine = self.calibrate(1.1 * one_node, "cluster.world_size=8")
        first = self.interval(mine)
        both = self.calibrate(1.5 * usual, mine, out="both.yaml")
        second = self.interval(both)
        self.assertLess(second[2] / second[0], first[2] / first[0])
        self.assertAlmostEqual(second[1] / (1.5 * usual), 1, delta=0.1)
        self.assertAlmostEqual(self.interval("cluster.world_size=8", both)[1] / (1.1 * one_node), 1, delta=0.1)
        self.assertEqual(self.read("both.yaml").count(b"took:"), 2)


class SolveTest(EthernetTest):
    """A value that gave a time is found again by it."""
    def solved(self, key, step, *sets):
        done = self.ok("calibrate", "--step", f"{step}s", "scenario.yaml", "--solve", key, "--quiet", *cli.set_arguments(sets))
        return re.match(rf"{re.escape(key)} (\S+) gives", done.stdout)[1], done.stdout

    def test_the_value_comes_back(self):
        for key, value in (("collective.scale.bandwidth", "0.5"), ("workload.micro_batch", "24"), ("physics.interference", "0.6")):
            with self.subTest(key):
                step = self.simulate(f"{key}={value}")["iteration_s"]
                found, _ = self.solved(key, step)
                self.assertAlmostEqual(float(found) / float(value), 1, delta=0.01)

    def test_its_interval_holds_it_and_is_wider_the_less_is_known(self):
        step = self.simulate("collective.scale.bandwidth=0.3")["iteration_s"]
        widths = []
        self.write("sure.yaml", "{kind: evidence, name: sure, compute: {same_gpu: {sigma: 0.01, row: 0.01, families: 9}}}")
        for sets in (["evidence=sure.yaml"], []):
            found, text = self.solved("collective.scale.bandwidth", step, *sets)
            least, most = map(float, re.search(r"80 % sure: (\S+) to (\S+)", text).groups())
            self.assertLessEqual(least, float(found))
            self.assertLessEqual(float(found), most)
            widths.append(most / least)
        self.assertLess(widths[0], widths[1])
        self.assertNotIn("80 %", self.solved("collective.scale.bandwidth", step, "evidence=none")[1])

    def test_refused(self):
        for arguments, says in [
                (["--step", "1s", "--solve", "workload.model"], "'workload.model' has no number to look for"),
                (["--step", "1s", "--solve", "cluster.nics.bandwdith"], "did you mean 'bandwidth'"),
                (["--step", "1s", "--solve", ""], "error: "),
                (["--step", "1us", "--solve", "cluster.nics.bandwidth"], "no cluster.nics.bandwidth from 1MB/s to 100TB/s gives"),
                (["--step", "1s", "--solve", "cluster.nodes"], "cluster.nodes does not change this step"),
                (["--step", "0s", "--solve", "cluster.nics.bandwidth"], "no step takes 0 s")]:
            with self.subTest(says):
                self.assertIn(says, self.fails(2, "calibrate", "scenario.yaml", *arguments).stderr)


class NextTest(EthernetTest):
    """Between nodes with 25 Gb/s of Ethernet it is the network that nobody knows: a table of it tells about as much as the job itself, one node hardly anything."""
    def explained(self, *sets):
        return json.loads(self.ok("simulate", "scenario.yaml", "--explain", "--json", "-", *cli.set_arguments(sets)).stdout)

    def narrow(self, *sets):
        answer = self.explained(*sets)
        least, most = answer["evidence"]["interval_80_s"]
        return most / least - 1, {one["measure"]: one for one in answer["explanation"]["narrow"]}

    def test_what_has_the_network_in_it_tells_most(self):
        width, narrow = self.narrow()
        job, table = narrow["one step of this job"]["width"], narrow["a table of nccl-tests over Ethernet"]["width"]
        self.assertLess(job, 0.5 * width)
        self.assertLess(table, 0.5 * width)
        node = narrow.get("one step on one node (8 GPUs)")
        self.assertTrue(node is None or node["width"] > table)

    def test_the_command_repeats_the_settings(self):
        self.assertIn("scenario.yaml --set 'workload.micro_batch=4'", self.narrow("workload.micro_batch=4")[1]["one step of this job"]["command"])

    def test_nothing_in_doubt_nothing_to_measure(self):
        self.assertEqual(self.explained("evidence=none")["explanation"]["narrow"], [])

    def test_of_a_recorded_trace_an_overlapped_step(self):
        """Interference and the network are what is not known: a step of the job tells both together, and says more than a table of the second."""
        self.write("traced.yaml", f"workload: {{trace: {cli.SOURCE_ROOT}/traces/gpt2-large-a100-bs4.csv}}\ncluster: {{topology: p4d, world_size: 64}}\n")
        self.ok("simulate", "traced.yaml", "--explain", "--json", "traced.json")
        answer = json.loads(self.read("traced.json"))
        narrow = {one["measure"]: one for one in answer["explanation"]["narrow"]}
        job = narrow["one step of this job"]
        self.assertEqual(job["command"], "ddpsim calibrate --overlap traced.yaml --measured STEPS --out mine.yaml")
        least, most = answer["evidence"]["interval_80_s"]
        self.assertLess(job["width"], 0.7 * (most / least - 1))
        self.assertLess(job["width"], narrow["a table of nccl-tests over EFA"]["width"])
        # Of one that overlaps nothing a step tells nothing of interference, and calibrate --overlap refuses it.
        self.ok("simulate", "traced.yaml", "--set", "strategy=flat", "--explain", "--json", "traced.json")
        narrow = json.loads(self.read("traced.json"))["explanation"]["narrow"]
        self.assertEqual([one["measure"] for one in narrow], ["a table of nccl-tests over EFA"])


if __name__ == "__main__":
    cli.main()
