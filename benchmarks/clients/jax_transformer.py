"""Train a transformer with Flax and Optax; print the time of a step, waited for with block_until_ready."""

import sys
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 30


class Block(nn.Module):
    width: int
    heads: int

    @nn.compact
    def __call__(self, x, mask):
        normed = nn.LayerNorm(dtype=jnp.bfloat16)(x)
        x = x + nn.MultiHeadDotProductAttention(self.heads, dtype=jnp.bfloat16, name="attention")(normed, mask=mask)
        normed = nn.LayerNorm(dtype=jnp.bfloat16)(x)
        hidden = nn.gelu(nn.Dense(4 * self.width, dtype=jnp.bfloat16, name="up")(normed))
        return x + nn.Dense(self.width, dtype=jnp.bfloat16, name="down")(hidden)


class Transformer(nn.Module):
    vocabulary: int = 32000
    width: int = 1024
    layers: int = 8
    heads: int = 16

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(self.vocabulary, self.width, dtype=jnp.bfloat16)(tokens)
        mask = nn.make_causal_mask(tokens)
        for layer in range(self.layers):
            x = Block(self.width, self.heads, name=f"block_{layer}")(x, mask)
        return nn.Dense(self.vocabulary, dtype=jnp.bfloat16, name="head")(nn.LayerNorm(dtype=jnp.bfloat16)(x))


model, optimizer = Transformer(), optax.adamw(1e-4)


@jax.jit
def step(parameters, state, tokens):
    def loss(parameters):
        logits = model.apply(parameters, tokens[:, :-1]).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    value, gradients = jax.value_and_grad(loss)(parameters)
    with jax.named_scope("optimizer"):
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value


def main():
    key = jax.random.key(0)
    tokens = jax.random.randint(key, (8, 513), 0, 32000)
    parameters = jax.jit(model.init)(key, tokens[:, :-1])
    state = jax.jit(optimizer.init)(parameters)
    times = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        parameters, state, value = step(parameters, state, tokens)
        jax.block_until_ready((parameters, state, value))
        times.append(time.perf_counter() - begin)
    rest = sorted(times[2:])
    print(
        f"first step {times[0]:.2f} s, then median {1e3 * rest[len(rest) // 2]:.3f} ms "
        f"({1e3 * rest[0]:.3f} to {1e3 * rest[-1]:.3f}) of {len(rest)}; loss {float(value):.3f}"
    )


if __name__ == "__main__":
    main()
