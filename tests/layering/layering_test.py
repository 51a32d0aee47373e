#!/usr/bin/env python3
"""Holds the direction of dependencies (docs/architecture.md) against the #include lines.

Usage: layering_test.py SOURCE_ROOT. Prints every violation and exits 1 if there is one.
"""
import re
import subprocess
import sys
from pathlib import Path

# Folder -> folders it may include directly; what those may include comes with them.
ALLOWED = {
    "sim/base": [],
    "sim/process": ["sim/base"],
    "sim/command_line": ["sim/base"],
    "sim/config": ["sim/base"],
    "sim/keys": ["sim/config"],
    "sim/timeline": ["sim/base"],
    "sim/collective": ["sim/base"],
    "sim/evidence": ["sim/base"],
    "sim/calibrate": ["sim/collective", "sim/config", "sim/nccl", "sim/trace/import"],
    "sim/trace": ["sim/model"],
    "sim/trace/import": ["sim/trace"],
    "sim/nccl": ["sim/base"],
    "sim/gloo": ["sim/base"],
    "sim/mpi": ["sim/base"],
    "sim/gpu": ["sim/trace"],
    "sim/model": ["sim/base"],
    "sim/compute": ["sim/gpu", "sim/variability"],
    "sim/topology": ["sim/nccl"],
    "sim/topology/import": ["sim/topology"],
    "sim/ddp": ["sim/trace"],
    "sim/variability": ["sim/base"],
    "sim/cost": ["sim/collective", "sim/gloo", "sim/mpi", "sim/topology"],
    "sim/program": ["sim/ddp", "sim/collective", "sim/timeline"],
    "sim/replay": ["sim/program", "sim/cost"],
    "sim/replay/simgrid": ["sim/replay"],
    "sim/strategy": ["sim/program", "sim/cost", "sim/compute"],
    "sim/engine": ["sim/replay", "sim/variability", "sim/strategy", "sim/evidence"],
    "sim/mesh": ["sim/base"],
    "sim/job": ["sim/keys", "sim/engine"],
    "sim/strategies": ["sim/job"],
    "sim/job/rows": ["sim/strategies"],
    "sim/text": ["sim/job/rows"],
    "sim/resolve": ["sim/text", "sim/mesh"],
    "sim/study": ["sim/process", "sim/resolve", "sim/report"],
    "sim/report": ["sim/keys", "sim/result"],
    "sim/result": ["sim/timeline", "sim/variability", "sim/strategy", "sim/evidence"],
    "traces/torch_gpt2": ["sim/model"],
    "traces/capture/command": ["sim/command_line", "sim/model"],
    "traces/capture": ["sim/process", "sim/trace", "traces/capture/command", "traces/torch_gpt2"],
    "validate/harness": ["sim/program"],
    "validate/launch": ["validate/harness"],
    "validate/testbed": ["sim/process", "validate/launch"],
    "validate/gloo": ["validate/harness", "traces/capture"],
    "validate/nccl": ["validate/harness"],
    "validate/comparison": ["validate/harness", "sim/engine", "sim/report"],
    "python/module": ["sim/study"],
    "sim/cli": ["sim/command_line", "validate/comparison", "validate/testbed", "traces/capture/command", "sim/calibrate", "sim/trace/import", "sim/study", "sim/topology/import"],
    "sim": ["sim/cli"],
}

# Third-party headers -> the only folders that may include them.
CONFINED = {
    r"yaml-cpp/": ["sim/config", "tests/config"],
    r"boost/graph/": ["sim/topology"],
    r"boost/random/": ["sim/variability", "sim/evidence"],
    r"pugixml": ["sim/topology/import"],
    r"(simgrid|xbt)/": ["sim/replay/simgrid"],
    r"(torch|ATen|c10)/": ["traces/torch_gpt2", "traces/capture", "validate/gloo", "tests/ddp", "tests/traces", "bench"],
    r"(ATen/cuda|c10/cuda|cuda|nccl)": ["traces/capture/cuda_device.cpp", "validate/nccl", "tests/validate/nccl"],
    r"nlohmann/": ["sim/report", "sim/result", "sim/calibrate", "sim/config", "sim/trace/import/pytorch_profiler", "validate/harness", "tests"],
    r"zlib": ["sim/trace/compressed_text.cpp", "tests"],
    r"gsl/": ["sim/calibrate"],
    r"sha2\.h": ["sim/base"],
    r"boost/uuid/": ["sim/study"],
    r"nanobind/": ["python/module"],
    r"CLI/": ["sim/command_line/command_line.cpp"],
}

