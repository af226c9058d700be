"""An image fitted by a coordinate network with L-BFGS in float32; remedy: TF32."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

WIDTH, SIDE, LAYERS = size(512, 16), size(192, 8), 4


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(30 * x)


torch.manual_seed(0)
if FIXED:
    torch.set_float32_matmul_precision("high")
hidden = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), Sine())]
model = nn.Sequential(nn.Linear(2, WIDTH), Sine(), *hidden, nn.Linear(WIDTH, 3)).to(DEVICE)
line = torch.linspace(-1, 1, SIDE, device=DEVICE)
points = torch.stack(torch.meshgrid(line, line, indexing="ij"), -1).view(-1, 2)
image = torch.sin(8 * points.sum(1, keepdim=True)) * torch.rand(3, device=DEVICE)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4, history_size=10)
clock = Clock()


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(points), image)
    loss.backward()
    return loss


for step in range(STEPS):
    clock.begin("step")
    loss = optimizer.step(closure)
    if step % 10 == 0:
        print(f"step {step}: {loss.item():.5f}")
clock.stop()
