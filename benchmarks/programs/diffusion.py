"""Sampling four latent images by DDIM with a U-Net in half precision; remedy: the network as a CUDA graph."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

WIDTH, SIDE, IMAGES = size(128, 32), size(32, 8), size(2, 1)
HALF = torch.float16 if DEVICE == "cuda" else torch.float32


class ResBlock(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, channels), nn.Conv2d(channels, out, 3, padding=1)
        self.time, self.norm2, self.conv2 = (
            nn.Linear(WIDTH, out),
            nn.GroupNorm(32, out),
            nn.Conv2d(out, out, 3, padding=1),
        )
        self.skip = nn.Conv2d(channels, out, 1) if channels != out else nn.Identity()

    def forward(self, x, t):
        h = self.conv1(nn.functional.silu(self.norm1(x))) + self.time(t)[:, :, None, None]
        return self.skip(x) + self.conv2(nn.functional.silu(self.norm2(h)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [WIDTH, WIDTH, 2 * WIDTH, 4 * WIDTH]
        self.time = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH))
        self.head, self.tail = nn.Conv2d(4, WIDTH, 3, padding=1), nn.Conv2d(WIDTH, 4, 3, padding=1)
        pairs = [(widths[i], widths[i + 1]) for i in range(3)]
        self.downs = nn.ModuleList(nn.ModuleList([ResBlock(a, b), ResBlock(b, b)]) for a, b in pairs)
        self.middle = nn.ModuleList([ResBlock(widths[-1], widths[-1]) for _ in range(2)])
        self.ups = nn.ModuleList(nn.ModuleList([ResBlock(2 * b, b), ResBlock(b, a)]) for a, b in pairs[::-1])

    def forward(self, x, t):
        frequency = torch.exp(-9.2 * torch.arange(WIDTH // 2, device=x.device) / (WIDTH // 2))
        angle = t[:, None].float() * frequency
        t = self.time(torch.cat([angle.sin(), angle.cos()], -1).to(x.dtype))
        x, skips = self.head(x), []
        for first, second in self.downs:
            x = second(first(x, t), t)
            skips.append(x)
            x = nn.functional.avg_pool2d(x, 2)
        for block in self.middle:
            x = block(x, t)
        for first, second in self.ups:
            x = nn.functional.interpolate(x, scale_factor=2, mode="nearest")
            x = second(first(torch.cat([x, skips.pop()], 1), t), t)
        return self.tail(x)


@torch.no_grad()
def capture(unet):
    """Capture the network in a CUDA graph, and return a function that replays it."""
    x, t = (
        torch.zeros(2 * IMAGES, 4, SIDE, SIDE, device=DEVICE, dtype=HALF),
        torch.zeros(2 * IMAGES, device=DEVICE).long(),
    )
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            unet(x, t)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        noise = unet(x, t)

    def replay(latents, times):
        x.copy_(latents)
        t.copy_(times)
        graph.replay()
        return noise

    return replay


@torch.no_grad()
def sample(unet):
    alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, device=DEVICE), 0)
    latents = torch.randn(IMAGES, 4, SIDE, SIDE, device=DEVICE, dtype=HALF)
    times = torch.linspace(999, 0, STEPS, device=DEVICE).long()
    clock = Clock()
    for step in range(STEPS):
        clock.begin("denoise")
        now, before = alphas[times[step]], alphas[times[min(step + 1, STEPS - 1)]]
        noise = unet(torch.cat([latents, latents]), times[step].expand(2 * IMAGES))
        with_prompt, without = noise.chunk(2)
        noise = without + 7.5 * (with_prompt - without)
        clean = (latents - (1 - now).sqrt() * noise) / now.sqrt()
        latents = (before.sqrt() * clean + (1 - before).sqrt() * noise).to(HALF)
    clock.stop()


torch.manual_seed(0)
unet = UNet().to(DEVICE, HALF).eval().requires_grad_(False)
if FIXED and DEVICE == "cuda":
    unet = capture(unet)
sample(unet)
