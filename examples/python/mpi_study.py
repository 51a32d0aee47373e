"""A study over MPI: mpirun -n 33 python3 -m mpi4py.futures mpi_study.py [RESULTS]; rank 0 deals out, the others work."""
import sys

from mpi4py.futures import MPIPoolExecutor

import ddpsim

if __name__ == "__main__":
    job = ddpsim.Job.load("quickstart")
    axes = {"cluster.world_size": {"from": 8, "to": 1007, "points": 100},
            "ddp.bucket_cap": {"from": "1MiB", "to": "1GiB", "points": 100, "spacing": "log"}}
    with MPIPoolExecutor() as executor:
        job.sweep(axes, executor=executor, results=sys.argv[1] if len(sys.argv) > 1 else "results.jsonl", resume=True, frame=False)
