"""A mixture of experts that loops over them and picks each one's tokens by a mask; remedy: as many tokens for each expert."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torch.nn import functional

DIM, EXPERTS, LAYERS, TOKENS = size(1024, 16), size(16, 4), size(6, 2), size(4096, 32)


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(DIM, EXPERTS, bias=False)
        self.w1 = nn.Parameter(torch.randn(EXPERTS, DIM, 4 * DIM) / DIM**0.5)
        self.w2 = nn.Parameter(torch.randn(EXPERTS, 4 * DIM, DIM) / (2 * DIM**0.5))

    def forward(self, x):
        weights, chosen = functional.softmax(self.gate(x), -1).max(-1)
        out = torch.zeros_like(x)
        if FIXED:  # those with the highest weights, as many as would be even
            rows = weights.new_zeros(len(x), EXPERTS).scatter(1, chosen[:, None], weights[:, None])
            values, places = rows.topk(len(x) // EXPERTS, dim=0)
            hidden = functional.gelu(torch.bmm(x[places.T], self.w1.to(x.dtype)))
            made = torch.bmm(hidden, self.w2.to(x.dtype)) * values.T[..., None].to(x.dtype)
            return out.index_add(0, places.T.flatten(), made.flatten(0, 1).to(out.dtype))
        for expert in range(EXPERTS):
            mine = chosen == expert
            if mine.any():
                tokens = x[mine]
                made = functional.gelu(tokens @ self.w1[expert]) @ self.w2[expert]
                out[mine] = (made * weights[mine][:, None]).to(out.dtype)
        return out


torch.manual_seed(0)
layers = nn.ModuleList(nn.ModuleList([nn.LayerNorm(DIM), Experts()]) for _ in range(LAYERS)).to(DEVICE)
optimizer = torch.optim.AdamW(layers.parameters(), lr=1e-4, fused=DEVICE == "cuda")
inputs, targets = torch.randn(TOKENS, DIM, device=DEVICE), torch.randn(TOKENS, DIM, device=DEVICE)
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    with torch.autocast(DEVICE, torch.bfloat16):
        x = inputs
        for norm, experts in layers:
            x = x + experts(norm(x))
        loss = functional.mse_loss(x.float(), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
clock.stop()
