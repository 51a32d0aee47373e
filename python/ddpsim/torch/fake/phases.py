"""Where in the step the script is: forward, recomputed, backward or optimizer, in which module; and when the step begins and ends."""
from __future__ import annotations

import contextlib
import weakref
from typing import Any, Callable, Iterator

import torch
import torch.optim.optimizer as optimizer_module

from ddpsim.torch.fake.calls import Calls
from ddpsim.torch.fake.operators import dtype_of, tensors_in
from ddpsim.torch.fake.patches import Patches

#: forward: until the backward pass; recompute: in it, by activation checkpoints; optimizer: from its end to that of the optimizer's step.
PHASES = ("forward", "recompute", "backward", "optimizer")
AFTER = "after"    # a backward pass; what it was turns out later
_WRAPPERS = frozenset(("_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod"))


class Phases:
    def __init__(self) -> None:
        self.modules: list[str] = [""]    # the table of a recording
        self.roots: list[Any] = []        # modules that the script itself calls
        self.inputs: list[list[Any]] = []
        self.optimizers: list[Any] = []
        self._first: Any = None
        self.steps = 0
        self.forward_began: Callable[[], None] = lambda: None
        self.forward_ended: Callable[[], None] = lambda: None
        self.recompute_ended: Callable[[], None] = lambda: None
        self.backward_ended: Callable[[], None] = lambda: None
        self.step_ended: Callable[[int], None] = lambda steps: None
        self._outside = "forward"
        self._engines = 0
        self._stepping = 0
        self._numbers: dict[str, int] = {"": 0}
        self._names: dict[int, str] = {}
        self._owned: list[Any] = []       # whose ids are in _names
        self._stack: list[int] = []
        self._compiled: list[bool] = []
        self._of_node: dict[int, tuple[int, bool]] = {}
        self._last = (0, False)
        self._recomputing = False
        self.compiled: weakref.WeakSet[Any] = weakref.WeakSet()

    @property
    def in_backward(self) -> bool:
        return self._engines > 0

    @property
    def phase(self) -> str:
        if not self._engines:
            return self._outside
        return "recompute" if torch.is_grad_enabled() else "backward"

    def operator(self) -> None:
        """An operator is about to be noted."""
        if self._recomputing and self.phase == "backward":
            self._recomputing = False
            self.recompute_ended()
        elif self._engines and not self._recomputing and self.phase == "recompute":
            self._recomputing = True

    @property
    def place(self) -> str:
        """The phase, for a note."""
        return "the step after the backward pass" if self.phase == AFTER else f"{self.phase}"

    def where(self) -> dict[str, Any]:
        """The phase and, where they are known, the module and whether it was to be compiled; of the operator under way."""
        phase = self.phase
        module, compiled = self._module(phase)
        found: dict[str, Any] = {"phase": phase}
        if module:
            found["module"] = module
        if compiled:
            found["compiled"] = True
        return found

    def passed(self) -> None:
        """An operator that is not noted: its node of autograd is of the current module, too."""
        if self._stack and self.phase in ("forward", "recompute"):
            self._note_node()

    @contextlib.contextmanager
    def compiled_function(self) -> Iterator[None]:
        """What is called within was to be compiled."""
        self._stack.append(self._stack[-1] if self._stack else 0)
        self._compiled.append(True)
        try:
            yield
        finally:
            self._forward_ends()

    def start(self) -> None:
        """The step begins."""
        self.inputs.clear()
        self._of_node.clear()

    def _note_node(self) -> tuple[int, bool]:
        return self._of_node.setdefault(torch.autograd._get_sequence_nr() - 1, (self._stack[-1], self._compiled[-1]))

    def _module(self, phase: str) -> tuple[int, bool]:
        if phase in ("forward", "recompute") and self._stack:
            self._note_node()
            return self._stack[-1], self._compiled[-1]
        if phase == "backward":
            node = torch._C._current_autograd_node()
            if node is None:
                return 0, False
            self._last = self._of_node.get(node._sequence_nr(), self._last)    # nodes that accumulate gradients have no number
            return self._last
        return 0, False

    # Hooks.

    def install(self, patches: Patches) -> None:
        hooks = torch.nn.modules.module
        for handle in (hooks.register_module_forward_pre_hook(self._forward_begins), hooks.register_module_forward_hook(self._forward_ends, always_call=True),
                       optimizer_module.register_optimizer_step_pre_hook(self._step_begins), optimizer_module.register_optimizer_step_post_hook(self._step_ends)):
            patches.callback(handle.remove)
        variable: Any = torch.autograd.Variable
        patches.set(variable, "_execution_engine", _Engine(variable._execution_engine, self._backward))

    def _backward(self, run: Any, args: Any, kwargs: Any) -> Any:
        if not self._engines:
            self.forward_ended()
        self._engines += 1
        stack, compiled = self._stack, self._compiled
        self._stack, self._compiled = [], []
        try:
            with Calls():    # function modes are off inside backward(), and checkpoints call attention again in there
                return run(*args, **kwargs)
        finally:
            self._stack, self._compiled = stack, compiled
            self._engines -= 1
            if not self._engines:
                self._outside, self._last = AFTER, (0, False)
                self.backward_ended()

    def _forward_begins(self, module: Any, inputs: Any) -> None:
        if not self._stack and not self._engines:
            self._outside = "forward"
            self.forward_began()
            self._called(module, inputs)
        self._stack.append(self._number(module))
        self._compiled.append(module in self.compiled or bool(self._compiled and self._compiled[-1]))

    def _forward_ends(self, *_: Any) -> None:
        if self._stack:
            self._stack.pop()
            self._compiled.pop()

    def _called(self, module: Any, inputs: Any) -> None:
        if not any(module is root for root in self.roots):
            self.roots.append(module)
            for name, child in module.named_modules():
                self._names.setdefault(id(child), clean(name))
                self._owned.append(child)
        self.inputs.append([[list(tensor.shape), dtype_of([tensor])] for tensor in tensors_in(inputs)])

    def _number(self, module: Any) -> int:
        name = self._names.get(id(module), "")
        if name not in self._numbers:
            self._numbers[name] = len(self.modules)
            self.modules.append(name)
        return self._numbers[name]

    def _step_begins(self, *_: Any) -> None:
        self._outside = "optimizer"
        self._stepping += 1

    def _step_ends(self, optimizer: Any, *_: Any) -> None:
        self._stepping -= 1
        if not any(optimizer is known for known in self.optimizers):
            self.optimizers.append(optimizer)
        if self._stepping:    # an optimizer within another, as ZeroRedundancyOptimizer has
            return
        self._first = self._first or optimizer
        if optimizer is self._first:    # of several, the first counts
            self.steps += 1
            self._outside = "forward"
            self.step_ended(self.steps)


class _Engine:
    """Autograd's engine, which scripts may call themselves."""

    def __init__(self, engine: Any, backward: Callable[..., Any]):
        self._engine, self._backward = engine, backward

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        return self._backward(self._engine.run_backward, args, kwargs)


def settle(items: list[dict[str, Any]]) -> None:
    """What follows the last backward pass belongs to the optimizer (clipping, unscaling), what follows others to the next forward pass."""
    later = "optimizer"
    for item in reversed(items):
        phase = item.get("phase")
        if phase == AFTER:
            item["phase"] = later
        elif phase in ("forward", "recompute", "backward"):
            later = "forward"


def clean(name: str) -> str:
    """A module's or parameter's name as the model's author knows it, without what wraps it."""
    parts = [part for part in name.split(".") if part not in _WRAPPERS]
    return ".".join(parts[1:] if parts and parts[0] == "module" else parts)
