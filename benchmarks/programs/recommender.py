"""Click prediction from categories with large tables of embeddings; remedy: sparse gradients for the tables."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

ROWS, DIM, FIELDS, BATCH = size(2_000_000, 100), size(64, 8), 4, size(8192, 16)


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(ROWS, DIM, sparse=FIXED) for _ in range(FIELDS))
        self.dense = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, DIM))
        self.over = nn.Sequential(
            nn.Linear((FIELDS + 1) * DIM, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1)
        )

    def forward(self, numbers, categories):
        parts = [table(categories[:, field]) for field, table in enumerate(self.tables)]
        return self.over(torch.cat([self.dense(numbers), *parts], 1)).squeeze(1)


torch.manual_seed(0)
model = Recommender().to(DEVICE)
others = [*model.dense.parameters(), *model.over.parameters()]
if FIXED:
    optimizers = [torch.optim.SparseAdam(list(model.tables.parameters()), lr=1e-3), torch.optim.Adam(others, lr=1e-3)]
else:
    optimizers = [torch.optim.Adam(model.parameters(), lr=1e-3)]
criterion = nn.BCEWithLogitsLoss()
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    numbers, clicks = torch.rand(BATCH, 13, device=DEVICE), torch.randint(2, (BATCH,), device=DEVICE).float()
    categories = torch.randint(ROWS, (BATCH, FIELDS), device=DEVICE)
    loss = criterion(model(numbers, categories), clicks)
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
clock.stop()
