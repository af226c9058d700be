"""A graph network on neighbours that are drawn for each batch by NumPy; remedy: they are drawn on the GPU."""

from itertools import pairwise

import numpy as np
import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torch.nn import functional

NODES, DEGREE, DIM, BATCH, DRAWN = size(500_000, 200), 16, size(128, 8), size(1024, 8), (10, 10)

rng = np.random.default_rng(0)
neighbours = rng.integers(0, NODES, (NODES, DEGREE))


class Sage(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2 * DIM, DIM) for _ in DRAWN)
        self.out = nn.Linear(DIM, 40)

    def forward(self, hops):
        values = [table[nodes] for nodes in hops]
        for layer in self.layers:
            values = [
                functional.relu(layer(torch.cat([near, far.view(*near.shape[:-1], -1, DIM).mean(-2)], -1)))
                for near, far in pairwise(values)
            ]
        return self.out(values[0])


def draw(seeds):
    hops = [seeds]
    for count in DRAWN:
        if FIXED:
            chosen = torch.randint(DEGREE, (*hops[-1].shape, count), device=DEVICE)
            hops.append(on_gpu[hops[-1][..., None], chosen])
        else:
            chosen = rng.integers(0, DEGREE, (*hops[-1].shape, count))
            hops.append(np.take_along_axis(neighbours[hops[-1]], chosen, -1))
    return hops if FIXED else [torch.from_numpy(hop).to(DEVICE) for hop in hops]


torch.manual_seed(0)
model = Sage().to(DEVICE)
table, labels = torch.randn(NODES, DIM, device=DEVICE), torch.randint(40, (NODES,), device=DEVICE)
on_gpu = torch.from_numpy(neighbours).to(DEVICE) if FIXED else None
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    seeds = torch.randint(NODES, (BATCH,), device=DEVICE) if FIXED else rng.integers(0, NODES, BATCH)
    hops = draw(seeds)
    loss = functional.cross_entropy(model(hops), labels[hops[0]])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
