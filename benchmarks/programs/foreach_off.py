"""AdamW that updates hundreds of small tensors one by one; remedy: the fused optimizer."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

WIDTH, DEPTH, ROWS = size(256, 16), size(40, 3), size(8192, 8)


class Residual(nn.Module):
    """One block of a tabular residual network."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, rows):
        return rows + self.down(nn.functional.relu(self.up(self.norm(rows))))


torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
model = nn.Sequential(nn.Linear(64, WIDTH), *[Residual(WIDTH) for _ in range(DEPTH)], nn.Linear(WIDTH, 1)).to(DEVICE)
optimizer = torch.optim.AdamW(
    model.parameters(), lr=1e-3, weight_decay=0.01, **({"fused": True} if FIXED else {"foreach": False})
)
features, targets = torch.randn(ROWS * 4, 64, device=DEVICE), torch.randn(ROWS * 4, 1, device=DEVICE)
clock = Clock()
for step in range(STEPS):
    clock.begin()
    rows = slice(step % 4 * ROWS, (step % 4 + 1) * ROWS)
    loss = nn.functional.mse_loss(model(features[rows]), targets[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
