"""Records scripts for the tests: in this process, and by the command line."""
import runpy
import subprocess
import sys

from ddpsim.torch import trace_step


def record(world_size, script, **options):
    """The step of a script, in this process."""
    before, sys.argv = sys.argv, list(script)
    try:
        with trace_step(world_size, **options) as step:
            runpy.run_path(script[0], run_name="__main__")
    finally:
        sys.argv = before
    return step


def record_script(world_size, path, **options):
    """The same with what the command line does around a script."""
    from ddpsim.torch.fake.running import run_script
    with trace_step(world_size, **options) as step:
        run_script([path], False)
    return step


def command(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "ddpsim.torch", "record", *map(str, arguments)], capture_output=True, text=True, check=False, **options)


def script(tmp_path, body):
    """A script that trains one layer, with `body` in its step, where x is on a GPU."""
    path = tmp_path / "train.py"
    lines = ["import torch", "import ddpsim.torch", "layer = torch.nn.Linear(8, 8).cuda()", "optimizer = torch.optim.SGD(layer.parameters(), 0.1)", "for step in range(3):",
             "    x = layer(torch.randn(4, 8, device='cuda'))", *(f"    {line}" for line in body.splitlines()), "    x.sum().backward()", "    optimizer.step()"]
    path.write_text("\n".join(lines) + "\n")
    return path
