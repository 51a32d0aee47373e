"""steps.py ddp|fsdp1|fsdp2: the steps that scripts/gpu_kit/profiles.py profiles, for `ddpsim record`."""
import sys
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[5] / "scripts/gpu_kit"))
import models  # noqa: E402
import sharding  # noqa: E402

kind = sys.argv[1]
dist.init_process_group("nccl")
model = models.build("gpt2", "cuda")
tokens = torch.randint(0, model.vocabulary, (2, 256), device="cuda")
wrap = {"ddp": lambda: sharding.ddp(model, "cuda"), "fsdp2": lambda: sharding.fsdp2(model, mixed=True), "fsdp1": lambda: sharding.fsdp1(model, True, "cuda")}
model = wrap[kind]()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(3):
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=kind == "ddp"):
        loss = model(tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
