"""Studies: in one process, over executors, on a Dask cluster that loses a worker; the same bytes from all."""
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pandas
import pytest

import ddpsim

NOT_SIZES = [0, "x"]    # world sizes that are none


@pytest.fixture(scope="module")
def large(root):
    """10,000 points: 100 world sizes, 100 bucket caps."""
    return ddpsim.Job({"workload": {"trace": str(root / "traces/gpt2-large-a100-bs4.csv")},
                       "cluster": {"topology": "ring-100gbps", "world_size": 8, "gpu": "a100-sxm4-40gb"},
                       "sweep": {"cluster.world_size": {"from": 8, "to": 1007, "points": 100},
                                 "ddp.bucket_cap": {"from": "1MiB", "to": "1GiB", "points": 100, "spacing": "log"}}})


@pytest.fixture(scope="module")
def one_process(large, tmp_path_factory):
    path = tmp_path_factory.mktemp("one_process") / "r.jsonl"
    large.sweep(results=path, frame=False, progress=False)
    return path.read_bytes()


CAPS = {"ddp.bucket_cap": ["1MiB", "25MiB", "200MiB"], "cluster.world_size": [4, 8]}


class TestFrame:
    def test_a_row_a_point_in_the_command_lines_order(self, small, root, cli, tmp_path):
        frame = small.sweep(CAPS, progress=False)
        assert isinstance(frame, pandas.DataFrame) and len(frame) == 6
        assert list(frame["cluster.world_size"]) == [4, 4, 4, 8, 8, 8] and list(frame["ddp.bucket_cap"]) == ["1MiB", "25MiB", "200MiB"] * 2
        (tmp_path / "job.yaml").write_text(f"workload: {{trace: {root}/traces/gpt2-cpu.csv}}\ncluster: {{topology: ring-100gbps}}\n"
                                           "sweep: {ddp.bucket_cap: [1MiB, 25MiB, 200MiB], cluster.world_size: [4, 8]}\n")
        points = json.loads(cli("sweep", "job.yaml", "--json", "-"))["points"]
        for key in ("iteration_s", "exposed_communication_s", "bucket_cap_bytes", "n_buckets", "busbw_Bps"):
            assert list(frame[key]) == [point[key] for point in points]

    def test_the_scenarios_own_axes_give_way(self, large, small):
        assert len(large.sweep(CAPS, progress=False)) == 6
        with pytest.raises(ddpsim.InputError, match="nothing to sweep"):
            small.sweep(progress=False)

    def test_a_point_is_its_job(self, small):
        frame = small.sweep(CAPS, progress=False)
        for _, row in frame.iterrows():
            job = small.set({"ddp.bucket_cap": row["ddp.bucket_cap"], "cluster.world_size": int(row["cluster.world_size"])})
            assert job.key == row["key"] and job.simulate().iteration_s == row["iteration_s"]

    def test_what_fails_is_a_row(self, small):
        frame = small.sweep({"cluster.world_size": [4, *NOT_SIZES, 8], "ddp.bucket_cap": ["1MiB", "25MiB"]}, progress=False)
        assert list(frame["failed"].fillna("")) == ["", "", *["input"] * 4, "", ""]
        assert "'x' is not a whole number" in frame["error"].iloc[4]
        assert frame["iteration_s"].notna().sum() == 4

    def test_all_wrong_raises(self, small, tmp_path):
        axes = {"cluster.world_size": NOT_SIZES}
        with pytest.raises(ddpsim.InputError, match="0 is out of range"):
            small.sweep(axes, progress=False)
        for frame in (True, False):
            with pytest.raises(ddpsim.InputError, match="0 is out of range"):
                small.sweep(axes, progress=False, results=tmp_path / "r.jsonl", resume=True, frame=frame)
        assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 1 + len(NOT_SIZES)

    @pytest.mark.parametrize("missing, work, line", [
        ("pandas", "ddpsim.Job.load('quickstart').sweep(results='r.jsonl', progress=False)", "pip install 'pandas>=2'"),
        ("pandas", "ddpsim.Job.load('quickstart').simulate().buckets", "pip install 'pandas>=2'"),
        ("pandas", "ddpsim.read_results('none.jsonl')", "pip install 'pandas>=2'"),
        ("torch", "import ddpsim.torch", "pip install 'torch>=1.13'")])
    def test_what_is_missing_is_said_before_any_work(self, tmp_path, missing, work, line):
        done = subprocess.run([sys.executable, "-c", f"import sys, ddpsim\nsys.modules[{missing!r}] = None\n{work}\n"], cwd=tmp_path, text=True,
                              capture_output=True, check=False)
        assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith("ImportError: ") and line in done.stderr
        assert not list(tmp_path.iterdir())

    def test_progress_says_rate_and_time_left(self, large, capfd, tmp_path):
        large.sweep(results=tmp_path / "r.jsonl", frame=False)
        assert "10000 of 10000 points, " in capfd.readouterr().err
        large.sweep(CAPS, progress=False)
        assert capfd.readouterr().err == ""


