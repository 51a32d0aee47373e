"""What a rank of record_fsdp.py does: wraps a model as a case says, trains it, and notes what FSDP calls."""
import json
import warnings
from contextlib import contextmanager, nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (FSDPModule, FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy, ShardingStrategy,
                                    _runtime_utils, fully_shard)
from torch.distributed.fsdp._fully_shard import _fsdp_collectives, _fsdp_param_group
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

from fsdp_model import Layer, build, tokens
from stream_graph import GRAPH

# By their names in several versions of PyTorch; the larger tensor of each is the whole unit's.
COLLECTIVES = {"all_gather": "all_gather", "all_gather_into_tensor": "all_gather", "all_gather_single": "all_gather",
               "reduce_scatter_tensor": "reduce_scatter", "reduce_scatter_single": "reduce_scatter", "all_reduce": "all_reduce"}


def keep_versions():
    """PyTorch 2.6 counts its copies into gathered parameters on CPUs, not on GPUs, as changes behind autograd's back."""
    copy_out = _fsdp_param_group.foreach_all_gather_copy_out

    def keeping(result, fsdp_params, *arguments, **named):
        outputs = [t for p in fsdp_params for t in getattr(p, "all_gather_outputs", [])]
        versions = [t._version for t in outputs]
        copy_out(result, fsdp_params, *arguments, **named)
        for tensor, version in zip(outputs, versions):
            torch._C._autograd._unsafe_set_version_counter(tensor, version)

    _fsdp_param_group.foreach_all_gather_copy_out = keeping


class Notes:
    """Notes the collectives and copies of the unit that FSDP is at."""

    def __init__(self):
        self.unit = None
        self.inside = False
        self.groups = {}  # by id: "shard", "replicate"

    @contextmanager
    def of_unit(self, unit):
        outer, self.unit = self.unit, unit
        yield
        self.unit = outer

    def around(self, owner, name, unit_of):
        """While owner.name runs, FSDP is at this unit."""
        inner = getattr(owner, name)

        def wrapped(*arguments, **named):
            with self.of_unit(unit_of(*arguments)):
                return inner(*arguments, **named)

        setattr(owner, name, wrapped)

    def after(self, owner, name, kind):
        """When owner.name has run, the model's stream has done this."""
        inner = getattr(owner, name)

        def wrapped(*arguments, **named):
            result = inner(*arguments, **named)
            GRAPH.compute_op(kind, self.unit)
            return result

        setattr(owner, name, wrapped)

    def collective(self, name, operation):
        inner = getattr(dist, name, None)
        if inner is None:
            return

        def noted(*arguments, **named):
            if self.inside or self.unit is None:  # one calls the other; or none of FSDP's passes
                return inner(*arguments, **named)
            group = named.get("group") or next(a for a in arguments if isinstance(a, dist.ProcessGroup))
            tensors = [t for a in (*arguments, *named.values()) for t in (a if isinstance(a, list) else [a]) if isinstance(t, torch.Tensor)]
            largest = max(t.numel() for t in tensors)
            # Gloo takes a list of the ranks' parts where others take one tensor.
            elements = sum(t.numel() for t in arguments[0]) if name == "all_gather" else largest
            assert not named.get("async_op"), "on a stream of its own: which op waits for it is not noted"
            assert len({t.dtype for t in tensors}) == 1
            if named.get("op") == dist.ReduceOp.AVG:
                named["op"] = dist.ReduceOp.SUM  # Gloo does not average
            label = self.groups.get(group.group_name, "reduce")
            assert label != "reduce" or operation == "reduce_scatter"
            GRAPH.issue(operation, self.unit, label, elements, str(tensors[0].dtype)[len("torch."):])
            self.inside = True
            try:
                return inner(*arguments, **named)
            finally:
                self.inside = False

        setattr(dist, name, noted)

    def install(self):
        group_class = _fsdp_param_group.FSDPParamGroup
        for name in ("unshard", "wait_for_unshard", "post_backward"):
            self.around(group_class, name, lambda group, *_: group.modules[0].unit)
        self.after(_fsdp_param_group, "foreach_all_gather_copy_out", "copy_out")
        self.after(_fsdp_collectives, "foreach_reduce_scatter_copy_in", "copy_in")
        for name in ("_unshard", "_post_backward_hook"):
            self.around(_runtime_utils, name, lambda state, handle, *_: handle._fully_sharded_module.unit)
        for name, operation in COLLECTIVES.items():
            self.collective(name, operation)


