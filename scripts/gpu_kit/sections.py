"""The command line of measure.py, kernels.py and steps.py: SECTION OUT.csv [--device cuda] [--quick]. A section generates a table: names of columns, then rows."""
import argparse
import csv
import sys

import torch

MISSING = 3


class Missing(Exception):
    """This machine, or its PyTorch, lacks what a section takes."""


def need_torch(major, minor):
    if tuple(map(int, torch.__version__.split(".")[:2])) < (major, minor):
        raise Missing(f"PyTorch {major}.{minor} or newer is needed, and this is {torch.__version__}")


def text(cell):
    return f"{cell:.9g}" if isinstance(cell, float) else cell


def main(sections, description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("section", choices=sections)
    parser.add_argument("out")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    try:
        if options.device == "cuda" and not torch.cuda.is_available():
            raise Missing("PyTorch finds no GPU here")
        with open(options.out, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            for row in sections[options.section](options.device, options.quick):
                writer.writerow(map(text, row))
                file.flush()    # what a time limit cuts off is not lost
    except Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        sys.exit(MISSING)
    except torch.cuda.OutOfMemoryError:
        sys.exit("error: this GPU's memory is too small for the next row; those before it are in the table")
