"""What is in scripts besides plain training, recorded on one CPU: what depends on values, other kernels, and what is refused."""
import json
import platform
import sys

import pytest

torch = pytest.importorskip("torch")
RELEASE = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
if RELEASE < (2, 4) or not torch.distributed.is_available():
    pytest.skip(f"recording needs PyTorch 2.4; this is {torch.__version__}", allow_module_level=True)

import ddpsim.torch
from ddpsim.torch import Unsupported
from recorded.running import command, record, record_script, script


@pytest.mark.parametrize(("body", "message"), [
    ("torch.nonzero(x)", "train.py:7: nonzero: what depends on values cannot be recorded\nhint: --assume nonzero=0.5 takes half of the elements"),
    ("x = x[x > 0]", "train.py:7: index: what depends on values cannot be recorded\nhint: --assume nonzero=0.5 takes half of the elements"),
    ("x.argmax(1).tolist()", "train.py:7: tolist() of integers of shape (4,) on a GPU: their values are not computed\n"
                             "hint: sizes that depend on values cannot be recorded; counts by bincount or histc are taken as equal"),
    ("import apex.optimizers", "train.py:7: apex has kernels of its own, and cannot be loaded here (No module named 'apex')\n"
                               "hint: record with torch.optim's and torch.nn's own (Megatron-LM: without --gradient-accumulation-fusion and the like)"),
    ("import transformer_engine.pytorch", "train.py:7: transformer_engine has kernels of its own, and cannot be loaded here (No module named 'transformer_engine')\n"
                                          "hint: record with the framework's own layers (Megatron-LM: --transformer-impl local)"),
    ("raise RuntimeError('CUDA error: CUDA driver version is insufficient for CUDA runtime version')",
     "train.py:7: a kernel was launched that PyTorch does not know of, and there is no GPU here\n"
     "hint: say what it returns and costs, in a file for --kernels; or use PyTorch's own (DeepSpeed: \"torch_adam\": true)"),
    ("import horovod.torch", "train.py:7: Horovod loads kernels of its own and is not supported by recordings\n"
                             "hint: ddpsim has its strategies (ddpsim list strategies); simulate the job from its sizes"),
    ("x[x > 0] = 0; torch.masked_select(x, x > 0)", "train.py:7: masked_select: what depends on values cannot be recorded\n"
                                                    "hint: --assume masked_select=0.5 takes half of the elements"),
    ("torch.unique(x)", "train.py:7: _unique2: what depends on values cannot be recorded\nhint: --assume unique=0.5 takes half of the elements"),
    ("x.argmax(1).cpu().numpy()", "train.py:7: numpy() of integers of shape (4,) on a GPU: their values are not computed\n"
                                  "hint: sizes that depend on values cannot be recorded; counts by bincount or histc are taken as equal"),
    ("torch.cuda.CUDAGraph()", "train.py:7: CUDA graphs cannot be recorded\nhint: record without them; they change the pace of the host only"),
    ("raise SystemExit", "the script ended after 0 steps of its optimizer; step 3 was to be recorded\nhint: only torch.optim's optimizers are seen"),
])
def test_what_cannot_be_recorded(tmp_path, monkeypatch, body, message):
    monkeypatch.chdir(tmp_path)
    path = script(tmp_path, body)
    with pytest.raises(Unsupported) as raised:
        record_script(8, path.name)
    assert str(raised.value) == message


def test_threads_of_the_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = script(tmp_path, "import threading\nthread = threading.Thread(target=lambda: torch.zeros(3, device='cuda').sum().item(), name='logger')\n"
                            "thread.start(); thread.join()\nx = None")
    done = command("--world-size", 8, "--out", tmp_path / "step.json", "--", path)
    assert done.returncode == 2
    assert "a thread of the script failed, and operators on a GPU are recorded in the main thread only: logger: " in done.stderr


