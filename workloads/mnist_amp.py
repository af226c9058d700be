"""Train a small network on MNIST in mixed precision: float16 where it is safe, float32 elsewhere.

Read mnist_baseline.py beside this file: the two differ only by what mixed precision needs.
"""

import mnist
import nvtx
import torch
from torch import Tensor
from torch.nn import functional


def main() -> None:
    """Train, then test."""
    options, train_set, test_set = mnist.start(__doc__)
    torch.manual_seed(options.seed)
    model = mnist.network().to(options.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)

    # Small gradients vanish in float16, so the scaler multiplies the loss, and with it every gradient, by a
    # large factor. CPUs compute float16 slowly: there bfloat16 stands in, whose range needs no scaling.
    on_gpu = options.device == "cuda"
    dtype = torch.float16 if on_gpu else torch.bfloat16
    scaler = torch.amp.GradScaler(options.device, enabled=on_gpu)
    print(f"precision: autocast to {dtype}, loss {'scaled' if on_gpu else 'not scaled'}")

    def step(images: Tensor, labels: Tensor) -> Tensor:
        with nvtx.annotate("step"):
            with nvtx.annotate("copy"):
                images, labels = images.to(options.device), labels.to(options.device)
            # Autocast converts what enters convolutions and matrix products, so that Tensor Cores can compute
            # them; the loss stays in float32. Backward takes its types from forward and needs no autocast.
            with nvtx.annotate("forward"), torch.amp.autocast(options.device, dtype=dtype):
                loss = functional.cross_entropy(model(images), labels)
            with nvtx.annotate("backward"):
                scaler.scale(loss).backward()
            # step() divides the gradients by the factor and, if one overflowed, leaves the weights alone: to
            # know that, the CPU waits for the GPU. update() then halves the factor; else it may double it.
            with nvtx.annotate("optimizer"):
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        return loss.detach()

    mnist.train(step, train_set, options)
    mnist.test(model, test_set, options)


if __name__ == "__main__":
    main()
