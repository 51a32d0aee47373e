"""How much of a step PyTorch's default bucket cap loses as a job grows."""
import ddpsim

frame = ddpsim.Job.load("quickstart").sweep(
    {"cluster.world_size": [64, 256, 1024], "ddp.bucket_cap": ["25MiB", "100MiB", "400MiB"]},
    results="growth.jsonl", resume=True, progress=False)
print(frame.pivot(index="cluster.world_size", columns="ddp.bucket_cap", values="iteration_s").round(4))
