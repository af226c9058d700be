"""A GPT that accumulates gradients of four batches and is evaluated now and then; remedy: ``torch.compile``."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

WIDTH, HEADS, LENGTH, LAYERS, WORDS, BATCH = (
    size(768, 32),
    size(12, 4),
    size(512, 16),
    size(6, 1),
    size(8192, 64),
    size(16, 2),
)
EVERY, PARTS, EVAL_BATCHES = 10, 4, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        parts = self.qkv(self.ln1(x)).chunk(3, -1)
        q, k, v = (part.view(*x.shape[:2], HEADS, -1).transpose(1, 2) for part in parts)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.ln = nn.Sequential(*[Block() for _ in range(LAYERS)]), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words, targets):
        x = self.wte(words) + self.wpe(torch.arange(words.shape[1], device=words.device))
        logits = self.head(self.ln(self.blocks(x)))
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def get_batch():
    words = torch.randint(0, WORDS, (BATCH, LENGTH + 1), device=DEVICE)
    return words[:, :-1], words[:, 1:]


torch.manual_seed(0)
gpt = GPT().to(DEVICE)
model = torch.compile(gpt) if FIXED and DEVICE == "cuda" else gpt
optimizer = torch.optim.AdamW(gpt.parameters(), lr=6e-4, betas=(0.9, 0.95), fused=True)
autocast = torch.autocast(DEVICE, torch.bfloat16)
clock = Clock()
for step in range(STEPS):
    if step % EVERY == EVERY - 1:
        model.eval()
        losses = torch.zeros(EVAL_BATCHES)
        for batch in range(EVAL_BATCHES):
            clock.begin("evaluate")
            with torch.no_grad(), autocast:
                losses[batch] = model(*get_batch()).item()
        print(f"step {step}: validation {losses.mean():.4f}")
        model.train()
    for part in range(PARTS):
        clock.begin("accumulate" if part < PARTS - 1 else "update")
        with autocast:
            loss = model(*get_batch()) / PARTS
        loss.backward()
    torch.nn.utils.clip_grad_norm_(gpt.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
clock.stop()
