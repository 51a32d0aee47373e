"""Jobs and results: the same numbers as the command line, byte for byte."""
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pandas
import pytest

import ddpsim
from conftest import BINARY

# Every kind of result; nobody shares links in them, so that no network is asked.
CONFIGS = ["gpt2-large-8xa100", "jitter-1024xh100", "llama-2-7b-64xh100", "quickstart", "resnet50-2xa100", "uncalibrated-1024xh100", "which-method"]


@pytest.mark.parametrize("name", CONFIGS)
def test_the_json_is_the_command_lines(root, cli, name):
    path = root / f"configs/{name}.yaml"
    result = ddpsim.Job.load(path).simulate()
    printed = cli("simulate", path, "--json", "-")
    assert result.to_json() == printed
    assert result.to_dict() == json.loads(printed)
    assert result.iteration_s == result.to_dict()["iteration_s"]


def test_changes_are_those_of_set(root, cli):
    path = root / "configs/quickstart.yaml"
    job = ddpsim.Job.load(path).set({"ddp.bucket_cap": "100MiB", "cluster.world_size": 64, "physics": "none"})
    assert job.simulate().to_json() == cli("simulate", path, "--json", "-", "--set", "ddp.bucket_cap=100MiB",
                                           "--set", "cluster.world_size=64", "--set", "physics=none")


def test_keys_by_their_own_names_and_by_others(cli, root):
    """Those of the key table, whose sections nobody has to know."""
    keys = {"model": "llama-3-8b", "topology": "superpod-h100", "gpus": 64, "mbs": 1, "sequence": 8192, "strategy": "fsdp"}
    sections = {"workload": {"model": "llama-3-8b", "micro_batch": 1, "sequence": 8192}, "cluster": {"topology": "superpod-h100", "world_size": 64}, "strategy": "fsdp"}
    assert ddpsim.Job(**keys).simulate().to_json() == ddpsim.Job(sections).simulate().to_json()
    assert ddpsim.Job(sections, gpus=128, fsdp={"reduce_dtype": "bf16"}).simulate().to_dict()["world_size"] == 128
    assert pickle.loads(pickle.dumps(ddpsim.Job(**keys))) == ddpsim.Job(**keys)
    for keys, error in [({"modle": "gpt2"}, "no key is called 'modle'; did you mean 'model'?"), ({"compute": "a.yaml"}, "'compute' is one of")]:
        with pytest.raises(ddpsim.InputError, match=error.replace("?", r"\?")):
            ddpsim.Job(**keys)
    job = ddpsim.Job(sections, zero={"reduce_bucket_size": 1e8})
    with pytest.raises(ddpsim.InputError, match="the section 'zero' changes nothing here: it counts with strategies zero0 to zero3"):
        job.simulate()


def test_set_leaves_the_job_as_it_was(small):
    before = small.simulate().iteration_s
    slower = small.set({"cluster.world_size": 64})
    assert slower.simulate().iteration_s > before
    assert small.simulate().iteration_s == before


def write_old(path, text):
    """Files are told apart by their times, unless they were written just now."""
    path.write_text(text)
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 3600))


def test_a_file_that_changes_is_read_again(tmp_path, root):
    """What one use has read is kept for the next, as long as it is what is there; so is what a job was made of another one's."""
    text, path = (root / "topologies/ring-100gbps.yaml").read_text(), tmp_path / "ring.yaml"
    write_old(path, text)
    job = ddpsim.Job({"workload": {"trace": str(root / "traces/gpt2-cpu.csv")}, "cluster": {"topology": str(path), "world_size": 8}})
    before = job.simulate().iteration_s
    assert job.simulate().iteration_s == before
    made = job.set({"ddp.bucket_cap": "4MiB"})
    made_before = made.simulate().iteration_s
    for write in (write_old, lambda path, text: path.write_text(text)):
        write(path, text.replace("12.5GB/s", "1.25GB/s"))
        for one, fast in ((job, before), (made, made_before)):
            assert one.simulate().iteration_s == pickle.loads(pickle.dumps(one)).simulate().iteration_s > fast
        write(path, text)
        assert (job.simulate().iteration_s, made.simulate().iteration_s) == (before, made_before)


