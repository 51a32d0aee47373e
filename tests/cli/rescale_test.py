#!/usr/bin/env python3
"""`workload.rescale`: a trace as an estimate for another GPU. Usage: rescale_test.py BINARY SOURCE_ROOT."""
import ddpsim_cli as cli


class RescaleTest(cli.CliTest):
    """Compute alone: one gradient of 4 B, forward 10 ms, backward 30 ms, optimizer 5 ms. float32 has 19.5 and 66.9 TFLOP/s, memory
    1555 and 3350 GB/s."""

    def setUp(self):
        super().setUp()
        self.a100, self.h100 = (cli.SOURCE_ROOT / "gpus" / name for name in ("a100-sxm4-40gb.yaml", "h100-sxm.yaml"))
        self.write_scenario(cli.trace_text([("a", 1, 0.03)], forward="10ms", optimizer="5ms"), world_size=2)

    def assert_times(self, result, forward, backward, optimizer):
        for key, expected in (("forward_s", forward), ("backward_compute_s", backward), ("optimizer_s", optimizer)):
            self.assertAlmostEqual(result[key], expected, places=12, msg=key)

    def test_from_one_gpu_to_another(self):
        result = self.simulate(f"workload.rescale={{from: {self.a100}, to: {self.h100}}}")
        self.assert_times(result, 0.01 * 19.5 / 66.9, 0.03 * 19.5 / 66.9, 0.005 * 1555 / 3350)

    def test_what_layers_compute_in(self):
        result = self.simulate(f"workload.rescale={{from: {self.a100}, to: {self.h100}, dtype: bfloat16}}")
        self.assert_times(result, 0.01 * 312 / 989.4, 0.03 * 312 / 989.4, 0.005 * 1555 / 3350)

    def test_to_the_gpu_of_the_cluster(self):
        result = self.simulate(f"workload.rescale={{from: {self.a100}}}", f"cluster.gpu={self.h100}", "physics.passes=none", "spread=none")
        self.assert_times(result, 0.01 * 19.5 / 66.9, 0.03 * 19.5 / 66.9, 0.005 * 1555 / 3350)

    def test_by_a_stated_factor(self):
        self.assert_times(self.simulate("workload.rescale={factor: 0.5}"), 0.005, 0.015, 0.0025)

    def test_paths_are_relative_to_the_scenario(self):
        for name, path in (("a.yaml", self.a100), ("h.yaml", self.h100)):
            self.write(f"folder/{name}", path.read_bytes())
        self.write("folder/scenario.yaml", "workload: {trace: ../trace.csv, rescale: {from: a.yaml, to: h.yaml}}\n"
                   "cluster: {topology: ../ring.yaml, world_size: 2}\n")
        self.assertAlmostEqual(self.simulate(file="folder/scenario.yaml")["forward_s"], 0.01 * 19.5 / 66.9, places=12)

    def test_a_sweep_over_gpus(self):
        """To itself the trace is what was recorded; bytes and times are scaled apart."""
        points = self.sweep(sets=(f"workload.rescale.from={self.a100}", f"sweep.workload.rescale.to=[{self.a100}, {self.h100}]",
                                  "sweep.workload.scale_bytes=[1, 1000]"))["points"]
        self.assertEqual([round(1e3 * point["forward_s"], 6) for point in points], [10, 10, 2.914798, 2.914798])
        self.assertEqual(len({round(point["communication_s"], 12) for point in points}), 2)


if __name__ == "__main__":
    cli.main()
