#!/usr/bin/env python3
"""`calibrate --overlap-profile`: a real trace, and traces with a known slowdown. Usage: overlap_profile_test.py BINARY SOURCE_ROOT."""
import gzip
import json
import re

import ddpsim_cli as cli

TRACE = "tests/trace/import/data/resnet50-ddp-2xa100.json.gz"


class Steps:
    """Training steps on one GPU. Times are in us; a step's kernels do `work`, one after the other, slowed down by `s` where
    the step's collectives run beside them."""

    def __init__(self, s=0.0, device="NVIDIA X"):
        self.s, self.device, self.events, self.correlation = s, device, [], 0

    def event(self, category, name, start, duration, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 1, "ts": start, "dur": duration, "args": args})

    def gpu(self, name, start, duration, stream, grid, **args):
        self.correlation += 1
        self.event("cuda_runtime", "cudaLaunchKernel", start - 1, 0.5, correlation=self.correlation)
        self.event("kernel", name, start, duration, device=0, stream=stream, correlation=self.correlation, grid=[grid, 1, 1],
                   block=[128, 1, 1], **args)

    def step(self, work, beside=(), collective=True):
        """Those kernels of which the number is in `beside` run beside an all-reduce each."""
        begin = at = 10000 * len([e for e in self.events if e["cat"] == "user_annotation"])
        for i, duration in enumerate(work):
            duration *= 1 + self.s * (i in beside)
            self.gpu(f"gemm_{i % 3}", at + 10, duration, 7, 108 + i % 3)
            if i in beside:
                self.gpu("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at + 10, duration, 30, 8,
                         **{"Collective name": "allreduce", "In msg nelems": 1000 * (i + 1), "dtype": "Float", "Group size": 2})
            at += 10 + duration
        self.event("user_annotation", f"ProfilerStep#{begin}", begin, 10000)
        return self

    def text(self):
        return json.dumps({"deviceProperties": [{"id": 0, "name": self.device}], "traceEvents": self.events})


def compute_of(text):
    return float(re.search(r"compute: ([-0-9.e]+),", text)[1])


class RecordedTest(cli.CliTest):
    def calibrate(self, *arguments):
        return self.ok("calibrate", "--overlap-profile", TRACE, *arguments, cwd=cli.SOURCE_ROOT).stdout

    def test_resnet50(self):
        """The same figures come out of the file's JSON by hand: kernels by position in the step, else between the same two
        before and after, whose times alone agree within 10 %."""
        self.assertEqual(self.calibrate("--out", str(self.folder / "i.yaml")), """\
2679 kernels compute for 115.656 ms, 231 of them for 7.31702 ms (6.3 %) beside collectives
compared with the same work alone: 155 of 39 kinds (4.78672 ms); left out: 54 that never ran alone (2.44151 ms), 22 whose times alone differ by more than 10 % (88.8 us)
beside collectives compute takes 19.3 % longer (standard error 4.6; quartiles 2.6 %, 8.3 %, 31.2 %)
collectives beside compute: taken to be the same, for none of 21 can be compared; left out: 15 that never ran alone (7.68582 ms)
collectives wait for other ranks: 28 % of their time is beyond the shortest of their size. Waiting slows compute less; with --algbw it does not count
""")
        self.assertEqual(self.read("i.yaml").decode().splitlines()[1:], [
            "interference: {compute: 0.193032, collective: 0.193032}",
            f'fitted_to: "{TRACE}: 155 kernels of 39 kinds, 4.78672 ms beside collectives, 19.3 % longer ('
            'standard error 4.6; quartiles 2.6 %, 8.3 %, 31.2 %)"'])

    def test_without_waiting(self):
        """At 85 GB/s a step's 102.2 MB take 1.2 ms, three steps' 3.6 ms; the broadcasts, of which nothing is cut off, take 0.1."""
        output = self.calibrate("--algbw", "85GB/s")
        self.assertIn("beside collectives compute takes 95.2 % longer (standard error 35.4;", output)
        self.assertIn("of 46.8765 ms of collectives in flight 43.1541 ms are waiting for other ranks, and do not count\n", output)

    def test_itself_alone_changes_nothing(self):
        self.assertEqual(self.calibrate("--alone", TRACE), self.calibrate())

    def test_a_scenario_uses_it(self):
        self.calibrate("--out", str(self.folder / "i.yaml"))
        self.write_scenario(more="physics: {calibration: i.yaml}\n")
        self.assertGreater(self.simulate()["interference_s"], 0)


