"""One step of a script, recorded as one rank of a job of any size."""
from __future__ import annotations

import gc
import importlib
import os
import sys
import tempfile
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Mapping

import torch

from ddpsim.job import Job, Result
from ddpsim.torch.fake import batch_norm, cuda, file, groups, guard, higher_order, surroundings, triton_kernels
from ddpsim.torch.fake.calls import Calls, attention
from ddpsim.torch.fake.collectives import Collectives
from ddpsim.torch.fake.gpus import Gpu, find_gpu
from ddpsim.torch.fake.kernels import stand_ins
from ddpsim.torch.fake.memory import Memory
from ddpsim.torch.fake.mode import Recorder
from ddpsim.torch.fake.patches import Patches
from ddpsim.torch.fake.phases import Phases, clean, settle
from ddpsim.torch.fake.refusals import StepRecorded, Unsupported
from ddpsim.torch.fake.streams import Streams, begin, end
from ddpsim.torch.fake.tape import Tape
from ddpsim.torch.fake.values import Values, check_assumptions


class RecordedStep:
    """A context: inside it, torch.distributed is a job of `world_size` ranks with GPUs that are not there. The block ends by itself when the
    step is over; then this is the step."""

    def __init__(self, world_size: int, rank: int, gpu: str, gpus_per_node: int, step: int, out: Path | None, assume: dict[str, float], mail: Path | None,
                 script: list[str]):
        #: Ranks of the job, and the one that is recorded.
        self.world_size, self.rank = world_size, rank
        #: The step in the order in which the host issued it, as in the file (docs/reference/traces.md, "Recordings").
        self.items: list[dict[str, Any]] = []
        #: The file's first line.
        self.header: dict[str, Any] = {}
        #: Where it was written; None where out was not given.
        self.path: Path | None = None
        self._gpu, self._gpus_per_node, self._step, self._out = gpu, gpus_per_node, step, out
        self._assume, self._mail, self._script = assume, mail, script
        self._patches: Patches | None = None
        self._parameters: list[list[Any]] = []

    @property
    def collectives(self) -> list[dict[str, Any]]:
        """Those of the step, in order of launch; bytes as nccl-tests counts them."""
        return [item for item in self.items if "collective" in item]

    @property
    def operators(self) -> list[dict[str, Any]]:
        """What computes or copies, in order; bytes and floating-point operations of each."""
        return [item for item in self.items if "operator" in item]

    @property
    def flops(self) -> int:
        """Floating-point operations of the step on this rank, by PyTorch's formulas."""
        return sum(item.get("flops", 0) for item in self.operators)

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The communicators that the step uses."""
        return list(self.header["groups"])

    @property
    def memory(self) -> dict[str, Any]:
        """{"peak": bytes, "at_peak": {category: bytes}} of the storages on this rank's GPU."""
        return dict(self.header["memory"])

    @property
    def notes(self) -> list[dict[str, Any]]:
        """What the recording leaves open: {"code", "text", "times"}."""
        return list(self.header["notes"])

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Writes the recording; by gzip where the name ends in .gz."""
        return file.write(path, self.header, self.items)

    def simulate(self, cluster: str | Mapping[str, Any], gpu: str | None = None, **sections: Any) -> Result:
        """The step on a cluster: a topology's name, or what a scenario's section `cluster` says ({"topology": "superpod-h100", "nics": {...}}). It has as
        many ranks as were recorded. gpu: its GPU, where it is another one than the topology's. Other sections of a scenario by name: physics="none",
        workload={"framework": "pytorch-2026"}. Of a pipeline, write the stages' recordings and name all in a scenario."""
        if not self.items:
            raise ValueError("the step is there once the with block is over")
        where = {"topology": cluster} if isinstance(cluster, str) else dict(cluster)
        with tempfile.TemporaryDirectory(prefix="ddpsim-step-") as folder:
            path = self.path or self.write(Path(folder) / "step.jsonl")
            return Job({**sections, "workload": {"recording": str(path), **sections.get("workload", {})}, "cluster": {**where, **({"gpu": gpu} if gpu else {})}}).simulate()

    # Recording.

    def __enter__(self) -> RecordedStep:
        if self._patches is not None:
            raise RuntimeError("a step is recorded once; call trace_step() again for another")
        patches = self._patches = Patches()
        try:
            self._begin(patches)
        except BaseException:
            patches.close()
            raise
        return self

    def _begin(self, patches: Patches) -> None:
        guard.check_platform()
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            raise Unsupported("torch.distributed is initialized already; enter trace_step() before init_process_group()")
        importlib.import_module("torch._dynamo")    # its classes are made of torch.cuda's, which are about to be exchanged
        local_rank = self.rank % self._gpus_per_node
        guard.install(patches, local_rank)
        self._tape = tape = Tape(self.rank)
        self._streams = streams = Streams(tape, local_rank)
        begin(streams)
        patches.callback(end)
        self._phases, self._memory = Phases(), Memory(tape)
        values_of = Values(streams, self._phases, self._assume)
        collectives = Collectives(streams, self._memory, self._phases, values_of)
        fakes = surroundings.fake_mode(patches)
        recorder = self._recorder = Recorder(streams, self._memory, self._phases, values_of, collectives, fakes)
        cuda.install(patches, streams, self._memory, find_gpu(self._gpu), self._gpus_per_node, local_rank)
        groups.install(patches, tape, collectives, self.world_size, self.rank, self._mail)
        self._phases.install(patches)
        surroundings.reducer(patches, recorder, collectives, self._gradient_hook)
        surroundings.optimizers(patches, values_of)
        surroundings.modules(patches)
        surroundings.storages(patches, self._memory)
        surroundings.loaders(patches)
        surroundings.compilers(patches, tape, self._phases)
        surroundings.launchers(patches)
        triton_kernels.install(patches, recorder)
        batch_norm.install(patches, recorder, values_of)
        higher_order.install(patches, Recorder)
        stand_ins(patches, recorder)
        values_of.read(patches)
        patches.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        patches.enter_context(fakes)
        patches.enter_context(torch.autograd.set_multithreading_enabled(False))    # else backward of "cuda" runs in a thread of its own
        patches.enter_context(recorder)
        patches.enter_context(Calls())
        patches.set(torch.nn.functional, "scaled_dot_product_attention", attention)    # for functions of PyTorch's own that call it
        self._follow(collectives)

    def _follow(self, collectives: Collectives) -> None:
        memory, phases = self._memory, self._phases

        def forward_began() -> None:
            memory.phase = "forward"

        def forward_ended() -> None:
            memory.keeps("forward")
            memory.phase = "backward"

        def recompute_ended() -> None:
            memory.keeps("recompute")
            memory.phase = "backward"

        def backward_ended() -> None:
            collectives.pending.flush()
            memory.phase = "optimizer"
            memory.holds([local(parameter.grad) for parameter in self._all_parameters() if parameter.grad is not None], "gradients")

        phases.forward_began, phases.forward_ended, phases.recompute_ended, phases.backward_ended, phases.step_ended = (
            forward_began, forward_ended, recompute_ended, backward_ended, self._step_ended)

    def _step_ended(self, steps: int) -> None:
        self._memory.phase = "forward"
        if steps == self._step - 1:
            self._classify()
            self._parameters = self._names()
            gc.collect()
            assert self._patches is not None
            if gc.isenabled():
                gc.disable()    # when cycles are collected would depend on what else is in the process
                self._patches.callback(gc.enable)
            self._phases.start()
            self._tape.start()
            self._memory.start()
        elif steps == self._step:
            self._classify()
            self._finish()
            self._recorder.is_over = True
            raise StepRecorded

    def _all_parameters(self) -> list[Any]:
        found = {id(p): p for root in self._phases.roots for p in root.parameters()}
        for optimizer in self._phases.optimizers:
            found.update((id(p), p) for group in optimizer.param_groups for p in group["params"])
        return list(found.values())

    def _classify(self) -> None:
        self._memory.holds([local(p) for p in self._all_parameters()], "parameters")
        for optimizer in self._phases.optimizers:
            self._memory.holds([local(t) for state in optimizer.state.values() for t in state.values() if isinstance(t, torch.Tensor)], "optimizer")

    def _names(self) -> list[list[Any]]:
        found: dict[int, list[Any]] = {}
        for root in self._phases.roots:
            for name, parameter in root.named_parameters():
                own = local(parameter)
                found.setdefault(id(parameter), [clean(name), list(parameter.shape), own.numel(), str(own.dtype).removeprefix("torch."), parameter.requires_grad])
        self._parameter_numbers = {key: number for number, key in enumerate(found)}
        return list(found.values())

    def _gradient_hook(self, parameter: Any) -> Any:
        key = id(parameter)

        def arrived(_: Any) -> None:
            number = getattr(self, "_parameter_numbers", {}).get(key)
            if number is not None:
                self._tape.memory({"gradient": number})

        return arrived

    def _finish(self) -> None:
        tape, phases = self._tape, self._phases
        tape.recording = False
        settle(tape.items)
        peak, at_peak = self._memory.finish()
        gpu: Gpu = find_gpu(self._gpu)
        self.items = tape.items
        self.header = {
            "torch": torch.__version__, "script": self._script, "world_size": self.world_size, "rank": self.rank, "gpus_per_node": self._gpus_per_node,
            "gpu": self._gpu, "gpu_memory": gpu.memory, "step": self._step,
            "tf32": {"matmul": bool(torch.backends.cuda.matmul.allow_tf32), "cudnn": bool(torch.backends.cudnn.allow_tf32)},
            "inputs": phases.inputs, "memory": {"peak": peak, "at_peak": at_peak},
            "notes": [{"code": code, "text": words, "times": times} for (code, words), times in sorted(tape.notes.items())],
            "groups": [file.group_entry(group) for group in tape.groups], "parameters": self._parameters, "modules": phases.modules}

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> bool:
        patches, self._patches = self._patches, Patches()
        assert patches is not None
        steps = self._phases.steps
        try:
            patches.close()
        finally:
            for name in ("_tape", "_streams", "_phases", "_memory", "_recorder"):
                delattr(self, name)
        if kind is not None and kind is not StepRecorded and not (kind is SystemExit and not self.items):
            return False
        if not self.items:
            if kind is SystemExit and isinstance(error, SystemExit) and error.code:
                return False
            raise Unsupported(f"the script ended after {steps} step{'' if steps == 1 else 's'} of its optimizer; step {self._step} was to be recorded\n"
                              + ("hint: only torch.optim's optimizers are seen" if steps == 0 else
                                 f"hint: let it train for longer, or record step {steps}" if steps > 1 else "hint: let it train for longer"))
        if self._out is not None:
            self.path = self.write(self._out)
        return True


