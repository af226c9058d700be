"""Metric learning that calls its encoder three times a step; remedy: once, with all images."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torchvision.models import efficientnet_b0

torch.manual_seed(0)
encoder = efficientnet_b0(num_classes=64).to(DEVICE)
criterion = nn.TripletMarginLoss(margin=0.5)
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-4, fused=DEVICE == "cuda")
clock = Clock()
for step in range(STEPS):
    clock.begin()
    anchor, positive, negative = torch.rand(3, size(16, 2), 3, size(128, 32), size(128, 32), device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        if FIXED:
            a, p, n = encoder(torch.cat([anchor, positive, negative])).chunk(3)
        else:
            a, p, n = encoder(anchor), encoder(positive), encoder(negative)
        loss = criterion(a.float(), p.float(), n.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        encoder.eval()
        with torch.no_grad():
            clock.begin("evaluate")
            distance = torch.cdist(encoder(anchor), encoder(positive)).argmin(1)
        accuracy = (distance == torch.arange(len(anchor), device=DEVICE)).float().mean().item()
        encoder.train()
clock.stop()
