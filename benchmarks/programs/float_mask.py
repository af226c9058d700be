"""A decoder whose attention adds a float mask of distances to the scores; remedy: is_causal, and positions in the embedding."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torch.nn import functional

WIDTH, HEADS, LENGTH, BATCH, VOCABULARY = size(512, 16), size(8, 2), size(2048, 16), size(8, 2), size(8192, 50)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, mask):
        q, k, v = self.qkv(self.norm1(x)).unflatten(2, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        mask = None if mask is None else mask.to(q.dtype)
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


torch.manual_seed(0)
embedding, head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
blocks = nn.ModuleList(Block() for _ in range(size(6, 2)))
model = nn.ModuleList([embedding, blocks, head]).to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=DEVICE == "cuda")
ahead = torch.arange(LENGTH, device=DEVICE)[:, None] - torch.arange(LENGTH, device=DEVICE)
slopes = 2.0 ** -torch.arange(1, HEADS + 1, device=DEVICE)
mask = (-slopes[:, None, None] * ahead).masked_fill(ahead < 0, float("-inf"))[None]
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        x = embedding(tokens[:, :-1])
        for block in blocks:
            x = block(x, None if FIXED else mask)
        loss = functional.cross_entropy(head(x).flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
