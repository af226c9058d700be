"""Denoising with noise that NumPy draws on the CPU in each step; remedy: it is drawn on the GPU."""

import numpy as np
import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

WIDTH, BATCH, SIDE = size(128, 4), size(64, 2), size(64, 16)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.GroupNorm(4, WIDTH), nn.SiLU(), nn.Conv2d(WIDTH, WIDTH, 3, padding=1),
            nn.GroupNorm(4, WIDTH), nn.SiLU(), nn.Conv2d(WIDTH, WIDTH, 3, padding=1),
        )  # fmt: skip

    def forward(self, x):
        return x + self.body(x)


torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, WIDTH, 3, padding=1), *(Residual() for _ in range(6)), nn.Conv2d(WIDTH, 3, 3, padding=1)
)
model = model.to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, fused=DEVICE == "cuda")
alphas = np.cumprod(1 - np.linspace(1e-4, 0.02, 1000)).astype(np.float32)
photos = torch.rand(BATCH, 3, SIDE, SIDE, device=DEVICE)
rng = np.random.default_rng(0)
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    level = torch.from_numpy(alphas[rng.integers(0, 1000, BATCH)]).to(DEVICE)[:, None, None, None]
    if FIXED:
        noise = torch.randn(BATCH, 3, SIDE, SIDE, device=DEVICE)
    else:
        noise = torch.from_numpy(rng.standard_normal((BATCH, 3, SIDE, SIDE))).float().to(DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        seen = model(level.sqrt() * photos + (1 - level).sqrt() * noise)
        loss = nn.functional.mse_loss(seen.float(), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
