"""Steps of unmodified scripts, recorded on one CPU, beside real runs of the same scripts on Gloo ranks, and alone."""
import gc
import gzip
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) < (2, 4) or not torch.distributed.is_available():
    pytest.skip(f"recording needs PyTorch 2.4; this is {torch.__version__}", allow_module_level=True)

import torch.utils.flop_counter

import ddpsim
from ddpsim.torch import trace_step
from recorded.running import command, record

SCRIPTS = Path(__file__).parent / "recorded"
GPT, MOE, PIPELINE = (str(SCRIPTS / name) for name in ("gpt.py", "moe.py", "pipeline.py"))
STEP = 3
RELEASE = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
GLOO_SHARDS = RELEASE >= (2, 7)    # Gloo has a reduce-scatter
TWO = {"ddp": (GPT,), "ddp-buckets": (GPT, "--bucket-mb", "0.05", "--accumulate", "2"), "ddp-view": (GPT, "--bucket-view", "--layers", "3"),
       **({"fsdp1": (GPT, "--mode", "fsdp1"), "fsdp2": (GPT, "--mode", "fsdp2", "--bf16", "--checkpoint")} if GLOO_SHARDS else {})}
FOUR = {**({"hsdp": (GPT, "--mode", "hsdp"), "tp": (GPT, "--mode", "tp", "--clip", "0"),
            "sp": (GPT, "--mode", "tp", "--clip", "0", "--sequence-parallel")} if GLOO_SHARDS else {}),
        **({"pipeline": (PIPELINE,)} if GLOO_SHARDS else {}), "moe": (MOE, "--capacity")}
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "int64": 8, "int32": 4, "uint8": 1, "": 1}


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


def flops(items):
    """What FlopCounterMode counts on a CPU: older releases have no formula for attention there."""
    counted = hasattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu") and \
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu in torch.utils.flop_counter.flop_registry
    return sum(item.get("flops", 0) for item in items if counted or "attention" not in item.get("operator", ""))


@pytest.mark.parametrize("case", TWO)
@pytest.mark.parametrize("rank", [0, 1])
def test_two_ranks_as_on_gloo(two, case, rank):
    step = record(2, TWO[case], rank=rank)
    real = two[case][rank]
    assert calls(step.groups, step.items) == real["calls"]
    assert flops(step.items) == real["flops"]


@pytest.mark.parametrize("case", [case for case in FOUR if case != "pipeline"])
def test_four_ranks_as_on_gloo(four, case):
    rank = 2
    step = record(4, FOUR[case], rank=rank)
    real = four[case][rank]
    assert calls(step.groups, step.items) == real["calls"]
    assert flops(step.items) == real["flops"]


@pytest.mark.skipif("pipeline" not in FOUR, reason="PipelineStage of older releases takes other arguments, or its real run hangs on Gloo")
def test_pipeline_stages_as_on_gloo(four, tmp_path):
    """Which exchange shapes as objects, in both directions, before the first step."""
    done = command("--world-size", 4, "--ranks", "stages", "--out", tmp_path / "step.json", "--", PIPELINE)
    assert done.returncode == 0, done.stderr
    for rank in range(4):
        header, *items = map(json.loads, (tmp_path / f"step-rank{rank}.json").read_text().splitlines())
        assert header["rank"] == rank
        assert calls(header["groups"], items) == four["pipeline"][rank]["calls"]
        assert flops(items) == four["pipeline"][rank]["flops"]


