#!/usr/bin/env python3
"""Records the buckets that PyTorch's DistributedDataParallel all-reduces, as JSON, for tests of sim/ddp.

Usage: record_pytorch.py [--out FILE|-] [--only REGEX] [--list]

Two ranks on this machine's loopback device, on CPUs, with Gloo. Each case of recorded_cases.py trains one of
recorded_models.py for three iterations, twice: once under a communication hook that writes down every bucket it is given,
once without a hook and profiled. Both must reduce buckets of the same sizes in the same order, and both ranks the same
parameters; otherwise the program fails. Works with torch 1.13 and later; a case that this version has no option for is
listed under "skipped".

{
  "recorded": {"torch", "python", "backend", "world_size", "date", "how"},
  "models": {name: {"parameters": [[name, elements, dtype], ...]}},      registration order: what DDP reduces. Numbers below
                                                                         called "parameter" are places in this list.
  "cases": [{
    "name", "model",
    "options": {"bucket_cap_mb": number or null (not given), "bucket_cap_mb_list": [number, ...] or null,
                "first_bucket_bytes": integer or null (dist._DEFAULT_FIRST_BUCKET_BYTES, as it was set),
                "find_unused_parameters", "static_graph", "gradient_as_bucket_view", "set_last_bucket_cap": booleans,
                "skip_all_reduce_unused_params": boolean,
                "accumulation_steps": integer (all but the last backward pass of an iteration under no_sync),
                "comm_hook": "none", "fp16_compress_hook" or "bf16_compress_hook"},
    "cap_bytes": integer, "cap_bytes_list": [integer, ...]               what DDP made of the caps
    "construction": [[collective, elements], ...]                        what DDP's constructor sends
    "iterations": three times {
      "arrivals": [parameter, ...]     the gradients in the order in which backward made them (rank 0; of an accumulated
                                       iteration: its last pass); parameters without a gradient are missing
      "buckets": [[parameter, ...], ...]   all-reduced, in launch order; inside, as they lie in the bucket
      "arrived": [count, ...]          how many gradients of "arrivals" existed when each bucket was launched
      "others": [[collective, elements, buckets launched before it], ...]  from before forward to the end of backward
    }}, ...],
  "skipped": [[case, reason], ...]
}
"""
import argparse
import datetime
import inspect
import json
import os
import platform
import re
import sys
import tempfile
import warnings
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch.autograd import profiler
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from recorded_cases import DEFAULTS, all_cases
from recorded_models import build

WORLD = 2
ITERATIONS = 3
STAGE = "recorded stage"  # a label in profiles
NO_DDP_ARGUMENT = ("first_bucket_bytes", "set_last_bucket_cap", "accumulation_steps", "comm_hook")


class OneThreadGloo(dist.ProcessGroupGloo):
    """Gloo starts collectives on two threads, so what a profile says of their order is a race; on one it is theirs."""

    def __init__(self, store, rank, size, timeout, **_):
        options = dist.ProcessGroupGloo._Options()
        options._devices = [dist.ProcessGroupGloo.create_device(interface="lo")]
        options._timeout, options._threads = timeout, 1
        super().__init__(store, rank, size, options)


def why_skipped(model, options):
    """Empty if this PyTorch can run the case. Called by every rank: bfloat16 is found out by sending some."""
    arguments = inspect.signature(DistributedDataParallel.__init__).parameters
    for key in ("bucket_cap_mb_list", "skip_all_reduce_unused_params"):
        if options[key] and key not in arguments:
            return f"DistributedDataParallel has no {key}"
    if options["comm_hook"] == "bf16_compress_hook" or any(p.dtype == torch.bfloat16 for p in model.parameters()):
        try:
            dist.broadcast(torch.zeros(1, dtype=torch.bfloat16), 0)
        except RuntimeError as error:
            return f"Gloo refuses bfloat16: {error}"
    return ""


def all_reduce_mean(group, bucket):
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda reduced: reduced.value()[0].div_(WORLD))


