"""Where the sources and the program of the same build are; the package itself is the installed one."""
import os
import subprocess
from pathlib import Path

import pytest

SOURCE_ROOT = Path(os.environ["DDPSIM_SOURCE_ROOT"])
BINARY = Path(os.environ["DDPSIM_BINARY"])


def pytest_sessionfinish(session, exitstatus):
    """A file that is skipped as a whole is skipped to ctest, too."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = 77


@pytest.fixture(scope="session")
def root():
    return SOURCE_ROOT


@pytest.fixture
def cli(tmp_path):
    """Runs the command line of the build; its standard output."""
    def run(*arguments, **options):
        return subprocess.run([BINARY, *arguments], check=True, capture_output=True, text=True, cwd=options.pop("cwd", tmp_path), **options).stdout
    return run


@pytest.fixture
def small():
    """A job that takes a millisecond: 8 GPUs on a ring, a model of a GPT-2 as recorded on a CPU."""
    import ddpsim
    return ddpsim.Job({"workload": {"trace": str(SOURCE_ROOT / "traces/gpt2-cpu.csv")},
                       "cluster": {"topology": "ring-100gbps", "world_size": 8}})
