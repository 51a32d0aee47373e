#!/usr/bin/env python3
"""What scripts/run builds, and when: the real script, with stand-ins for CMake, dpkg-query and Python.

Usage: run_test.py SOURCE_ROOT
"""
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SOURCE_ROOT = Path()

# Notes its arguments; a build leaves a ddpsim that prints its arguments. Fails while the file `broken` is there.
CMAKE = r"""#!/bin/sh
echo "$@" >> "$LOG/cmake.log"
[ ! -e "$LOG/broken" ] || exit 1
tree=build/release
while [ $# -gt 0 ]; do
  case "$1" in -B|--build) tree=$2; shift ;; esac
  shift
done
mkdir -p "$tree/sim"
printf '#!/bin/sh\necho ran "$@"\n' > "$tree/sim/ddpsim"
chmod +x "$tree/sim/ddpsim"
"""
DPKG_QUERY = "#!/bin/sh\nfor last; do :; done\necho \"$last\" >> \"$LOG/packages.log\"\nprintf installed\n"
PYTHON = "#!/bin/sh\nprintf '%s\\n' /prefix/{name} {folder}/version.py\n"


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ddpsim-run-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        shutil.copytree(SOURCE_ROOT / "scripts", self.root / "scripts")
        for name in ("sim", "traces/capture", "traces/torch_gpt2", "validate", "cmake", "bin"):
            (self.root / name).mkdir(parents=True)
        for name in ("traces/CMakeLists.txt", "CMakeLists.txt", "CMakePresets.json", "sim/main.cpp"):
            (self.root / name).touch()
        self.program("cmake", CMAKE)
        self.program("dpkg-query", DPKG_QUERY)
        for name in ("a", "b"):
            self.program(f"python-{name}", PYTHON.format(name=name, folder=self.root / name))
            (self.root / name).mkdir()
            (self.root / name / "version.py").write_text("1")

    def program(self, name, text):
        path = self.root / "bin" / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run_script(self, *arguments, python=None, code=0):
        """Standard output and error, CMake's calls, and the packages asked for."""
        for log in ("cmake.log", "packages.log"):
            (self.root / log).unlink(missing_ok=True)
        environment = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", "LOG": str(self.root)}
        environment.pop("DDPSIM_PYTHON", None)
        if python:
            environment["DDPSIM_PYTHON"] = python
        done = subprocess.run([self.root / "scripts/run", *arguments], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        read = lambda log: (self.root / log).read_text().splitlines() if (self.root / log).exists() else []
        self.cmake, self.packages = read("cmake.log"), read("packages.log")
        return done

    def later(self, path):
        """As if the file were changed now."""
        moment = time.time() + 5
        os.utime(self.root / path, (moment, moment))

    def test_other_commands_never_ask_for_libtorch(self):
        done = self.run_script("sweep", "x.yaml")
        self.assertEqual(done.stdout, "ran sweep x.yaml\n")
        self.assertIn("-DDDPSIM_WITH_LIBTORCH=OFF", self.cmake[0])
        self.assertTrue(self.cmake[1].endswith("--target ddpsim"), self.cmake)
        self.assertIn("libsimgrid-dev", self.packages)
        self.assertNotIn("libtorch-dev", self.packages)

    def test_capture_installs_and_builds_it(self):
        self.assertEqual(self.run_script("capture", "--out", "t.csv").stdout, "ran capture --out t.csv\n")
        self.assertIn("libtorch-dev", self.packages)
        self.assertIn("libopenblas0-pthread", self.packages)
        self.assertIn("-DDDPSIM_WITH_LIBTORCH=ON", self.cmake[0])
        self.assertTrue(self.cmake[1].endswith("--target ddpsim ddpsim_capture_program"), self.cmake)

    def test_validate_builds_the_programs_that_run_ranks(self):
        self.assertEqual(self.run_script("validate", "x.yaml", python="python-a").stdout, "ran validate x.yaml\n")
        for package in ("libtorch-dev", "libgloo-dev", "iproute2"):
            self.assertIn(package, self.packages)
        self.assertIn("-DDDPSIM_WITH_LIBTORCH=ON -DDDPSIM_WITH_NCCL=AUTO", self.cmake[0])
        self.assertNotIn("CMAKE_PREFIX_PATH", self.cmake[0], "a pip-installed PyTorch brings no headers of Gloo")
        self.assertTrue(self.cmake[1].endswith("--target ddpsim ddpsim_validate_programs"), self.cmake)

    def test_nothing_is_done_twice(self):
        for command in ("sweep", "capture", "validate"):
            self.run_script(command)
            self.assertTrue(self.cmake)
        for command in ("sweep", "capture", "validate", "trace", "capture"):
            self.run_script(command)
            self.assertEqual((self.cmake, self.packages), ([], []), command)

    def test_a_changed_source_is_built(self):
        self.run_script("sweep")
        self.later("sim/main.cpp")
        self.run_script("sweep")
        self.assertEqual(len(self.cmake), 2)

    def test_a_failed_build_is_tried_again(self):
        (self.root / "broken").touch()
        self.assertIn("The build failed; the whole log is in", self.run_script("sweep", code=3).stderr)
        (self.root / "broken").unlink()
        self.run_script("sweep")
        self.assertEqual(len(self.cmake), 2)

    def test_another_python_means_another_pytorch(self):
        self.run_script("capture", python="python-a")
        self.assertIn("-DCMAKE_PREFIX_PATH=/prefix/a", self.cmake[0])
        self.assertNotIn("libtorch-dev", self.packages)
        (self.root / "build/pytorch/CMakeCache.txt").touch()
        self.run_script("capture", python="python-a")
        self.assertEqual(self.cmake, [])
        self.run_script("capture", python="python-b")
        self.assertIn("-DCMAKE_PREFIX_PATH=/prefix/b", self.cmake[0])
        self.assertFalse((self.root / "build/pytorch/CMakeCache.txt").exists(), "CMake remembers the other one")

    def test_a_replaced_pytorch_is_noticed(self):
        self.run_script("capture", python="python-a")
        (self.root / "a/version.py").write_text("2")
        self.run_script("capture", python="python-a")
        self.assertEqual(len(self.cmake), 2)

    def test_a_python_of_the_first_failure_is_forgotten(self):
        (self.root / "broken").touch()
        self.run_script("capture", python="python-a", code=3)
        (self.root / "build/pytorch/CMakeCache.txt").touch()
        (self.root / "broken").unlink()
        self.run_script("capture", python="python-b")
        self.assertFalse((self.root / "build/pytorch/CMakeCache.txt").exists())

    def test_no_such_python(self):
        done = self.run_script("capture", python="python-c", code=3)
        self.assertEqual(done.stderr, "DDPSIM_PYTHON is 'python-c', which is no program\n")
        self.assertEqual(self.cmake, [])

    def test_a_python_without_pytorch(self):
        self.program("python-a", "#!/bin/sh\necho 'no PyTorch here' >&2\nexit 1\n")
        self.assertIn("no PyTorch here", self.run_script("capture", python="python-a", code=3).stderr)
        self.assertEqual(self.cmake, [])

    def test_without_arguments_it_runs_the_quickstart(self):
        self.assertEqual(self.run_script().stdout, f"ran sweep {self.root.resolve()}/configs/quickstart.yaml\n")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    SOURCE_ROOT = Path(sys.argv.pop(1)).resolve()
    unittest.main()
