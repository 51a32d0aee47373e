"""Pictures for a paper: the best bucket caps of three cluster sizes, and where the time of one step goes."""
import ddpsim

job = ddpsim.Job.load("quickstart")
caps = {"from": "1MiB", "to": "1GiB", "points": 30, "spacing": "log"}
axes = ddpsim.plot.sweep(job.sweep({"ddp.bucket_cap": caps, "cluster.world_size": [64, 256, 1024]}, progress=False))
axes.set_title("GPT-2 large on A100s of AWS p4d")
ddpsim.plot.save(axes, "caps.pdf")
ddpsim.plot.save(ddpsim.plot.timeline(job.set({"ddp.bucket_cap": "100MiB"}).simulate(), ranks=[0]), "step.svg")
