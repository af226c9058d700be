"""A small ViT trained with a timer around each phase that waits for the GPU, and a clipping loop; remedy: neither."""

import time

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torchvision.models import VisionTransformer

torch.manual_seed(0)
model = VisionTransformer(size(96, 32), 16, size(8, 2), 6, size(384, 24), size(1536, 48), num_classes=100).to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
images = torch.rand(size(64, 4), 3, size(96, 32), size(96, 32), device=DEVICE)
labels = torch.randint(100, (len(images),), device=DEVICE)
seconds = dict.fromkeys(("forward", "backward", "clip", "step"), 0.0)


def measure(phase, begin):
    if not FIXED:
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        seconds[phase] += time.perf_counter() - begin
    return time.perf_counter()


clock, total = Clock(), 0.0
for _ in range(STEPS):
    clock.begin()
    begin = measure("step", time.perf_counter())
    with torch.autocast(DEVICE, torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    begin = measure("forward", begin)
    optimizer.zero_grad()
    loss.backward()
    begin = measure("backward", begin)
    if FIXED:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    else:
        norm = sum(p.grad.norm().item() ** 2 for p in model.parameters()) ** 0.5
        for p in model.parameters():
            p.grad.mul_(min(1.0, 1.0 / (norm + 1e-6)))
    begin = measure("clip", begin)
    optimizer.step()
    schedule.step()
    measure("step", begin)
    if not FIXED:
        total += loss.item()
clock.stop()
