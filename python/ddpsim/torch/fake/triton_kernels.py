"""Kernels written in Triton: a launch is noted by name, with the bytes of its tensors, and nothing runs."""
from __future__ import annotations

import sys
from typing import Any

from torch._subclasses.fake_tensor import FakeTensor

from ddpsim.torch.fake.operators import tensors_in
from ddpsim.torch.fake.patches import Patches


def install(patches: Patches, recorder: Any) -> None:
    """Only where Triton is installed, which a CUDA build of PyTorch brings."""
    if "triton" not in sys.modules:
        try:
            import triton  # noqa: F401
        except ImportError:
            return
    from triton.runtime import autotuner, jit
    run = jit.JITFunction.run

    def launch(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        tensors = tensors_in(args) + tensors_in(kwargs)
        if not any(isinstance(tensor, FakeTensor) for tensor in tensors):
            return run(kernel, *args, **kwargs)
        name = "triton::" + str(getattr(kernel, "__name__", "kernel"))
        recorder.note_of_triton(name)
        recorder.kernel(name, tensors, [], 0)
        return None

    patches.set(jit.JITFunction, "run", launch)
    for kind in ("Autotuner", "Heuristics"):
        if hasattr(autotuner, kind):
            patches.set(getattr(autotuner, kind), "run", lambda tuner, *args, **kwargs: tuner.fn.run(*args, **kwargs))
