"""A rank of a real job on Gloo: runs scripts one after another, and notes one step of each at c10d's operators.

real.py CASES.json: [[name, step, script, arguments...], ...]; the notes are NAME-RANK.json beside it.
"""
import json
import os
import runpy
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in tensors(part)] if isinstance(value, (list, tuple)) else []


class Notes(TorchDispatchMode):
    """(kind, ranks of the group, elements) of every collective: of what an all-gather receives, of what others send."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(kind.__name__ in ("DTensor", "AsyncCollectiveTensor") for kind in types):
            return NotImplemented
        space, name = func._schema.name.split("::")
        kind = next((kind for word, kind in (("allreduce", "all_reduce"), ("all_reduce", "all_reduce"), ("allgather", "all_gather"), ("all_gather", "all_gather"),
                                             ("reduce_scatter", "reduce_scatter"), ("alltoall", "all_to_all"), ("all_to_all", "all_to_all"), ("broadcast", "broadcast"),
                                             ("send", "send"), ("recv", "recv"), ("barrier", "barrier")) if word in name), None)
        if space in ("c10d", "_c10d_functional", "_c10d_functional_autograd", "_dtensor") and kind:
            group = next(a for a in reversed(args) if isinstance(a, (str, dist.ProcessGroup)) or isinstance(a, torch.ScriptObject) and "ProcessGroup" in str(a._type()))
            if isinstance(group, str):
                group = dist.distributed_c10d._resolve_process_group(group)
            elif isinstance(group, torch.ScriptObject):
                group = torch._C._distributed_c10d.ProcessGroup.unbox(group)
            first, second = (sum(t.numel() for t in tensors(a)) for a in (args[0], args[1]))
            if kind == "all_gather":
                elements = first if space == "c10d" else first * group.size()
            elif space == "c10d" and kind in ("reduce_scatter", "all_to_all"):
                elements = second
            else:
                elements = 0 if kind == "barrier" else first
            self.calls.append([kind, dist.get_process_group_ranks(group), elements])
        return func(*args, **(kwargs or {}))


def noted(name, step, script):
    state = {"steps": 0}

    def ended(*_):
        state["steps"] += 1
        if state["steps"] == step - 1:
            state["flops"], state["notes"] = FlopCounterMode(display=False), Notes()
            state["flops"].__enter__()
            state["notes"].__enter__()
        elif state["steps"] == step:
            state["notes"].__exit__(None, None, None)
            state["flops"].__exit__(None, None, None)

    handle = register_optimizer_step_post_hook(ended)
    sys.argv = script
    try:
        runpy.run_path(script[0], run_name="__main__")
    finally:
        handle.remove()
        if dist.is_initialized():
            dist.destroy_process_group()
    return {"calls": state["notes"].calls, "flops": state["flops"].get_total_flops()}


def main():
    cases = Path(sys.argv[1])
    torch.set_num_threads(1)
    port = int(os.environ["MASTER_PORT"])
    for i, (name, step, *script) in enumerate(json.loads(cases.read_text())):
        os.environ["MASTER_PORT"] = str(port + i)
        cases.with_name(f"{name}-{os.environ['RANK']}.json").write_text(json.dumps(noted(name, step, script)))


main()
