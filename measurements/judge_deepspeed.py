#!/usr/bin/env python3
"""What DeepSpeed's host costs, as the Markdown of RESULTS.md: steps of one rank of eight under ZeRO (h100/deepspeed.csv, whose collectives did nothing) against
`ddpsim simulate` of 8 H100s under pytorch-2026, launched at that host's pace, without interference and spread, what communication is waited for left out of it. The
protocol is h100/SOURCE.md. With --reports, what users measured of ZeRO's stages (deepspeed/reports.csv) against `simulate` with its defaults; deepspeed/SOURCE.md says
what of each job is assumed.

Usage: judge_deepspeed.py DDPSIM [--reports]
"""
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from judge_gpu import ROOT, config_of

# Of this host in the minutes of the table: its `plain` rows of 32 tokens over the kernels of h100/pace.csv are 28 and 39 us a kernel; the software's is that of the H200.
HOST = ("host: 20us", "host: 33us")
JOB = """workload: {{model: ./model.json, micro_batch: {batch}, sequence: {sequence}, dtype: bf16, framework: ./software.yaml, recompute: {recompute}}}
cluster: {{topology: dgx-h100, world_size: 8}}
strategy: {stage}
zero: {{overlap_comm: true}}
physics: {{interference: 0}}
spread: none
evidence: none
"""
# p3dn with EFA; two TITAN RTX on PCIe.
TOPOLOGIES = {
    "p3dn-efa.yaml": lambda: (ROOT.parent / "topologies/p3dn-24xlarge.yaml").read_text().replace("network: ethernet, cloud: aws", "network: efa").replace(
        "latency: 50us", "latency: 15us"),
    "titan.yaml": lambda: """kind: cluster
gpu: titan-rtx
node: {gpus: 2, interconnect: {kind: pcie, generation: 3, gpus_per_switch: 1}}
nccl: {gpu: ampere, cpu: intel}
""",
}
# Each job's workload, topology, options of zero, options of its stage 3 and micro-batches; what is assumed of them is in deepspeed/SOURCE.md.
ROBERTA = "model: {kind: transformer, hidden: 4096, layers: 50, heads: 32, vocab: 50265, positions: 514, causal: false}, sequence: 512, dtype: fp16, recompute: full"
BLOOM = "model: {kind: transformer, hidden: 1024, layers: 24, heads: 16, vocab: 250880, tied: true}, dtype: fp16, recompute: full"
BELLE = ("titan.yaml", ", reduce_bucket_size: 1048576, allgather_bucket_size: 2e8",
         ", reduce_bucket_size: 1048576, prefetch_bucket_size: 943718, param_persistence_threshold: 10240, max_live_parameters: 0, max_reuse_distance: 0", 4)
JOBS = {
    "roberta-10b": (ROBERTA, "p3dn-efa.yaml", "", "", 1),
    "bert-5b": ("model: {kind: transformer, hidden: 2560, layers: 64, heads: 40, vocab: 32003, positions: 512, causal: false}, sequence: 128, dtype: fp16", "p4d", "", "", 1),
    "roberta-10b-p4d": (ROBERTA, "p4d", "", "", 1),
    "bloom-560m-512": (BLOOM + ", sequence: 512", *BELLE),
    "bloom-560m-1024": (BLOOM + ", sequence: 1024", *BELLE),
    "tinyllama": ("model: {kind: transformer, hidden: 2048, layers: 22, heads: 32, kv_heads: 4, ffn: 5632, gated: true, vocab: 32000}, sequence: 2048, dtype: bf16",
                  "pcie-2x4090", "", "", 4),
    "gpt-267m": ("model: {kind: transformer, hidden: 768, layers: 24, heads: 12, vocab: 128256, tied: true, bias: false}, sequence: 512, dtype: bf16", "dgx-h100", "", "", 1),
    "pi05": ("model: {kind: transformer, hidden: 1792, layers: 90, heads: 14, ffn: 4864, gated: true, vocab: 32000}, sequence: 640, dtype: bf16", "dgx-a100", "", "", 1),
}


def rows_of(name):
    with open(ROOT / name, newline="") as file:
        return list(csv.DictReader(file))


def simulated(ddpsim, folder, text):
    (folder / "job.yaml").write_text(text)
    answer = subprocess.run([ddpsim, "simulate", folder / "job.yaml", "--json", "-", "--timeline", folder / "timeline.json"], capture_output=True, check=True)
    return json.loads(answer.stdout)


