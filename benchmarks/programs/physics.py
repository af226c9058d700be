"""A network that learns to solve the heat equation, with derivatives of derivatives; remedy: the step is a CUDA graph."""

import itertools

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

POINTS, WIDTH = size(8192, 32), size(128, 8)
torch.manual_seed(0)
sizes = [2, *[WIDTH] * 5, 1]
layers = [part for a, b in itertools.pairwise(sizes) for part in (nn.Linear(a, b), nn.Tanh())][:-1]
network = nn.Sequential(*layers).to(DEVICE)
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, capturable=FIXED and DEVICE == "cuda")
inside, edge = torch.rand(POINTS, 2, device=DEVICE, requires_grad=True), torch.rand(POINTS // 8, 2, device=DEVICE)
edge[:, 1] = 0


def train():
    optimizer.zero_grad(set_to_none=False)
    u = network(inside)
    first = torch.autograd.grad(u, inside, torch.ones_like(u), create_graph=True)[0]
    second = torch.autograd.grad(first[:, 0], inside, torch.ones_like(first[:, 0]), create_graph=True)[0]
    residual = first[:, 1] - 0.1 * second[:, 0]
    start = network(edge).squeeze(1) - torch.sin(torch.pi * edge[:, 0])
    loss = residual.square().mean() + start.square().mean()
    loss.backward()
    optimizer.step()
    return loss


step = train
if FIXED and DEVICE == "cuda":
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            train()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        train()
    step = graph.replay
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    step()
clock.stop()
