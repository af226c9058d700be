"""PPO whose environments are stepped one by one in Python; remedy: all environments in one NumPy step."""

import numpy as np
import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

ENVS, HORIZON, WIDTH, SIZE = size(256, 8), 16, size(512, 16), 24
MINIBATCHES, EPOCHS = 4, 2


class Pendulums:
    """Chains of pendulums; a step of each in Python, or of all at once."""

    def __init__(self):
        self.state = np.random.default_rng(0).normal(size=(ENVS, SIZE)).astype(np.float32)

    def step(self, actions):
        if FIXED:
            self.state, rewards = self.move(self.state, actions)
            return self.state.copy(), rewards
        rewards = np.empty(ENVS, np.float32)
        for env in range(ENVS):
            self.state[env], rewards[env] = self.move(self.state[env], actions[env])
        return self.state.copy(), rewards

    @staticmethod
    def move(state, actions):
        angle, speed = state[..., : SIZE // 2], state[..., SIZE // 2 :]
        speed = 0.99 * speed - 0.05 * np.sin(angle) + 0.05 * (actions[..., None].astype(np.float32) - 1.5)
        angle = np.mod(angle + 0.05 * speed + np.pi, 2 * np.pi) - np.pi
        return np.concatenate([angle, speed], -1), -np.square(angle).mean(-1)


def mlp(out):
    layers = [nn.Linear(SIZE, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, out)]
    return nn.Sequential(*layers).to(DEVICE)


torch.manual_seed(0)
actor, critic = mlp(4), mlp(1)
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=2.5e-4, eps=1e-5)
envs = Pendulums()
observation = torch.tensor(envs.state, device=DEVICE)
clock = Clock()
for _ in range(max(2, STEPS // 5)):
    memory = []
    for _ in range(HORIZON):
        clock.begin("rollout")
        with torch.no_grad():
            policy = torch.distributions.Categorical(logits=actor(observation))
            action, value = policy.sample(), critic(observation).flatten()
            log_prob = policy.log_prob(action)
        state, reward = envs.step(action.cpu().numpy())
        memory.append((observation, action, log_prob, value, torch.tensor(reward).to(DEVICE)))
        observation = torch.tensor(state).to(DEVICE)
    observations, actions, log_probs, values, rewards = (torch.stack(part) for part in zip(*memory))
    returns = rewards.flip(0).cumsum(0).flip(0)
    batch = [part.flatten(0, 1) for part in (observations, actions, log_probs, returns, returns - values)]
    for _ in range(EPOCHS):
        for index in torch.randperm(ENVS * HORIZON, device=DEVICE).chunk(MINIBATCHES):
            clock.begin("update")
            x, a, old, target, advantage = (part[index] for part in batch)
            policy = torch.distributions.Categorical(logits=actor(x))
            ratio = (policy.log_prob(a) - old).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            loss = 0.5 * nn.functional.mse_loss(critic(x).flatten(), target) - gain - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
            optimizer.step()
clock.stop()
