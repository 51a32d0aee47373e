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

Modules run back to back in the reverse of forward order; a module's tensors are ready at its end. The count is the one that
utilisations are published with (Korthikanti et al., arXiv 2205.05198; github.com/mosaicml/llm-foundry, scripts/train/benchmarking),
so that a published utilisation gives back the published time of a step.

Usage: model_gpt2.py [--model gpt2-xl] [--batch-size 8] [--sequence-length 1024] [--utilisation 0.4] [--out TRACE.csv]
"""
import argparse
import sys

# As in sim/trace/gpt2.hpp: (layers, width).
SIZES = {"gpt2": (12, 768), "gpt2-medium": (24, 1024), "gpt2-large": (36, 1280), "gpt2-xl": (48, 1600)}
VOCABULARY, POSITIONS = 50257, 1024
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


class Model:
    """The tensors of a GPT-2 and the operations of its forward pass, in forward order."""

    def __init__(self, layers, width, tokens, sequence):
        self.parameters = 0
        self.modules = []  # (forward operations, [(name, elements, parameter)] in the order of arrival)
        self.add(0, [("transformer.wte.weight", VOCABULARY * width)])
        self.add(0, [("transformer.wpe.weight", POSITIONS * width)])
        for layer in range(layers):
            block = f"transformer.h.{layer}."
            self.norm(block + "ln_1", width)
            self.linear(block + "attn.c_attn", width, 3 * width, tokens)
            self.add(4 * tokens * sequence * width, [])
            self.linear(block + "attn.c_proj", width, width, tokens)
            self.norm(block + "ln_2", width)
            self.linear(block + "mlp.c_fc", width, 4 * width, tokens)
            self.linear(block + "mlp.c_proj", 4 * width, width, tokens)
        self.norm("transformer.ln_f", width)
        self.add(2 * tokens * VOCABULARY * width, [])  # lm_head, tied

    def add(self, operations, tensors):
        """`tensors` stand in the order of registration. Returns the module's, which are to stand in the order of arrival."""
        numbered = [(name, elements, self.parameters + i) for i, (name, elements) in enumerate(tensors)]
        self.parameters += len(tensors)
        self.modules.append((operations, numbered))
        return numbered

    def norm(self, name, width):
        self.add(0, [(name + ".weight", width), (name + ".bias", width)])

    def linear(self, name, inputs, outputs, tokens):
        # addmm(bias, x, weight) delivers the bias' gradient first.
        self.add(2 * tokens * inputs * outputs, [(name + ".weight", inputs * outputs), (name + ".bias", outputs)]).reverse()

    def forward_operations(self):
        return sum(operations for operations, _ in self.modules)

    def elements(self):
        return sum(elements for _, tensors in self.modules for _, elements, _ in tensors)

    def gradients(self):
        """(name, elements, parameter, operations of the backward pass until it is ready), in order of arrival."""
        done = 0
        for operations, tensors in reversed(self.modules):
            done += 2 * operations
            for tensor in tensors:
                yield *tensor, done


def trace(model, batch, sequence, utilisation):
    gpt2 = Model(*SIZES[model], batch * sequence, sequence)
    rate = PEAK * utilisation
    source = SOURCE.format(model=model, utilisation=100 * utilisation, batch=batch, sequence=sequence, share=utilisation)
    lines = [
        "# ddpsim-trace: 1",
        f"# model: {model}",
        f"# device: {DEVICE}",
        f"# batch_size: {batch}",
        f"# sequence_length: {sequence}",
        f"# forward: {1e3 * gpt2.forward_operations() / rate:.6f}ms",
        f"# optimizer: {1e3 * OPTIMIZER_BYTES * gpt2.elements() / MEMORY_BANDWIDTH:.6f}ms",
        f"# gradients: {sum(1 for _ in gpt2.gradients())}",
        f"# elements: {gpt2.elements()}",
        f"# source: {source}",
        f"# synthetic: operation counts at {100 * utilisation:g} % of {PEAK / 1e12:g} TFLOP/s",
        *(f"# {note}" for note in NOTES),
        "gradient,elements,dtype,ready_s,parameter",
    ]
    lines += [f"{name},{elements},float32,{done / rate:.9f},{parameter}" for name, elements, parameter, done in gpt2.gradients()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="A modelled layer trace of a GPT-2 on an H100; the formulas are in this file.")
    parser.add_argument("--model", choices=SIZES, default="gpt2-xl")
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