@pytest.mark.skipif(RELEASE < (2, 5), reason="PipelineStage of 2.4 takes a micro-batch's tensors")
@pytest.mark.parametrize("schedule", ["1f1b", "gpipe", "interleaved"])
def test_stages_are_simulated(tmp_path, schedule):
    """Four micro-batches through four equal stages (interleaved: two ranks with two each). All ranks compute the same but for the loss, and no schedule is
    shorter than what one of them computes, nor longer than seven of the fours' passes (interleaved: 4 + 1/2 of 4), launches and messages."""
    stages = 2 if schedule == "interleaved" else 4
    arguments = ("--stages", stages, "--schedule", schedule, "--hidden", 512, "--seq", 1024)
    done = command("--world-size", stages, "--ranks", "stages", "--out", tmp_path / "step.json", "--", PIPELINE, *arguments)
    assert done.returncode == 0, done.stderr
    files = [str(tmp_path / f"step-rank{rank}.json") for rank in range(stages)]
    found = ddpsim.Job({"workload": {"recording": files}, "cluster": {"topology": "superpod-h100"}, "physics": "none"}).simulate().to_dict()
    assert found["world_size"] == stages
    computed = found["forward_s"] + found["backward_compute_s"]
    passes = 4.5 / 4 if schedule == "interleaved" else 7 / 4
    assert 0.95 * passes < (found["iteration_s"] - found["optimizer_s"]) / computed < 1.25 * passes
    with pytest.raises(ddpsim.InputError, match="is in no recording"):
        ddpsim.Job({"workload": {"recording": files[:-1]}, "cluster": {"topology": "superpod-h100"}}).simulate()


def test_a_step_simulates_itself(tmp_path):
    """As its file does; with as many ranks as were recorded, and no others."""
    step = record(64, (GPT, "--mode", "fsdp2") if GLOO_SHARDS else (GPT,))
    result = step.simulate(cluster="superpod-h100")
    assert result.to_dict()["world_size"] == 64
    written = step.write(tmp_path / "step.jsonl")
    scenario = {"workload": {"recording": str(written)}, "cluster": {"topology": "superpod-h100", "world_size": 64}}
    assert ddpsim.Job(scenario).simulate().iteration_s == result.iteration_s
    other = step.simulate(cluster={"topology": "superpod-h100"}, gpu="a100-sxm4-80gb", physics="none", workload={"framework": "pytorch-2026"})
    assert other.iteration_s != result.iteration_s
    with pytest.raises(ddpsim.InputError, match="recorded as one of 64 ranks, and the job has 8"):
        step.simulate(cluster={"topology": "superpod-h100", "world_size": 8})
    with pytest.raises(ValueError, match="once the with block is over"):
        trace_step(4).simulate(cluster="superpod-h100")


def test_buckets_are_the_reducers():
    """bucket_cap_mb of 0.05 is 52428 bytes, the first bucket's too; gradients arrive from the last parameter on."""
    step = record(64, (GPT, "--bucket-mb", "0.05"))
    buckets = [item["bytes"] for item in step.collectives]
    sizes = {name: elements for name, _, elements, _, _ in step.header["parameters"]}
    assert sum(buckets) == 4 * sum(sizes.values())
    arrived = [step.header["parameters"][item["gradient"]][0] for item in step.items if "gradient" in item]
    assert sorted(arrived) == sorted(sizes)
    expected, filled = [], 0
    for name in arrived:    # compute_bucket_assignment_by_size: closed once it is full
        filled += 4 * sizes[name]
        if filled >= int(0.05 * 1024 * 1024):
            expected.append(filled)
            filled = 0
    assert buckets == expected + ([filled] if filled else [])


def test_buckets_are_waited_for_before_they_are_read():
    step = record(8, (GPT,))
    (reduced,) = (i for i, item in enumerate(step.items) if "collective" in item)
    (waited,) = (i for i, item in enumerate(step.items) if reduced in item.get("wait", ()))
    after = next(item for item in step.items[waited:] if "operator" in item)
    assert after["operator"] == "copy_" and after["phase"] == "backward"    # from the bucket into gradients
    assert all(item.get("phase") in (None, "backward") for item in step.items[reduced:waited])


def test_streams_of_fully_shard():
    """Copies into and out of what is gathered are on streams of their own, behind what they wait for."""
    step = record(8, (GPT, "--mode", "fsdp2"))
    streams = {}
    for item in step.operators:
        streams.setdefault(item.get("stream", 0), set()).add(item["operator"])
    assert any("copy" in name for stream, names in streams.items() if stream for name in names)
    assert {"mm", "addmm"} <= streams[0] and not any("mm" in names for stream, names in streams.items() if stream)
    for i, item in enumerate(step.items):
        for number in item.get("wait", []) + item.get("on", []):
            assert number < i and not step.items[number].keys() & {"allocate", "free", "gradient"}
        if item.get("collective") == "reduce_scatter":
            assert item["on"] and step.items[item["on"][0]].get("stream", 0) == item.get("stream", 0)


