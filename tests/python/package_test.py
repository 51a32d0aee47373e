"""The package as it is installed."""
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import ddpsim

PROGRAM = Path(sys.executable).parent / "ddpsim"


def test_it_is_the_installed_one(root):
    assert Path(ddpsim.__file__).is_relative_to(sys.prefix) and not Path(ddpsim.__file__).is_relative_to(root / "python")
    assert importlib.metadata.version("ddpsim") == ddpsim.__version__


def test_it_brings_its_libraries():
    """None but those of every Linux (manylinux) come from the machine."""
    package = Path(ddpsim.__file__).parent
    own = {path.name for path in (package.parent / "ddpsim.libs").iterdir()}
    usual = ("libstdc++", "libgcc_s", "libm.", "libc.", "ld-linux", "libpthread", "libdl", "libz.", "linux-vdso")
    for binary in (next(package.glob("_core*.so")), package / "bin/ddpsim"):
        needed = [line.split()[0] for line in subprocess.run(["ldd", binary], check=True, capture_output=True, text=True).stdout.splitlines()]
        others = [name for name in needed if Path(name).name not in own and not Path(name).name.startswith(usual)]
        assert not others, binary


def test_the_command(cli, root, tmp_path):
    """The same program: the same bytes, the same exit codes, presets of its own."""
    def run(*arguments):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert run("--version").stdout == cli("--version")
    swept = run("sweep", "quickstart")
    assert swept.returncode == 0 and swept.stdout == cli("sweep", root / "configs/quickstart.yaml")
    assert run("simulate", "quickstart", "--json", "-").stdout == cli("simulate", root / "configs/quickstart.yaml", "--json", "-")
    assert "llama-2-7b" in run("list", "models").stdout
    bad = run("simulate", "no-such-name")
    assert bad.returncode == 2 and "no scenario and no model of the name" in bad.stderr


@pytest.mark.parametrize("module", ["pandas", "numpy", "matplotlib", "dask", "torch"])
def test_nothing_else_is_imported(module):
    done = subprocess.run([sys.executable, "-c", f"import ddpsim, sys; ddpsim.Job.load('quickstart').simulate(); print({module!r} in sys.modules)"],
                          check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_types_agree():
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--disable-error-code=import-untyped", "--disable-error-code=import-not-found", "-p", "ddpsim"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_type_stubs():
    package = Path(ddpsim.__file__).parent
    assert (package / "py.typed").exists()
    stub = (package / "_core.pyi").read_text()
    for name in ("class Job", "class Result", "def collective_time(operation: str", "def presets"):
        assert name in stub
