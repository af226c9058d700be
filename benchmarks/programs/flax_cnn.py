"""A convolutional network in Flax in float32, its loss printed; remedy: bfloat16 activations."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from clock import FIXED, STEPS, Clock, size

BATCH, SIDE, WIDTH, DEPTH = size(128, 2), size(64, 16), size(128, 8), size(4, 1)
TYPE = jnp.bfloat16 if FIXED else jnp.float32


class Network(nn.Module):
    @nn.compact
    def __call__(self, x):
        for stage in range(3):
            x = nn.Conv(WIDTH * 2**stage, (3, 3), strides=2, dtype=TYPE)(x)
            for _ in range(DEPTH):
                y = nn.GroupNorm(8, dtype=TYPE)(x)
                x = x + nn.Conv(WIDTH * 2**stage, (3, 3), dtype=TYPE)(nn.relu(y))
        return nn.Dense(10, dtype=jnp.float32)(x.mean((1, 2)))


model, key = Network(), jax.random.PRNGKey(0)
images, labels = jax.random.normal(key, (BATCH, SIDE, SIDE, 3)), jax.random.randint(key, (BATCH,), 0, 10)
params, optimizer = model.init(key, images), optax.sgd(0.01, momentum=0.9)
state = optimizer.init(params)


@jax.jit
def train_step(params, state, images, labels):
    def loss_fn(params):
        return optax.softmax_cross_entropy_with_integer_labels(model.apply(params, images), labels).mean()

    loss, gradients = jax.value_and_grad(loss_fn)(params)
    updates, state = optimizer.update(gradients, state, params)
    return optax.apply_updates(params, updates), state, loss


clock = Clock(on_gpu=False)
for step in range(STEPS):
    clock.begin()
    params, state, loss = train_step(params, state, images, labels)
    print(f"step {step}: loss {loss:.4f}")
clock.stop()