class TestResume:
    def test_killed_at_any_moment(self, large, one_process, tmp_path):
        """kill -9, three times, each at another moment; what is gone on with ends with the same bytes."""
        path, script = tmp_path / "r.jsonl", tmp_path / "study.py"
        script.write_text("import pickle, sys, ddpsim\npickle.load(open(sys.argv[1], 'rb')).sweep(results=sys.argv[2], resume=True, frame=False)\n")
        (tmp_path / "job").write_bytes(pickle.dumps(large))
        lines = 0
        for seed in range(3):
            process = subprocess.Popen([sys.executable, script, tmp_path / "job", path], stderr=subprocess.DEVNULL)
            while (path.read_bytes().count(b"\n") if path.exists() else 0) <= lines and process.poll() is None:
                time.sleep(0.01)
            time.sleep(random.Random(seed).uniform(0, 0.3))
            process.kill()
            process.wait()
            lines = path.read_bytes().count(b"\n")
        assert 1 < lines < 10_000
        assert one_process.startswith(path.read_bytes()[:path.read_bytes().rfind(b"\n") + 1])
        large.sweep(results=path, resume=True, frame=False, progress=False)
        assert path.read_bytes() == one_process

    def test_a_torn_row_is_none(self, large, one_process, tmp_path):
        path = tmp_path / "r.jsonl"
        path.write_bytes(one_process[:len(one_process) // 2])    # in the middle of a row
        with pytest.warns(UserWarning, match="no whole row: cut, and what is missing runs again"):
            large.sweep(results=path, resume=True, frame=False, progress=False)
        assert path.read_bytes() == one_process

    def test_a_damaged_row_is_no_row(self, small, tmp_path):
        path = tmp_path / "r.jsonl"
        small.sweep(CAPS, results=path, progress=False)
        path.write_text(path.read_text().replace('"iteration_s":', '"iteration_s":x', 1))
        for read in (lambda: small.sweep(CAPS, results=path, resume=True, progress=False), lambda: ddpsim.read_results(path)):
            with pytest.raises(ddpsim.InputError, match="this row is damaged, it is no JSON") as caught:
                read()
            assert (caught.value.file, caught.value.line) == (str(path), 2)

    def test_a_file_may_have_all_columns(self, small, tmp_path):
        table = small.sweep(CAPS, progress=False)
        for name, all_columns in (("main", False), ("all", True)):
            read = small.sweep(CAPS, results=tmp_path / name, all_columns=all_columns, progress=False)
            assert list(read.columns) == list(table.columns) if all_columns else len(read.columns) < 14
            assert read.equals(table[list(read.columns)])

    def test_files_that_are_none(self, small, tmp_path):
        path = tmp_path / "r.jsonl"
        small.sweep(CAPS, results=path, progress=False)
        head, row, *_ = path.read_text().splitlines(keepends=True)
        for first in ("{}", "5", "null", '"axes"', row.strip(), head.strip().replace('"points":6', '"points":-3'), head.strip().replace("main", "other")):
            path.write_text(first + "\n" + row)
            with pytest.raises(ddpsim.InputError, match="do not begin with this line"):
                ddpsim.read_results(path)
        for wrong, message in ((row.replace('"4",', ""), "this row has 1 value, and the study sweeps 2 keys"), (row.replace('"point":0', '"point":6'), "no point 6"),
                               ("5\n", "no row of a study"), (row.replace('"at"', '"zz"'), "no row of a study")):
            path.write_text(head + row + wrong)
            with pytest.raises(ddpsim.InputError, match=message) as caught:
                ddpsim.read_results(path)
            assert caught.value.line == 3
        path.write_bytes((head + row).encode() + b"{\xff}\n")
        with pytest.raises(ddpsim.InputError, match="is no UTF-8"):
            ddpsim.read_results(path)
        for end in (b"\0" * 50, b"\0\0\n\0", row[:20].encode()):    # as a crash or a kill leaves it
            path.write_bytes((head + row).encode() + end)
            assert len(ddpsim.read_results(path)) == 1
        path.write_text("")
        assert ddpsim.read_results(path).empty

    def test_what_the_machine_made_fail_is_run_again(self, small, tmp_path):
        path = tmp_path / "r.jsonl"
        small.sweep(CAPS, results=path, progress=False)
        rows = path.read_text().splitlines(keepends=True)
        row = json.loads(rows[3])
        lost = json.dumps({"point": row["point"], "key": row["key"], "failed": "machine", "at": row["at"], "error": "out of memory"}) + "\n"
        path.write_text("".join([*rows[:3], lost, *rows[4:]]))
        small.sweep(CAPS, results=path, resume=True, progress=False)
        assert path.read_text() == "".join(rows)

    def test_another_study_or_a_file_that_is_there(self, small, tmp_path):
        path = tmp_path / "r.jsonl"
        small.sweep(CAPS, results=path, progress=False)
        with pytest.raises(ddpsim.InputError, match="has results already"):
            small.sweep(CAPS, results=path, progress=False)
        for other in (small.set({"cluster.world_size": 16, "strategy": "overlap"}),):
            with pytest.raises(ddpsim.InputError, match="of another study") as caught:
                other.sweep(CAPS, results=path, resume=True, progress=False)
            assert (caught.value.file, caught.value.line) == (str(path), 1)
        path.write_text("no row\n")
        with pytest.raises(ddpsim.InputError, match="do not begin with this line"):
            small.sweep(CAPS, results=path, resume=True, progress=False)

    def test_a_file_that_a_scenario_names_is_part_of_its_key(self, root, small, tmp_path):
        trace = tmp_path / "trace.csv"
        text = (root / "traces/gpt2-cpu.csv").read_text()
        trace.write_text(text)
        job = small.set({"workload.trace": str(trace)})
        before = job.key
        assert small.set({"workload.trace": str(trace)}).key == before
        trace.write_text(text.replace("# forward: 319.206854ms", "# forward: 320ms"))
        assert small.set({"workload.trace": str(trace)}).key != before


class Backwards(ThreadPoolExecutor):
    """Any executor will do; this one ends its work in no order, and loses nothing."""

    def submit(self, function, *arguments):
        time.sleep(random.Random(str(arguments[1][0])).uniform(0, 0.002))
        return super().submit(function, *arguments)


@pytest.mark.parametrize("make", [lambda: ThreadPoolExecutor(4), lambda: ProcessPoolExecutor(2), lambda: Backwards(8)], ids=["threads", "processes", "own"])
def test_executors(make, large, one_process, tmp_path):
    with make() as executor:
        large.sweep(executor=executor, results=tmp_path / "r.jsonl", frame=False, progress=False)
        assert (tmp_path / "r.jsonl").read_bytes() == one_process
        assert len(large.sweep(CAPS, executor=executor, progress=False)) == 6


def test_mpi(large, one_process, tmp_path):
    """mpi4py on two ranks, of which one deals out."""
    mpirun = Path(sys.executable).parent / "mpirun"
    if not mpirun.exists():
        pytest.skip("no MPI is installed beside Python")
    (tmp_path / "job").write_bytes(pickle.dumps(large))
    (tmp_path / "study.py").write_text("""if True:
        import pickle, sys
        from mpi4py.futures import MPIPoolExecutor
        if __name__ == "__main__":
            with MPIPoolExecutor() as executor:
                assert executor.num_workers == 1
                pickle.load(open("job", "rb")).sweep(executor=executor, results="r.jsonl", frame=False)
        """)
    subprocess.run([mpirun, "-n", "2", sys.executable, "-m", "mpi4py.futures", "study.py"], cwd=tmp_path, check=True, timeout=200)
    assert (tmp_path / "r.jsonl").read_bytes() == one_process


class TestDask:
    """A scheduler and two workers, each a process of its own, that talk over TCP."""

    @pytest.fixture
    def cluster(self, tmp_path):
        distributed = pytest.importorskip("distributed")
        file, processes = tmp_path / "scheduler.json", []

        def start(*command):
            processes.append(subprocess.Popen([sys.executable, "-m", *command, "--scheduler-file", file], cwd=tmp_path,
                                              stdout=subprocess.DEVNULL, stderr=(tmp_path / f"{len(processes)}.log").open("w")))
        start("distributed.cli.dask_scheduler", "--host", "tcp://127.0.0.1", "--port", "0", "--no-dashboard")
        for _ in range(2):
            start("distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard")
        with self.connected(distributed, file) as client:
            client.wait_for_workers(2, timeout=60)
            yield client, processes[1:]
        for process in processes:
            process.kill()
            process.wait()

    def connected(self, distributed, file):
        """A scheduler that is just starting may close the first connections."""
        until = time.monotonic() + 60
        while True:
            try:
                return distributed.Client(scheduler_file=str(file), timeout=20)
            except OSError:
                if time.monotonic() > until:
                    raise

    def test_a_worker_is_killed_in_the_middle(self, cluster, large, one_process, tmp_path):
        client, workers = cluster
        assert all(address.startswith("tcp://") for address in client.scheduler_info()["workers"])
        path = tmp_path / "r.jsonl"
        with client.get_executor() as executor:
            killed = []

            class KillOne:
                """The executor, which kills a worker once some rows are there."""

                def submit(self, *arguments):
                    future = executor.submit(*arguments)
                    future.add_done_callback(lambda _: killed or (path.stat().st_size > 200_000 and killed.append(workers[0].kill())))
                    return future
            large.sweep(executor=KillOne(), results=path, frame=False, progress=False)
        assert killed and workers[0].wait() == -signal.SIGKILL
        assert len(client.scheduler_info()["workers"]) == 1
        assert path.read_bytes() == one_process


def test_dask_on_slurm(root, tmp_path):
    """examples/slurm/dask.sh with a srun of our own: the study runs, nothing listens beyond the node's address, and who has no key is turned away."""
    pytest.importorskip("distributed")
    pytest.importorskip("psutil")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "srun").write_text("""#!/bin/bash
        while [[ $1 == --* ]]; do shift; done
        echo $$ > step.pid
        for task in 0 1 2 3; do SLURM_PROCID=$task "$@" & done
        wait
        """)
    (programs / "scancel").write_text("#!/bin/bash\npkill -TERM -P $(cat step.pid)\nsleep 2\npkill -KILL -P $(cat step.pid)\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    (tmp_path / "study.py").write_text("""if True:
        import json, os, sys
        import ddpsim, psutil
        from dask.distributed import Client
        from distributed.security import Security
        if __name__ == "__main__":
            with Client(scheduler_file=sys.argv[1]) as client, client.get_executor() as executor:
                client.wait_for_workers(2)
                frame = ddpsim.Job.load("quickstart").sweep(executor=executor, progress=False)
                address = client.scheduler.address
                others = {one.pid for one in psutil.Process(os.getppid()).parent().children(recursive=True)}
                listening = sorted({c.laddr.ip for c in psutil.net_connections() if c.pid in others and c.status == "LISTEN"})
                turned_away = False
                try:    # as in a cluster without keys
                    Client(address.replace("tls://", "tcp://"), security=Security(require_encryption=False), timeout=3)
                except OSError:
                    turned_away = True
            json.dump({"rows": len(frame), "address": address, "listening": listening, "turned_away": turned_away}, open("result.json", "w"))
        """)
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    process = subprocess.Popen([root / "examples/slurm/dask.sh", "study.py"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, env={**os.environ, "PATH": path, "SLURM_JOB_ID": "7", "SLURMD_NODENAME": "127.0.0.1"})
    try:
        process.wait(timeout=100)
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass    # all have ended
    found = json.loads((tmp_path / "result.json").read_text())
    assert found["rows"] == len(ddpsim.Job.load("quickstart").sweep(progress=False)) and found["turned_away"]
    assert found["address"].startswith("tls://127.0.0.1:") and found["listening"] == ["127.0.0.1"]
    assert not (tmp_path / "dask-7").exists()