def test_groups_of_a_mesh_have_its_axes():
    step = record(1024, (GPT, "--mode", "hsdp", "--shard", "8"), rank=11)
    groups = {group["name"]: group for group in step.groups}
    assert groups["shard"] == {"name": "shard", "first": 8, "stride": 1, "count": 8}
    assert groups["replicate"] == {"name": "replicate", "first": 3, "stride": 8, "count": 128}


def test_a_hook_runs_beside_the_backward_pass():
    """bf16_compress_hook: half of the bytes, and what decompresses is on a stream of its own, which the backward pass waits for."""
    step = record(8, (GPT, "--hook", "--bf16"))
    (reduced,) = step.collectives
    assert reduced["dtype"] == "bfloat16"
    assert reduced["bytes"] == 2 * sum(elements for _, _, elements, _, _ in step.header["parameters"])
    at = step.items.index(reduced)
    copies = [item for item in step.items[at:] if item.get("stream") and "operator" in item]
    assert copies and copies[0]["operator"] in ("copy_", "_to_copy")
    last = max(i for i, item in enumerate(step.items) if item.get("stream") and "operator" in item)
    assert any(last in item.get("wait", ()) and "stream" not in item for item in step.items)


def test_micro_batches_reduce_once():
    step = record(8, (GPT, "--accumulate", "3"))
    assert len(step.collectives) == 1 and len(step.header["inputs"]) == 3
    phases = [item["phase"] for item in step.operators]
    assert phases[-1] == "optimizer" and phases.index("optimizer") > max(i for i, phase in enumerate(phases) if phase == "backward")


def test_checkpoints_compute_again():
    plain, again = record(8, (GPT,)), record(8, (GPT, "--checkpoint"))
    blocks = sum(item.get("flops", 0) for item in plain.operators if item["phase"] == "forward" and
                 plain.header["modules"][item.get("module", 0)].startswith("blocks."))
    recomputed = [item for item in again.operators if item["phase"] == "recompute"]
    # All products of a block but its last, whose result nobody needs: checkpoints stop early.
    last = 2 * (2 * 16) * 32 * 128 * 2    # down, of two blocks
    assert sum(item.get("flops", 0) for item in recomputed) == blocks - last == again.flops - plain.flops
    assert {again.header["modules"][item["module"]].split(".")[0] for item in recomputed if "module" in item} == {"blocks"}
    assert again.memory["at_peak"]["parameters"] == plain.memory["at_peak"]["parameters"]


def test_autocast_and_scaler():
    step = record(8, (GPT, "--autocast", "--scaler"))
    assert {item["dtype"] for item in step.operators if item["operator"] in ("mm", "addmm") and item["phase"] == "forward"} == {"bfloat16"}
    assert any("scaled_dot_product_flash_attention" in item["operator"] and item["causal"] for item in step.operators)
    assert any(item["operator"] == "_amp_foreach_non_finite_check_and_unscale_" for item in step.operators)
    assert any(item.get("host") == "item" for item in step.items)    # whether a gradient was infinite


def test_compiled_operators_are_marked():
    step = record(8, (GPT, "--compile"))
    assert all(item.get("compiled") for item in step.operators if item["phase"] == "forward" and item.get("module"))
    assert "compiled" in {note["code"] for note in step.notes}


def test_fused_optimizer():
    step = record(8, (GPT, "--fused", "--clip", "0"))
    (fused,) = (item for item in step.operators if item["phase"] == "optimizer" and "_fused_adamw_" in item["operator"])
    parameters = 4 * sum(elements for _, _, elements, _, _ in step.header["parameters"])
    assert fused["read"] >= 4 * parameters and fused["written"] >= 3 * parameters    # and the gradients are read


