"""Image generation with classifier-free guidance, which calls the network twice a step; remedy: once, with both batches."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torch.nn import functional

WIDTH, SIDE, BATCH, CLASSES = size(128, 8), size(32, 8), size(4, 1), 10


class Residual(nn.Module):
    def __init__(self, into, out):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, into), nn.GroupNorm(8, out)
        self.conv1, self.conv2 = nn.Conv2d(into, out, 3, padding=1), nn.Conv2d(out, out, 3, padding=1)
        self.embed, self.skip = nn.Linear(4 * WIDTH, out), nn.Conv2d(into, out, 1) if into != out else nn.Identity()

    def forward(self, x, embedding):
        y = self.conv1(functional.silu(self.norm1(x))) + self.embed(functional.silu(embedding))[:, :, None, None]
        return self.skip(x) + self.conv2(functional.silu(self.norm2(y)))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, 4 * WIDTH), nn.SiLU(), nn.Linear(4 * WIDTH, 4 * WIDTH))
        self.label = nn.Embedding(CLASSES + 1, 4 * WIDTH)
        self.first, self.last = nn.Conv2d(3, WIDTH, 3, padding=1), nn.Conv2d(WIDTH, 3, 3, padding=1)
        self.down = nn.ModuleList(Residual(a * WIDTH, b * WIDTH) for a, b in ((1, 1), (1, 2), (2, 4)))
        self.middle = Residual(4 * WIDTH, 4 * WIDTH)
        self.up = nn.ModuleList(Residual(a * WIDTH, b * WIDTH) for a, b in ((8, 2), (4, 1), (2, 1)))

    def forward(self, x, time, label):
        embedding = self.time(time[:, None]) + self.label(label)
        x, skips = self.first(x), []
        for block in self.down:
            skips.append(block(x, embedding))
            x = functional.avg_pool2d(skips[-1], 2)
        x = self.middle(x, embedding)
        for block in self.up:
            x = functional.interpolate(x, scale_factor=2)
            x = block(torch.cat([x, skips.pop()], 1), embedding)
        return self.last(x)


torch.manual_seed(0)
network = Network().to(DEVICE).eval()
label = torch.randint(CLASSES, (BATCH,), device=DEVICE)
nothing = torch.full_like(label, CLASSES)
clock, x = Clock(), None
for step in range(STEPS):
    if step % 50 == 0:
        x = torch.randn(BATCH, 3, SIDE, SIDE, device=DEVICE)
    clock.begin("denoise")
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
        time = torch.full((BATCH,), 1 - step % 50 / 50, device=DEVICE)
        if FIXED:
            both = network(torch.cat([x, x]), torch.cat([time, time]), torch.cat([label, nothing]))
            wanted, free = both.chunk(2)
        else:
            wanted, free = network(x, time, label), network(x, time, nothing)
        x = x - 0.02 * (free + 4.0 * (wanted - free))
clock.stop()
