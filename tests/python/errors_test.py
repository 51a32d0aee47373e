"""Errors name the place, and none of them ends the interpreter."""
import pickle

import pytest

import ddpsim


def error_of(action):
    with pytest.raises(ddpsim.InputError) as caught:
        action()
    return caught.value


def test_place_message_and_hint(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text("cluster: {world_size: 8}\nworkload:\n  tracee: x.csv\n")
    error = error_of(lambda: ddpsim.Job.load(path).simulate())
    assert (error.file, error.line, error.column) == (str(path), 3, 3)
    assert error.message.startswith("unknown key 'tracee'") and error.hint.startswith("'workload' knows trace, ")
    assert str(error).splitlines()[1] == "  3 |   tracee: x.csv"


def test_the_text_is_the_command_lines(root, tmp_path, cli):
    import subprocess
    (tmp_path / "job.yaml").write_text("cluster: {world_size: 0}\nworkload: {trace: x.csv}\n")
    with pytest.raises(subprocess.CalledProcessError) as failed:
        cli("simulate", "job.yaml")
    error = error_of(lambda: ddpsim.Job.load(tmp_path / "job.yaml").simulate())
    assert str(error).replace(str(tmp_path) + "/", "") + "\n" == failed.value.stderr


@pytest.mark.parametrize("file, line, action", [
    ("job.yaml", None, lambda: ddpsim.Job.load("job.yaml")),
    ("Job.load", None, lambda: ddpsim.Job.load("no-such-name")),
    ("Job", 1, lambda: ddpsim.Job({}).simulate()),
    ("--set", 1, lambda: ddpsim.Job.load("quickstart").set({"ddp.": 1})),
    ("--set", 1, lambda: ddpsim.Job.load("quickstart").set({"cluster.world_size": "many"}).simulate()),
    (None, None, lambda: ddpsim.presets("planets")),
])
def test_places(tmp_path, monkeypatch, file, line, action):
    monkeypatch.chdir(tmp_path)
    error = error_of(action)
    assert (error.file, error.line) == (file, line) and error.message


def test_a_dictionarys_place_is_in_its_json():
    error = error_of(lambda: ddpsim.Job({"workload": {"model": "gpt2-xl", "micro_batch": 1, "sequence": 128},
                                         "cluster": {"topology": "dgx-h100", "world_size": "8x", "gpu": "h100-sxm"}}).simulate())
    assert (error.file, error.line, error.message) == ("Job", 9, "'8x' is not a whole number")


def test_errors_travel(tmp_path):
    error = error_of(lambda: ddpsim.presets("planets"))
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) and copy.hint == error.hint == "the kinds are topologies, gpus, models, software, kernels, fabrics, calibrations, evidence, configs"


@pytest.mark.parametrize("action", [
    lambda: ddpsim.Job.load(1), lambda: ddpsim.presets(None), lambda: ddpsim.Job(float), lambda: ddpsim._core.Result(),
    lambda: ddpsim.collective_time("all_reduce", {}, 8, "dgx-h100"), lambda: ddpsim.collective_time("all_reduce", 1, "8", "dgx-h100")])
def test_wrong_types(action):
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        action()


@pytest.mark.parametrize("text", ["", "[", "a: &a [*a]", "a: 1\na: 2\n", "\0", "x: " + "[" * 5000, "- 1\n", "--- \n---\na: 1"])
def test_texts_that_are_no_scenario(tmp_path, text):
    (tmp_path / "job.yaml").write_text(text)
    error_of(lambda: ddpsim.Job.load(tmp_path / "job.yaml").simulate())
