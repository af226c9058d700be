"""A transformer of time series whose attention returns its weights, which nobody reads; remedy: need_weights=False."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

DIM, HEADS, LAYERS, LENGTH, BATCH = size(512, 16), size(8, 2), size(6, 2), size(720, 8), size(24, 2)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(DIM, HEADS, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.fast = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        y = self.norm1(x)
        y, _ = self.attention(y, y, y, need_weights=not FIXED)
        x = x + y
        return x + self.fast(self.norm2(x))


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.into, self.out = nn.Linear(7, DIM), nn.Linear(DIM, 7)
        self.place = nn.Parameter(torch.zeros(LENGTH, DIM))
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))

    def forward(self, series):
        return self.out(self.layers(self.into(series) + self.place))


torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
model = Forecaster().to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=DEVICE == "cuda")
series = torch.randn(BATCH * 4, LENGTH + 96, 7, device=DEVICE)
clock = Clock()
for step in range(STEPS):
    clock.begin()
    batch = series[step % 4 :: 4]
    with torch.autocast(DEVICE, torch.bfloat16):
        loss = nn.functional.mse_loss(model(batch[:, :LENGTH]), batch[:, 96 : LENGTH + 96])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
