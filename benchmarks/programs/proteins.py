"""A masked language model of proteins in JAX, whose gradients are jitted, but not the optimizer; remedy: ``jax.jit`` of both.

Planted: ``optimizer.update`` and ``apply_updates`` are called outside of the jitted function: an operation for each array.
"""

import jax
import jax.numpy as jnp
import optax
from clock import FIXED, STEPS, Clock, size

DIM, HEADS, LAYERS, LENGTH, BATCH, ALPHABET = size(512, 16), size(8, 2), size(6, 2), size(256, 8), size(32, 2), 32


def make_layer(key):
    keys = jax.random.split(key, 4)
    return {
        "norm1": jnp.ones(DIM), "norm2": jnp.ones(DIM), "bias": jnp.zeros(DIM), "bias1": jnp.zeros(4 * DIM),
        "qkv": jax.random.normal(keys[0], (DIM, 3 * DIM)) / DIM**0.5, "out": jax.random.normal(keys[1], (DIM, DIM)) / DIM**0.5,
        "up": jax.random.normal(keys[2], (DIM, 4 * DIM)) / DIM**0.5, "down": jax.random.normal(keys[3], (4 * DIM, DIM)) / DIM,
    }  # fmt: skip


def norm(x, scale):
    x = x - x.mean(-1, keepdims=True)
    return scale * x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def apply(params, tokens):
    x = params["embedding"][tokens] + params["place"]
    for layer in params["layers"]:
        q, k, v = jnp.split(norm(x, layer["norm1"]) @ layer["qkv"], 3, -1)
        q, k, v = (each.reshape(BATCH, LENGTH, HEADS, DIM // HEADS) for each in (q, k, v))
        x = x + jax.nn.dot_product_attention(q, k, v).reshape(BATCH, LENGTH, DIM) @ layer["out"]
        y = jax.nn.gelu(norm(x, layer["norm2"]) @ layer["up"] + layer["bias1"])
        x = x + y @ layer["down"] + layer["bias"]
    return x @ params["embedding"].T


def loss_fn(params, tokens, masked):
    scores = apply(params, jnp.where(masked, 0, tokens))
    losses = optax.softmax_cross_entropy_with_integer_labels(scores, tokens)
    return (losses * masked).sum() / masked.sum()


key = jax.random.PRNGKey(0)
keys = jax.random.split(key, LAYERS + 4)
params = {
    "embedding": 0.02 * jax.random.normal(keys[0], (ALPHABET, DIM)),
    "place": 0.02 * jax.random.normal(keys[1], (LENGTH, DIM)),
    "layers": [make_layer(each) for each in keys[4:]],
}
tokens = jax.random.randint(keys[2], (BATCH, LENGTH), 1, ALPHABET)
masked = jax.random.bernoulli(keys[3], 0.15, (BATCH, LENGTH))
optimizer = optax.adamw(1e-4)
state = optimizer.init(params)
value_and_grad = jax.jit(jax.value_and_grad(loss_fn))


def train_step(params, state, tokens, masked):
    loss, gradients = value_and_grad(params, tokens, masked)
    updates, state = optimizer.update(gradients, state, params)
    return optax.apply_updates(params, updates), state, loss


if FIXED:
    train_step = jax.jit(train_step)
clock, losses = Clock(on_gpu=False), []
for _ in range(STEPS):
    clock.begin()
    params, state, loss = train_step(params, state, tokens, masked)
    losses.append(float(loss))
clock.stop()