def test_objects_of_ranks_that_are_not_recorded(tmp_path):
    path = script(tmp_path, "torch.distributed.is_initialized() or torch.distributed.init_process_group('nccl')\n"
                            "if torch.distributed.get_rank() == 1: torch.distributed.recv_object_list([None], 0)\n"
                            "if torch.distributed.get_rank() == 0: torch.distributed.send_object_list([step], 1)")
    alone = command("--world-size", 2, "--rank", 1, "--out", tmp_path / "step.json", "--", path)
    assert alone.returncode == 2
    assert alone.stderr.endswith("rank 1 receives an object from rank 0, which was not recorded with it\nhint: record them together: --ranks stages, or --ranks 0,1\n")
    both = command("--world-size", 2, "--ranks", "0,1", "--out", tmp_path / "step.json", "--", path)
    assert both.returncode == 0 and (tmp_path / "step-rank1.json").exists(), both.stderr


@pytest.mark.parametrize(("where", "name", "value", "message"), [
    (platform, "machine", lambda: "aarch64", "recording works on Linux on x86-64 only; this is linux on aarch64"),
    (sys, "platform", "darwin", "recording works on Linux on x86-64 only; this is darwin on x86_64"),
    (torch.version, "hip", "6.2", "recording works with PyTorch's builds for CUDA and for the CPU; this one is for ROCm"),
    (torch, "__version__", "2.3.1", "recording needs PyTorch 2.4 or newer; this is 2.3.1\nhint: python3 -m pip install 'torch>=2.4'")])
def test_where_it_cannot_work(monkeypatch, where, name, value, message):
    from ddpsim.torch.fake.guard import check_platform
    monkeypatch.setattr(where, name, value)
    with pytest.raises(Unsupported) as raised:
        check_platform()
    assert str(raised.value) == message


def test_assumptions(tmp_path):
    step = record(8, (str(script(tmp_path, "x = x[x > 0]")),), assume={"nonzero": 0.25})
    (note,) = step.notes
    assert note["code"] == "assumed" and note["text"].endswith("train.py:7: index gives 0.25 of what is possible (--assume)") and note["times"] >= 1
    index = next(item for item in step.operators if item["operator"] == "index")
    assert index["written"] == 8 * 4


def test_values_that_the_host_reads(tmp_path):
    step = record(8, (str(script(tmp_path, "print(x.sum().item())")),))
    assert [(note["code"], note["text"].split("train.py:")[1]) for note in step.notes] == [
        ("host-read", "7: a value was read on the host in forward (.item()); 1.0 stands for it")]
    (stop,) = (item for item in step.items if "host" in item)
    assert step.items[stop["on"][0]]["operator"] == "sum"


def test_kernels_of_the_users(tmp_path):
    """A function of a package that is not installed, with its gradient."""
    kernels = tmp_path / "kernels.py"
    kernels.write_text("import torch\nimport ddpsim.torch\n"
                       "ddpsim.torch.kernel('unknown_attention.ops.attend', lambda q, k: torch.empty_like(q), flops=lambda q, k: 1000 * q.numel())\n")
    path = script(tmp_path, "from unknown_attention.ops import attend\nx = attend(x, x)")
    refused = command("--world-size", 8, "--out", tmp_path / "step.json", "--", path)
    assert refused.returncode == 1 and "ModuleNotFoundError: No module named 'unknown_attention'" in refused.stderr and not (tmp_path / "step.json").exists()
    done = command("--world-size", 8, "--kernels", kernels, "--out", tmp_path / "step.json", "--", path)
    assert done.returncode == 0, done.stderr
    items = [json.loads(line) for line in (tmp_path / "step.json").read_text().splitlines()[1:]]
    forward, backward = (item for item in items if item.get("operator", "").startswith("unknown_attention"))
    assert (forward["flops"], forward["phase"], backward["flops"], backward["phase"]) == (32000, "forward", 64000, "backward")


