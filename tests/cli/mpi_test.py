#!/usr/bin/env python3
"""MPI: what `topology costs --backend mpi` says, and jobs with collective.backend: mpi, by hand. Usage: mpi_test.py BINARY SOURCE_ROOT."""
import json

import ddpsim_cli as cli

HOSTS = "examples/mpi/eight-hosts.yaml"
LATENCY, BANDWIDTH = 5e-6, 12.5e9    # between two of them


class CostsTest(cli.CliTest):
    def costs(self, *options, topology=HOSTS, ranks=8):
        out = self.ok("topology", "costs", str(cli.SOURCE_ROOT / topology), "--world-size", str(ranks), "--backend", "mpi", "--json", "-", *options).stdout
        return json.loads(out)

    def test_ping(self):
        """A message of m bytes takes a + m / B."""
        for row in self.costs("--operation", "send_recv", "--bytes", "1B,1MiB", ranks=2)["costs"]:
            self.assertEqual((row["algorithm"], row["source"]), ("message", "declared"))
            self.assertAlmostEqual(row["time_s"], LATENCY + row["bytes"] / BANDWIDTH, delta=1e-12)

    def test_reduction(self):
        """Below 8 KiB recursive doubling, log2 8 (a + m / B); from there Rabenseifner's, 2 log2 8 a + 2 7/8 m / B."""
        small, large = self.costs("--operation", "all_reduce", "--bytes", "4KiB,8KiB")["costs"]
        self.assertEqual((small["algorithm"], large["algorithm"]), ("recursive_doubling", "rabenseifner"))
        self.assertAlmostEqual(small["time_s"], 3 * (LATENCY + 4096 / BANDWIDTH), delta=1e-12)
        self.assertAlmostEqual(large["time_s"], 6 * LATENCY + 1.75 * 8192 / BANDWIDTH, delta=1e-12)

    def test_every_operation_has_a_time_and_says_what_is_assumed(self):
        costs = self.costs()
        self.assertEqual(len(costs["costs"]), 9)
        self.assertTrue(all(row["time_s"] > 0 for row in costs["costs"]))
        self.assertEqual([note["code"] for note in costs["notes"]], ["mpi-declared"])
        self.assertNotIn("hosts", costs["notes"][0]["text"].split("nodes hold")[1])
        on_gpus = self.costs(topology="topologies/dgx-h100.yaml")["notes"][0]["text"]
        self.assertIn("sums are formed on hosts, after copies there and before copies back, at 12 GB/s a process", on_gpus)

    def test_a_time_of_another_algorithm_is_named(self):
        row = self.costs("--operation", "reduce_scatter", "--bytes", "1GiB")["costs"][0]
        self.assertEqual(row["algorithm"], "butterfly")
        self.assertTrue(row["source_text"].startswith("recursive halving's"))

    def test_where_there_is_no_way(self):
        row = self.costs("--operation", "all_reduce", topology="topologies/ring-100gbps.yaml")["costs"][0]
        self.assertEqual((row["algorithm"], row["time_s"], row["why_not"]), ("rabenseifner", None, "no link leads from gpu1 to gpu0"))

    def test_gather_and_scatter_of_plain_schedules(self):
        """Seven eighths of the buffer over rank 0's link; busbw counts (n-1)/n, as nccl-tests does."""
        out = self.ok("topology", "costs", str(cli.SOURCE_ROOT / HOSTS), "--world-size", "8", "--operation", "gather", "--operation", "scatter", "--bytes", "8MB",
                      "--json", "-").stdout
        rows = json.loads(out)["costs"]
        self.assertEqual([row["operation"] for row in rows], ["gather", "scatter"])
        for row in rows:
            self.assertAlmostEqual(row["time_s"], LATENCY + 7e6 / BANDWIDTH, delta=1e-12)
            self.assertAlmostEqual(row["busbw_Bps"], 7e6 / row["time_s"], delta=1)


class JobsTest(cli.CliTest):
    TRACE = "# ddpsim-trace: 1\ngradient,elements,dtype,ready_s\na,1000000,float32,0.001\n"

    def result(self, *sets, topology=HOSTS):
        self.write("trace.csv", self.TRACE)
        self.write("s.yaml", f"workload: {{trace: trace.csv}}\ncluster: {{topology: '{cli.SOURCE_ROOT / topology}', world_size: 8}}\ncollective: {{backend: mpi}}\nphysics: none\n")
        return self.simulate(*sets, file="s.yaml")

    def test_a_bucket_takes_what_the_all_reduce_does(self):
        """4 MB among 8: 6 a + 1.75 m / B, after 1 ms of backward."""
        result = self.result()
        self.assertAlmostEqual(result["iteration_s"], 1e-3 + 6 * LATENCY + 1.75 * 4e6 / BANDWIDTH, delta=1e-9)
        self.assertEqual((result["algorithm"], result["fidelity"]), ("mpi", "closed_form"))
        self.assertIn("mpi-declared", [note["code"] for note in result["notes"]])

    def test_less_latency_and_more_bandwidth(self):
        result = self.result("collective.scale.latency=0", "collective.scale.bandwidth=2")
        self.assertAlmostEqual(result["iteration_s"], 1e-3 + 1.75 * 4e6 / BANDWIDTH / 2, delta=1e-9)

    def test_a_named_algorithm_is_a_plain_schedule(self):
        notes = [note["code"] for note in self.result("collective.algorithm=halving_doubling")["notes"]]
        self.assertIn("mpi-plain-schedule", notes)
        self.assertNotIn("mpi-declared", notes)

    def test_sharded_jobs_run(self):
        for strategy in ("zero1", "zero2", "fsdp", "naive", "flat", "overlap"):
            with self.subTest(strategy):
                self.assertGreater(self.result(f"strategy={strategy}", topology="topologies/dgx-h100.yaml")["iteration_s"], 1e-3)


class ListTest(cli.CliTest):
    def test_backends(self):
        rows = json.loads(self.ok("list", "backends", "--json", "-").stdout)["backends"]
        self.assertEqual(len(rows), 3 * 9)
        known = {(row["backend"], row["operation"]): row for row in rows}
        self.assertEqual(known["nccl", "all_reduce"], {"backend": "nccl", "operation": "all_reduce", "gpu": "tuner", "cpu": None, "real": "GPUs"})
        self.assertEqual(known["gloo", "broadcast"]["gpu"], "formula, by way of hosts")
        self.assertEqual(known["mpi", "all_reduce"]["gpu"], "declared: 5 algorithms, on hosts")
        self.assertEqual([key for key, row in known.items() if row["real"]],
                         [(backend, operation) for backend in ("nccl", "gloo") for operation in ("all_reduce", "all_gather", "reduce_scatter")])


if __name__ == "__main__":
    cli.main()
