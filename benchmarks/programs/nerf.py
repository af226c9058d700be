"""A radiance field trained on rays with coarse and fine samples, in float32 as published; remedy: TF32.

As found in public code, nothing is planted; ``set_float32_matmul_precision("high")`` is what helps most.
"""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torch.nn import functional

WIDTH, DEPTH, RAYS, COARSE, FINE = size(256, 16), size(8, 3), size(1024, 8), size(64, 8), size(128, 8)
NEAR, FAR = 2.0, 6.0


def encode(x, octaves):
    angles = x[..., None, :] * 2.0 ** torch.arange(octaves, device=x.device)[:, None]
    return torch.cat([x, torch.sin(angles).flatten(-2), torch.cos(angles).flatten(-2)], -1)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [63] + [WIDTH] * DEPTH
        widths[DEPTH // 2] += 63
        self.layers = nn.ModuleList(nn.Linear(into, WIDTH) for into in widths[:DEPTH])
        self.density, self.feature = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, WIDTH)
        self.view, self.color = nn.Linear(WIDTH + 27, WIDTH // 2), nn.Linear(WIDTH // 2, 3)

    def forward(self, points, directions):
        x = start = encode(points, 10)
        for i, layer in enumerate(self.layers):
            if i == DEPTH // 2:
                x = torch.cat([start, x], -1)
            x = functional.relu(layer(x))
        views = encode(directions, 4)[:, None].expand(-1, points.shape[1], -1)
        y = functional.relu(self.view(torch.cat([self.feature(x), views], -1)))
        return torch.sigmoid(self.color(y)), functional.relu(self.density(x)).squeeze(-1)


def render(field, origins, directions, depths):
    colors, density = field(origins[:, None] + directions[:, None] * depths[..., None], directions)
    lengths = functional.pad(depths.diff(dim=-1), (0, 1), value=1e10)
    alpha = 1 - torch.exp(-density * lengths)
    free = torch.cumprod(functional.pad(1 - alpha + 1e-10, (1, 0), value=1.0), -1)[:, :-1]
    weights = alpha * free
    return (weights[..., None] * colors).sum(1), weights


def sample(depths, weights):
    middles = 0.5 * (depths[:, 1:] + depths[:, :-1])
    share = weights[:, 1:-1] + 1e-5
    total = functional.pad((share / share.sum(-1, keepdim=True)).cumsum(-1), (1, 0))
    u = torch.rand(len(depths), FINE, device=depths.device)
    above = torch.searchsorted(total, u, right=True).clamp(1, total.shape[1] - 1)
    low, high = total.gather(1, above - 1), total.gather(1, above)
    left, right = middles.gather(1, above - 1), middles.gather(1, above)
    return left + (u - low) / (high - low).clamp(min=1e-5) * (right - left)


torch.manual_seed(0)
if FIXED:
    torch.set_float32_matmul_precision("high")
coarse, fine = Field().to(DEVICE), Field().to(DEVICE)
optimizer = torch.optim.Adam([*coarse.parameters(), *fine.parameters()], lr=5e-4)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9995)
pool = size(200_000, 64)
all_origins = functional.normalize(torch.randn(pool, 3, device=DEVICE), dim=1) * 4
all_directions = functional.normalize(-all_origins + 0.5 * torch.randn_like(all_origins), dim=1)
all_colors = torch.rand(pool, 3, device=DEVICE)
clock = Clock()
for step in range(STEPS):
    clock.begin()
    chosen = torch.randint(pool, (RAYS,), device=DEVICE)
    origins, directions, colors = all_origins[chosen], all_directions[chosen], all_colors[chosen]
    depths = (
        torch.linspace(NEAR, FAR, COARSE, device=DEVICE)
        + torch.rand(RAYS, COARSE, device=DEVICE) * (FAR - NEAR) / COARSE
    )
    rough, weights = render(coarse, origins, directions, depths)
    more = sample(depths, weights.detach())
    sharp, _ = render(fine, origins, directions, torch.cat([depths, more], 1).sort(1).values)
    loss = functional.mse_loss(rough, colors) + functional.mse_loss(sharp, colors)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 100 == 0:
        print(f"step {step}: PSNR {-10 * torch.log10(loss).item():.2f}")
clock.stop()
