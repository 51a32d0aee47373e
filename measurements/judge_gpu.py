#!/usr/bin/env python3
"""Steps of one GPU of this project's own (h200/steps.csv, h100/steps.csv) against `ddpsim trace synthesize` with the shipped software, as the Markdown of RESULTS.md; with --fit, what
software/pytorch*-2026.yaml have from the tables. The protocols are h200/SOURCE.md and h100/SOURCE.md: the software was fitted to the H200, and nothing to the H100.

Usage: judge_gpu.py DDPSIM h200|h100 [--fit]    (--fit needs python3-scipy and python3-yaml; a minute)
"""
import argparse
import csv
import json
import math
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
SOFTWARE = ROOT.parent / "software"
FITTED = "h200"
PEAK, BANDWIDTHS = 989.4e12, {"h200": 4.8e12, "h100": 3.35e12}     # gpus/h200-sxm.yaml, h100-sxm.yaml
GPT2 = {"gpt2": (12, 768, 12), "medium": (24, 1024, 16), "large": (36, 1280, 20), "xl": (48, 1600, 25)}
LLAMA = {"llama-1b": (16, 2048, 32, 8192, True), "llama-3b": (28, 3072, 24, 8192, True), "llama-8b-half": (16, 4096, 32, 14336, False),
         "llama-8b": (32, 4096, 32, 14336, False), "llama-70b-4": (4, 8192, 64, 28672, False)}
# Sets of rows: the software, what was fitted to every second one (by hand: to all of them, nothing that can be repeated), and which rows.
BY_HAND = "by hand"
SETS = {
    "Llama, bf16": ("pytorch-2026", ("gemm", "elementwise"), lambda row: row["precision"] == "bf16" and row["model"] in LLAMA),
    "GPT-2, bf16": ("pytorch-2026", (), lambda row: row["precision"] == "bf16" and row["model"] in GPT2),
    "float32 and TF32": ("pytorch-2026", (), lambda row: row["precision"] in ("float32", "tf32")),
    "autocast": ("pytorch-autocast-2026", ("elementwise", "host"), lambda row: row["precision"] == "autocast"),
    "torch.compile, bf16": ("pytorch-compile-2026", BY_HAND, lambda row: row["precision"] == "bf16"),
    "torch.compile, autocast": ("pytorch-compile-2026", (), lambda row: row["precision"] == "autocast"),
}
# A pass is the host's where it launches for so much of it: on another machine another host does.
HOST_PACED = 0.85
GRADIENTS = {"bf16": "bf16"}
DTYPES = {"bf16": "bf16", "autocast": "bf16", "float32": "fp32", "tf32": "tf32"}


def rows_of(gpu, name):
    with open(ROOT / gpu / name, newline="") as file:
        return list(csv.DictReader(file))


def config_of(model):
    if model in GPT2:
        layers, hidden, heads = GPT2[model]
        return {"model_type": "gpt2", "n_layer": layers, "n_embd": hidden, "n_head": heads, "vocab_size": 50257, "n_positions": 2048}
    layers, hidden, heads, ffn, tied = LLAMA[model]
    return {"model_type": "llama", "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "num_key_value_heads": 8, "intermediate_size": ffn,
            "vocab_size": 128256, "tie_word_embeddings": tied, "hidden_act": "silu", "max_position_embeddings": 131072}


def seconds(text):
    return float(text[:-2]) * 1e-3 if text.endswith("ms") else float(text[:-1])


class Judge:
    def __init__(self, ddpsim, gpu, folder):
        self.ddpsim, self.gpu, self.folder, self.files = ddpsim, gpu, Path(folder), 0

    def step(self, row, software):
        """Forward and backward, in seconds."""
        model, trace = self.folder / f"{row['model']}.json", self.folder / "trace.csv"
        model.write_text(json.dumps(config_of(row["model"])))
        subprocess.run([self.ddpsim, "trace", "synthesize", "--model", model, "--batch", row["batch"], "--sequence", row["sequence"], "--gpu", f"{self.gpu}-sxm",
                        "--framework", software, "--recompute", "full" if row["checkpoint"] == "1" else "none", "--dtype", DTYPES[row["precision"]], "--gradients", GRADIENTS.get(row["precision"], "fp32"), "--out", trace],
                       check=True, capture_output=True)
        lines = trace.read_text().splitlines()
        forward = next(seconds(line.split(": ")[1]) for line in lines if line.startswith("# forward: "))
        return forward, float(lines[-1].split(",")[3])

    def errors(self, rows, software):
        return [sum(self.step(row, software)) / (float(row["forward_s"]) + float(row["backward_s"])) - 1 for row in rows]

    def changed(self, software, values):
        """The shipped file with other values."""
        import yaml
        file = yaml.safe_load((SOFTWARE / f"{software}.yaml").read_text())
        for name, value in values.items():
            if name == "host":
                file["host"] = f"{value * 1e6}us"
            else:
                file["gpus"]["H200"][name] = float(value)
        self.files += 1
        path = self.folder / f"{self.files}.yaml"
        path.write_text(yaml.safe_dump(file))
        return path

    def fit(self, rows, software, names):
        """{name: (value, its standard error in %)}: soft-L1 of the logarithm, beyond 3 %, from what the file says."""
        import numpy
        import yaml
        from scipy.optimize import least_squares
        file = yaml.safe_load((SOFTWARE / f"{software}.yaml").read_text())
        start = [seconds(file["host"].replace("us", "e-6s")) if name == "host" else file["gpus"]["H200"][name] for name in names]
        def residuals(logs):
            return [math.log1p(error) for error in self.errors(rows, self.changed(software, dict(zip(names, numpy.exp(logs)))))]
        answer = least_squares(residuals, numpy.log(start), loss="soft_l1", f_scale=0.03, diff_step=0.02, xtol=1e-3)
        variance = 2 * answer.cost / max(1, len(rows) - len(names))
        spread = numpy.sqrt(numpy.diag(variance * numpy.linalg.pinv(answer.jac.T @ answer.jac)))
        return {name: (value, 100 * error) for name, value, error in zip(names, numpy.exp(answer.x), spread)}


