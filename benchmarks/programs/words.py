"""A text classifier whose loop splits and counts its words in Python; remedy: once, before the training."""

import random
import re

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

WORDS, LENGTH, BATCH, DIM = 20_000, size(256, 8), size(64, 4), size(512, 16)
random.seed(0)
texts = [" ".join(f"w{random.randrange(WORDS)}," for _ in range(LENGTH)) for _ in range(8 * BATCH)]
numbers = {f"w{number}": number + 1 for number in range(WORDS)}


def encode(text):
    words = [word.lower().strip() for word in re.findall(r"\w+|[^\w\s]", text)]
    return [numbers.get(word, 0) for word in words if word.isalnum()][:LENGTH]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS + 1, DIM)
        layer = nn.TransformerEncoderLayer(DIM, 8, 4 * DIM, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, size(4, 1), enable_nested_tensor=False)
        self.head = nn.Linear(DIM, 2)

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens)).mean(1))


torch.manual_seed(0)
model = Classifier().to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=DEVICE == "cuda")
ready = torch.tensor([encode(text) for text in texts]).to(DEVICE)
clock = Clock()
for step in range(STEPS):
    clock.begin()
    part = slice(step % 8 * BATCH, step % 8 * BATCH + BATCH)
    tokens = ready[part] if FIXED else torch.tensor([encode(text) for text in texts[part]]).to(DEVICE)
    labels = torch.randint(2, (BATCH,), device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
