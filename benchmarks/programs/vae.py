"""A small variational autoencoder, whose kernels are over before the next launch; remedy: CUDA graphs by torch.compile."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torch.nn import functional

BATCH = size(128, 8)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc21, self.fc22 = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
        self.fc3, self.fc4 = nn.Linear(20, 400), nn.Linear(400, 784)

    def forward(self, x):
        hidden = functional.relu(self.fc1(x))
        mean, log_variance = self.fc21(hidden), self.fc22(hidden)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return torch.sigmoid(self.fc4(functional.relu(self.fc3(z)))), mean, log_variance


def compute_loss(x):
    seen, mean, log_variance = model(x)
    bce = functional.binary_cross_entropy(seen, x, reduction="sum")
    return bce - 0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())


torch.manual_seed(0)
model = VAE().to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
digits = torch.rand(100 * BATCH, 784, device=DEVICE)
function = torch.compile(compute_loss, mode="reduce-overhead") if FIXED else compute_loss
clock, losses = Clock(), []
for step in range(STEPS):
    clock.begin()
    batch = digits[step % 100 * BATCH :][:BATCH]
    optimizer.zero_grad()
    loss = function(batch)
    loss.backward()
    losses.append(loss.detach().clone())
    optimizer.step()
clock.stop()
