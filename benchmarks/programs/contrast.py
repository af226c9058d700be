"""Contrastive learning with a slowly following copy and a queue of keys; remedy: the copy follows by lists, not by a loop."""

import copy

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch.nn import functional
from torchvision.models import resnet18

DIM, QUEUE, BATCH, SIDE = size(128, 8), size(16384, 64), size(64, 4), size(96, 32)


def augment(images):
    images = images.flip(3) if torch.rand(()) < 0.5 else images
    return images * (0.8 + 0.4 * torch.rand(len(images), 1, 1, 1, device=images.device))


@torch.no_grad()
def follow():
    if FIXED:
        torch._foreach_lerp_(list(key_encoder.parameters()), list(encoder.parameters()), 0.001)
        return
    for slow, fast in zip(key_encoder.parameters(), encoder.parameters()):
        slow.data = slow.data * 0.999 + fast.data * (1 - 0.999)


torch.manual_seed(0)
encoder = resnet18(num_classes=DIM).to(DEVICE)
key_encoder = copy.deepcopy(encoder).requires_grad_(False)
queue, place = functional.normalize(torch.randn(DIM, QUEUE, device=DEVICE), dim=0), 0
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
images = torch.rand(8 * BATCH, 3, SIDE, SIDE, device=DEVICE)
clock, average = Clock(), 0.0
for step in range(STEPS):
    clock.begin()
    batch = images[step % 8 * BATCH :][:BATCH]
    with torch.autocast(DEVICE, torch.bfloat16):
        query = functional.normalize(encoder(augment(batch)), dim=1)
        with torch.no_grad():
            follow()
            key = functional.normalize(key_encoder(augment(batch)), dim=1)
        logits = torch.cat([(query * key).sum(1, keepdim=True), query @ queue.clone()], 1) / 0.07
        loss = functional.cross_entropy(logits.float(), torch.zeros(len(batch), dtype=torch.long, device=DEVICE))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    queue[:, place : place + BATCH] = key.T
    place = (place + BATCH) % QUEUE
    if step % 100 == 0:
        average = loss.item()
clock.stop()
