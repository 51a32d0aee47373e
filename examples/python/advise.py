"""From a training script to advice: which bucket_cap_mb does the model that is trained here want on 256 GPUs?"""
import torch
import ddpsim.torch

model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(24)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
with ddpsim.torch.record(model, out="trace.csv", batch_size=8, optimizer=optimizer) as recording:
    while not recording.done:
        optimizer.zero_grad()
        model(torch.randn(8, 1024)).square().mean().backward()
        recording.step(optimizer.step)
print(ddpsim.torch.advise(recording, cluster={"topology": "ring-100gbps", "world_size": 256}))
