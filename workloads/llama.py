"""Train a small Llama in bfloat16, in a program written without a profiler in mind.

It opens no range and imports only PyTorch: tcprof names the steps, their phases and the modules by itself.
"""

import argparse
import time

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset


class Norm(nn.Module):
    """Scale vectors to a root mean square that is learned for each place."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Vectors in, vectors of the same length out."""
        return self.weight * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5))


class Attention(nn.Module):
    """Causal attention with rotary positions."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.v_proj, self.o_proj = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, angles: Tensor) -> Tensor:
        """Vectors in, for each a mixture of those up to it out."""
        shape = (*x.shape[:2], self.heads, -1)
        query, key, value = (part(x).view(shape).transpose(1, 2) for part in (self.q_proj, self.k_proj, self.v_proj))
        query, key = (rotate(part, angles).to(value.dtype) for part in (query, key))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class Feedforward(nn.Module):
    """A gated network of two layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        hidden = 8 * width // 3 // 64 * 64
        self.gate_proj, self.up_proj = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Vectors in, vectors out."""
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention and a network, each added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention_norm, self.attention = Norm(width), Attention(width, heads)
        self.mlp_norm, self.mlp = Norm(width), Feedforward(width)

    def forward(self, x: Tensor, angles: Tensor) -> Tensor:
        """Vectors in, vectors out."""
        x = x + self.attention(self.attention_norm(x), angles)
        return x + self.mlp(self.mlp_norm(x))


class Llama(nn.Module):
    """Tokens in, logits of each next token out."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(options.vocabulary, options.width)
        self.layers = nn.ModuleList(Layer(options.width, options.heads) for _ in range(options.layers))
        self.norm = Norm(options.width)
        self.lm_head = nn.Linear(options.width, options.vocabulary, bias=False)
        frequency = 10_000.0 ** -torch.linspace(0, 1, options.width // options.heads // 2)
        angles = torch.outer(torch.arange(options.context), frequency)
        self.register_buffer("angles", angles, persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits for each place of the text."""
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, self.angles)
        return self.lm_head(self.norm(x))


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Turn pairs of numbers by an angle that grows with the place in the text."""
    one, other = x.float().chunk(2, -1)
    sine, cosine = angles.sin(), angles.cos()
    return torch.cat((one * cosine - other * sine, other * cosine + one * sine), -1)


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    sizes = {"steps": 20, "batch-size": 8, "context": 512, "layers": 4, "width": 1024, "heads": 16, "vocabulary": 8192}
    for name, value in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=value, help="default: %(default)s")
    options = parser.parse_args()
    if min(getattr(options, name.replace("-", "_")) for name in sizes) < 1 or options.width % (2 * options.heads):
        parser.error("sizes begin at 1, and --width must be a multiple of twice --heads")
    return options


def main() -> None:
    """Train, on text in which each token is the one before plus one."""
    options = read_options()
    torch.manual_seed(0)
    model = Llama(options).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    first = torch.randint(options.vocabulary, (options.steps * options.batch_size, 1))
    text = (first + torch.arange(options.context + 1)) % options.vocabulary
    loss, begin = torch.zeros(()), time.perf_counter()
    for (batch,) in DataLoader(TensorDataset(text), options.batch_size, pin_memory=options.device == "cuda"):
        tokens = batch.to(options.device, non_blocking=True)
        with torch.autocast(options.device, torch.bfloat16):
            logits = model(tokens[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    last = loss.item()
    seconds = (time.perf_counter() - begin) / options.steps
    print(f"loss: {last:.3f} after {options.steps} steps, {1e3 * seconds:.2f} ms each")


if __name__ == "__main__":
    main()
