"""What has to be hooked into PyTorch to see a training step. Each function returns what takes its hooks out again."""
from __future__ import annotations

import functools
import importlib
import weakref
from typing import Any, Callable

import torch

Remove = Callable[[], None]


def on_gradient(parameter: Any, notify: Callable[[], None]) -> Remove:
    """When the parameter's gradient is complete: after its AccumulateGrad node, where DistributedDataParallel hooks in, too."""
    def hook(*_: Any) -> None:
        notify()

    if hasattr(parameter, "register_post_accumulate_grad_hook"):    # PyTorch 2.1
        return parameter.register_post_accumulate_grad_hook(hook).remove    # type: ignore[no-any-return]
    with torch.enable_grad():
        node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
    handle = node.register_hook(hook)

    def remove(node: Any = node) -> None:    # the parameter itself does not keep its node alive
        handle.remove()

    return remove


def on_forward(module: Any, begin: Callable[[], None] | None, end: Callable[[], None]) -> Remove:
    def before(*_: Any) -> None:
        if begin:
            begin()

    def after(*_: Any) -> None:
        end()

    handles = [module.register_forward_hook(after)] + ([module.register_forward_pre_hook(before)] if begin else [])

    def remove() -> None:
        for handle in handles:
            handle.remove()

    return remove


def on_backward(begin: Callable[[], None]) -> Remove:
    """At torch.autograd.backward, which Tensor.backward calls. Checkpoints that call it inside a backward pass are part of that."""
    original = torch.autograd.backward
    depth = 0

    @functools.wraps(original)
    def backward(*arguments: Any, **options: Any) -> None:
        nonlocal depth
        if depth == 0:
            begin()
        depth += 1
        try:
            original(*arguments, **options)
        finally:
            depth -= 1

    torch.autograd.backward = backward

    def remove() -> None:
        torch.autograd.backward = original

    return remove


def on_optimizer(optimizer: Any, begin: Callable[[], None], end: Callable[[], None]) -> Remove:
    """Around step() of the optimizer; None means all, which PyTorch before 2.0 cannot tell us of."""
    module = importlib.import_module("torch.optim.optimizer")
    if hasattr(module, "register_optimizer_step_pre_hook"):
        def before(which: Any, *_: Any) -> None:
            if optimizer is None or which is optimizer:
                begin()

        def after(which: Any, *_: Any) -> None:
            if optimizer is None or which is optimizer:
                end()

        handles = [module.register_optimizer_step_pre_hook(before), module.register_optimizer_step_post_hook(after)]

        def remove() -> None:
            for handle in handles:
                handle.remove()

        return remove
    if optimizer is None:
        return lambda: None
    own = optimizer.__dict__.get("step")    # a learning rate scheduler's, maybe
    original = optimizer.step

    @functools.wraps(original)
    def step(*arguments: Any, **options: Any) -> Any:
        begin()
        try:
            return original(*arguments, **options)
        finally:
            end()

    optimizer.step = step

    def restore() -> None:
        if own is None:
            del optimizer.step
        else:
            optimizer.step = own

    return restore


def on_all_reduce(ddp: Any, begin: Callable[[Any], Any], end: Callable[[Any], None]) -> None:
    """A communication hook that reduces as DistributedDataParallel does without one; it cannot be taken out again. `end` gets what
    `begin` returned, once the all-reduce is over. Both are methods, held weakly: the model holds the hook where Python's collector does
    not see it, and an object that holds the model would never go."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks    # not every PyTorch is built with it

    weak_begin, weak_end = weakref.WeakMethod(begin), weakref.WeakMethod(end)

    def hook(group: Any, bucket: Any) -> Any:
        begins = weak_begin()
        if begins is None:
            return default_hooks.allreduce_hook(group, bucket)
        begun = begins(bucket)

        def over(future: Any) -> Any:
            ends = weak_end()
            if ends is not None:
                ends(begun)
            return future.value()

        return default_hooks.allreduce_hook(group, bucket).then(over)

    # PyTorch looks at annotations itself, and takes no strings for them.
    hook.__annotations__ = {"bucket": torch.distributed.GradBucket, "return": torch.futures.Future[torch.Tensor]}
    ddp.register_comm_hook(None, hook)
