"""DCGAN as in PyTorch's examples, which prints five values of each step; remedy: no value is read in a step."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

NOISE, WIDTH, BATCH = 100, size(64, 4), size(64, 4)


def up(channels, out, stride, padding):
    return [nn.ConvTranspose2d(channels, out, 4, stride, padding, bias=False), nn.BatchNorm2d(out), nn.ReLU(True)]


def down(channels, out):
    return [nn.Conv2d(channels, out, 4, 2, 1, bias=False), nn.BatchNorm2d(out), nn.LeakyReLU(0.2, inplace=True)]


torch.manual_seed(0)
generator = nn.Sequential(
    *up(NOISE, 8 * WIDTH, 1, 0), *up(8 * WIDTH, 4 * WIDTH, 2, 1), *up(4 * WIDTH, 2 * WIDTH, 2, 1), *up(2 * WIDTH, WIDTH, 2, 1),
    nn.ConvTranspose2d(WIDTH, 3, 4, 2, 1, bias=False), nn.Tanh(),
).to(DEVICE)  # fmt: skip
critic = nn.Sequential(
    nn.Conv2d(3, WIDTH, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    *down(WIDTH, 2 * WIDTH), *down(2 * WIDTH, 4 * WIDTH), *down(4 * WIDTH, 8 * WIDTH),
    nn.Conv2d(8 * WIDTH, 1, 4, 1, 0, bias=False), nn.Sigmoid(), nn.Flatten(0),
).to(DEVICE)  # fmt: skip
optimizers = [torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999)) for net in (critic, generator)]
criterion = nn.BCELoss()
photos = torch.rand(4 * BATCH, 3, 64, 64, device=DEVICE)
clock = Clock()
for step in range(STEPS):
    clock.begin()
    critic.zero_grad()
    real = photos[step % 4 * BATCH :][:BATCH]
    label = torch.full((BATCH,), 1.0, device=DEVICE)
    output = critic(real)
    loss_real = criterion(output, label)
    loss_real.backward()
    if not FIXED:
        d_x = output.mean().item()
    fake = generator(torch.randn(BATCH, NOISE, 1, 1, device=DEVICE))
    label.fill_(0.0)
    output = critic(fake.detach())
    loss_fake = criterion(output, label)
    loss_fake.backward()
    if not FIXED:
        d_g_z1 = output.mean().item()
    optimizers[0].step()
    generator.zero_grad()
    label.fill_(1.0)
    output = critic(fake)
    loss = criterion(output, label)
    loss.backward()
    if not FIXED:
        d_g_z2 = output.mean().item()
    optimizers[1].step()
    if not FIXED:
        print(f"[{step}] {(loss_real + loss_fake).item():.4f} {loss.item():.4f} {d_x:.4f} {d_g_z1:.4f} / {d_g_z2:.4f}")
clock.stop()