def test_kernels_leave_nothing_behind(tmp_path):
    """What a kernel stands in for is put back where it was there, and gone where it was not."""
    import math

    import ddpsim.torch.fake.kernels as kernels
    before = math.sqrt
    for name in ("math.sqrt", "math.no_such_function", "unknown_attention.ops.attend"):
        ddpsim.torch.kernel(name, lambda x: x)
    try:
        record(8, (str(script(tmp_path, "import unknown_attention.ops")),))
    finally:
        kernels._kernels.clear()
    assert math.sqrt is before and not hasattr(math, "no_such_function") and not [name for name in sys.modules if name.startswith("unknown_attention")]


def test_an_operator_without_a_fake_implementation(tmp_path):
    path = script(tmp_path, "x = x + torch.ops.unknown.kernel(x.detach())")
    path.write_text("import torch\nlibrary = torch.library.Library('unknown', 'DEF')\nlibrary.define('kernel(Tensor x) -> Tensor')\n" + path.read_text())
    done = command("--world-size", 8, "--out", tmp_path / "step.json", "--", path)
    assert done.returncode == 2
    assert "train.py:10: unknown.kernel.default has no fake implementation" in done.stderr and "ddpsim.torch.kernel()" in done.stderr


def test_the_gpu_is_the_products(tmp_path):
    """gpus/l4.yaml: 23034 MiB, 58 multiprocessors, ada."""
    body = "p = torch.cuda.get_device_properties(0); assert (p.name, p.total_memory, p.multi_processor_count) == ('NVIDIA L4', 23034 << 20, 58), p\n" \
           "assert torch.cuda.get_device_capability() == (8, 9)"
    step = record(8, (str(script(tmp_path, body)),), gpu="l4")
    assert (step.header["gpu"], step.header["gpu_memory"]) == ("l4", 23034 << 20)


FLEX = """\
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
attend = torch.compile(flex_attention)
layer = torch.nn.Linear(32, 3 * 32).cuda()
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
for step in range(3):
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 64, 64, device="cuda")
    query, key, value = layer(torch.randn(2, 64, 32, device="cuda")).view(2, 64, 3, 2, 16).permute(2, 0, 3, 1, 4)
    attend(query, key, value, block_mask=mask).sum().backward()
    optimizer.step()
"""


@pytest.mark.skipif(RELEASE < (2, 5), reason="FlexAttention is new in PyTorch 2.5")
@pytest.mark.parametrize("share", [None, 0.5])
def test_flex_attention_is_a_kernel(tmp_path, share):
    path = tmp_path / "train.py"
    path.write_text(FLEX)
    step = record(8, (str(path),), assume={"flex_attention": share} if share else None)
    scores = 2 * 2 * 64 * 64    # batch, heads, queries, keys; two products forward, five backward, 16 wide
    counted = {item["operator"]: item for item in step.operators if item["operator"].startswith("flex")}
    assert {name: item["flops"] for name, item in counted.items()} == {
        "flex_attention": 2 * scores * 2 * 16 * (share or 1), "flex_attention_backward": 2 * scores * 5 * 16 * (share or 1)}
    assert counted["flex_attention"]["phase"] == "forward" and counted["flex_attention_backward"]["phase"] == "backward"
    assert counted["flex_attention"]["shapes"] == 3 * [[2, 2, 64, 16]]
    assert {note["code"] for note in step.notes} == {"compiled", "assumed" if share else "flex-attention"}


def test_other_higher_order_operators(tmp_path):
    with pytest.raises(Unsupported) as raised:
        record(8, (str(script(tmp_path, "torch.ops.higher_order.cond(x.sum() > 0, lambda x: x, lambda x: 2 * x, (x.detach(),))")),))
    assert str(raised.value).endswith("the higher-order operator cond is not recorded\nhint: leave torch.compile's own control flow out of what is recorded")


