"""Energies and forces of molecules by continuous filters, in double precision as NumPy's arrays are; remedy: float32.

Planted: the data comes from NumPy as float64, and ``model.double()`` was the way to make the types agree.
"""

import numpy as np
import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torch.nn import functional

DIM, LAYERS, GAUSSIANS, ATOMS, BATCH = size(128, 8), size(4, 2), 50, size(20, 4), size(256, 2)
CUTOFF = 6.0


class Interaction(nn.Module):
    def __init__(self):
        super().__init__()
        self.filters = nn.Sequential(nn.Linear(GAUSSIANS, DIM), nn.Softplus(), nn.Linear(DIM, DIM))
        self.into = nn.Linear(DIM, DIM, bias=False)
        self.out = nn.Sequential(nn.Linear(DIM, DIM), nn.Softplus(), nn.Linear(DIM, DIM))

    def forward(self, x, source, target, bases, weight):
        message = self.into(x)[source] * self.filters(bases) * weight[:, None]
        return self.out(torch.zeros_like(x).index_add(0, target, message))


class SchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, DIM)
        self.interactions = nn.ModuleList(Interaction() for _ in range(LAYERS))
        self.head = nn.Sequential(nn.Linear(DIM, DIM // 2), nn.Softplus(), nn.Linear(DIM // 2, 1))
        self.register_buffer("centers", torch.linspace(0, CUTOFF, GAUSSIANS))

    def forward(self, numbers, positions, source, target, molecule):
        distances = (positions[source] - positions[target]).norm(dim=1)
        bases = torch.exp(-10.0 * (distances[:, None] - self.centers) ** 2)
        weight = 0.5 * (torch.cos(distances * torch.pi / CUTOFF) + 1) * (distances < CUTOFF)
        x = self.embedding(numbers)
        for interaction in self.interactions:
            x = x + interaction(x, source, target, bases, weight)
        energies = self.head(x).squeeze(1)
        return energies.new_zeros(BATCH).index_add(0, molecule, energies)


rng = np.random.default_rng(0)
coordinates, wanted_forces = rng.normal(0, 2, (4, BATCH * ATOMS, 3)), rng.normal(0, 0.1, (4, BATCH * ATOMS, 3))
wanted_energies = rng.normal(size=(4, BATCH))
if FIXED:
    coordinates, wanted_forces, wanted_energies = (
        each.astype(np.float32) for each in (coordinates, wanted_forces, wanted_energies)
    )
data = [torch.from_numpy(each).to(DEVICE) for each in (coordinates, wanted_energies, wanted_forces)]
numbers = torch.from_numpy(rng.integers(1, 10, BATCH * ATOMS)).to(DEVICE)
one = torch.tensor([(a, b) for a in range(ATOMS) for b in range(ATOMS) if a != b], device=DEVICE)
source, target = (one[None] + ATOMS * torch.arange(BATCH, device=DEVICE)[:, None, None]).flatten(0, 1).T.contiguous()
molecule = torch.arange(BATCH, device=DEVICE).repeat_interleave(ATOMS)

torch.manual_seed(0)
model = SchNet().to(DEVICE)
if not FIXED:
    model = model.double()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
clock = Clock()
for step in range(STEPS):
    clock.begin()
    positions, energies, forces = (each[step % 4] for each in data)
    positions = positions.clone().requires_grad_()
    predicted = model(numbers, positions, source, target, molecule)
    (slopes,) = torch.autograd.grad(predicted.sum(), positions, create_graph=True)
    loss = functional.mse_loss(predicted, energies) + 10 * functional.mse_loss(-slopes, forces)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
clock.stop()
