"""A Swin transformer of timm that recomputes its blocks although there is memory enough; remedy: no checkpointing.

Planted: ``set_grad_checkpointing`` as in a script for a small GPU; the activations of a batch need a tenth of the memory.
"""

import timm
import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

BATCH, SIDE = size(64, 2), size(224, 64)

torch.manual_seed(0)
model = timm.create_model(
    "swin_tiny_patch4_window7_224", num_classes=200, img_size=SIDE, window_size=7 if SIDE == 224 else 2
)
model.set_grad_checkpointing(not FIXED)
model = model.to(DEVICE).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.05, fused=DEVICE == "cuda")
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-4, total_steps=STEPS + 1)
images = torch.rand(4 * BATCH, 3, SIDE, SIDE, device=DEVICE)
labels = torch.randint(200, (4 * BATCH,), device=DEVICE)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
clock = Clock()
for step in range(STEPS):
    clock.begin()
    part = slice(step % 4 * BATCH, (step % 4 + 1) * BATCH)
    with torch.autocast(DEVICE, torch.bfloat16):
        loss = criterion(model(images[part]), labels[part])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.3f}")
clock.stop()
