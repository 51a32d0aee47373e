#!/usr/bin/env python3
"""Inputs that are valid and unlikely: a note with a stable code on stderr and in JSON, or an error; none passes in silence.
Usage: plausible_test.py BINARY SOURCE_ROOT."""
import ddpsim_cli as cli

RING = "kind: ring\nlink: {{bandwidth: {}, latency: {}}}\n"
ROWS = "gradient,elements,dtype,ready_s,parameter\na,1000000,float32,{},1\nb,1000000,float32,{},0\n"
HEADER = "# ddpsim-trace: 1\n# forward: 400ms\n# optimizer: 50ms\n"
SCENARIO = "workload: {trace: trace.csv}\ncluster: {topology: ring.yaml, world_size: 4}\nphysics: none\n"
MEASURED = ("workload: {trace: trace.csv}\ncluster: {world_size: 4}\ncollective: {algorithm: measured, measured: table.csv}\nphysics: none\n")
TABLE = "# ddpsim-allreduce: 1\n# world_size: 4\nbytes,time_s\n"


class PlausibleTest(cli.CliTest):
    def notes(self, trace=HEADER + ROWS.format(0.4, 0.8), bandwidth="12.5GB/s", latency="5us", scenario=SCENARIO, table=TABLE, more=()):
        self.write("trace.csv", trace)
        self.write("ring.yaml", RING.format(bandwidth, latency))
        self.write("s.yaml", scenario)
        self.write("table.csv", table)
        done = self.ok("simulate", "s.yaml", "--json", "out.json", *cli.set_arguments(more))
        notes = self.read_json("out.json")["notes"]
        self.assertEqual([line for line in done.stderr.splitlines() if line.startswith("note: ")],
                         [f"note: {note['text']}" for note in notes])
        return {note["code"]: note["text"] for note in notes}

    def test_nothing_to_say(self):
        self.assertEqual(self.notes(), {})

    def test_ready_times_in_ms(self):
        self.assertIn("is ready_s in seconds?", self.notes(HEADER + ROWS.format(400, 800))["trace-times"])

    def test_passes_over_memory(self):
        """An A100 of 40 GB has 1,555 GB/s: below a twentieth of them, or above them all, something is wrong with the unit."""
        scenario = SCENARIO.replace("world_size: 4}", "world_size: 4, gpu: a100-sxm4-40gb}").replace("physics: none\n", "")
        for given, is_said in (("1MB/s", True), ("70GB/s", True), ("80GB/s", False), ("1.2TB/s", False), ("1.6TB/s", False), ("1.8TB/s", True)):
            with self.subTest(given):
                note = self.notes(scenario=scenario, more=[f"physics.pass_bandwidth={given}"]).get("pass-bandwidth", "")
                self.assertEqual("of the memory bandwidth of NVIDIA A100 SXM4 40GB: is the unit right?" in note, is_said)
        alone = SCENARIO.replace("physics: none\n", "")
        self.assertIn("Is the unit right?", self.notes(scenario=alone, more=["physics.pass_bandwidth=1MB/s"])["pass-bandwidth"])
        self.assertNotIn("pass-bandwidth", self.notes(scenario=alone, more=["physics.pass_bandwidth=10GB/s"]))

    def test_what_takes_long_says_so_before_it_starts(self):
        """GPUs by the memory that their description takes, iterations by their time. It is the first that is said."""
        said = self.notes(more=["cluster.world_size=100000"])
        self.assertEqual(said["slow"], "this will take a while: 100000 GPUs take up to some 0.5 GB of memory")
        self.assertNotIn("slow", self.notes(more=["cluster.world_size=4096"]))
        done = self.fails(2, "simulate", "s.yaml", "--set", "variability.iterations=100000", "--set", "variability.jitter=nonsense",
                          "--set", "cluster.world_size=4000")
        self.assertTrue(done.stderr.startswith("note: this will take a while: 100000 iterations of 4000 ranks some 2 minutes of a core\n"), done.stderr)
        self.assertNotIn("note", self.fails(2, "simulate", "s.yaml", "--quiet", "--set", "variability.iterations=100000",
                                            "--set", "variability.jitter=nonsense", "--set", "cluster.world_size=4000").stderr)
        self.write("sweep.yaml", SCENARIO + "sweep: {cluster.world_size: [4, 70000]}\n")
        done = self.ok("sweep", "sweep.yaml", "--json", "out.json")
        self.assertEqual(done.stderr.count("this will take a while: 70000 GPUs"), 1)
        self.assertEqual([note["code"] for note in self.read_json("out.json")["notes"]].count("slow"), 1)
        self.assertNotIn("while", self.ok("simulate", "sweep.yaml").stderr)    # one point of it

    def test_ready_times_in_us(self):
        self.assertIn("is ready_s in seconds?", self.notes(HEADER + ROWS.format(4e5, 8e5))["trace-times"])

    def test_a_gpu_of_another_topology(self):
        """A100s in nodes of H100s; H200s and H20s are Hoppers like them, and a T4 counts as a Volta."""
        trace = HEADER + ROWS.format(0.4, 0.8)
        def codes(gpu, topology):
            scenario = f"workload: {{trace: trace.csv}}\ncluster: {{topology: {topology}, world_size: 16, gpu: {gpu}}}\n"
            return self.notes(trace, scenario=scenario)
        note = codes("a100-sxm4-80gb", "superpod-h100")["other-topology"]
        self.assertIn("NVIDIA A100 SXM4 80GB (ampere), and the topology's nodes have hopper GPUs", note)
        for gpu, topology in (("a100-sxm4-80gb", "superpod-a100"), ("h20", "superpod-h100"), ("t4", "dgx1-v100"), ("gb200", "dgx-b200")):
            self.assertNotIn("other-topology", codes(gpu, topology), gpu)

    def test_more_gpus_than_the_topologys_sources_describe(self):
        scenario = "workload: {trace: trace.csv}\ncluster: {topology: superpod-a100, world_size: 1128}\n"
        self.assertIn("up to 1120 GPUs, and these are 1128", self.notes(scenario=scenario)["topology-extent"])

    def test_no_forward_and_no_optimizer(self):
        self.assertIn("no forward and optimizer times", self.notes("# ddpsim-trace: 1\n" + ROWS.format(0.4, 0.8))["trace-incomplete"])

    def test_elements_in_bytes_of_a_named_model(self):
        header = HEADER + "# model: gpt2\n"
        rows = f"gradient,elements,dtype,ready_s,parameter\na,{4 * 124439808},float32,0.8,0\n"
        self.assertIn("are the elements bytes?", self.notes(header + rows)["trace-elements"])

    def test_half_of_a_named_model(self):
        rows = f"gradient,elements,dtype,ready_s,parameter\na,{124439808 // 2},float32,0.8,0\n"
        self.assertIn("cut short", self.notes(HEADER + "# model: gpt2\n" + rows)["trace-elements"])

    def test_registration_that_is_guessed_where_it_matters(self):
        trace = HEADER + ROWS.format(0.4, 0.8).replace(",parameter", "").replace(",1\n", "\n").replace(",0\n", "\n")
        self.assertEqual(self.notes(trace), {})
        for option in ("ddp.find_unused_parameters=true", "ddp.iteration=first", "strategy=naive"):
            with self.subTest(option):
                self.assertIn("registration-guessed", self.notes(trace, more=[option]))

    def test_buffers_and_options_that_a_strategy_leaves_out(self):
        trace = HEADER + "# buffers: 212480B 424B\n" + ROWS.format(0.4, 0.8)
        self.assertEqual(self.notes(trace), {})
        self.assertIn("strategy flat does not", self.notes(trace, more=["strategy=flat"])["buffers-left-out"])
        self.assertIn("key-unused", self.notes(scenario=SCENARIO + "ddp: {comm_hook: fp16}\n", more=["strategy=naive"]))

    def test_a_scaled_trace_is_judged_as_it_was_recorded(self):
        rows = "gradient,elements,dtype,ready_s,parameter\na,124439808,float32,0.8,0\n"
        self.assertEqual(self.notes(HEADER + "# model: gpt2\n" + rows, more=["workload.scale_bytes=0.02"]), {})

    def test_compute_beyond_the_gpu(self):
        header = HEADER + "# device: NVIDIA A100\n# batch_size: 4\n# sequence_length: 1024\n"
        scenario = SCENARIO.replace("world_size: 4", f"world_size: 4, gpu: {cli.SOURCE_ROOT / 'gpus/a100-sxm4-80gb.yaml'}")
        rows = "gradient,elements,dtype,ready_s,parameter\na,774030080,float32,{},0\n"
        self.assertIn("% of what NVIDIA A100", self.notes(header + rows.format(0.03), scenario=scenario)["compute-implausible"])
        self.assertIn("compute-implausible", self.notes(header + rows.format(50), scenario=scenario))
        self.assertNotIn("compute-implausible", self.notes(header + rows.format(0.8), scenario=scenario))

    def test_links(self):
        self.assertIn("a latency of 5 ms", self.notes(latency="5ms")["link-latency"])
        self.assertIn("a bandwidth of 1 kB/s", self.notes(bandwidth="1000B/s")["link-bandwidth"])

    def test_measured_tables(self):
        def table(rows):
            return self.notes(scenario=MEASURED, table=TABLE + rows)
        self.assertEqual(table("1000,50e-6\n8e6,1e-3\n"), {})
        self.assertIn("one row", table("4e6,1e-3\n")["table-one-row"])
        self.assertIn("time_s in seconds", table("1000,0.05\n8e6,1\n")["table-units"])  # ms
        self.assertIn("by more than a factor of two", table("4,50e-6\n8e3,1e-3\n")["table-far-extrapolated"])  # KiB

    def test_a_cap_in_bits(self):
        self.notes()
        done = self.fails(2, "simulate", "s.yaml", "--set", "ddp.bucket_cap=25Mb")
        self.assertIn("'25Mb' counts bits, and sizes are in bytes", done.stderr)

    def test_a_sweep_says_it_once(self):
        self.notes(HEADER + ROWS.format(400, 800))
        done = self.ok("sweep", "s.yaml", "--set", "sweep.ddp.bucket_cap=[1MiB, 2MiB, 25MiB]", "--json", "sweep.json")
        self.assertEqual(done.stderr.count("is ready_s in seconds?"), 1)
        self.assertEqual([note["code"] for note in self.read_json("sweep.json")["notes"]], ["trace-times"])

    def test_half_a_file(self):
        whole = (cli.SOURCE_ROOT / "traces/gpt2-large-a100-bs4.csv").read_text().splitlines(True)
        self.write("half.csv", "".join(whole[:len(whole) // 2]))
        done = self.fails(2, "trace", "show", "half.csv")
        self.assertIn("the header says 436 gradients, and ", done.stderr)
        rows = [line for line in whole[:len(whole) // 2] if not line.startswith(("# gradients", "# elements"))]
        without_registration = [line if line.startswith("#") else line.rsplit(",", 1)[0] + "\n" for line in rows]
        self.write("half.csv", "".join(without_registration))
        self.assertIn("times those of gpt2-large: is the file cut short", self.ok("trace", "show", "half.csv").stderr)


if __name__ == "__main__":
    cli.main()