def kernel_shares(gpu):
    """What the files have from kernels alone."""
    def rows_of_gpu(name):
        return rows_of(gpu, name)

    passes = [float(row["bytes_per_s"]) for row in rows_of_gpu("passes.csv") if int(row["bytes"]) >= 2 ** 27 and row["pass"] in ("copy", "divide", "add")]
    def attention(width):
        """Over forward and backward, which computes 2.5 times as much, at 4,096 tokens and more."""
        return statistics.median(3.5 * float(row["causal_flop_forward"]) / (float(row["forward_s"]) + float(row["backward_s"])) / PEAK
                                 for row in rows_of_gpu("attention.csv") if row["kernel"] == "default" and int(row["sequence"]) >= 4096 and row["width"] == width)
    rate = {(row["pass"], row["m"], row["n"], row["k"]): float(row["flop_per_s"]) for row in rows_of_gpu("products.csv") if row["dtype"] == "bfloat16"}
    aligned = {key: tuple(word.replace("50257", "50304") for word in key) for key in rate if "50257" in key}
    logits = [(float(row["forward_s"]) + float(row["backward_s"])) / (int(row["rows"]) * int(row["width"])) for row in rows_of_gpu("elementwise.csv")
              if row["what"] == "cross_entropy_upcast"]
    steps = [float(row["optimizer_s"]) / int(row["parameters"]) for row in rows_of_gpu("steps.csv")
             if row["forward_s"] and row["precision"] == "autocast" and row["optimizer"] == "fused" and int(row["parameters"]) > 5e8]
    memory = statistics.median(passes) / BANDWIDTHS[gpu]
    def products(dtype, peak):
        """As the law has it: without the start and end of a tile, of 150 elements of k."""
        return statistics.median(float(row["flop_per_s"]) * (1 + 150 / int(row["k"])) for row in rows_of_gpu("products.csv") if row["dtype"] == dtype) / peak
    return {"memory": memory, "attention": attention("128"), "narrow_heads": attention("64") / attention("128"),
            "unaligned": statistics.geometric_mean(rate[key] / rate[aligned[key]] for key in aligned), "loss_bytes": statistics.median(logits) * BANDWIDTHS[gpu] * memory,
            "optimizer_bytes": statistics.median(steps) * BANDWIDTHS[gpu] * memory, "gemm_fp32": products("float32", 66.9e12), "gemm_tf32": products("tf32", 494.7e12)}


def sets_of(gpu):
    """SETS; of a GPU that nothing was fitted to, those steps apart that the host paces."""
    if gpu == FITTED:
        return SETS
    def paced_by_host(row):
        return float(row["host_forward_s"]) > HOST_PACED * float(row["forward_s"])
    return {name + suffix: (software, (), lambda row, takes=takes, host=host: takes(row) and paced_by_host(row) == host)
            for name, (software, _, takes) in SETS.items() for suffix, host in (("", False), (", paced by the host", True))}


def figures(errors):
    if not errors:
        return ["0", "-", "-", "-"]
    return [str(len(errors)), f"{100 * statistics.mean(errors):+.1f}", f"{100 * statistics.mean(map(abs, errors)):.1f}", f"{100 * max(errors, key=abs):+.1f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ddpsim", type=Path)
    parser.add_argument("gpu", choices=BANDWIDTHS)
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    steps = [row for row in rows_of(options.gpu, "steps.csv") if row["forward_s"]]
    if options.fit:
        print("of kernels:", ", ".join(f"{name} {value:.3g}" for name, value in kernel_shares(options.gpu).items()))
    lines = ["| set | software | fitted rows | mean error | judged rows | bias | mean error | worst | fsdp-eager-2023 |", "|" + "---|" * 9]
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(options.ddpsim.resolve(), options.gpu, folder)
        for name, (software, fitted_names, takes) in sets_of(options.gpu).items():
            rows = [row for row in steps if takes(row) and row["compiled"] == str(int(name.startswith("torch.compile")))]
            if not rows:
                continue
            fitted = rows if fitted_names == BY_HAND else rows[::2] if fitted_names else []
            judged = [row for row in rows if row not in fitted]
            if options.fit and fitted_names and fitted_names != BY_HAND:
                found = judge.fit(fitted, software, fitted_names)
                print(f"{software}:", ", ".join(f"{key} {value:.4g} ± {error:.0f} %" for key, (value, error) in found.items()))
            before = figures(judge.errors(judged, "fsdp-eager-2023"))
            of_fitted = figures(judge.errors(fitted, software))
            lines.append("| " + " | ".join([name, software, of_fitted[0], of_fitted[2], *figures(judge.errors(judged, software)), before[2]]) + " |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