def test_counts_by_a_mask_are_even(tmp_path):
    """What one_hot marks, summed for each expert: 4 x 3 choices of 8 experts; lists of parts of it are known, too."""
    body = "chosen = x.topk(3).indices\nmask = torch.zeros_like(x, dtype=torch.bool).scatter_(1, chosen, True)\ncounts = mask.sum(0)\n" \
           "assert counts.tolist() == [2, 2, 2, 2, 1, 1, 1, 1], counts.tolist()\n" \
           "assert [part.tolist() for part in counts.view(2, 4).unbind()] == [[2] * 4, [1] * 4]"
    step = record(8, (str(script(tmp_path, body)),))
    assert [(note["code"], note["text"].split(": ", 1)[1]) for note in step.notes] == [
        ("even-routing", "sum of 12 values into 8 bins: counts are taken as equal")]


def test_values_in_inference_mode(tmp_path):
    """Where operators come whole that autograd takes apart."""
    step = record(8, (str(script(tmp_path, "with torch.inference_mode():\n    print(layer(x).mean().item(), (x @ x.t()).sum().item())")),))
    assert [note["code"] for note in step.notes] == ["host-read"]
    assert {"addmm", "mm"} <= {item["operator"] for item in step.operators}


def test_synchronized_batch_norm(tmp_path):
    """All ranks' statistics by an all-gather of 2 x 8 + 1 float32; PyTorch looks which ranks had samples, for which the host waits."""
    body = "torch.distributed.is_initialized() or torch.distributed.init_process_group('nccl')\n" \
           "norm = torch.nn.SyncBatchNorm(8).cuda()\nx = norm(x)"
    step = record(4, (str(script(tmp_path, body)),))
    assert [(item["collective"], item["bytes"]) for item in step.collectives] == [("all_gather", 4 * 17 * 4), ("all_reduce", 2 * 8 * 4)]
    assert sum(item.get("host") == "index" for item in step.items) == 3 and not step.notes


def test_an_optimizer_that_has_others(tmp_path):
    """Its states are those of the inner one."""
    path = script(tmp_path, "")
    text = path.read_text().replace("optimizer = torch.optim.SGD(layer.parameters(), 0.1)", """\
class Outer(torch.optim.Optimizer):
    def __init__(self, parameters):
        self.inner = torch.optim.Adam(list(parameters))
        super().__init__(self.inner.param_groups, {})
    def step(self):
        self.inner.step()
optimizer = Outer(layer.parameters())""")
    path.write_text(text)
    step = record(8, (str(path),))
    assert step.memory["at_peak"]["optimizer"] == 2 * (512 + 512)    # two moments of a weight of 256 and a bias of 32 bytes


def test_flash_attn_stands_in(tmp_path):
    """The package's functions by PyTorch's flash kernel: 2 sequences of 32, 4 heads of 16, once packed."""
    path = tmp_path / "train.py"
    path.write_text("""\
import torch
from flash_attn import flash_attn_func, flash_attn_varlen_func
layer = torch.nn.Linear(64, 192).cuda().bfloat16()
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
for step in range(3):
    q, k, v = layer(torch.randn(2, 32, 64, device="cuda", dtype=torch.bfloat16)).view(2, 32, 3, 4, 16).unbind(2)
    ends = 32 * torch.arange(3, device="cuda", dtype=torch.int32)
    packed = flash_attn_varlen_func(*(part.reshape(64, 4, 16) for part in (q, k, v)), ends, ends, 32, 32, causal=True)
    (flash_attn_func(q, k, v, causal=True) + packed.view(2, 32, 4, 16)).sum().backward()
    optimizer.step()
""")
    refused = command("--world-size", 8, "--out", tmp_path / "step.json", "--", path)
    assert refused.returncode == 2 and "flash_attn has kernels of its own" in refused.stderr and "hint: --kernels flash_attn stands in for it" in refused.stderr
    done = command("--world-size", 8, "--kernels", "flash_attn", "--out", tmp_path / "step.json", "--", path)
    assert done.returncode == 0, done.stderr
    items = [item for item in map(json.loads, (tmp_path / "step.json").read_text().splitlines()[1:]) if "attention" in item.get("operator", "")]
    scores = 2 * 4 * 32 * 32
    assert [(item["phase"], item["flops"], item["causal"]) for item in items] == 2 * [("forward", 2 * scores * 2 * 16, True)] + 2 * [("backward", 2 * scores * 5 * 16, True)]