def host_table(ddpsim, folder):
    software = (ROOT.parent / "software/pytorch-2026.yaml").read_text()
    assert HOST[0] in software
    (folder / "software.yaml").write_text(software.replace(*HOST))
    print("| model | tokens | recomputed | stage | measured, ms | predicted, ms | error |\n|" + "---|" * 7)
    for row in rows_of("h100/deepspeed.csv"):
        if not row["forward_s"] or row["stage"] not in ("zero1", "zero2", "zero3"):
            continue
        (folder / "model.json").write_text(json.dumps(config_of(row["model"])))
        step = simulated(ddpsim, folder, JOB.format(**row, recompute="full" if row["checkpoint"] == "1" else "none"))
        measured = sum(float(row[f"{part}_s"]) for part in ("forward", "backward", "optimizer"))
        time = step["iteration_s"] - step["exposed_communication_s"]  # without what it waits for communication
        tokens = int(row["batch"]) * int(row["sequence"])
        print(f"| {row['model']} | {tokens} | {'yes' if row['checkpoint'] == '1' else ''} | {row['stage']} | {1e3 * measured:.0f} | {1e3 * time:.0f} | {100 * (time / measured - 1):+.0f} |")


def passes_of(folder):
    """Milliseconds from the start of the step to its backward pass, and from there to the optimizer: with what each waits for."""
    starts = {}
    for event in json.loads((folder / "timeline.json").read_text())["traceEvents"]:
        if event.get("ph") == "X":
            starts.setdefault(event["name"].split()[0], []).append(event["ts"])
    begin, backward, optimizer = (min(starts[name]) for name in ("forward", "backward", "optimizer"))
    return (backward - min(begin, min(map(min, starts.values())))) / 1e3, (optimizer - backward) / 1e3


def predicted(ddpsim, row, folder):
    """A job's name may end with `, unfused`."""
    name, *unfused = row["job"].split(", ")
    workload, topology, zero, zero3, micro_batches = JOBS[name]
    text = f"""workload: {{{workload}, micro_batch: {row['batch']}}}
cluster: {{topology: {topology}, world_size: {row['gpus']}}}
strategy: {row['strategy']}
ddp: {{accumulation_steps: {micro_batches}}}
optimizer: {{fused: {'false' if unfused else 'true'}}}
evidence: none
"""
    if row["strategy"] != "ddp":
        text += f"zero: {{version: {row['version']}, overlap_comm: true{zero3 if row['strategy'] == 'zero3' else zero}}}\n"
    step = simulated(ddpsim, folder, text)
    forward, backward = passes_of(folder)
    return {"samples_per_s": step["samples_per_s"], "tokens_per_s": step["tokens_per_s"], "batches_per_s": micro_batches / step["iteration_s"],
            "iteration_ms": 1e3 * step["iteration_s"], "forward_ms": forward, "backward_ms": backward,
            "tflops_per_gpu": step["model_flops_per_s_per_gpu"] / 1e12}[row["quantity"]]


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def report_table(ddpsim, folder):
    for name, text in TOPOLOGIES.items():
        (folder / name).write_text(text())
    print("| report | job | GPUs x batch | DeepSpeed | strategy | quantity | measured | predicted | error | ratio measured | predicted |\n|" + "---|" * 11)
    firsts = {}
    for row in rows_of("deepspeed/reports.csv"):
        value, measured = predicted(ddpsim, row, folder), float(row["measured"])
        of_value, of_measured = firsts.setdefault((row["report"], row["job"].split(", ")[0], row["quantity"]), (value, measured))
        print(f"| {row['report']} | {row['job']} | {row['gpus']} x {row['batch']} | {row['version']} | {row['strategy']} | {row['quantity'].replace('_per_', '/').replace('_', ', ')} | "
              f"{number(measured)} | {number(value)} | {100 * (value / measured - 1):+.0f} | {measured / of_measured:.2f} | {value / of_value:.2f} |")


def main():
    with tempfile.TemporaryDirectory() as folder:
        (report_table if "--reports" in sys.argv[2:] else host_table)(Path(sys.argv[1]).resolve(), Path(folder))


if __name__ == "__main__":
    main()
