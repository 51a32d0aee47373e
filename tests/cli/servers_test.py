#!/usr/bin/env python3
"""Strategies data_parallel and parameter_server: what must hold of their steps and their memory, and what is refused."""
import json

import ddpsim_cli as cli

MIB = cli.MIB
SWITCH = """kind: cluster
node:
  gpus: 1
  interconnect: {kind: nvswitch, bandwidth: 10000GB/s, latency: 0us}
  nics: {count: 1, bandwidth: 1GB/s, latency: 0us}
fabric: {kind: rail_optimized, nodes_per_leaf: 64}
"""
SERVERS = """workload: {trace: trace.csv}
strategy: parameter_server
cluster: {topology: switch.yaml, world_size: 8}
parameter_server: {placement: dedicated, update_rate: 1e15}
"""
MODEL = """workload: {model: gpt2, micro_batch: 4, sequence: 1024, dtype: bf16}
strategy: data_parallel
cluster: {topology: dgx-a100, world_size: 8, gpu: a100-sxm4-80gb}
"""


def cycle_of_queues(workers, think, service, rounds=400):
    """The mean cycle of workers that compute for `think` and then queue, first come first served, for what comes in to a server
    and for what goes out of it: `service` each."""
    ready = [i * 1e-6 for i in range(workers)]
    free_in = free_out = 0.0
    done = [[] for _ in range(workers)]
    inside = []  # have been pushed: (when, worker)
    for _ in range(rounds * workers):
        worker = min(range(workers), key=lambda w: ready[w])
        free_in = max(free_in, ready[worker] + think) + service
        free_out = max(free_out, free_in) + service
        ready[worker] = free_out
        done[worker].append(free_out)
    half = rounds // 2
    return (done[0][-1] - done[0][-1 - half]) / half


class ServerTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write("switch.yaml", SWITCH)
        self.write("trace.csv", cli.trace_text([("w", 1000 * MIB // 4, 0.5)], forward="500 ms"))
        self.write("s.yaml", SERVERS)

    def result(self, *sets):
        return self.simulate(*sets, file="s.yaml")

    def test_the_servers_links_are_shared(self):
        """8 workers push 1000 MiB to one server over its 1 GB/s, then pull them: 8.39 s each way; two servers take half."""
        way = 8 * 1000 * MIB / 1e9
        for servers in (1, 2, 4):
            self.assertAlmostEqual(self.result(f"parameter_server.servers={servers}")["iteration_s"], 1 + 2 * way / servers, places=5)

    def test_pulls_run_beside_pushes(self):
        self.write("trace.csv", cli.small_trace())
        alone = 8 * 160 * MIB / 1e9
        result = self.result()
        self.assertLess(result["iteration_s"], 0.08 + 1.2 * alone)
        self.assertGreater(result["iteration_s"], alone)

    def test_flows_equal_every_flow(self):
        self.write("trace.csv", cli.small_trace())
        for placement in ("dedicated", "colocated"):
            sets = ["parameter_server.servers=4", f"parameter_server.placement={placement}"]
            one, other = self.result(*sets), self.result(*sets, "engine.fidelity=exact")
            self.assertAlmostEqual(one["iteration_s"] / other["iteration_s"], 1, places=9)
            self.assertGreater(other["simulated_flows"], 0)

    def test_servers_beside_workers_share_their_links(self):
        """A worker's pushes leave over the NIC that its server's parameters leave over."""
        self.write("trace.csv", cli.small_trace())
        times = [self.result("parameter_server.servers=8", f"parameter_server.placement={one}")["iteration_s"]
                 for one in ("dedicated", "colocated")]
        self.assertLess(times[0], times[1])

    def test_the_servers_step_the_optimizer(self):
        """262,144,000 parameters on two servers at 1e8 a second: 1.31 s between push and pull."""
        slow, fast = (self.result("parameter_server.servers=2", f"parameter_server.update_rate={rate}")["iteration_s"] for rate in ("1e8", "1e15"))
        self.assertAlmostEqual(slow - fast, 1000 * MIB / 4 / 2 / 1e8, places=5)

    def test_a_free_network_leaves_compute(self):
        self.write("switch.yaml", SWITCH.replace("bandwidth: 1GB/s", "bandwidth: 10000GB/s"))
        self.assertAlmostEqual(self.result()["iteration_s"], 1, delta=0.01)

    def test_synchronous_workers_wait_for_a_straggler(self):
        sets = ["workload.stragglers=[{rank: 3, slowdown: 3}]"]
        self.assertAlmostEqual(self.result(*sets)["iteration_s"] - self.result()["iteration_s"], 2, places=6)

    def test_asynchronous_workers_are_a_closed_network_of_queues(self):
        """Until the server's links are busy all the time a worker goes round as if alone; from then on all share them."""
        service = 1000 * MIB / 1e9
        for workers in (2, 3, 4, 8, 16):
            result = self.result("parameter_server.synchronous=false", f"cluster.world_size={workers}")
            self.assertAlmostEqual(result["iteration_s"] / cycle_of_queues(workers, 1.0, service), 1, places=3)
            self.assertAlmostEqual(result["iteration_s"], max(1 + 2 * service, workers * service), places=5)
            self.assertAlmostEqual(result["asynchronous"]["updates_per_s"], workers / result["iteration_s"])
            self.assertAlmostEqual(result["asynchronous"]["mean_staleness"], workers - 1)

    def test_staleness_by_hand(self):
        """Free links. Three workers of 1 s and one of 2 s: 3.5 updates a second. While the slow one is at work 2 x 3.5 - 1 = 6
        others come, at a fast one's 2.5; over all updates (3 x 2.5 + 0.5 x 6) / 3.5 = 3."""
        self.write("switch.yaml", SWITCH.replace("bandwidth: 1GB/s", "bandwidth: 10000000GB/s").replace("10000GB", "10000000GB"))
        result = self.result("parameter_server.synchronous=false", "cluster.world_size=4", "workload.stragglers=[{rank: 1, slowdown: 2}]",
                             "parameter_server.servers=1")
        servers = result["asynchronous"]
        self.assertAlmostEqual(servers["updates_per_s"], 3.5, places=2)
        self.assertAlmostEqual(servers["most_staleness"], 6, places=1)
        self.assertAlmostEqual(servers["mean_staleness"], 3, places=1)
        self.assertEqual(result["reported_rank"], 1)

    def test_a_worker_beside_the_only_server(self):
        """The slow one sits where the server is: its keys take no link."""
        result = self.result("parameter_server.synchronous=false", "parameter_server.placement=colocated", "workload.stragglers=[{rank: 0, slowdown: 30}]")
        self.assertAlmostEqual(result["iteration_s"], 30, places=6)

    def test_the_slower_resource_is_named(self):
        def note(*sets):
            return next(n["text"] for n in self.result("parameter_server.synchronous=false", *sets)["notes"] if n["code"] == "server-round")
        self.assertIn("the servers' links are busy", note())
        self.assertIn("the servers' hosts are busy", note("parameter_server.update_rate=1e6"))

    def test_what_it_refuses(self):
        for sets, says in [(["parameter_server.servers=9", "parameter_server.placement=colocated"], "9 servers have no place beside 8 workers"),
                           (["collective.algorithm=tree"], "workers and parameter servers send to one another directly"),
                           (["parameter_server.synchronous=false", "engine.fidelity=exact"], "asynchronous workers are in a steady state"),
                           (["parameter_server.synchronous=false", "variability.iterations=5", "variability.seed=1"], "iterations of asynchronous workers are not drawn"),
                           (["parameter_server.synchronous=false", "cluster.background=[{links: [node0.nic0], size: 1MB}]"], "alone on the links"),
                           (["parameter_server.servers=0"], "0 is out of range"),
                           (["cluster.groups=[{ranks: [0, 1, 2, 3]}, {ranks: [4, 5, 6, 7]}]"], "parameter servers are those of all workers")]:
            with self.subTest(says):
                arguments = [a for s in sets for a in ("--set", s)]
                self.assertIn(says, self.fails(2, "simulate", "s.yaml", *arguments).stderr)


class SingleProcessTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write("m.yaml", MODEL)

    def result(self, *sets):
        return self.simulate(*sets, file="m.yaml")

    def test_gpu_0_holds_more(self):
        """The others hold 4 + 2 bytes of weights and 4 of gradients a parameter, no optimizer, and none of the others' outputs."""
        memory = self.result()["memory"]
        self.assertGreater(memory["peak_bytes"], memory["others_peak_bytes"] + memory["optimizer_bytes"])
        self.assertEqual(memory["others_peak_bytes"],
                         sum(memory[part] for part in ("parameters_bytes", "gradients_bytes", "activations_bytes", "workspaces_bytes", "other_bytes")))
        done = self.ok("memory", "m.yaml")
        self.assertIn("of GPU 0, which has the loss and the optimizer; the others hold 4.4 GB", done.stdout)
        self.assertIn("; of GPU 0, the others 4.4 GB", self.ok("simulate", "m.yaml").stdout)

    def test_a_loss_inside_the_module_gathers_nothing(self):
        """Logits of 8 replicas in bfloat16, and at the loss 4 more bytes of each (software/fsdp-eager-2023.yaml) of the other 7."""
        outside, inside = self.result(), self.result("data_parallel.outputs=0B")
        logits = 4 * 1024 * 50257
        self.assertAlmostEqual(outside["memory"]["buckets_bytes"] - inside["memory"]["buckets_bytes"], (8 * 2 + 7 * 4) * logits, delta=1)
        self.assertLess(inside["iteration_s"], outside["iteration_s"])

    def test_slower_than_distributed_data_parallel(self):
        self.assertGreater(self.result()["iteration_s"], 1.5 * self.result("strategy=ddp")["iteration_s"])

    def test_host_launches_add_up(self):
        times = [self.result("physics=none", "data_parallel.outputs=0B", f"data_parallel.host_forward={ms}ms")["iteration_s"] for ms in (0, 10, 20)]
        self.assertAlmostEqual(times[2] - times[1], 8 * 10e-3, places=9)

    def test_only_gpu_0_steps(self):
        self.ok("simulate", "m.yaml", "--quiet", "--timeline", "t.json")
        events = json.loads(self.read("t.json"))["traceEvents"]
        names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
        self.assertIn("rank 0 (1 rank", names[0])
        self.assertIn("ranks like 1 (7 ranks", names[1])
        self.assertEqual({event["pid"] for event in events if event["name"] == "optimizer"}, {0})
        self.assertEqual({event["pid"] for event in events if event["name"] == "outputs between GPUs"}, {0})

    def test_drawn_ranks_do_all_there_is_to_do(self):
        """Whichever rank is slowest, GPU 0 has the losses and the optimizer."""
        self.write("m.yaml", MODEL + "physics: {interference: 0}\n")
        result = self.result("variability={jitter: none, ranks: 0.000001, iterations: 20, seed: 1}")
        self.assertAlmostEqual(result["iteration_s"] / self.result("spread=none")["iteration_s"], 1, places=3)

    def test_a_trace_does_not_say_all(self):
        self.write_scenario(more="strategy: data_parallel\n")
        self.write("ring.yaml", cli.RING)
        self.write("node.yaml", "kind: cluster\nnode:\n  gpus: 8\n  interconnect: {kind: nvswitch, bandwidth: 300GB/s, latency: 1us}\n"
                                "  nics: {count: 8, bandwidth: 200Gbps, latency: 5us}\nfabric: {kind: rail_optimized, nodes_per_leaf: 20}\n")
        result = self.simulate("cluster.topology=node.yaml")
        self.assertIn("data-parallel-unknown", [note["code"] for note in result["notes"]])
        known = self.simulate("cluster.topology=node.yaml", "data_parallel={inputs: 1MB, outputs: 0B, loss: 0s, host_forward: 0s}")
        self.assertNotIn("data-parallel-unknown", [note["code"] for note in known["notes"]])
        self.assertGreater(known["iteration_s"], result["iteration_s"])

    def test_what_it_refuses(self):
        for change, says in [("cluster.world_size=16", "one process drives the GPUs of one machine"),
                             ("collective.backend=gloo", "one process does not communicate with Gloo"),
                             ("cluster.background=[{links: [node0.nic0], size: 1MB}]", "background traffic beside DataParallel"),
                             ("data_parallel.bogus=1", "unknown key 'bogus'")]:
            with self.subTest(change):
                self.assertIn(says, self.fails(2, "simulate", "m.yaml", "--set", change).stderr)


if __name__ == "__main__":
    cli.main()