def test_a_file_with_the_name_of_a_preset(tmp_path, root, monkeypatch):
    """It comes first, also where it was not there at the first use, and in whatever folder the program is."""
    monkeypatch.chdir(tmp_path)
    scenario = {"workload": {"trace": str(root / "traces/gpt2-cpu.csv")}, "cluster": {"topology": "ring-100gbps", "world_size": 8}}
    job = ddpsim.Job(scenario)
    preset = job.simulate().iteration_s
    (tmp_path / "ring-100gbps").write_text((root / "topologies/ring-1gbps.yaml").read_text())
    assert job.simulate().iteration_s > preset
    (tmp_path / "ring-100gbps").unlink()
    assert job.simulate().iteration_s == preset
    typed = job.set({"cluster.topology": "own.yaml"})
    (tmp_path / "own.yaml").write_text((root / "topologies/ring-1gbps.yaml").read_text())
    slow = typed.simulate().iteration_s
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    (tmp_path / "other/own.yaml").write_text((root / "topologies/ring-100gbps.yaml").read_text())
    assert typed.simulate().iteration_s == preset < slow


def test_what_another_use_needed_changes_nothing(root):
    """A job that needed no network, and then one that does: as if it were the first."""
    job = ddpsim.Job.load(root / "configs/llama-2-7b-64xh100.yaml")
    job.simulate()
    folded = job.set({"engine.fidelity": "folded"})
    result = folded.simulate().to_dict()
    assert result["simulated_flows"] > 0
    assert result == pickle.loads(pickle.dumps(folded)).simulate().to_dict()


def test_a_use_within_a_use(small, root):
    """A signal's handler simulates while the main thread does."""
    job = ddpsim.Job.load(root / "configs/jitter-1024xh100.yaml").set({"variability.iterations": 5000})
    inner = []
    before = signal.signal(signal.SIGALRM, lambda *_: inner.append(small.simulate().iteration_s))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        assert job.simulate().iteration_s > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert inner == [small.simulate().iteration_s]


def test_what_is_kept_is_bounded(root):
    """Job after job, each on another cluster: no more memory than some of them take."""
    script = """if True:
        import ddpsim, resource, sys
        job = ddpsim.Job.load(sys.argv[1])
        def peak_after(sizes):
            for size in sizes: job.set({"cluster.world_size": size, "batch.global": size}).simulate()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        first = peak_after(range(1024, 2048, 128))
        assert peak_after(range(2048, 4096, 128)) < first + 100
    """
    subprocess.run([sys.executable, "-c", script, root / "configs/tensor-pipeline-175b.yaml"], check=True, timeout=100)


def test_threads_at_one_job(small):
    jobs = [small.set({"ddp.bucket_cap": f"{1 + i % 7}MiB"}) for i in range(64)]
    expected = [job.simulate().iteration_s for job in jobs]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda job: job.simulate().iteration_s, jobs)) == expected


def test_a_dictionary_is_as_good_as_a_file(tmp_path, root, small, cli):
    (tmp_path / "job.yaml").write_text(f"workload: {{trace: {root}/traces/gpt2-cpu.csv}}\ncluster: {{topology: ring-100gbps, world_size: 8}}\n")
    assert small.simulate().to_json() == cli("simulate", "job.yaml", "--json", "-")
    assert small == ddpsim.Job.load(tmp_path / "job.yaml")
    assert small != small.set({"cluster.world_size": 16})


def test_shared_links_without_simgrid_and_with_it(root, cli, tmp_path):
    """The wheel has no SimGrid, and needs none. Where SimGrid is found, who asks for it gets it, in a child process."""
    path = root / "configs/shared-nic.yaml"
    job = ddpsim.Job.load(path)
    assert job.simulate().to_json() == cli("simulate", path, "--json", "-")
    with pytest.raises(RuntimeError, match="SimGrid cannot be loaded"):
        job.set({"engine.network": "simgrid"}).simulate()
    script = "import ddpsim, sys; sys.stdout.write(ddpsim.Job.load(sys.argv[1]).set({'engine.network': 'simgrid'}).simulate().to_json())"
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True, cwd=tmp_path,
                          env={**os.environ, "LD_LIBRARY_PATH": str(BINARY.parent)})
    assert json.loads(done.stdout)["network"] == "simgrid"
    assert done.stdout == cli("simulate", path, "--json", "-", "--set", "engine.network=simgrid")


def test_simgrid_from_threads(root, tmp_path):
    """One engine a process is what SimGrid gives; four threads at once get theirs in children."""
    script = """if True:
        import ddpsim, sys, threading
        job, results = ddpsim.Job.load(sys.argv[1]).set({"engine.network": "simgrid"}), []
        threads = [threading.Thread(target=lambda: results.append(job.simulate().to_json())) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert len(results) == 4 and len(set(results)) == 1 and '"network": "simgrid"' in results[0]
    """
    subprocess.run([sys.executable, "-c", script, root / "configs/shared-nic.yaml"], check=True, cwd=tmp_path, timeout=100,
                   env={**os.environ, "LD_LIBRARY_PATH": str(BINARY.parent)})


