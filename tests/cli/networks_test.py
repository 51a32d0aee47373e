#!/usr/bin/env python3
"""Who shares links out: groups of one axis by hand, every configuration on both networks and in every fidelity, and `--check-network`."""
import json
import re
import subprocess

import ddpsim_cli as cli

# Two nodes of two GPUs behind one NIC of 12 GB/s, and a model's tensor-parallel halves on them: each half's gradients are all-reduced
# between the nodes, and both rings go over the NICs.
NIC = 12e9
TOPOLOGY = """kind: cluster
node:
  gpus: 2
  interconnect: {kind: pcie, bandwidth: 24GB/s, latency: 0us, gpus_per_switch: 2, switches_per_socket: 1, host: {bandwidth: 24GB/s, latency: 0us},
                 socket: {bandwidth: 22GB/s, latency: 0us}}
  nics: {count: 1, bandwidth: 12GB/s, latency: 0us}
fabric: {kind: fat_tree, nodes_per_leaf: 16}
"""
SCENARIO = """workload: {model: gpt2, micro_batch: 4, sequence: 1024, dtype: bf16, framework: megatron-eager-2021}
cluster: {topology: two.yaml, world_size: 4, gpu: a100-sxm4-80gb}
strategy: flat
parallelism: {tensor: 2}
batch: {global: 64}
collective: {algorithm: ring}
physics: none
"""
# A slower way to one GPU, though faster than its share of the NIC: its ring is of another kind, and does not fold onto the other.
UNLIKE = "cluster.overrides=[{link: node0.gpu1-node0.pcie0, bandwidth: 20GB/s}]"
LARGEST = r"largest difference of any time of the step: (\S+) of the iteration\n"


class SiblingsTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write("two.yaml", TOPOLOGY)
        self.write("s.yaml", SCENARIO)

    def axis(self, axis, *sets):
        return next(one for one in self.simulate(*sets, file="s.yaml")["communication"] if one["axis"] == axis)

    def test_two_rings_on_one_nic_get_half_each(self):
        """A ring of two sends S over each NIC, in two steps: S / 6 GB/s, whether one ring stands for both or not."""
        for unlike in ([], [UNLIKE]):
            for fidelity in ("auto", "folded", "exact"):
                for network in ("builtin", "simgrid"):
                    with self.subTest(unlike=unlike, fidelity=fidelity, network=network):
                        one = self.axis("data", *unlike, f"engine.fidelity={fidelity}", f"engine.network={network}")
                        self.assertAlmostEqual(one["busy_s"] / (one["bytes"] / (NIC / 2)), 1, delta=1e-9)

    def test_so_do_tensor_parallel_groups(self):
        """Halves of one layer on two nodes: both groups' all-reduces, within passes, go over the NICs."""
        for unlike in ([], [UNLIKE]):
            one = self.axis("tensor", "cluster.placement=round_robin", *unlike)
            self.assertAlmostEqual(one["busy_s"] / (one["bytes"] / (NIC / 2)), 1, delta=1e-9)

    def test_a_slower_sibling_is_waited_for(self):
        """Half of a ring's NIC is there for nobody else; on a way of 4 GB/s it takes S / 4 GB/s, and the step goes on after that."""
        one = self.axis("data", UNLIKE.replace("20GB/s", "4GB/s"))
        self.assertAlmostEqual(one["busy_s"] / (one["bytes"] / 4e9), 1, delta=1e-9)


class CheckNetworkTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write("two.yaml", TOPOLOGY)
        self.write("s.yaml", SCENARIO)

    def test_what_it_prints(self):
        head, check = self.ok("simulate", "s.yaml", "--check-network", "--set", UNLIKE).stdout.split("\nnetwork checked: builtin against simgrid\n")
        self.assertIn(" a step", head)
        rows = re.findall(r"(?m)^  (\w+) +(\S+ \w+) +(\S+ \w+)  (\S+) %$", check)
        self.assertEqual([name for name, *_ in rows], ["iteration", "communication"])
        for _, builtin, simgrid, difference in rows:
            self.assertEqual(builtin, simgrid)
            self.assertLess(abs(float(difference)), 1e-7)
        self.assertLess(float(re.search(LARGEST, check)[1]), 1e-9)

    def test_the_other_way_round(self):
        self.assertIn("\nnetwork checked: simgrid against builtin\n", self.ok("simulate", "s.yaml", "--check-network", "--set", UNLIKE, "--set", "engine.network=simgrid").stdout)

    def test_json_stays_alone_on_standard_output(self):
        done = self.ok("simulate", "s.yaml", "--check-network", "--set", UNLIKE, "--json", "-")
        self.assertEqual(json.loads(done.stdout)["network"], "builtin")
        self.assertIn("network checked: builtin against simgrid", done.stderr)

    def test_nobody_shares_a_link(self):
        self.assertIn("\nnetwork checked: nobody shares a link", self.ok("simulate", "s.yaml", "--check-network", "--set", "parallelism={}").stdout)


class ConfigurationsTest(cli.CliTest):
    """Every configuration in which somebody shares a link."""
    CONTENDED = ["deepseek-v3-256xgb200", "every-axis-mixtral-8x7b", "expert-parallel-mixtral-8x7b", "pipeline-schedules", "shared-nic", "tensor-pipeline-175b"]

    def simulated(self, name, *sets, check=False):
        command = [cli.BINARY, "simulate", cli.SOURCE_ROOT / f"configs/{name}.yaml", "--json", self.folder / "out.json", *cli.set_arguments(sets)]
        done = subprocess.run(command + ["--check-network"] * check, capture_output=True, text=True, timeout=cli.TIMEOUT_S, check=False, env=cli.environment())
        return done, self.read_json("out.json") if done.returncode == 0 else None

    def test_all_agree(self):
        contended = []
        for path in sorted((cli.SOURCE_ROOT / "configs").glob("*.yaml")):
            done, lazy = self.simulated(path.stem, check=True)
            if not lazy or lazy["fidelity"] == "closed_form":    # what only sweeps has no step of its own
                continue
            contended.append(path.stem)
            with self.subTest(path.stem):
                self.assertLess(float(re.search(LARGEST, done.stdout)[1]), 1e-9)
                for fidelity in ("folded", "exact"):
                    _, other = self.simulated(path.stem, f"engine.fidelity={fidelity}")
                    for key in ("iteration_s", "communication_s", "exposed_communication_s"):
                        self.assertAlmostEqual(other[key] / lazy[key], 1, delta=1e-9)
        self.assertEqual(contended, self.CONTENDED)


if __name__ == "__main__":
    cli.main()