class Recorder:
    """The communication hook, and hooks on the parameters that note the order of their gradients."""

    def __init__(self, parameters, inner):
        self.index = {id(parameter): i for i, parameter in enumerate(parameters)}
        self.inner = inner
        for i, parameter in enumerate(parameters):
            parameter.register_hook(lambda gradient, i=i: self.arrivals.append(i))
        self.start()

    def start(self):
        self.arrivals, self.buckets, self.arrived = [], [], []

    def hook(self, group, bucket):
        parameters = bucket.parameters()
        assert bucket.buffer().numel() == sum(p.numel() for p in parameters), "a bucket holds more than its parameters"
        assert {bucket.buffer().dtype} == {p.dtype for p in parameters}, "a bucket of another dtype than its parameters"
        self.buckets.append([self.index[id(p)] for p in parameters])
        self.arrived.append(len(self.arrivals))
        return self.inner(group, bucket)


class Profile(profiler.profile):
    """Keeps what was recorded as it is: turning thousands of operators into Python objects takes longer than training."""

    def _parse_kineto_results(self, _):
        return []

    def collectives(self):
        """What Gloo was asked for in each stage, as [name, elements] in order."""
        events = [event for event in self.kineto_results.events()
                  if event.name() == STAGE or event.name().startswith("gloo:")]
        stages = []
        for event in sorted(events, key=lambda event: event.start_ns() if hasattr(event, "start_ns") else event.start_us()):
            if event.name() == STAGE:
                stages.append([])
            else:
                stages[-1].append([event.name()[len("gloo:"):], sum(torch.Size(shape).numel() for shape in event.shapes())])
        return stages


def train(ddp, options, rank, before, after):
    """Three iterations; only the last pass of each is reduced."""
    for iteration in range(ITERATIONS):
        for parameter in ddp.parameters():
            parameter.grad = None
        for micro_batch in range(options["accumulation_steps"]):
            last = micro_batch + 1 == options["accumulation_steps"]
            before(micro_batch)
            with nullcontext() if last else ddp.no_sync():
                ddp(iteration, rank).float().sum().backward()
        after()


def record_case(name, model_name, options, rank):
    """(case, parameters) or the reason why it was skipped."""
    ddp_arguments = {k: v for k, v in options.items() if k not in NO_DDP_ARGUMENT and v != DEFAULTS[k]}
    model = build(model_name)
    reason = why_skipped(model, options)
    if reason:
        return reason

    # Under the recording hook.
    parameters = [p for p in model.parameters() if p.requires_grad]
    ddp = DistributedDataParallel(model, **ddp_arguments)
    hook = options["comm_hook"]
    recorder = Recorder(parameters, all_reduce_mean if hook == "none" else getattr(default_hooks, hook))
    ddp.register_comm_hook(dist.group.WORLD, recorder.hook)
    iterations = []

    def after():
        iterations.append({"arrivals": recorder.arrivals, "buckets": recorder.buckets, "arrived": recorder.arrived})

    train(ddp, options, rank, lambda micro_batch: recorder.start(), after)

    # Without a hook, profiled on rank 0.
    def mark_iteration(micro_batch):
        if micro_batch == 0:
            with profiler.record_function(STAGE):
                pass

    plain = build(model_name)
    with Profile(enabled=rank == 0, record_shapes=True) as profile:
        mark_iteration(0)
        ddp = DistributedDataParallel(plain, **ddp_arguments)
        if hook != "none":
            ddp.register_comm_hook(dist.group.WORLD, getattr(default_hooks, hook))
        train(ddp, options, rank, mark_iteration, lambda: None)
        mark_iteration(0)
        dist.barrier()  # profiles miss collectives that end with them
    if not options["skip_all_reduce_unused_params"]:  # leaves out buckets, the log does not
        check_logged(name, ddp._get_ddp_logging_data(), parameters, iterations)

    case = {"name": name, "model": model_name, "options": options, "cap_bytes": ddp.bucket_bytes_cap,
            "cap_bytes_list": getattr(ddp, "bucket_bytes_cap_list", []), "iterations": iterations}
    if rank == 0:
        case["construction"], *sent, _ = profile.collectives()
        for iteration, recorded in zip(sent, iterations):
            elements = [sum(parameters[i].numel() for i in bucket) for bucket in recorded["buckets"]]
            recorded["others"] = split_off_buckets(name, iteration, elements)
    names = {id(p): n for n, p in model.named_parameters()}
    return case, [[names[id(p)], p.numel(), str(p.dtype)[len("torch."):]] for p in parameters]


