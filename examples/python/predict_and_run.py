"""Is the prediction true? Two processes of this machine record a model, what their all-reduces take and how fast they copy, predict a training step
for some bucket caps, then train with each. The first one that runs says how much all-reduces and compute slow one another down on shared cores; the
others are judged: python3 examples/python/predict_and_run.py [FOLDER]"""
import os
import statistics
import sys
import time
from pathlib import Path

import torch
import ddpsim.torch

RANKS, CAPS = 2, [25, 1, 5, 100]    # MiB
ROUNDS, STEPS = 5, 5


def training():
    """A model, its optimizer, and a step of it."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(16)])
    batch = torch.randn(128, 1024)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

    def step(trained):
        optimizer.zero_grad()
        trained(batch).square().mean().backward()
        optimizer.step()

    return model, optimizer, step


def seconds_of(function, *arguments):
    torch.distributed.barrier()
    begin = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - begin


def record(folder):
    """On all ranks at once, as they will train; each writes its own trace."""
    model, optimizer, step = training()
    with ddpsim.torch.record(model, out=folder / f"trace-{torch.distributed.get_rank()}.csv", steps=25, optimizer=optimizer) as recording:
        while not recording.done:
            torch.distributed.barrier()
            recording.step(lambda: step(model))
    return recording.trace


def pass_bandwidth():
    """Bytes a second that a copy reads and writes: DistributedDataParallel copies gradients into buckets and back."""
    source, target = torch.ones(1 << 24), torch.ones(1 << 24)
    return 2 * 4 * source.numel() / statistics.median(seconds_of(target.copy_, source) for _ in range(15))


def run():
    """Seconds of a step with each cap, by turns."""
    trained = []
    for cap in CAPS:
        model, _, step = training()
        trained.append((step, torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=cap)))
    times = [[] for _ in CAPS]
    for turn in range(ROUNDS + 1):
        for (step, ddp), found in zip(trained, times):
            steps = [seconds_of(step, ddp) for _ in range(STEPS)]
            if turn > 0:    # buckets are rebuilt in the first one
                found += steps[1:]
    return [statistics.median(found) for found in times]


def predict(job, cap, interference=0.0):
    return job.set({"ddp.bucket_cap": f"{cap}MiB", "physics.interference": interference}).simulate().iteration_s


def interference_of(job, cap, measured):
    """With which the step takes as long as it was measured to: between none and 4, to a thousandth."""
    least, most = 0.0, 4.0
    while most - least > 0.001:
        middle = (least + most) / 2
        least, most = (middle, most) if predict(job, cap, middle) < measured else (least, middle)
    return least


def report(trace, table, bandwidth, measured):
    job = ddpsim.Job({"workload": {"trace": str(trace)}, "cluster": {"world_size": RANKS}, "strategy": "ddp",
                      "collective": {"algorithm": "measured", "measured": str(table), "backend": "gloo"},
                      "physics": {"pass_bandwidth": f"{bandwidth}B/s"}, "ddp": {"torch": ".".join(torch.__version__.split(".")[:2])}})
    interference = interference_of(job, CAPS[0], measured[0])
    print(f"copies at {bandwidth / 1e9:.1f} GB/s; interference {interference:.2f}, from {CAPS[0]} MiB")
    print("bucket cap  measured ms  without interference    with it    error")
    for cap, real in zip(CAPS, measured):
        ours = predict(job, cap, interference)
        print(f"{cap:>6} MiB {1e3 * real:12.1f} {1e3 * predict(job, cap):21.1f} {1e3 * ours:10.1f}  {100 * (ours / real - 1):+6.1f} %"
              f"{'  (calibrated)' if cap == CAPS[0] else ''}")


def rank(index, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=index, world_size=RANKS)
    trace = record(folder)
    table = ddpsim.torch.measure_all_reduces(folder / "allreduce.csv", [4 << bits for bits in range(10, 25, 2)])
    bandwidth = pass_bandwidth()
    measured = run()
    if index == 0:
        report(trace, table, bandwidth, measured)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "predict-and-run").absolute()
    folder.mkdir(exist_ok=True)
    (folder / "rendezvous").unlink(missing_ok=True)
    torch.multiprocessing.spawn(rank, (folder,), RANKS)
