"""Predicts how long a data-parallel training iteration takes on a cluster, and which bucket size is best.

    import ddpsim
    job = ddpsim.Job.load("quickstart")
    print(job.simulate().iteration_s, job.best_cap().bucket_cap_mb)
"""
from ddpsim import plot
from ddpsim._core import version as __version__
from ddpsim.compared import Study
from ddpsim.costs import collective_time, presets
from ddpsim.errors import InputError
from ddpsim.frames import read_results
from ddpsim.job import BestCap, BestCaps, Job, Result, report

__all__ = ["BestCap", "BestCaps", "InputError", "Job", "Result", "Study", "__version__", "collective_time", "plot", "presets", "read_results", "report"]
