#!/usr/bin/env python3
"""MLPerf training jobs on several numbers of GPUs: by how much longer a step is on more of them, against ddpsim. Markdown, for RESULTS.md.

Usage: judge_mlperf.py DDPSIM"""
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent

# Seconds a step, by GPUs: the batch over the median throughput of mlcommons/training_results_v2.0@8437fbb (ResNet-50, MXNet, folders
# Dell/results/*XE8545x4A100*/resnet) and training_results_v3.1@d06288b (BERT, PyTorch, Dell/results/*XE9680x8H100*/bert).
JOBS = {
    "ResNet-50 (MXNet), 204 images a GPU, XE8545 with 40 GB": {4: 0.0673354, 8: 0.07203, 16: 0.0726449, 64: 0.0746219},
    "ResNet-50 (MXNet), 408 images a GPU, XE8545 with 80 GB": {4: 0.11745, 8: 0.122075},
    "BERT-large, 96 packed samples a GPU, XE9680": {8: 0.101455, 16: 0.103279},
}
# How each is said: the trace, the cluster, the strategy. The optimizer's share is assumed: 28 bytes a parameter over the memory's bandwidth.
RESNET = ("--layers", "resnet50", "--batch", "{batch}", "--dtype", "float16", "--forward", "{forward}ms", "--backward", "{backward}ms", "--optimizer", "0.5ms")
BERT = ("--model", "bert-large", "--batch", "32", "--sequence", "512", "--gpu", "h100-sxm", "--framework", "te-2025")
PHYSICS = {"textbook": {"physics": "none"}, "default": {}}


def table(header, rows):
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(row) + " |" for row in rows)]


class Judge:
    def __init__(self, ddpsim, folder):
        self.ddpsim, self.folder = ddpsim, Path(folder)

    def run(self, *arguments):
        return subprocess.run(list(map(str, (self.ddpsim, *arguments))), capture_output=True, text=True, check=True, cwd=self.folder).stdout

    def growth(self, name, steps, physics):
        """Predicted steps over that on the fewest GPUs; compute is scaled so that the fewest take what was measured."""
        resnet = name.startswith("ResNet")
        first = min(steps)
        compute = 1e3 * steps[first]
        words = RESNET if resnet else BERT
        batch = 408 if "408" in name else 204
        self.run("trace", "synthesize", *(word.format(batch=batch, forward=compute / 3, backward=2 * compute / 3) for word in words), "--out", "trace.csv")
        topology = ROOT / "machines/xe8545.yaml" if resnet else "dgx-h100"
        scenario = {"workload": {"trace": "trace.csv"}, "cluster": {"topology": str(topology), "world_size": first}, "strategy": "ddp" if resnet else "megatron", **physics}

        def time(gpus, factor):
            scenario["cluster"]["world_size"] = gpus
            scenario["workload"]["rescale"] = {"factor": factor}
            (self.folder / "scenario.yaml").write_text(json.dumps(scenario))
            return json.loads(self.run("simulate", "scenario.yaml", "--quiet", "--json", "-"))["iteration_s"]

        factor = 1.0
        for _ in range(4):
            factor *= steps[first] / time(first, factor)
        base = time(first, factor)
        return {gpus: 100 * (time(gpus, factor) / base - 1) for gpus in steps if gpus != first}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(Path(sys.argv[1]).resolve(), folder)
        rows, errors = [], {name: [] for name in PHYSICS}
        for name, steps in JOBS.items():
            found = {label: judge.growth(name, steps, physics) for label, physics in PHYSICS.items()}
            for gpus in list(steps)[1:]:
                measured = 100 * (steps[gpus] / steps[min(steps)] - 1)
                for label in PHYSICS:
                    errors[label].append(found[label][gpus] - measured)
                rows.append([name, f"{min(steps)} to {gpus}", f"{measured:+.1f}", *(f"{found[label][gpus]:+.1f}" for label in PHYSICS)])
        rows.append(["mean error, points", "", "", *(f"{statistics.mean(map(abs, errors[label])):.1f}" for label in PHYSICS)])
        print("\n".join(table(["job", "GPUs", "measured longer, %", *PHYSICS], rows)))


if __name__ == "__main__":
    main()
