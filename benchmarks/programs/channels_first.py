"""Super-resolution by a convolutional network under AMP in channels-first layout; remedy: channels last."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

WIDTH, BLOCKS, BATCH, PATCH = size(128, 8), size(12, 2), size(16, 1), size(96, 8)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.Conv2d(WIDTH, WIDTH, 3, padding=1)

    def forward(self, x):
        return x + 0.1 * self.second(nn.functional.relu(self.first(x)))


class Upscaler(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(3, WIDTH, 3, padding=1)
        self.body = nn.Sequential(*[Block() for _ in range(BLOCKS)])
        self.tail = nn.Sequential(
            nn.Conv2d(WIDTH, 4 * WIDTH, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(WIDTH, 3, 3, padding=1)
        )

    def forward(self, x):
        x = self.head(x)
        return self.tail(x + self.body(x))


torch.manual_seed(0)
model = Upscaler().to(DEVICE)
small, large = (
    torch.rand(BATCH, 3, PATCH, PATCH, device=DEVICE),
    torch.rand(BATCH, 3, 2 * PATCH, 2 * PATCH, device=DEVICE),
)
if FIXED:
    model, small = model.to(memory_format=torch.channels_last), small.to(memory_format=torch.channels_last)
optimizer, scaler = torch.optim.Adam(model.parameters(), lr=1e-4), torch.amp.GradScaler(DEVICE)
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    with torch.autocast(DEVICE, torch.float16 if DEVICE == "cuda" else torch.bfloat16):
        loss = nn.functional.l1_loss(model(small), large)
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
clock.stop()
