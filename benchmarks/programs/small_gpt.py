"""A small GPT in bfloat16 with micro-batches, whose loss on other data is estimated now and then; remedy: torch.compile."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torch.nn import functional

DIM, LAYERS, HEADS, CONTEXT, BATCH, MICRO = size(768, 32), size(12, 2), size(12, 2), size(512, 16), size(12, 2), 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.c_attn, self.c_proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM), nn.Dropout(0.1))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (part.view(b, t, HEADS, -1).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).split(DIM, 2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(b, t, DIM))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(50304, DIM), nn.Embedding(CONTEXT, DIM)
        self.h, self.ln_f = nn.Sequential(*(Block() for _ in range(LAYERS))), nn.LayerNorm(DIM)
        self.lm_head = nn.Linear(DIM, 50304, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        return functional.cross_entropy(self.lm_head(self.ln_f(self.h(x))).flatten(0, 1), targets.flatten())


def get_batch():
    starts = torch.randint(len(data) - CONTEXT - 1, (BATCH,))
    x = torch.stack([data[i : i + CONTEXT] for i in starts])
    y = torch.stack([data[i + 1 : i + 1 + CONTEXT] for i in starts])
    if DEVICE == "cpu":
        return x, y
    return x.pin_memory().to(DEVICE, non_blocking=True), y.pin_memory().to(DEVICE, non_blocking=True)


@torch.no_grad()
def estimate_loss():
    model.eval()
    losses = []
    for _ in range(4):
        clock.begin("evaluate")
        with torch.autocast(DEVICE, torch.bfloat16):
            losses.append(model(*get_batch()).item())
    model.train()
    return sum(losses) / len(losses)


torch.manual_seed(0)
data = torch.randint(50000, (200_000,))
model = GPT().to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), fused=DEVICE == "cuda")
if FIXED:
    model = torch.compile(model)
clock = Clock()
for step in range(STEPS):
    if step and step % 20 == 0:
        print(f"step {step}: validation loss {estimate_loss():.4f}")
    clock.begin()
    for _ in range(MICRO):
        with torch.autocast(DEVICE, torch.bfloat16):
            loss = model(*get_batch()) / MICRO
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
clock.stop()
