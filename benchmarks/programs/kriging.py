"""Regression by an exact Gaussian process of GPyTorch on the GPU, as in its documentation; no remedy is planted."""

import gpytorch
import torch
from clock import DEVICE, STEPS, Clock, size

POINTS, FEATURES = size(6000, 50), 8


class Process(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=FEATURES))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


torch.manual_seed(0)
x = torch.rand(POINTS, FEATURES, device=DEVICE)
y = torch.sin(6 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.2 * torch.randn(POINTS, device=DEVICE)
likelihood = gpytorch.likelihoods.GaussianLikelihood().to(DEVICE)
model = Process(x, y, likelihood).to(DEVICE)
model.train()
likelihood.train()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
clock = Clock()
for step in range(STEPS):
    clock.begin()
    optimizer.zero_grad()
    loss = -marginal(model(x), y)
    loss.backward()
    if step % 10 == 0:
        print(f"step {step}: loss {loss.item():.3f}, noise {likelihood.noise.item():.3f}")
    optimizer.step()
clock.stop()
