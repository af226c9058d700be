"""Deep Q-learning from pixels with a replay buffer in NumPy; remedy: the frames on the GPU."""

import random
from collections import deque

import numpy as np
import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

BATCH, SIDE = size(128, 4), 84


class QNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 1), nn.ReLU(),
            nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 6),
        )  # fmt: skip

    def forward(self, frames):
        return self.network(frames / 255.0)


torch.manual_seed(0)
q_network, target_network = QNetwork().to(DEVICE), QNetwork().to(DEVICE)
target_network.load_state_dict(q_network.state_dict())
optimizer = torch.optim.Adam(q_network.parameters(), lr=1e-4)
rng = np.random.default_rng(0)
frames = rng.integers(0, 255, (size(2000, 40), 4, SIDE, SIDE), dtype=np.uint8)
replay = deque(((i, random.randrange(6), random.random(), False) for i in range(len(frames) - 1)), maxlen=len(frames))
on_gpu = torch.from_numpy(frames).to(DEVICE) if FIXED else None


def fetch(rows):
    return torch.from_numpy(frames[rows]).to(DEVICE) if on_gpu is None else on_gpu[torch.tensor(rows, device=DEVICE)]


clock = Clock()
for step in range(STEPS):
    for _ in range(4):
        state = frames[random.randrange(len(frames))]
        if random.random() < 0.05:
            action = random.randrange(6)
        else:
            clock.begin("act")
            with torch.no_grad():
                action = q_network(torch.from_numpy(state[None]).to(DEVICE)).argmax(1).item()
        replay.append((random.randrange(len(frames) - 1), action, random.random(), random.random() < 0.01))
    clock.begin()
    rows, actions, rewards, dones = zip(*random.sample(replay, BATCH))
    states, following = fetch(list(rows)), fetch([row + 1 for row in rows])
    with torch.no_grad():
        best = target_network(following).max(1).values
        wanted = torch.tensor(rewards, device=DEVICE) + 0.99 * best * ~torch.tensor(dones, device=DEVICE)
    values = q_network(states).gather(1, torch.tensor(actions, device=DEVICE)[:, None]).squeeze(1)
    loss = nn.functional.mse_loss(wanted.float(), values)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        for old, new in zip(target_network.parameters(), q_network.parameters()):
            old.data.copy_(new.data)
clock.stop()
