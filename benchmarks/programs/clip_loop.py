"""Gradients clipped by a Python loop over the parameters; remedy: ``clip_grad_norm_``, which takes them all at once."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

BATCH, DEPTH = size(32, 2), size(6, 1)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(1e-2 * torch.ones(width))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(nn.functional.gelu(self.up(y)))).permute(0, 3, 1, 2)


def make_model():
    layers = [nn.Conv2d(3, 64, 4, 4)]
    for width in (64, 128, 256):
        layers += [ConvNeXtBlock(width) for _ in range(DEPTH)] + [nn.Conv2d(width, 2 * width, 2, 2)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 100))


def clip(parameters, limit):
    total = 0.0
    for parameter in parameters:
        total = total + (parameter.grad**2).sum()
    scale = torch.clamp(limit / (total.sqrt() + 1e-6), max=1.0)
    for parameter in parameters:
        parameter.grad = parameter.grad * scale


torch.manual_seed(0)
model = make_model().to(DEVICE, memory_format=torch.channels_last)
parameters = list(model.parameters())
optimizer = torch.optim.AdamW(parameters, lr=1e-3, fused=True)
images = torch.randn(BATCH, 3, 128, 128, device=DEVICE).to(memory_format=torch.channels_last)
labels = torch.randint(0, 100, (BATCH,), device=DEVICE)
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    with torch.autocast(DEVICE, torch.bfloat16):
        loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    if FIXED:
        nn.utils.clip_grad_norm_(parameters, 1.0)
    else:
        clip(parameters, 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
clock.stop()
