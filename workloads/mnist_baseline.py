"""Train a small network on MNIST in float32: the baseline.

Read mnist_amp.py beside this file: the two differ only by what mixed precision needs.
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

    # By default PyTorch lets cuDNN round the inputs of convolutions to TF32, for which Tensor Cores are used,
    # while matrix products stay in float32. Without this line, the baseline would be some of each.
    torch.backends.cudnn.allow_tf32 = False
    print("precision: float32")

    def step(images: Tensor, labels: Tensor) -> Tensor:
        with nvtx.annotate("step"):
            with nvtx.annotate("copy"):
                images, labels = images.to(options.device), labels.to(options.device)
            with nvtx.annotate("forward"):
                loss = functional.cross_entropy(model(images), labels)
            with nvtx.annotate("backward"):
                loss.backward()
            with nvtx.annotate("optimizer"):
                optimizer.step()
                optimizer.zero_grad()
        return loss.detach()

    mnist.train(step, train_set, options)
    mnist.test(model, test_set, options)


if __name__ == "__main__":
    main()
