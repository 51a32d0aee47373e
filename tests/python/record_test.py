"""Steps of unmodified scripts, recorded on one CPU, beside real runs of the same scripts on Gloo ranks, and alone."""
import gzip
import json
import os
import runpy
import socket
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) < (2, 4) or not torch.distributed.is_available():
    pytest.skip(f"recording needs PyTorch 2.4; this is {torch.__version__}", allow_module_level=True)

import ddpsim.torch
from ddpsim.torch import Unsupported, trace_step

SCRIPTS = Path(__file__).parent / "recorded"
GPT, MOE, PIPELINE = (str(SCRIPTS / name) for name in ("gpt.py", "moe.py", "pipeline.py"))
STEP = 3
RELEASE = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
GLOO_SHARDS = RELEASE >= (2, 7)    # Gloo has a reduce-scatter
TWO = {"ddp": (GPT,), "ddp-buckets": (GPT, "--bucket-mb", "0.05", "--accumulate", "2"), "ddp-view": (GPT, "--bucket-view", "--layers", "3"),
       **({"fsdp1": (GPT, "--mode", "fsdp1"), "fsdp2": (GPT, "--mode", "fsdp2", "--bf16", "--checkpoint")} if GLOO_SHARDS else {})}
FOUR = {**({"hsdp": (GPT, "--mode", "hsdp"), "tp": (GPT, "--mode", "tp", "--clip", "0"),
            "sp": (GPT, "--mode", "tp", "--clip", "0", "--sequence-parallel")} if GLOO_SHARDS else {}),
        "pipeline": (PIPELINE,), "moe": (MOE, "--capacity")}
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "int64": 8, "int32": 4, "uint8": 1, "": 1}


def record(world_size, script, **options):
    """The step of a script, in this process."""
    before, sys.argv = sys.argv, list(script)
    try:
        with trace_step(world_size, **options) as step:
            runpy.run_path(script[0], run_name="__main__")
    finally:
        sys.argv = before
    return step


def command(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "ddpsim.torch", "record", *map(str, arguments)], capture_output=True, text=True, check=False, **options)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return min(listener.getsockname()[1], 60000)


def real_runs(folder, ranks, cases):
    """Each case on so many Gloo ranks, one after another: {case: [what each rank noted]}."""
    path = folder / "cases.json"
    path.write_text(json.dumps([[name, STEP, *script] for name, script in cases.items()]))
    port = free_port()
    processes = []
    for rank in range(ranks):
        environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        processes.append(subprocess.Popen([sys.executable, SCRIPTS / "real.py", path], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    errors = [process.communicate()[1] for process in processes]
    assert not any(process.returncode for process in processes), errors[0]
    return {name: [json.loads((folder / f"{name}-{rank}.json").read_text()) for rank in range(ranks)] for name in cases}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return real_runs(tmp_path_factory.mktemp("two"), 2, TWO)


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    return real_runs(tmp_path_factory.mktemp("four"), 4, FOUR)


def ranks_of(group):
    return group.get("ranks") or list(range(group["first"], group["first"] + group["stride"] * group["count"], group["stride"]))


def calls(groups, items):
    return [[item["collective"], ranks_of(groups[item["group"]]), item["bytes"] // BYTES[item["dtype"]]] for item in items if "collective" in item]


@pytest.mark.parametrize("case", TWO)
@pytest.mark.parametrize("rank", [0, 1])
def test_two_ranks_as_on_gloo(two, case, rank):
    step = record(2, TWO[case], rank=rank)
    real = two[case][rank]
    assert calls(step.groups, step.items) == real["calls"]
    assert step.flops == real["flops"]


@pytest.mark.parametrize("case", [case for case in FOUR if case != "pipeline"])
def test_four_ranks_as_on_gloo(four, case):
    rank = 2
    step = record(4, FOUR[case], rank=rank)
    real = four[case][rank]
    assert calls(step.groups, step.items) == real["calls"]
    assert step.flops == real["flops"]


def test_pipeline_stages_as_on_gloo(four, tmp_path):
    """Which exchange shapes as objects, in both directions, before the first step."""
    done = command("--world-size", 4, "--ranks", "stages", "--out", tmp_path / "step.json", "--", PIPELINE)
    assert done.returncode == 0, done.stderr
    for rank in range(4):
        header, *items = map(json.loads, (tmp_path / f"step-rank{rank}.json").read_text().splitlines())
        assert header["rank"] == rank
        assert calls(header["groups"], items) == four["pipeline"][rank]["calls"]
        assert sum(item.get("flops", 0) for item in items) == four["pipeline"][rank]["flops"]