def test_threads_do_not_wait_for_one_another(small):
    """A simulation holds no lock of Python's: a counter goes on beside it."""
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
    thread = threading.Thread(target=count)
    thread.start()
    results = {small.simulate().to_json() for _ in range(20)}
    stop.set()
    thread.join()
    assert len(results) == 1 and counted[0] > 0


def test_an_interrupt_ends_a_simulation(root, tmp_path):
    """Ctrl-C in long work is a KeyboardInterrupt, at once."""
    script = "import ddpsim, sys; print('go', flush=True)\ntry: ddpsim.Job.load(sys.argv[1]).best_cap()\nexcept KeyboardInterrupt: print('interrupted')"
    job = tmp_path / "long.yaml"
    job.write_text((root / "configs/jitter-1024xh100.yaml").read_text().replace("../", f"{root}/"))
    process = subprocess.Popen([sys.executable, "-c", script, job], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout.readline() == "go\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert process.communicate(timeout=60)[0] == "interrupted\n"
    assert time.monotonic() - began < 10


def test_buckets(small, cli, tmp_path, root):
    result = small.simulate()
    frame, listed = result.buckets, result.to_dict()["buckets"]
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(listed) > 1
    for column in ("bytes", "ready_s", "start_s", "end_s"):
        assert list(frame[column]) == [bucket[column] for bucket in listed]


def test_timeline(small, cli, tmp_path, root):
    small.simulate().timeline(tmp_path / "python.json")
    (tmp_path / "job.yaml").write_text(f"workload: {{trace: {root}/traces/gpt2-cpu.csv}}\ncluster: {{topology: ring-100gbps, world_size: 8}}\n")
    cli("simulate", "job.yaml", "--timeline", "cli.json")
    assert (tmp_path / "python.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
    with pytest.raises(ddpsim.InputError):
        small.simulate().timeline(tmp_path / "no/such/folder.json")


def test_a_job_travels(small, root):
    for job in (small.set({"ddp.bucket_cap": "5MiB"}), ddpsim.Job.load(root / "configs/quickstart.yaml"), ddpsim.Job.load("quickstart")):
        copy = pickle.loads(pickle.dumps(job))
        assert copy == job and hash(copy) == hash(job)
        assert copy.simulate().to_json() == job.simulate().to_json()


class TestBestCap:
    def test_the_best_is_the_sweeps(self, root, cli, tmp_path):
        path = root / "configs/quickstart.yaml"
        best = ddpsim.Job.load(path).best_cap()
        cli("sweep", path, "--exact-optimum", "--json", "exact.json", "--set", "evidence=none")
        exact = json.loads((tmp_path / "exact.json").read_text())
        assert best.iteration_s == exact["best"]["iteration_s"]
        assert best.tried == len(exact["points"])
        # The cap that is named gives the best iteration, and PyTorch's own is what it is compared with.
        under = ddpsim.Job.load(path).set({"ddp.bucket_cap": f"{int(best.bucket_cap_mb * 2**20)}B"}).simulate()
        assert under.iteration_s == best.iteration_s
        usual = ddpsim.Job.load(path).simulate().iteration_s
        assert best.default_cap_mb == 25 and best.default_costs_s == usual - best.iteration_s > 0

    def test_the_plateau_is_within_half_a_percent(self, small):
        best = small.best_cap()
        least, most = best.plateau
        assert least <= best.bucket_cap_mb <= most
        for cap in (least, most):
            if cap != float("inf"):
                assert small.set({"ddp.bucket_cap": f"{int(cap * 2**20)}B"}).simulate().iteration_s <= best.iteration_s * 1.005 * (1 + 1e-12)

    def test_some_caps_instead_of_all(self, small):
        exact, some = small.best_cap(), small.best_cap(exact=False)
        assert some.tried < exact.tried or exact.tried < 41
        assert exact.iteration_s <= some.iteration_s
        assert some.bucket_cap_mb == int(some.bucket_cap_mb)

    def test_the_default_wins_a_tie(self, small, tmp_path):
        """All gradients fit the smallest cap: every cap is as good as PyTorch's."""
        (tmp_path / "trace.csv").write_text("# ddpsim-trace: 1\n# model: tiny\ngradient,elements,dtype,ready_s\na,1000,float32,0.001\nb,1000,float32,0.002\n")
        best = small.set({"workload.trace": str(tmp_path / "trace.csv")}).best_cap(exact=False)
        assert best.bucket_cap_mb == 25 and best.default_costs_s == 0 and best.plateau == (1, float("inf"))

    def test_a_strategy_without_a_cap(self, small):
        with pytest.raises(ddpsim.InputError, match="no bucket cap|bucket_cap"):
            small.set({"strategy": "flat"}).best_cap()


def test_program(small, root, cli, tmp_path):
    """What the command prints, and put into a file a strategy that takes as long."""
    path = tmp_path / "own.program"
    path.write_text(small.program())
    assert small.set({"strategy": {"program": str(path)}}).simulate().iteration_s == small.simulate().iteration_s


def test_best_caps(small, root, cli, tmp_path):
    """The list, and the single cap, of `simulate --best-caps`; a strategy without buckets is a mistake."""
    path = tmp_path / "scenario.yaml"
    path.write_text(f"workload: {{trace: {root}/traces/gpt2-cpu.csv}}\ncluster: {{topology: ring-100gbps, world_size: 8}}\n")
    best = small.best_caps()
    found = json.loads(cli("simulate", path, "--best-caps", "--quiet", "--json", "-"))["best_caps"]
    assert [int(cap * 2**20) for cap in best.bucket_cap_mb_list] == found["list"]["bucket_caps_bytes"]
    assert int(best.bucket_cap_mb * 2**20) == found["single"]["bucket_caps_bytes"][0] and best.n_buckets == found["list"]["n_buckets"]
    assert best.iteration_s == found["list"]["iteration_s"] <= best.single_iteration_s == found["single"]["iteration_s"]
    assert best.search_leaves_out == found["search_leaves_out"]
    with pytest.raises(ddpsim.InputError, match="best-caps|list"):
        small.set({"strategy": "flat"}).best_caps()


DS_CONFIG = {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "bf16": {"enabled": True}, "zero_optimization": {"stage": 3}}


def test_of_deepspeeds_file(tmp_path, cli):
    """The same answer as the command line's, of the same file; what the caller says wins, and the rest of the file is said to be left out."""
    (tmp_path / "ds.json").write_text(json.dumps({**DS_CONFIG, "wall_clock_breakdown": False}))
    job = {"model": "llama-2-7b", "gpus": 16, "topology": "dgx-a100", "sequence": 2048}
    made = ddpsim.Job.from_deepspeed(tmp_path / "ds.json", **job)
    printed = json.loads(cli("simulate", "llama-2-7b", "--gpus", "16", "--on", "dgx-a100", "--sequence", "2048", "--ds-config", "ds.json", "--json", "-"))
    found = made.simulate().to_dict()
    assert (found["strategy"], found["iteration_s"]) == ("zero3", printed["iteration_s"])
    assert pickle.loads(pickle.dumps(made)).simulate().iteration_s == printed["iteration_s"]
    with pytest.warns(UserWarning, match="micro_batch"):
        other = ddpsim.Job.from_deepspeed(tmp_path / "ds.json", **job, micro_batch=1)
    assert other.simulate().iteration_s < found["iteration_s"]
    (tmp_path / "ds.json").write_text("{")
    with pytest.raises(ddpsim.InputError, match="ds.json:1:"):
        ddpsim.Job.from_deepspeed(tmp_path / "ds.json", **job)


def test_of_megatrons_and_accelerates_files(root, tmp_path, cli):
    made = ddpsim.Job.from_megatron(root / "examples/pretrain.sh", topology="superpod-h100")
    printed = json.loads(cli("simulate", "--megatron-args", root / "examples/pretrain.sh", "--on", "superpod-h100", "--json", "-"))
    assert made.simulate().iteration_s == printed["iteration_s"]
    (tmp_path / "acc.yaml").write_text("distributed_type: MULTI_GPU\nnum_processes: 8\nmixed_precision: bf16\n")
    made = ddpsim.Job.from_accelerate(tmp_path / "acc.yaml", model="gpt2", topology="dgx-a100", sequence=1024, micro_batch=1)
    assert made.simulate().to_dict()["world_size"] == 8


def test_the_verdict_is_the_command_lines(small, root, cli):
    study = small.study({"ddp.bucket_cap": ["1MiB", "25MiB", "200MiB"]})
    assert study.verdict.splitlines()[0].startswith(("Worth", "Keep the default"))
    assert study.verdict == "\n".join(study.to_dict()["verdict"])
