"""Train a network of linear layers in JAX: float32, TF32 or bfloat16.

By default, JAX multiplies float32 matrices in TF32, and PyTorch in float32. jit makes one program of
forward, backward and the new weights, so no range of this script can separate them.
"""

import argparse
import contextlib
import ctypes
import ctypes.util
import re
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import nvtx

try:
    import jax
    from jax import numpy as jnp
except ModuleNotFoundError:
    print("SKIPPED: jax is not installed: pip install jax")
    sys.exit(0)

WARM_UP_STEPS = 5
OUTPUTS = 16
LEARNING_RATE = 0.5  # divided by the width: wider networks take shorter steps
PRODUCTS = {"fp32": "float32", "tf32": "tensorfloat32", "bf16": "default"}  # JAX's names

Weights = list[tuple[jax.Array, jax.Array]]


def read_options() -> argparse.Namespace:
    """The command line. It needs no PyTorch, so it cannot come from session.py."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    usual = "cuda" if jax.default_backend() == "gpu" else "cpu"
    parser.add_argument("--device", choices=("cuda", "cpu"), default=usual, help="here: %(default)s")
    parser.add_argument("--precision", choices=PRODUCTS, default="bf16", help="default: %(default)s")
    for name, size in {"seed": 0, "steps": 20, "batch_size": 4096, "width": 4096, "layers": 4}.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=size, help="default: %(default)s")
    options = parser.parse_args()
    if options.device == "cuda" and jax.default_backend() != "gpu":
        parser.error("JAX finds no CUDA device here; use --device cpu")
    if min(options.steps, options.batch_size, options.layers) < 1 or options.width < OUTPUTS:
        parser.error(f"--steps, --batch-size and --layers begin at 1, --width at {OUTPUTS}")
    return options


@contextlib.contextmanager
def capture(device: str) -> Iterator[None]:
    """The capture range, as in session.py, from the CUDA runtime that JAX has loaded."""
    # JAX has no function for it, and several runtimes may be installed: the one in use is in the list of the process.
    loaded = re.search(r"/.*libcudart\.so.*", Path("/proc/self/maps").read_text()) if device == "cuda" else None
    name = loaded[0] if loaded else ctypes.util.find_library("cudart")
    runtime = ctypes.CDLL(name) if device == "cuda" and name else None
    if device == "cuda" and runtime is None:
        print("no capture range: libcudart was not found")
    if runtime:
        runtime.cudaProfilerStart()
    yield
    if runtime:
        runtime.cudaProfilerStop()


def make_weights(key: jax.Array, width: int, layers: int) -> Weights:
    """Weights and biases for each layer, in float32: small updates would be lost in 16 bits."""
    columns = [*[width] * (layers - 1), OUTPUTS]
    keys = jax.random.split(key, layers)
    scale = (2 / width) ** 0.5
    return [
        (scale * jax.random.normal(key, (width, count)), jnp.zeros(count))
        for key, count in zip(keys, columns, strict=True)
    ]


def loss_of(weights: Weights, inputs: jax.Array, targets: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """The mean square of what the network gets wrong."""
    *inner, (last, last_bias) = weights
    x = inputs.astype(dtype)
    for weight, bias in inner:
        x = jax.nn.relu(x @ weight.astype(dtype) + bias.astype(dtype))
    outputs = x @ last.astype(dtype) + last_bias.astype(dtype)
    return jnp.mean((outputs.astype(jnp.float32) - targets) ** 2)


@partial(jax.jit, static_argnums=3, donate_argnums=0)  # new weights take the place of the old ones
def train(weights: Weights, inputs: jax.Array, targets: jax.Array, dtype: jnp.dtype) -> tuple[Weights, jax.Array]:
    """New weights, and the loss of the old ones."""
    loss, gradients = jax.value_and_grad(loss_of)(weights, inputs, targets, dtype)
    rate = LEARNING_RATE / len(weights[0][0])
    return jax.tree.map(lambda weight, gradient: weight - rate * gradient, weights, gradients), loss


def main() -> None:
    """Train on one batch, which stays on the GPU; its targets are the sines of some inputs."""
    options = read_options()
    device = jax.devices("gpu" if options.device == "cuda" else "cpu")[0]
    jax.config.update("jax_default_device", device)
    jax.config.update("jax_default_matmul_precision", PRODUCTS[options.precision])
    dtype = jnp.bfloat16 if options.precision == "bf16" else jnp.float32
    of_weights, of_inputs = jax.random.split(jax.random.key(options.seed))
    weights = make_weights(of_weights, options.width, options.layers)
    inputs = jax.random.normal(of_inputs, (options.batch_size, options.width))
    targets = jnp.sin(inputs[:, :OUTPUTS])

    def step() -> jax.Array:
        nonlocal weights
        with nvtx.annotate("step"), nvtx.annotate("forward, backward, optimizer"):
            weights, loss = train(weights, inputs, targets, dtype)
        return loss

    with nvtx.annotate("warm-up"):  # the first step compiles
        for _ in range(WARM_UP_STEPS):
            step()
        jax.block_until_ready(weights)
    with capture(options.device):
        begin = time.perf_counter()
        losses = [step() for _ in range(options.steps)]
        jax.block_until_ready((losses, weights))
        seconds = (time.perf_counter() - begin) / options.steps
    first, last = float(losses[0]), float(losses[-1])
    print(f"time per step: {1e3 * seconds:.3f} ms, {options.batch_size / seconds:,.0f} rows/s")
    if options.device == "cuda":
        print(f"peak GPU memory: {device.memory_stats()['peak_bytes_in_use'] / 2**20:,.1f} MiB")
    print(f"loss: {first:.4f} to {last:.4f} in {len(losses)} steps")


if __name__ == "__main__":
    main()
