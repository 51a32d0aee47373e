"""From a training script to advice: records a real backward pass, compares buckets, says which bucket cap is best elsewhere.

    with ddpsim.torch.record(model, out="trace.csv", batch_size=32) as recording:
        for batch in loader:
            recording.step(train_step(batch))
            if recording.done:
                break
    print(ddpsim.torch.advise(recording, cluster={"topology": "superpod-h100", "world_size": 1024}))
"""
try:
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise ImportError(f"ddpsim.torch needs PyTorch 1.13 or newer ({_error}): python3 -m pip install 'torch>=1.13'") from None

from ddpsim.torch.advice import Advice, advise
from ddpsim.torch.comparison import Comparison, check
from ddpsim.torch.measuring import measure_all_reduces
from ddpsim.torch.recorder import Recording, record

__all__ = ["Advice", "Comparison", "Recording", "advise", "check", "measure_all_reduces", "record"]
