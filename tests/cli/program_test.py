#!/usr/bin/env python3
"""`ddpsim program`, and scenarios that name what it prints. Usage: program_test.py BINARY SOURCE_ROOT."""
import ddpsim_cli as cli


class ProgramTest(cli.CliTest):
    """Two gradients of 1 MiB, ready after 10 and 20 ms, on a ring of 12.5 GB/s."""

    def setUp(self):
        super().setUp()
        self.write("trace.csv", cli.small_trace(2, cli.MIB // 4, 0.01))
        self.write("scenario.yaml", "workload: {trace: trace.csv}\ncluster: {topology: ring-100gbps, world_size: 2}\nphysics: none\nevidence: none\n"
                                    "ddp: {bucket_cap: 1MiB}\nsweep: {ddp.bucket_cap: [1MiB, 2MiB]}\n")

    def iteration(self, *arguments):
        self.ok("simulate", "scenario.yaml", "--json", "r.json", "--quiet", *arguments)
        return self.read_json("r.json")

    def test_prints_what_a_rank_does(self):
        done = self.ok("program", "scenario.yaml")
        self.assertEqual(done.stdout, "communicator data: axis data\nbackward.0: compute 10ms\nall_reduce.0: all_reduce 1MiB on data after "
                                      "backward.0\nbackward.0'2: compute 10ms\nall_reduce.1: all_reduce 1MiB on data after backward.0'2\n"
                                      "optimizer.0: compute 0s after all_reduce.0 all_reduce.1\n")

    def test_it_takes_as_long(self):
        for settings in ([], ["--set", "strategy=fsdp"], ["--set", "strategy=zero2", "--set", "ddp.accumulation_steps=3"]):
            with self.subTest(settings):
                self.ok("program", "scenario.yaml", *settings, "--out", "own.program", "--quiet")
                usual = self.iteration(*settings)
                own = self.iteration(*settings[2:], "--set", "strategy={program: own.program}")
                self.assertEqual(own["iteration_s"], usual["iteration_s"])
                self.assertEqual((own["strategy"], own["n_buckets"], own["buckets"]), ("program", 0, []))

    def test_what_it_leaves_out_is_said(self):
        self.write("own.program", "forward: compute 10ms\n")
        self.write("scenario.yaml", "workload: {model: gpt2, micro_batch: 1, sequence: 128}\ncluster: {topology: dgx-h100, world_size: 8}\n"
                                    "strategy: {program: own.program}\nphysics: {first_start: 1us}\n")
        notes = {note["code"]: note["text"] for note in self.iteration()["notes"]}
        self.assertIn("program-memory", notes)
        self.assertIn("physics.first_start", str(self.read_json("r.json")["notes"]))
        self.assertNotIn("memory", self.read_json("r.json"))
        self.assertIn("does not say what a GPU holds", self.fails(2, "memory", "scenario.yaml").stderr)

    def test_beside_others(self):
        """In a sweep, in --explain, on a timeline."""
        self.ok("program", "scenario.yaml", "--set", "strategy=flat", "--out", "own.program")
        done = self.ok("sweep", "scenario.yaml", "--set", "sweep={strategy: [flat, {program: own.program}]}")
        self.assertIn("{program: own.program}", done.stdout)
        done = self.ok("simulate", "scenario.yaml", "--set", "strategy={program: own.program}", "--explain", "--timeline", "t.json", "--plot", "t.svg")
        self.assertIn("what would change it", done.stdout)


if __name__ == "__main__":
    cli.main()
