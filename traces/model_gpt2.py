#!/usr/bin/env python3
"""Makes a layer trace of a GPT-2 from operation counts, for hardware nobody has recorded it on. Every time in it is modelled:

  forward of a matrix of k x n elements     2 T k n operations, T = batch size x sequence length tokens
  forward of attention, a block             4 T s w: scores and their product with the values, sequence length s, width w
  forward of the lm_head                    2 T V w, V tokens in the vocabulary; its matrix is the token embedding (tied)
  backward of each                          twice the forward: the gradients of the input and of the matrix
  everything else                           no operations: its time is in the utilisation
  a time                                    operations / (peak x utilisation)
  optimizer, AdamW in float32               28 bytes a parameter (reads parameter, gradient and both moments, writes parameter
                                            and both moments) / memory bandwidth

Tensors are those of the recorded gpt2*-cpu.csv beside this file. Modules run back to back in the reverse of forward order; a
module's tensors are ready at its end. The count is the one that utilisations are published with (Korthikanti et al., arXiv
2205.05198; github.com/mosaicml/llm-foundry, scripts/train/benchmarking), so that a published utilisation gives back the
published time of a step.

Usage: model_gpt2.py [--model gpt2-xl] [--batch-size 8] [--sequence-length 1024] [--utilisation 0.4] [--out TRACE.csv]
"""
import argparse
import csv
import sys
from pathlib import Path

# Recorded with `ddpsim capture`.
RECORDED = {path.name.removesuffix("-cpu.csv"): path for path in sorted(Path(__file__).parent.glob("gpt2*-cpu.csv"))}
POSITIONS = 1024
OPTIMIZER_BYTES = 28

# NVIDIA H100 datasheet, SXM: BF16 without sparsity, memory bandwidth.
DEVICE, PEAK, MEMORY_BANDWIDTH = "NVIDIA H100 SXM", 989.4e12, 3.35e12

SOURCE = (
    "MODELLED, not recorded: operation counts of {model} at {utilisation:g} % of 989.4 TFLOP/s (NVIDIA H100 datasheet, SXM, dense "
    "BF16), made by traces/model_gpt2.py --model {model} --batch-size {batch} --sequence-length {sequence} --utilisation {share:g}. "
    "Why 40 %: github.com/mosaicml/llm-foundry at 061f2c7ce64e655100286584a7629e2a09f827ba, scripts/train/benchmarking/README.md, "
    "reports 41.95 % for a GPT of 1.31e9 parameters at sequence length 1024 on 8 H100s in BF16 without activation checkpointing, "
    "40.3 to 46.3 % for those of 1.3 and 2.7e9 at lengths from 512 to 4096 on 8 to 64; theirs include communication and the optimizer, "
    "which are apart here. Doubts: one utilisation for all layers (attention and narrow matrices reach less, the lm_head more), no "
    "launch overhead, embeddings and norms cost nothing, batch and sequence are merely typical"
)
NOTES = [
    "MODELLED TRACE. Times follow from operation counts and one assumed utilisation; see traces/model_gpt2.py for every formula.",
    "Compute is BF16 under autocast; parameters, and so gradients and their all-reduce, are float32.",
    "forward and backward are one micro-batch; optimizer is AdamW's memory traffic of 28 bytes a parameter at 3.35 TB/s.",
    "wte is also the lm_head's weight, so it is one gradient, ready when both uses are done.",
]


def read_elements(path):
    """Elements of each gradient, in order of arrival, and the places in the order of registration."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return {row["gradient"]: int(row["elements"]) for row in rows}, [row["parameter"] for row in rows]


def forward_operations(name, elements, tokens, sequence):
    """Of what the backward pass goes through between the gradient before and this one."""
    module, _, kind = name.rpartition(".")
    if name == "transformer.ln_f.weight":
        return 2 * tokens * elements["transformer.wte.weight"]  # lm_head, tied
    if kind == "weight" or ".ln_" in module:
        return 0
    # addmm(bias, x, weight) delivers the bias' gradient first.
    attention = 4 * tokens * sequence * elements["transformer.ln_f.weight"] if module.endswith(".c_attn") else 0
    return attention + 2 * tokens * elements[module + ".weight"]


def trace(model, batch, sequence, utilisation):
    elements, parameters = read_elements(RECORDED[model])
    operations = [forward_operations(name, elements, batch * sequence, sequence) for name in elements]
    rate = PEAK * utilisation
    source = SOURCE.format(model=model, utilisation=100 * utilisation, batch=batch, sequence=sequence, share=utilisation)
    lines = [
        "# ddpsim-trace: 1",
        f"# model: {model}",
        f"# device: {DEVICE}",
        f"# batch_size: {batch}",
        f"# sequence_length: {sequence}",
        f"# forward: {1e3 * sum(operations) / rate:.6f}ms",
        f"# optimizer: {1e3 * OPTIMIZER_BYTES * sum(elements.values()) / MEMORY_BANDWIDTH:.6f}ms",
        f"# gradients: {len(elements)}",
        f"# elements: {sum(elements.values())}",
        f"# source: {source}",
        f"# synthetic: operation counts at {100 * utilisation:g} % of {PEAK / 1e12:g} TFLOP/s",
        *(f"# {note}" for note in NOTES),
        "gradient,elements,dtype,ready_s,parameter",
    ]
    done = 0
    for name, forward, parameter in zip(elements, operations, parameters):
        done += 2 * forward
        lines.append(f"{name},{elements[name]},float32,{done / rate:.9f},{parameter}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="A modelled layer trace of a GPT-2 on an H100; the formulas are in this file.")
    parser.add_argument("--model", choices=RECORDED, default="gpt2-xl")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--sequence-length", type=int, default=1024)
    parser.add_argument("--utilisation", type=float, default=0.4)
    parser.add_argument("--out", help="default: standard output")
    options = parser.parse_args()
    if min(options.batch_size, options.sequence_length) < 1 or options.sequence_length > POSITIONS:
        parser.error(f"batch size and sequence length are at least 1, the latter at most {POSITIONS}")
    if not 0 < options.utilisation <= 1:
        parser.error("the utilisation is above 0 and at most 1")
    text = trace(options.model, options.batch_size, options.sequence_length, options.utilisation)
    if options.out:
        with open(options.out, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