def split_off_buckets(name, sent, bucket_elements):
    """The collectives that are no bucket's. Without a hook the buckets have to be those the hook saw."""
    others, launched = [], 0
    for collective, elements in sent:
        if collective == "all_reduce" and launched < len(bucket_elements) and elements == bucket_elements[launched]:
            launched += 1
        else:
            others.append([collective, elements, launched])
    assert launched == len(bucket_elements), f"{name}: hooked {bucket_elements}, without a hook {sent}"
    return others


def check_logged(name, logged, parameters, iterations):
    """DDP's own log of a run without a hook says the same."""
    def logged_list(key):
        return [int(n) for n in logged[key].split(",")] if logged.get(key) else None

    def bucket_bytes(iteration):
        return [sum(parameters[i].numel() * parameters[i].element_size() for i in b) for b in iteration["buckets"]]

    expected = {"bucket_sizes": bucket_bytes(iterations[0]), "rebuilt_bucket_sizes": bucket_bytes(iterations[-1]),
                "prev_iteration_grad_ready_order_indices": iterations[-2]["arrivals"]}
    for key, value in expected.items():
        assert logged_list(key) in (None, value), f"{name}: DDP logs {key} {logged[key]}, recorded {value}"


def run_rank(rank, folder, names):
    log = os.open(f"{folder}/stderr-{rank}", os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 2)  # DDP and Gloo warn a lot; an exception comes back through torch.multiprocessing
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.distributed_c10d.ProcessGroupGloo = OneThreadGloo
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=WORLD,
                            timeout=datetime.timedelta(seconds=120))
    default_first_bucket = dist._DEFAULT_FIRST_BUCKET_BYTES
    models, cases, skipped = {}, [], []
    for name, model, options in all_cases():
        if name not in names:
            continue
        os.environ["DDP_SET_LAST_BUCKET_CAP"] = "1" if options["set_last_bucket_cap"] else "0"
        dist._DEFAULT_FIRST_BUCKET_BYTES = options["first_bucket_bytes"] or default_first_bucket
        torch.manual_seed(2 + rank)
        result = record_case(name, model, options, rank)
        if isinstance(result, str):
            skipped.append([name, result])
            continue
        cases.append(result[0])
        assert models.setdefault(model, {"parameters": result[1]}) == {"parameters": result[1]}
    Path(folder, f"rank-{rank}.json").write_text(json.dumps([models, cases, skipped]))
    dist.barrier()
    dist.destroy_process_group()


def check_ranks_agree(ranks):
    for case, other in zip(ranks[0][1], ranks[1][1]):
        for ours, theirs in zip(case["iterations"], other["iterations"]):
            assert ours["buckets"] == theirs["buckets"], f"{case['name']}: the ranks' buckets differ"


def record(names):
    with tempfile.TemporaryDirectory() as folder:
        try:
            torch.multiprocessing.spawn(run_rank, (folder, names), WORLD)
        except Exception:
            sys.stderr.write("".join(path.read_text() for path in sorted(Path(folder).glob("stderr-*"))))
            raise
        ranks = [json.loads(Path(folder, f"rank-{rank}.json").read_text()) for rank in range(WORLD)]
    check_ranks_agree(ranks)
    models, cases, skipped = ranks[0]
    header = {"torch": torch.__version__, "python": platform.python_version(), "backend": "gloo", "world_size": WORLD,
              "date": datetime.date.today().isoformat(),
              "how": "python3 tests/ddp/record_pytorch.py, CPUs, one thread a rank"}
    return {"recorded": header, "models": models, "cases": cases, "skipped": skipped}


def text(recording):
    """JSON with a line a case."""
    def line(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":"))

    cases = ",\n".join(line(case) for case in recording["cases"])
    models = ",\n".join(f"{line(name)}:{line(model)}" for name, model in sorted(recording["models"].items()))
    return (f'{{"cases":[\n{cases}\n],\n"models":{{\n{models}\n}},\n"recorded":{line(recording["recorded"])},\n'
            f'"skipped":{line(recording["skipped"])}}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="-", help="file to write; - for standard output")
    parser.add_argument("--only", default="", help="regular expression that the names of cases have to match")
    parser.add_argument("--list", action="store_true", help="print the names of cases and end")
    arguments = parser.parse_args()
    names = [name for name, _, _ in all_cases() if re.search(arguments.only, name)]
    if arguments.list:
        print("\n".join(names))
        return
    output = text(record(names))
    if arguments.out == "-":
        sys.stdout.write(output)
    else:
        Path(arguments.out).write_text(output)


if __name__ == "__main__":
    main()
