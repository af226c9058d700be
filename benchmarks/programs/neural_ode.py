"""A neural ODE by torchdiffeq, whose small function is called hundreds of times a step; remedy: torch.compile."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torchdiffeq import odeint


class Function(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, size(256, 8)), nn.Tanh(), nn.Linear(size(256, 8), 2))

    def forward(self, t, y):
        return self.net(y**3)


torch.manual_seed(0)
function = Function().to(DEVICE)
right_side = torch.compile(function) if FIXED else function
optimizer = torch.optim.RMSprop(function.parameters(), lr=1e-3)
times = torch.linspace(0.0, 1.0, size(20, 4), device=DEVICE)
truth = torch.randn(size(20, 4), size(512, 4), 2, device=DEVICE)
clock, average = Clock(), 0.0
for step in range(STEPS):
    clock.begin()
    optimizer.zero_grad()
    seen = odeint(right_side, truth[0], times, method="rk4")
    loss = torch.mean(torch.abs(seen - truth))
    loss.backward()
    optimizer.step()
    average = 0.97 * average + 0.03 * loss.item()
    if step % 20 == 0:
        with torch.no_grad():
            clock.begin("evaluate")
            print(
                f"Iter {step}: {torch.mean(torch.abs(odeint(right_side, truth[0], times, method='rk4') - truth)).item():.4f}"
            )
clock.stop()
