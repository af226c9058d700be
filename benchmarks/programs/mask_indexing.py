"""A mixture of experts that selects each expert's tokens by a boolean mask; remedy: equal parts, in one product."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

WIDTH, EXPERTS, LAYERS, TOKENS = size(512, 16), size(8, 2), size(4, 1), size(8192, 32)


class Experts(nn.Module):
    """Feed-forward experts, one for each token by the router's choice."""

    def __init__(self):
        super().__init__()
        self.router, self.norm = nn.Linear(WIDTH, EXPERTS), nn.LayerNorm(WIDTH)
        self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, 4 * WIDTH) / 32)
        self.down = nn.Parameter(torch.randn(EXPERTS, 4 * WIDTH, WIDTH) / 64)

    def forward(self, tokens):
        x = self.norm(tokens)
        weight, choice = self.router(x).softmax(-1).max(-1)
        if FIXED:
            order = choice.argsort().view(EXPERTS, -1)
            out = torch.bmm(nn.functional.gelu(torch.bmm(x[order], self.up)), self.down)
            mixed = torch.zeros_like(x).index_copy(0, order.flatten(), out.flatten(0, 1).to(x.dtype))
        else:
            mixed = torch.zeros_like(x)
            for expert in range(EXPERTS):
                mask = choice == expert
                if mask.any():
                    mixed[mask] = (nn.functional.gelu(x[mask] @ self.up[expert]) @ self.down[expert]).to(x.dtype)
        return tokens + weight[:, None] * mixed


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, WIDTH), *[Experts() for _ in range(LAYERS)], nn.Linear(WIDTH, 128)).to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    tokens = torch.randn(TOKENS, 128, device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        loss = nn.functional.mse_loss(model(tokens), tokens.flip(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
