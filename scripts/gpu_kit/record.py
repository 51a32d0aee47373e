#!/usr/bin/env python3
"""record.py MODEL PRECISION OUT [--device cuda] [--batch 4] [--sequence 1024] [--steps 20]: a layer trace of GPT-2, by ddpsim.torch.record."""
import argparse
import sys
import types
from pathlib import Path

import gpt2
import torch

# The recorder without the package's extension, which is for one version of Python.
for name in ("ddpsim", "ddpsim.torch"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(Path(__file__).resolve().parent / "package" / name.replace(".", "/"))]
from ddpsim.torch.recorder import record  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=gpt2.SIZES)
    parser.add_argument("precision", choices=("float32", "bfloat16"))
    parser.add_argument("out")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("error: PyTorch finds no GPU here", file=sys.stderr)
        sys.exit(3)
    torch.manual_seed(0)
    model = gpt2.Gpt2(options.model).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)    # as LibTorch's: one parameter at a time
    tokens, targets = torch.randint(0, gpt2.VOCABULARY, (2, options.batch, options.sequence), device=options.device)
    with record(model, out=options.out, steps=options.steps, warmup=5, batch_size=options.batch, sequence_length=options.sequence, optimizer=optimizer,
                name=options.model) as recording:
        while not recording.done:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.precision == "bfloat16"):
                loss = model(tokens, targets)
            loss.backward()
            recording.step(optimizer.step)


if __name__ == "__main__":
    main()
