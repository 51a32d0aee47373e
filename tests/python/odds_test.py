"""How sure a prediction is, and which of several ways is best: the same numbers as the command line."""
import json

import pytest

import ddpsim


def test_an_interval_is_the_command_lines(root, cli):
    path = root / "configs/quickstart.yaml"
    result = ddpsim.Job.load(path).simulate()
    evidence = json.loads(cli("simulate", path, "--json", "-"))["evidence"]
    assert list(result.interval(0.8)) == evidence["interval_80_s"] == list(result.interval())
    assert list(result.interval(0.5)) == evidence["interval_50_s"]
    least, most = result.interval(0.99)
    assert least < evidence["interval_80_s"][0] < evidence["interval_80_s"][1] < most


@pytest.mark.parametrize("share", [0, 1, -0.1, 80, float("nan")])
def test_a_share_lies_between_0_and_1(small, share):
    with pytest.raises(ddpsim.InputError, match="holds nothing, or everything"):
        small.simulate().interval(share)


def test_nothing_is_known_without_evidence(small):
    bare = small.set({"evidence": "none"})
    with pytest.raises(ddpsim.InputError, match="no interval\nhint: leave out 'evidence: none'"):
        bare.simulate().interval(0.8)
    study = bare.study({"ddp.bucket_cap": ["1MiB", "25MiB"]})
    with pytest.raises(ddpsim.InputError, match="no point has odds"):
        study.p_best()


class TestStudy:
    AXES = {"strategy": ["ddp", "fsdp"], "ddp.bucket_cap": ["1MiB", "25MiB", "200MiB"]}

    def test_odds_are_the_command_lines(self, root, cli, tmp_path):
        job = ddpsim.Job({"workload": {"trace": str(root / "traces/gpt2-cpu.csv")}, "cluster": {"topology": "ring-100gbps", "world_size": 8}})
        study = job.study(self.AXES)
        (tmp_path / "job.yaml").write_text(f"workload: {{trace: {root}/traces/gpt2-cpu.csv}}\ncluster: {{topology: ring-100gbps, world_size: 8}}\n"
                                           "sweep: {strategy: [ddp, fsdp], ddp.bucket_cap: [1MiB, 25MiB, 200MiB]}\n")
        points = json.loads(cli("sweep", "job.yaml", "--json", "-"))["points"]
        assert list(study.p_best()) == [point["p_best"] for point in points]
        assert list(study.regret()) == [point["regret"] for point in points]
        assert study.p_best().index.names == ["strategy", "ddp.bucket_cap"]
        assert study.p_best().sum() == pytest.approx(1)
        assert (study.regret() >= 0).all()
        assert list(study.frame["iteration_s"]) == [point["iteration_s"] for point in points]
        assert {"p10_s", "p90_s", "p_best", "regret", "tied"} <= set(study.frame)
        assert "evidence" not in study.frame

    def test_one_axis_is_an_index_of_its_values(self, small):
        study = small.study({"ddp.bucket_cap": ["1MiB", "200MiB"]})
        assert list(study.p_best().index) == ["1MiB", "200MiB"]
        assert study.best["ddp.bucket_cap"] in ("1MiB", "200MiB")

    def test_there_is_something_to_sweep(self, small):
        with pytest.raises(ddpsim.InputError, match="nothing to sweep"):
            small.study()


class TestMeasuring:
    JOB = {"model": "llama-2-7b", "topology": "dgx-a100", "gpus": 16, "micro_batch": 1, "sequence": 2048, "strategy": "fsdp"}

    def test_a_measured_step_narrows_what_shares_with_it(self, cli, tmp_path):
        job = ddpsim.Job(**self.JOB)
        before = job.simulate()
        known = job.condition(step=1.1 * before.iteration_s, out=tmp_path / "mine.yaml")
        after = known.simulate()
        assert after.iteration_s == pytest.approx(1.1 * before.iteration_s, rel=0.01)
        width = lambda result: result.interval()[1] / result.interval()[0]    # noqa: E731
        assert width(after) < width(before)
        other = {"cluster.world_size": 32}
        with_file = {**other, "workload.framework": tmp_path / "mine.yaml"}
        assert width(job.set(with_file).simulate()) < width(job.set(other).simulate())

    def test_the_file_is_the_command_lines(self, cli, tmp_path):
        (tmp_path / "job.yaml").write_text("workload: {model: llama-2-7b, micro_batch: 1, sequence: 2048}\n"
                                           "cluster: {topology: dgx-a100, world_size: 16}\nstrategy: fsdp\n")
        cli("calibrate", "--step", "1.1s", "job.yaml", "--out", "theirs.yaml")
        job = ddpsim.Job.load(tmp_path / "job.yaml")
        job.condition(step=1.1, out=tmp_path / "mine.yaml")
        theirs, mine = ((tmp_path / name).read_text().replace(f"{tmp_path}/", "") for name in ("theirs.yaml", "mine.yaml"))
        assert mine == theirs

    def test_what_was_measured_is_not_what_is_described(self, tmp_path):
        job = ddpsim.Job(**self.JOB)
        with pytest.raises(ddpsim.InputError, match="what is described is not what was measured"):
            job.condition(step=100 * job.simulate().iteration_s, out=tmp_path / "mine.yaml")
        with pytest.raises(ddpsim.InputError, match="no step takes 0 s"):
            job.condition(step=0, out=tmp_path / "mine.yaml")
        assert not (tmp_path / "mine.yaml").exists()

    def test_what_to_measure_next(self):
        job = ddpsim.Job(**self.JOB)
        worth = job.value_of()
        widths = [one.width for one in worth]
        least, most = job.simulate().interval()
        assert widths == sorted(widths) and widths[-1] < most / least - 1
        assert worth[0].command.startswith("ddpsim calibrate")
        assert {"one step of this job", "one step on one node (8 GPUs)"} <= {one.measure for one in worth}

    def test_how_sure_the_best_cap_is(self, root):
        job = ddpsim.Job({"workload": {"trace": str(root / "traces/gpt2-cpu.csv")}, "cluster": {"topology": "ring-100gbps", "world_size": 8}})
        best = job.best_cap()
        assert best.bucket_cap_mb != 25 and 0.5 < best.default_longer <= 1
        assert isinstance(best.default_tied, bool)
        assert job.set({"evidence": "none"}).best_cap().default_longer is None
