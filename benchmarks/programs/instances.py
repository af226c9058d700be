"""Mask R-CNN of torchvision on images of many sizes with many objects; no remedy is planted."""

import torch
from clock import DEVICE, STEPS, Clock, size
from torchvision.models.detection import maskrcnn_resnet50_fpn

torch.manual_seed(0)
model = maskrcnn_resnet50_fpn(
    weights=None, weights_backbone=None, num_classes=5, min_size=size(480, 64), max_size=size(640, 96)
)
model = model.to(DEVICE).train()
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-4, momentum=0.9)
draw = torch.Generator().manual_seed(0)


def make_image():
    height, width = (int(n) for n in torch.randint(size(300, 40), size(600, 80), (2,), generator=draw))
    count = int(torch.randint(1, 8, (1,), generator=draw))
    low = torch.rand(count, 2, generator=draw) * torch.tensor([width / 2, height / 2])
    boxes = torch.cat([low, low + torch.tensor([width / 3, height / 3])], 1)
    masks = torch.zeros(count, height, width, dtype=torch.uint8)
    for mask, (x1, y1, x2, y2) in zip(masks, boxes.int().tolist()):
        mask[y1:y2, x1:x2] = 1
    target = {"boxes": boxes, "labels": torch.randint(1, 5, (count,), generator=draw), "masks": masks}
    return torch.rand(3, height, width, generator=draw), target


clock = Clock()
for _ in range(STEPS):
    images, targets = zip(*(make_image() for _ in range(2)))
    clock.begin()
    images = [image.to(DEVICE) for image in images]
    targets = [{name: value.to(DEVICE) for name, value in target.items()} for target in targets]
    losses = model(images, targets)
    loss = sum(losses.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
