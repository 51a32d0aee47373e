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


def test_what_cannot_be(small, tmp_path, monkeypatch):
    with pytest.raises(ddpsim.InputError, match="there is nothing to sweep"):
        ddpsim.report(small, tmp_path / "report.html")
    with pytest.raises(ddpsim.InputError, match="there is no folder"):
        ddpsim.report(small, tmp_path / "no/report.html", {"ddp.bucket_cap": ["1MiB"]})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="gnuplot"):
        ddpsim.report(small, tmp_path / "report.html", {"ddp.bucket_cap": ["1MiB"]})
    assert os.listdir(tmp_path) == []
