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