def wrapped_fsdp2(model, options, mesh):
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if options["mixed"] else MixedPrecisionPolicy()
    reshard, step = options["reshard_after_forward"], options["layers_a_unit"]
    for at in range(0, len(model.h), step):
        layers = list(model.h[at:at + step])
        is_last = at + step >= len(model.h)
        fully_shard(layers if step > 1 else layers[0], mesh=mesh, mp_policy=policy,
                    reshard_after_forward=not is_last if reshard == "not_last" else reshard)
    # The root has the default, under which it stays gathered.
    fully_shard(model, mesh=mesh, mp_policy=policy)
    if options["communicators"] == 2:
        model.set_separate_reduce_scatter_group(True)
    return model


def wrapped_fsdp1(model, options, mesh):
    hybrid = options["shard"] < options["ranks"]
    reshard = options["reshard_after_forward"]
    strategy = ((ShardingStrategy.HYBRID_SHARD if reshard else ShardingStrategy._HYBRID_SHARD_ZERO2) if hybrid else
                ShardingStrategy.FULL_SHARD if reshard else ShardingStrategy.SHARD_GRAD_OP)
    mixed = MixedPrecision(torch.bfloat16, torch.float32) if options["mixed"] else None
    # All else is the default: backward_prefetch BACKWARD_PRE, limit_all_gathers, no forward_prefetch.
    return FullyShardedDataParallel(model, device_mesh=mesh, sharding_strategy=strategy, mixed_precision=mixed,
                                    auto_wrap_policy=ModuleWrapPolicy({Layer}), use_orig_params=True, device_id=torch.device("cpu"))


def iteration(model, optimizer, options, rank):
    steps = options["accumulation_steps"]
    for step in range(steps):
        reduces = options["reduce_every_micro_batch"] or step + 1 == steps
        if options["strategy"] == "fsdp":
            model.set_requires_gradient_sync(reduces)
            model.set_requires_all_reduce(options["all_reduce_every_micro_batch"] or step + 1 == steps)
        with nullcontext() if options["strategy"] == "fsdp" or reduces else model.no_sync():
            model(tokens(rank)).float().mean().backward()
    GRAPH.compute_op("optimizer", "root")
    optimizer.step()
    optimizer.zero_grad()


def run_case(notes, options, rank, iterations):
    """The last iteration, or why there is none."""
    if options["communicators"] == 2 and not hasattr(FSDPModule, "set_separate_reduce_scatter_group"):
        return "this version has no set_separate_reduce_scatter_group"
    ranks, shard = options["ranks"], options["shard"]
    model = build(options["model"], options["layers_a_unit"])
    if shard < ranks:
        mesh = init_device_mesh("cpu", (ranks // shard, shard), mesh_dim_names=("replicate", "shard"))
        notes.groups = {mesh.get_group(name).group_name: name for name in ("replicate", "shard")}
    else:
        mesh = init_device_mesh("cpu", (ranks,))
        notes.groups = {mesh.get_group().group_name: "shard"}
    model = (wrapped_fsdp2 if options["strategy"] == "fsdp" else wrapped_fsdp1)(model, options, mesh)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(iterations):
        GRAPH.begin()
        iteration(model, optimizer, options, rank)
    return GRAPH.iteration()


def run_rank(rank, ranks, folder, cases, iterations):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    GRAPH.install()
    if torch.__version__.startswith("2.6."):
        keep_versions()
    notes = Notes()
    notes.install()
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=ranks)
    results = []
    for name, options in cases:
        try:
            results.append(run_case(notes, options, rank, iterations))
        except Exception as error:
            raise RuntimeError(f"case {name}") from error
    Path(folder, f"rank-{rank}.json").write_text(json.dumps(results))
    dist.barrier()
    dist.destroy_process_group()