def local(tensor: Any) -> Any:
    """What of a DTensor is on this rank."""
    return getattr(tensor, "_local_tensor", tensor)


def trace_step(world_size: int, rank: int = 0, *, gpu: str = "h100-sxm", gpus_per_node: int = 8, step: int = 3, out: str | os.PathLike[str] | None = None,
               assume: dict[str, float] | None = None, mail: str | os.PathLike[str] | None = None, script: list[str] | None = None) -> RecordedStep:
    """Records one training step as one rank of a job, without GPUs: a context for what would run in one process of torchrun.

        with ddpsim.torch.trace_step(world_size=64, out="step.json") as step:
            train()
        print(step.flops, step.memory["peak"], len(step.collectives))

    step: which step of the first optimizer, from 2 (DDP rebuilds its buckets in the first, and Adam makes its states). gpu: whose properties the
    script sees, by its name in ddpsim (ddpsim.presets("gpus")). assume: the share of elements that operators give whose result depends on values
    ({"nonzero": 0.5}). mail: a folder in which ranks that are recorded one after another leave objects for each other. script: what the file
    says was recorded; sys.argv by default. Raises ValueError for what it is given, Unsupported for what a script does that cannot be recorded.
    """
    if world_size < 1:
        raise ValueError(f"world_size is {world_size}; the least is 1")
    if not 0 <= rank < world_size:
        raise ValueError(f"rank is {rank}; ranks of {world_size} are 0 to {world_size - 1}")
    if step < 2:
        raise ValueError(f"step is {step}; the least is 2, as buckets and states are made in the first")
    if gpus_per_node < 1:
        raise ValueError(f"gpus_per_node is {gpus_per_node}; the least is 1")
    find_gpu(gpu)
    check_assumptions(assume or {})
    return RecordedStep(world_size, rank, gpu, gpus_per_node, step, None if out is None else Path(out).absolute(), dict(assume or {}),
                        None if mail is None else Path(mail).absolute(), list(sys.argv if script is None else script))


__all__ = ["RecordedStep", "trace_step"]
