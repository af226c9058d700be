"""A music model whose attention is written out, mask and softmax and all; remedy: scaled_dot_product_attention."""

import math

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

WIDTH, HEADS, LENGTH, LAYERS, EVENTS = size(768, 32), size(12, 4), size(1024, 16), size(6, 1), 512


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.register_buffer("mask", torch.tril(torch.ones(LENGTH, LENGTH, dtype=torch.bool)))

    def forward(self, x):
        batch, length, _ = x.shape
        heads = (part(x).view(batch, length, HEADS, -1).transpose(1, 2) for part in (self.query, self.key, self.value))
        query, key, value = heads
        if FIXED:
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, None, 0.1 * self.training, True)
        else:
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
            mixed = nn.functional.dropout(scores.softmax(-1), 0.1, self.training) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.attention = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), Attention()
        self.feed_forward = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(EVENTS, WIDTH), *[Layer() for _ in range(LAYERS)], nn.Linear(WIDTH, EVENTS)).to(
    DEVICE
)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    events = torch.randint(0, EVENTS, (8, LENGTH + 1), device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        loss = nn.functional.cross_entropy(model(events[:, :-1]).flatten(0, 1), events[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
