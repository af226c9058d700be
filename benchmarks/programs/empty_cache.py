"""Knowledge distillation that empties the allocator's cache after each step; remedy: it does not."""

import gc

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

WIDTH, TOKENS, BATCH = size(768, 32), size(128, 8), size(64, 2)


def encoder(layers):
    layer = nn.TransformerEncoderLayer(
        WIDTH, size(12, 4), 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    return nn.Sequential(nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), nn.Linear(WIDTH, 128)).to(
        DEVICE
    )


torch.manual_seed(0)
teacher, student = encoder(size(6, 2)).eval().requires_grad_(False), encoder(size(3, 1))
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-4, fused=True)
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    patches = torch.randn(BATCH, TOKENS, WIDTH, device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        with torch.no_grad():
            wanted = teacher(patches).softmax(-1)
        loss = nn.functional.kl_div(student(patches).log_softmax(-1), wanted, reduction="batchmean")
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if not FIXED:
        gc.collect()
        torch.cuda.empty_cache()
clock.stop()
