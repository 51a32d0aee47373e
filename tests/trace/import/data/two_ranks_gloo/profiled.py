"""profiled.py STEP OUT SCRIPT ARGUMENTS: one rank of a real run, of whose step STEP the profiler writes a trace. Its environment is as torchrun sets it."""
import runpy
import sys

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

number, out, *script = sys.argv[1:]
steps = 0
profiler = torch.profiler.profile(record_shapes=True)


def ended(*_):
    global steps
    steps += 1
    if steps == int(number) - 1:
        profiler.start()
    elif steps == int(number):
        profiler.stop()
        profiler.export_chrome_trace(out)


register_optimizer_step_post_hook(ended)
sys.argv = script
runpy.run_path(script[0], run_name="__main__")
