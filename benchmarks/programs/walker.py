"""Soft actor-critic whose batch is put together from transitions that are copied one by one; remedy: one copy for each batch.

Planted: each observation of a batch becomes a tensor on the GPU of its own, and these are stacked there.
"""

import random

import numpy as np
import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torch.nn import functional

BATCH, STATE, ACTIONS, WIDTH = size(256, 8), 376, 17, size(1024, 16)


def mlp(into, out):
    layers = [nn.Linear(into, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, out)]
    return nn.Sequential(*layers).to(DEVICE)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = mlp(STATE, 2 * ACTIONS)

    def forward(self, state):
        mean, log_std = self.network(state).chunk(2, -1)
        log_std = log_std.clamp(-20, 2)
        noise = torch.randn_like(mean)
        raw = mean + log_std.exp() * noise
        log_prob = (-0.5 * noise**2 - log_std - 0.919).sum(-1)
        log_prob = log_prob - (2 * (0.693 - raw - functional.softplus(-2 * raw))).sum(-1)
        return torch.tanh(raw), log_prob


def to_tensor(arrays):
    if FIXED:
        return torch.from_numpy(np.stack(arrays)).to(DEVICE)
    return torch.stack([torch.from_numpy(array).to(DEVICE) for array in arrays])


torch.manual_seed(0)
random.seed(0)
actor, critic1, critic2 = Actor(), mlp(STATE + ACTIONS, 1), mlp(STATE + ACTIONS, 1)
target1, target2 = mlp(STATE + ACTIONS, 1), mlp(STATE + ACTIONS, 1)
target1.load_state_dict(critic1.state_dict())
target2.load_state_dict(critic2.state_dict())
log_alpha = torch.zeros(1, device=DEVICE, requires_grad=True)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)
critic_optimizer = torch.optim.Adam([*critic1.parameters(), *critic2.parameters()], lr=3e-4)
alpha_optimizer = torch.optim.Adam([log_alpha], lr=3e-4)
rng = np.random.default_rng(0)
states = rng.normal(size=(size(20000, 100), STATE)).astype(np.float32)
moves = rng.uniform(-1, 1, (len(states), ACTIONS)).astype(np.float32)
memory = [(states[i], moves[i], np.float32(rng.normal()), states[i + 1], np.float32(1)) for i in range(len(states) - 1)]
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    state, action, reward, following, alive = zip(*random.sample(memory, BATCH))
    state, action, following = to_tensor(state), to_tensor(action), to_tensor(following)
    reward, alive = torch.tensor(np.array(reward), device=DEVICE), torch.tensor(np.array(alive), device=DEVICE)
    alpha = log_alpha.exp().detach()
    with torch.no_grad():
        move, log_prob = actor(following)
        both = torch.cat([following, move], 1)
        value = torch.min(target1(both), target2(both)).squeeze(1) - alpha * log_prob
        wanted = reward + 0.99 * alive * value
    both = torch.cat([state, action], 1)
    critic_loss = functional.mse_loss(critic1(both).squeeze(1), wanted) + functional.mse_loss(
        critic2(both).squeeze(1), wanted
    )
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    move, log_prob = actor(state)
    both = torch.cat([state, move], 1)
    actor_loss = (alpha * log_prob - torch.min(critic1(both), critic2(both)).squeeze(1)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    alpha_loss = -(log_alpha * (log_prob.detach() - ACTIONS)).mean()
    alpha_optimizer.zero_grad()
    alpha_loss.backward()
    alpha_optimizer.step()
    with torch.no_grad():
        for slow, fast in ((target1, critic1), (target2, critic2)):
            torch._foreach_lerp_(list(slow.parameters()), list(fast.parameters()), 0.005)
clock.stop()
