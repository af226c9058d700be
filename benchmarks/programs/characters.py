"""An LSTM that writes characters and asks for each on the CPU; remedy: they stay on the GPU until the text is complete."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

ALPHABET, DIM, LENGTH, BATCH = 96, size(1024, 16), size(100, 4), size(32, 2)


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(ALPHABET, DIM)
        self.lstm, self.head = nn.LSTM(DIM, DIM, 2, batch_first=True), nn.Linear(DIM, ALPHABET)

    def forward(self, tokens, state=None):
        y, state = self.lstm(self.embedding(tokens), state)
        return self.head(y[:, -1]), state


torch.manual_seed(0)
model = Writer().to(DEVICE).eval()
clock = Clock()
for _ in range(STEPS):
    token, state, texts = torch.zeros(BATCH, 1, dtype=torch.long, device=DEVICE), None, [""] * BATCH
    written = []
    with torch.no_grad():
        for _ in range(LENGTH):
            clock.begin("write")
            scores, state = model(token, state)
            token = torch.multinomial((scores / 0.8).softmax(1), 1)
            written.append(token)
            if not FIXED:
                texts = [text + chr(32 + token[row].item()) for row, text in enumerate(texts)]
    if FIXED:
        texts = ["".join(chr(32 + number) for number in row) for row in torch.cat(written, 1).tolist()]
clock.stop()
