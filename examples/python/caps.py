"""Which bucket cap is best as a job grows, and what PyTorch's default costs."""
import ddpsim

job = ddpsim.Job.load("quickstart")
for gpus in (64, 256, 1024):
    best = job.set({"cluster.world_size": gpus}).best_cap()
    print(f"{gpus:5} GPUs: bucket_cap_mb={best.bucket_cap_mb}, {1e3 * best.iteration_s:.1f} ms; "
          f"from {best.plateau[0]:.0f} to {best.plateau[1]:.0f} MiB within 0.5 %; the default costs {1e3 * best.default_costs_s:.1f} ms")
