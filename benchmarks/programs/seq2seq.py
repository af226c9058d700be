"""Translation as in PyTorch's tutorial: a decoder that attends for each word in a loop; no remedy is planted."""

import random

import torch
from clock import DEVICE, STEPS, Clock, size
from torch import nn

HIDDEN, WORDS, BATCH, LENGTH = size(512, 16), size(8000, 50), size(64, 2), size(20, 4)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(WORDS, HIDDEN), nn.GRU(HIDDEN, HIDDEN, batch_first=True)
        self.dropout = nn.Dropout(0.1)

    def forward(self, words):
        return self.gru(self.dropout(self.embedding(words)))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.Wa, self.Ua, self.Va = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        return torch.bmm(torch.softmax(scores.squeeze(2).unsqueeze(1), -1), keys)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.attention = nn.Embedding(WORDS, HIDDEN), Attention()
        self.gru, self.out = nn.GRU(2 * HIDDEN, HIDDEN, batch_first=True), nn.Linear(HIDDEN, WORDS)

    def forward(self, keys, hidden, target):
        word = torch.zeros(len(keys), 1, dtype=torch.long, device=keys.device)
        outputs, forced = [], random.random() < 0.5
        for place in range(target.shape[1]):
            context = self.attention(hidden.permute(1, 0, 2), keys)
            output, hidden = self.gru(torch.cat([self.embedding(word), context], 2), hidden)
            outputs.append(self.out(output))
            word = target[:, place : place + 1] if forced else outputs[-1].argmax(-1).detach()
        return torch.cat(outputs, 1)


torch.manual_seed(0)
encoder, decoder = Encoder().to(DEVICE), Decoder().to(DEVICE)
optimizers = [torch.optim.Adam(model.parameters(), lr=1e-3) for model in (encoder, decoder)]
criterion = nn.NLLLoss()
clock, total = Clock(), 0.0
for _ in range(STEPS):
    clock.begin()
    source = torch.randint(WORDS, (BATCH, random.randint(LENGTH // 2, LENGTH)), device=DEVICE)
    target = torch.randint(WORDS, (BATCH, random.randint(LENGTH // 2, LENGTH)), device=DEVICE)
    for optimizer in optimizers:
        optimizer.zero_grad()
    scores = torch.log_softmax(decoder(*encoder(source), target), -1)
    loss = criterion(scores.flatten(0, 1), target.flatten())
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    total += loss.item()
clock.stop()