class WrittenTest(cli.CliTest):
    WORK = [100, 200, 300, 400, 500]

    def calibrate(self, steps, *arguments, **files):
        self.write("t.json.gz", gzip.compress(steps.text().encode(), mtime=0))
        for name, other in files.items():
            self.write(f"{name}.json", other.text())
        return self.ok("calibrate", "--overlap-profile", "t.json.gz", *arguments).stdout

    def test_jitter_shows_kernels_both_ways(self):
        steps = Steps(0.3).step(self.WORK, beside=[0, 1]).step(self.WORK, beside=[2, 4]).step(self.WORK, beside=[3])
        self.assertAlmostEqual(compute_of(self.calibrate(steps, "--out", "-")), 0.3, 5)

    def test_a_trace_alone(self):
        """Every step overlaps in the same way; another trace tells what the kernels take by themselves."""
        steps = Steps(0.3)
        for _ in range(3):
            steps.step(self.WORK, beside=[2, 3, 4])
        alone = Steps().step(self.WORK)
        output = self.calibrate(steps, "--alone", "alone.json", "--out", "i.yaml", alone=alone)
        self.assertIn("compared with the same work alone: 9 of 3 kinds (4.68 ms); left out: none\n", output)
        self.assertAlmostEqual(compute_of(self.read("i.yaml").decode()), 0.3, 5)
        self.assertNotIn("alone, kernels take", output)

    def test_slower_clocks_are_said(self):
        steps = Steps(0.3).step([1.05 * work for work in self.WORK], beside=[2, 3, 4])
        output = self.calibrate(steps, "--alone", "alone.json", alone=Steps().step(self.WORK))
        self.assertIn("alone, kernels take 5.0 % longer here than in alone.json: that is in the result\n", output)

    def test_collectives_alone_give_r(self):
        """Alone 100 us each, beside kernels 120: in one step they run beside them, in the other after them."""
        steps = Steps(0.2).step(self.WORK[:1] * 3, beside=[0, 1, 2]).step(self.WORK[:1] * 3)
        for i, start in enumerate((11000, 12000, 13000)):
            steps.gpu("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", start, 96, 30, 8,
                      **{"Collective name": "allreduce", "In msg nelems": 1000 * (i + 1), "dtype": "Float", "Group size": 2})
        output = self.calibrate(steps, "--out", "i.yaml")
        self.assertIn("beside compute collectives take 25.0 % longer (quartiles 25.0 %, 25.0 %, 25.0 %), from 3 of 6; left out: none\n", output)
        self.assertIn(b"interference: {compute: 0.2, collective: 0.25}\n", self.read("i.yaml"))

    def test_collectives_that_waited_alone(self):
        """Alone 400 us, beside kernels 120: no r is -70 %."""
        steps = Steps(0.2).step(self.WORK[:1], beside=[0]).step(self.WORK[:1])
        steps.gpu("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 11000, 400, 30, 8,
                  **{"Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float", "Group size": 2})
        output = self.calibrate(steps, "--out", "i.yaml")
        self.assertIn("collectives beside compute: taken to be the same, for -70.0 % longer is what waiting for other ranks makes of it\n",
                      output)
        self.assertIn(b"interference: {compute: 0.2, collective: 0.2}\n", self.read("i.yaml"))

    def test_faster_within_noise_is_written_as_zero(self):
        steps = Steps(-0.03).step(self.WORK, beside=[0, 1]).step(self.WORK, beside=[2, 4])
        output = self.calibrate(steps, "--out", "i.yaml")
        self.assertIn("beside collectives compute takes -3.0 % longer", output)
        self.assertIn("what is below zero is written as zero: nothing gets faster by it\n", output)
        self.assertIn(b"interference: {compute: 0, collective: 0}\n", self.read("i.yaml"))

    def fails_on(self, steps, stderr, *arguments, **files):
        self.write("t.json", steps.text())
        for name, other in files.items():
            self.write(f"{name}.json", other.text())
        done = self.fails(2, "calibrate", "--overlap-profile", "t.json", "--out", "i.yaml", *arguments)
        self.assertEqual((done.stdout, done.stderr), ("", stderr))
        self.assertNotIn("i.yaml", self.files())

    def test_every_step_the_same(self):
        self.fails_on(
            Steps(0.3).step(self.WORK, beside=[1]).step(self.WORK, beside=[1]),
            "t.json: error: has 2 kernels that run beside a collective, and none can be compared with the same work alone: left "
            "out are 2 that never ran alone (520 us)\n"
            "hint: profile more steps, or give --alone a trace of the same model on one GPU, or of steps under no_sync()\n")

    def test_other_work_alone(self):
        self.fails_on(
            Steps().step(self.WORK, beside=[0, 1, 2, 3, 4]),
            "t.json: error: kernels would take -50.0 % longer beside collectives than alone: they do not do the same work\n"
            "hint: is --alone of the same model, batch size and GPU?\n",
            "--alone", "alone.json", alone=Steps().step([2 * work for work in self.WORK]))

    def test_more_lost_than_there_was_time(self):
        """10 us beside an all-reduce, and 900 longer than in the other trace."""
        steps = Steps()
        steps.gpu("gemm", 10, 1000, 7, 108)
        steps.gpu("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 5, 15, 30, 8)
        alone = Steps()
        alone.gpu("gemm", 10, 100, 7, 108)
        self.fails_on(
            steps, "t.json: error: kernels would take over 2000 % longer beside collectives than alone: they do not do the same "
            "work\nhint: is --alone of the same model, batch size and GPU?\n", "--alone", "alone.json", alone=alone)

    def test_another_gpu(self):
        self.fails_on(
            Steps().step(self.WORK, beside=[0]), "alone.json: error: is of a NVIDIA Y, and t.json of a NVIDIA X\n"
            "hint: profile both on the same GPU\n", "--alone", "alone.json", alone=Steps(device="NVIDIA Y").step(self.WORK))

    def test_nothing_beside(self):
        steps = Steps().step(self.WORK)
        steps.gpu("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 9000, 50, 30, 8)
        self.fails_on(
            steps, "t.json: error: has no kernel that runs beside a collective\nhint: profile DDP steps on several GPUs with NCCL, "
            "in which backward and all-reduces overlap\n")

    def test_collectives_only(self):
        steps = Steps()
        steps.gpu("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 9000, 50, 30, 8)
        self.fails_on(steps, "t.json: error: has no kernels that compute\nhint: profile with ProfilerActivity.CUDA\n")

    def test_a_bandwidth_at_which_nothing_waits(self):
        self.fails_on(
            Steps(0.3).step(self.WORK, beside=[0]).step(self.WORK, beside=[1]),
            "t.json: error: no all-reduce is in flight for longer than at 1MB/s, or none says its size\n"
            "hint: is it in bytes a second, and are sizes recorded (\"In msg nelems\")? Else leave --algbw out\n", "--algbw", "1MB/s")

    def test_a_file_cut_off(self):
        data = gzip.compress(Steps(0.3).step(self.WORK, beside=[0]).text().encode(), mtime=0)
        self.write("t.json.gz", data[:-20])
        done = self.fails(2, "calibrate", "--overlap-profile", "t.json.gz", "--out", "i.yaml")
        self.assertEqual(done.stderr, "t.json.gz: error: ends in the middle of its gzip data\n"
                         "hint: is it still being written, or was a copy cut off?\n")
        self.assertEqual(self.files(), ["t.json.gz"])


if __name__ == "__main__":
    cli.main()