def test_numbers_are_finite(tmp_path):
    """DeepSpeed, and scripts that watch their losses, ask before they step."""
    body = "big = torch.randn(300, 300, device='cuda')\nassert torch.isfinite(big).all() and not big.isnan().any()\n" \
           "assert not big.isinf().logical_or(big.isnan()).float().max().item() and torch.isfinite(x.sum())"
    assert not record(8, (str(script(tmp_path, body)),)).notes


def test_copies_between_host_and_gpu(tmp_path):
    """The host waits for them unless it is told not to, and what is known comes back as it was."""
    body = "state = torch.arange(5000, dtype=torch.int16)\nback = state.cuda(non_blocking=True).to('cpu')\nassert type(back) is torch.Tensor and back.equal(state)\n" \
           "x.detach().to('cpu', non_blocking=True)"
    step = record(8, (str(script(tmp_path, body)),))
    (stop,) = (item for item in step.items if "host" in item)
    assert stop["host"] == "copy" and step.items[stop["on"][0]]["operator"] == "_to_copy"


def test_what_scripts_ask_of_tensors(tmp_path):
    """Addresses that differ, numbers that are printed, data that is exchanged, lists of numbers, the current GPU of rank 3, generators."""
    body = "a, b = torch.empty(8, device='cuda'), torch.empty(8, device='cuda')\nassert len({a.data_ptr(), b.data_ptr(), a[2:].data_ptr()}) == 3\n" \
           "assert a[2:].data_ptr() - a.data_ptr() == 8\nassert f'{x.sum():.2f}' == '1.00'\n" \
           "weight = torch.nn.Parameter(torch.ones(3))\nweight.data = weight.data.cuda()\nassert weight.device == torch.device('cuda', 3) and weight.requires_grad\n" \
           "assert torch.tensor([a.norm(), 2.0]).tolist() == [1.0, 2.0]\n" \
           "assert torch.tensor([1.0], device='cuda').device == a.new_tensor([1]).device == torch.as_tensor([1], device='cuda').device == a.device == torch.device('cuda', 3)\n" \
           "generator = torch.Generator(device='cuda').manual_seed(1)\nassert isinstance(generator, torch.Generator)\na.normal_(generator=generator)\n" \
           "torch.cuda.default_generators[3].set_state(torch.cuda.get_rng_state())"
    step = record(8, (str(script(tmp_path, body)),), rank=3)
    assert {note["code"] for note in step.notes} == {"host-read"}


def test_the_engine_called_by_a_script(tmp_path):
    """As Megatron-LM does, to free outputs early; and its groups have names."""
    path = script(tmp_path, "")
    path.write_text(path.read_text().replace("x.sum().backward()", "torch.autograd.Variable._execution_engine.run_backward((x.sum(),), (torch.ones((), device='cuda'),), False, False, (), "
                                             "allow_unreachable=True, accumulate_grad=True)").replace("import ddpsim.torch", """\
torch.distributed.init_process_group("nccl")
group = torch.distributed.new_group([0, 2], group_desc="DATA_PARALLEL_GROUP_WITH_CP")""").replace("    optimizer.step()", """\
    torch.distributed.all_reduce(layer.weight.grad, group=group)
    optimizer.step()"""))
    step = record(8, (str(path),))
    assert {"forward", "backward", "optimizer"} == {item["phase"] for item in step.operators}
    assert step.groups == [{"name": "data_parallel_with_cp", "first": 0, "stride": 2, "count": 2}]
