"""A study on a Dask cluster: dask_study.py SCHEDULER_FILE [RESULTS]. Start again what was killed: finished points stay."""
import sys

from dask.distributed import Client

import ddpsim

if __name__ == "__main__":
    job = ddpsim.Job.load("quickstart")
    axes = {"cluster.world_size": {"from": 8, "to": 1007, "points": 100},
            "ddp.bucket_cap": {"from": "1MiB", "to": "1GiB", "points": 100, "spacing": "log"}}
    with Client(scheduler_file=sys.argv[1]) as client, client.get_executor() as executor:
        frame = job.sweep(axes, executor=executor, results=sys.argv[2] if len(sys.argv) > 2 else "results.jsonl", resume=True)
    print(frame.loc[frame.groupby("cluster.world_size")["iteration_s"].idxmin(), ["cluster.world_size", "ddp.bucket_cap", "iteration_s"]])
