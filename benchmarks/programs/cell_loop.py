"""Sensor series through a GRU cell called for each point in time; remedy: ``nn.GRU`` over the whole series."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

SENSORS, WIDTH, TIMES, BATCH = 32, size(256, 16), size(96, 6), size(256, 4)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(SENSORS, WIDTH, batch_first=True) if FIXED else nn.GRUCell(SENSORS, WIDTH)
        self.head = nn.Linear(WIDTH, SENSORS)

    def forward(self, series):
        if FIXED:
            return self.head(self.rnn(series)[0])
        state, outputs = series.new_zeros(len(series), WIDTH), []
        for time in range(series.shape[1]):
            state = self.rnn(series[:, time], state)
            outputs.append(self.head(state))
        return torch.stack(outputs, 1)


torch.manual_seed(0)
model = Forecaster().to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
series = torch.randn(BATCH * 8, TIMES + 1, SENSORS, device=DEVICE)
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    batch = series[torch.randperm(len(series), device=DEVICE)[:BATCH]]
    loss = nn.functional.smooth_l1_loss(model(batch[:, :-1]), batch[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