# Only here is standard error written: a message that cannot be written must not throw (sim/base/standard_error.hpp).
WRITES_STDERR = "sim/base/standard_error.cpp"
STDERR = re.compile(r"\bstderr\s*[,)]|\bstd::(cerr|clog)\b|\bperror\s*\(")

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def reachable(folder):
    seen, todo = {folder}, list(ALLOWED[folder])
    while todo:
        nxt = todo.pop()
        if nxt not in seen:
            seen.add(nxt)
            todo += ALLOWED[nxt]
    return seen


def layer_of(path):
    """The longest folder of ALLOWED that holds `path`."""
    fits = [f for f in ALLOWED if path == f or path.startswith(f + "/")]
    return max(fits, key=len) if fits else None


def inside(path, folders):
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def violations(path, text):
    layer = layer_of(path)
    if layer and path != WRITES_STDERR:
        for use in STDERR.finditer(text):
            yield f"{path} names {use[0]}: print_stderr of sim/base/standard_error.hpp never throws"
    for quote, header in INCLUDE.findall(text):
        for pattern, folders in CONFINED.items():
            if re.match(pattern, header) and not inside(path, folders):
                yield f"{path} includes <{header}>, which belongs to {', '.join(folders) or 'no folder yet'}"
        if quote != '"':
            continue
        target = layer_of(header)
        if target is None:
            if not header.startswith("tests/"):
                yield f'{path} includes "{header}", which is not a path from the root'
            elif layer:
                yield f'{path} includes "{header}" from the tests'
        elif layer and target not in reachable(layer):
            yield f'{path} includes "{header}": {layer} must not depend on {target}'


def scan(root):
    sources = sorted(p for top in ("sim", "python", "traces", "validate", "tests", "bench") for p in (root / top).rglob("*") if p.suffix in (".cpp", ".hpp", ".in", ".cu"))
    found = []
    for source in sources:
        path = source.relative_to(root).as_posix()
        if "libtorch_compat/" in path:
            continue
        found += violations(path, source.read_text())
    return len(sources), found


def self_test():
    """The checker itself must find what it is there to find."""
    bad = {
        "sim/base/x.cpp": '#include "sim/config/value.hpp"',
        "sim/report/x.cpp": '#include "sim/engine/scenario.hpp"',
        "sim/program/x.cpp": '#include "sim/replay/network.hpp"',
        "sim/trace/x.cpp": "#include <yaml-cpp/yaml.h>",
        "sim/cli/x.cpp": "#include <simgrid/s4u.hpp>",
        "sim/topology/x.cpp": "#include <pugixml.hpp>",
        "sim/trace/import/y.cpp": "#include <zlib.h>",
        "sim/ddp/x.cpp": "# include <torch/torch.h>",
        "traces/capture/x.cpp": "#include <cuda_runtime_api.h>",
        "validate/harness/x.cpp": "#include <torch/torch.h>",
        "validate/gloo/x.cpp": "#include <nccl.h>",
        "validate/nccl/x.cpp": '#include "sim/engine/scenario.hpp"',
        "sim/cli/y.cpp": '#include "traces/capture/capture.hpp"',
        "sim/ddp/y.cpp": '#include "reduction_plan.hpp"',
        "sim/cli/z.cpp": 'fmt::print(\n    stderr, "note")',
        "validate/gloo/y.cpp": 'std::cerr << "note";',
    }
    for path, text in bad.items():
        assert list(violations(path, text)), f"not found: {path}: {text}"
    assert not list(violations("sim/text/x.cpp", '#include "sim/config/reader.hpp"\n#include <vector>'))


if __name__ == "__main__":
    self_test()
    count, found = scan(Path(sys.argv[1]))
    root = Path(sys.argv[1])
    dot = subprocess.run([sys.executable, root / "scripts/draw-layers", "--dot"], capture_output=True, text=True, check=True).stdout
    if dot.replace("--", "- -") not in (root / "docs/layers.svg").read_text():
        found.append("docs/layers.svg is not a drawing of this table: run scripts/draw-layers")
    print("\n".join(found))
    if count < 50:
        sys.exit(f"only {count} sources found: is {sys.argv[1]} the project's root?")
    sys.exit(1 if found else 0)
