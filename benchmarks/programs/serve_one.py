"""A ResNet that classifies one image after the other, eagerly; remedy: a CUDA graph."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torchvision.models import resnet50

torch.manual_seed(0)
model = resnet50(weights=None).to(DEVICE).eval()
still = torch.rand(1, 3, size(224, 64), size(224, 64), device=DEVICE)
if FIXED:
    stream = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(stream):
        for _ in range(3):
            model(still)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        out = model(still)
clock = Clock()
for _ in range(STEPS):
    image = torch.rand(1, 3, size(224, 64), size(224, 64))
    clock.begin("call")
    if FIXED:
        still.copy_(image)
        graph.replay()
        classes = out.softmax(1).topk(5).indices.tolist()
    else:
        with torch.no_grad():
            classes = model(image.to(DEVICE)).softmax(1).topk(5).indices.tolist()
clock.stop()
