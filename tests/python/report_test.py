"""ddpsim.report: the page of the command line, byte for byte."""
import os
import subprocess
import sys

import pytest

import ddpsim


def test_it_is_the_command_lines(root, tmp_path):
    """Of the same package: a page names the presets that were read."""
    path = root / "configs/quickstart.yaml"
    page = tmp_path / "page.html"
    ddpsim.report(ddpsim.Job.load(path), page)
    own = page.read_bytes()
    subprocess.run([sys.executable, "-m", "ddpsim", "sweep", path, "--html", page, "--quiet"], check=True)
    assert own == page.read_bytes()


def test_axes_and_changes(small, tmp_path):
    ddpsim.report(small.set({"cluster.world_size": 4}), tmp_path / "report.html", {"ddp.bucket_cap": ["1MiB", "25MiB"]})
    text = (tmp_path / "report.html").read_text()
    assert "2 simulated training iterations along ddp.bucket_cap" in text
    assert "--set 'cluster.world_size=4'" in text and " --html " in text and "bucket_cap_mb" in text


def test_what_cannot_be(small, tmp_path):
    with pytest.raises(ddpsim.InputError, match="there is nothing to sweep"):
        ddpsim.report(small, tmp_path / "report.html")
    with pytest.raises(ddpsim.InputError, match="there is no folder"):
        ddpsim.report(small, tmp_path / "no/report.html", {"ddp.bucket_cap": ["1MiB"]})
    assert os.listdir(tmp_path) == []


def test_no_output_goes_over_an_input(root, tmp_path):
    trace, scenario, link = tmp_path / "trace.csv", tmp_path / "job.yaml", tmp_path / "link.html"
    trace.write_bytes((root / "traces/gpt2-cpu.csv").read_bytes())
    scenario.write_text("workload: {trace: trace.csv}\ncluster: {topology: ring-100gbps, world_size: 4}\nsweep: {ddp.bucket_cap: [1MiB, 25MiB]}\n")
    os.link(trace, link)
    before = trace.read_bytes(), scenario.read_bytes()
    job = ddpsim.Job.load(scenario)
    for path in (trace, link, scenario):
        with pytest.raises(ddpsim.InputError, match="would overwrite the input"):
            ddpsim.report(job, path)
        with pytest.raises(ddpsim.InputError, match="would overwrite the input"):
            job.simulate().timeline(path)
        with pytest.raises(ddpsim.InputError, match="would overwrite the input"):
            job.sweep(results=path, resume=True, progress=False)
    assert (trace.read_bytes(), scenario.read_bytes()) == before
    for _ in range(2):
        ddpsim.report(job, tmp_path / "report.html")