def test_memory():
    """DDP without gradients kept: weights, two moments, buckets; the logits and their gradient are the largest temporaries."""
    step = record(8, (GPT,))
    weights = sum(-(-4 * elements // 512) * 512 for _, _, elements, _, _ in step.header["parameters"])
    assert step.memory["at_peak"]["parameters"] == weights
    assert step.memory["at_peak"]["optimizer"] == 2 * weights
    assert step.memory["peak"] == sum(step.memory["at_peak"].values())
    alive, largest = {}, 0
    for item in step.items:
        if "allocate" in item:
            assert item["allocate"] not in alive
            alive[item["allocate"]] = item["bytes"]
            largest = max(largest, sum(alive.values()))
        elif "free" in item:
            del alive[item["free"]]
    assert largest == step.memory["peak"]
    held = {item["holds"] for item in step.items if "allocate" in item}
    assert {"parameters", "gradients", "optimizer", "activations", "collectives", "temporaries"} <= held


@pytest.mark.skipif(RELEASE < (2, 6), reason="torch.distributed.fsdp has no fully_shard")
@pytest.mark.parametrize("model", ["linear", "transformer", "convolutions"])
def test_memory_is_that_of_pytorchs_tracker(tmp_path, model):
    """FSDPMemTracker on the same step, in a run of its own: the peak and each category, byte by byte. It rounds as we do, and has more names: what is gathered, and the
    buffers that it is gathered into and reduced from, are collectives here; the batch is an activation; buffers of modules are other memory."""
    script = (str(SCRIPTS / "tracked.py"), model)
    tracked = command("--world-size", 4, "--out", tmp_path / "step.json", "--", *script, "--track", tmp_path / "counted.json")
    assert tracked.returncode == 0, tracked.stderr
    step = record(4, script)
    counted = json.loads((tmp_path / "counted.json").read_text())
    assert step.memory["peak"] == counted["Total"]
    ours = {"parameters": ["Sharded Param"], "optimizer": ["OptState"], "gradients": ["Sharded Grad"], "temporaries": ["Temp"], "other": ["Buffer"],
            "collectives": ["Unsharded Param", "Unsharded Grad", "All Gather", "Reduce Scatter"], "activations": ["Activation", "Inputs"]}
    expected = {name: sum(counted[kind] for kind in kinds) for name, kinds in ours.items()}
    assert step.memory["at_peak"] == {name: size for name, size in expected.items() if size}


def test_bytes_of_operators():
    step = record(8, (GPT, "--clip", "0"))
    tokens, hidden, vocab = 2 * 16, 32, 128
    embedding = next(item for item in step.operators if item["operator"] == "embedding")
    assert (embedding["read"], embedding["written"]) == (tokens * hidden * 4 + tokens * 8, tokens * hidden * 4)    # rows, and which ones
    norm = next(item for item in step.operators if item["operator"] == "native_layer_norm")
    assert (norm["read"], norm["written"]) == (4 * (tokens * hidden + 2 * hidden), 4 * (tokens * hidden + 2 * tokens))
    head = next(item for item in step.operators if item["operator"] == "mm" and step.header["modules"][item["module"]] == "head")
    assert head["shapes"] == [[tokens, hidden], [hidden, vocab]] and head["flops"] == 2 * tokens * hidden * vocab


def test_routing_by_values_is_even():
    step, fixed = record(4, (MOE,)), record(4, (MOE, "--capacity"))
    by_counts = [item["bytes"] for item in step.collectives if item["collective"] == "all_to_all" and item["dtype"] == "float32"]
    assert by_counts == [item["bytes"] for item in fixed.collectives if item["collective"] == "all_to_all"]
    assert step.flops == fixed.flops
    assert [note["code"] for note in step.notes] == ["even-routing"] and "moe.py:" in step.notes[0]["text"]
    assert not fixed.notes


def test_same_bytes(tmp_path):
    for name, seed in (("a.json", "1"), ("b.json.gz", "2")):
        done = command("--world-size", 16, "--rank", 3, "--out", tmp_path / name, "--", GPT, "--mode", "fsdp2", env={**os.environ, "PYTHONHASHSEED": seed})
        assert done.returncode == 0, done.stderr
    first = (tmp_path / "a.json").read_bytes()
    assert gzip.decompress((tmp_path / "b.json.gz").read_bytes()) == first
    header = json.loads(first.splitlines()[0])
    assert list(header)[:2] == ["kind", "version"] and header["kind"] == "recording" and header["world_size"] == 16 and header["rank"] == 3


def test_in_one_process_as_in_another(tmp_path):
    done = command("--world-size", 16, "--out", tmp_path / "step.json", "--", GPT)
    assert done.returncode == 0 and f"wrote {tmp_path / 'step.json'}" in done.stderr
    record(16, (GPT, "--mode", "fsdp1"))
    assert record(16, (GPT,)).write(tmp_path / "again.json").read_bytes() == (tmp_path / "step.json").read_bytes()


def test_several_world_sizes(tmp_path):
    done = command("--world-size", "8,64", "--out", tmp_path / "step.json.gz", "--", GPT)
    assert done.returncode == 0, done.stderr
    sizes = [json.loads(gzip.decompress((tmp_path / f"step-{size}.json.gz").read_bytes()).splitlines()[0])["world_size"] for size in (8, 64)]
    assert sizes == [8, 64]


def test_torch_is_as_it_was():
    record(4, (GPT, "--mode", "fsdp2"))    # what is imported on the way is imported

    def state():
        names = [(where, name) for where in (torch, torch.cuda, torch.distributed, torch.distributed.distributed_c10d, torch.nn.Module, torch.Tensor, torch.UntypedStorage,
                                             torch.utils.data.DataLoader, torch.amp.GradScaler, torch._C, torch.autograd, torch.autograd.graph, torch.multiprocessing)
                 for name in dir(where)]
        return {(str(where), name): id(vars(where).get(name)) for where, name in names if name in vars(where)}, dict(os.environ), list(sys.path), sys.argv

    before = state()
    record(4, (GPT, "--mode", "fsdp2"))
    with pytest.raises(ZeroDivisionError), trace_step(4):
        _ = 1 / 0
    after = state()
    assert {key for key in before[0] if before[0][key] != after[0].get(key)} == set() and before[1:] == after[1:]
    assert not torch.cuda.is_available() and not torch.distributed.is_initialized()
    assert torch.autograd.is_multithreading_enabled() and not torch.__future__.get_swap_module_params_on_conversion()
    x = torch.randn(8, 8, requires_grad=True)
    (x @ x).sum().backward()
    assert type(x.grad) is torch.Tensor and x.grad.abs().sum().item() > 0


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_is_as_it_was(enabled):
    if not enabled:
        gc.disable()
    try:
        record(4, (GPT,))
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


@pytest.mark.parametrize(("arguments", "message"), [
    (dict(world_size=0), "world_size is 0; the least is 1"),
    (dict(world_size=8, rank=8), "rank is 8; ranks of 8 are 0 to 7"),
    (dict(world_size=8, step=1), "step is 1; the least is 2, as buckets and states are made in the first"),
    (dict(world_size=8, gpu="h100"), "gpu is 'h100'; ddpsim knows a10, a100-pcie-40gb, "),
    (dict(world_size=8, gpu="mi300x"), "gpu is 'mi300x', of cdna3; a script is recorded as on a GPU with CUDA"),
    (dict(world_size=8, assume={"sort": 0.5}), "--assume sort: no such word; there are flex_attention, masked_select, nonzero, repeat_interleave, unique"),
    (dict(world_size=8, assume={"nonzero": 2}), "--assume nonzero=2: it is a share of the elements, from 0 to 1"),
])
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError) as raised:
        trace_step(**arguments)
    assert str(raised.value).startswith(message)


def test_the_command_line(tmp_path):
    assert command("--world-size", "8", "--out", tmp_path / "step.json").stderr.endswith(
        "error: no script: ddpsim record --world-size N --out step.json -- train.py\n")
    missing = command("--world-size", "8", "--out", tmp_path / "step.json", "--", "missing.py")
    assert (missing.returncode, missing.stderr) == (2, "ddpsim record: error: there is no script missing.py\n")
    folder = command("--world-size", "8", "--out", tmp_path / "no" / "step.json", "--", GPT)
    assert folder.returncode == 6 and "cannot write" in folder.stderr
