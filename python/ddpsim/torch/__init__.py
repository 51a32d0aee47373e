"""From a training script to advice: records a real backward pass, compares buckets, says which bucket cap is best elsewhere.

    with ddpsim.torch.record(model, out="trace.csv", batch_size=32) as recording:
        for batch in loader:
            recording.step(train_step(batch))
            if recording.done:
                break
    print(ddpsim.torch.advise(recording, cluster={"topology": "superpod-h100", "world_size": 1024}))

Or a whole step of a script, as one rank of any number, on a machine without a GPU (PyTorch >= 2.4):

    with ddpsim.torch.trace_step(world_size=1024, out="step.json") as step:
        train()
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise ImportError(f"ddpsim.torch needs PyTorch 1.13 or newer ({_error}): python3 -m pip install 'torch>=1.13'") from None

from ddpsim.torch.advice import Advice, advise
from ddpsim.torch.comparison import Comparison, check
from ddpsim.torch.measuring import measure_all_reduces
from ddpsim.torch.recorder import Recording, record

if TYPE_CHECKING:
    from ddpsim.torch.fake.kernels import kernel
    from ddpsim.torch.fake.refusals import Unsupported
    from ddpsim.torch.fake.session import RecordedStep, trace_step

__all__ = ["Advice", "Comparison", "RecordedStep", "Recording", "Unsupported", "advise", "check", "kernel", "measure_all_reduces", "record", "trace_step"]

_FAKE = {"RecordedStep": "session", "trace_step": "session", "kernel": "kernels", "Unsupported": "refusals"}


def __getattr__(name: str) -> Any:
    """What records steps reaches deep into PyTorch, and is loaded when it is asked for."""
    if name not in _FAKE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib
    if tuple(int(part) for part in _torch.__version__.split("+")[0].split(".")[:2]) < (2, 4):
        raise ImportError(f"{name} needs PyTorch 2.4 or newer; this is {_torch.__version__}: python3 -m pip install 'torch>=2.4'")
    return getattr(importlib.import_module(f"ddpsim.torch.fake.{_FAKE[name]}"), name)
