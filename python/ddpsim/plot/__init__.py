"""Pictures of studies, as axes that one goes on with. Needs matplotlib, and pandas for tables.

    import ddpsim
    axes = ddpsim.plot.sweep(ddpsim.Job.load("quickstart").sweep())
    axes.set_title("GPT-2 large on 1024 GPUs")
    ddpsim.plot.save(axes, "quickstart.pdf")

Every function draws on `ax`, or on a figure of its own, and returns the axes. Titles say in words what there is to see;
`title=` is another one.
"""
from ddpsim.plot.bandwidths import collective
from ddpsim.plot.canvas import save
from ddpsim.plot.gantt import timeline
from ddpsim.plot.judged import accuracy
from ddpsim.plot.stacks import parts
from ddpsim.plot.sweeps import bands, sweep
from ddpsim.plot.tornado import tornado

__all__ = ["accuracy", "bands", "collective", "parts", "save", "sweep", "timeline", "tornado"]
