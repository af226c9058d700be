"""A U-Net that segments images, in float32 as written; remedy: bfloat16 by autocast."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

WIDTH, SIDE, BATCH = size(48, 4), size(256, 32), size(16, 2)


def block(channels, out):
    layers = []
    for inner in (channels, out):
        layers += [nn.Conv2d(inner, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, width, depth=4):
        super().__init__()
        sizes = [width * 2**level for level in range(depth)]
        self.down = nn.ModuleList(block(a, b) for a, b in zip([3, *sizes], sizes))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * size, size, 2, 2) for size in sizes[-2::-1])
        self.merge = nn.ModuleList(block(2 * size, size) for size in sizes[-2::-1])
        self.head = nn.Conv2d(width, 5, 1)

    def forward(self, x):
        skips = []
        for down in self.down:
            x = down(nn.functional.max_pool2d(x, 2) if skips else x)
            skips.append(x)
        for up, merge, skip in zip(self.up, self.merge, skips[-2::-1]):
            x = merge(torch.cat([up(x), skip], 1))
        return self.head(x)


torch.manual_seed(0)
torch.backends.cudnn.benchmark = True
model = UNet(WIDTH).to(DEVICE)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-5, momentum=0.9)
images = torch.rand(2 * BATCH, 3, SIDE, SIDE, device=DEVICE)
masks = torch.randint(5, (2 * BATCH, SIDE, SIDE), device=DEVICE)
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    chosen = torch.randperm(len(images), device=DEVICE)[:BATCH]
    with torch.autocast(DEVICE, torch.bfloat16, enabled=FIXED):
        loss = nn.functional.cross_entropy(model(images[chosen]), masks[chosen])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
clock.stop()
