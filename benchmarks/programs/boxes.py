"""A detector that looks at its boxes on the GPU one after the other; remedy: they are fetched once, as lists."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torchvision.models import mobilenet_v2
from torchvision.ops import nms

SIDE, BATCH, CLASSES = size(320, 64), size(8, 2), 20

torch.manual_seed(0)
backbone = mobilenet_v2(weights=None).features.to(DEVICE).eval()
head = nn.Conv2d(1280, CLASSES + 4, 1).to(DEVICE)


def find_boxes(values):
    scores, classes = values[:CLASSES].flatten(1).softmax(0).max(0)
    corners = values[CLASSES:].flatten(1).sigmoid().T * SIDE
    boxes = torch.cat([torch.minimum(corners[:, :2], corners[:, 2:]), torch.maximum(corners[:, :2], corners[:, 2:])], 1)
    keep = nms(boxes, scores, 0.5)[:50]
    boxes, scores, classes = boxes[keep], scores[keep], classes[keep]
    if FIXED:
        return list(zip(classes.tolist(), scores.tolist(), boxes.tolist()))
    results = []
    for box, score, label in zip(boxes, scores, classes):
        if score > 0.01:
            results.append((int(label), float(score), [float(value) for value in box]))
    return results


clock, found = Clock(), 0
for _ in range(STEPS):
    images = torch.rand(BATCH, 3, SIDE, SIDE, device=DEVICE)
    clock.begin("detect")
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
        outputs = head(backbone(images)).float()
    found += sum(len(find_boxes(values)) for values in outputs)
clock.stop()
