"""A recurrent language model with a vocabulary of 33,279 words, as WikiText-2 has; remedy: padded to 33,280."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

WORDS = size(33280, 104) if FIXED else size(33279, 103)
WIDTH, BATCH, LENGTH = size(1024, 16), size(64, 2), size(128, 4)


class WordModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(WORDS, WIDTH), nn.LSTM(WIDTH, WIDTH, 2, dropout=0.2, batch_first=True)
        self.project = nn.Linear(WIDTH, WORDS)

    def forward(self, words, state):
        hidden, state = self.rnn(self.embed(words), state)
        return self.project(hidden), tuple(part.detach() for part in state)


torch.manual_seed(0)
text = torch.randint(0, 33279 if WORDS > 1000 else 103, (BATCH, STEPS * LENGTH + 1), device=DEVICE)
model, state = WordModel().to(DEVICE), None
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
clock = Clock()
for step in range(STEPS):
    clock.begin()
    words = text[:, step * LENGTH : (step + 1) * LENGTH + 1]
    with torch.autocast(DEVICE, torch.bfloat16):
        logits, state = model(words[:, :-1], state)
        loss = nn.functional.cross_entropy(logits.reshape(-1, WORDS), words[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
clock.stop()
