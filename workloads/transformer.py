"""Train a GPT-like stack of transformer blocks in bfloat16: eager, compiled, or replayed as a CUDA graph.

The text follows a rule with some randomness, so the best loss is known and a wrong run is obvious.
"""

import argparse
import contextlib
import math
from collections.abc import Callable

import nvtx
import torch
from session import add_precision, add_sizes, make_parser, parse, print_speed, run_steps, set_precision
from torch import Tensor, nn
from torch.nn import functional

WARM_UP_STEPS = 5
SURPRISE = 0.1  # share of tokens that do not follow the rule


class Block(nn.Module):
    """Attention and a two-layer network, each added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.expand, self.shrink = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Vectors in, vectors out, one for each place of the text."""
        batch, length, width = x.shape
        shape = (batch, length, 3, self.heads, width // self.heads)
        query, key, value = self.project(self.norm1(x)).view(shape).permute(2, 0, 3, 1, 4)
        # FlashAttention where the GPU and the dtype allow it: no matrix of length x length is ever stored.
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.merge(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.shrink(functional.gelu(self.expand(self.norm2(x)), approximate="tanh"))


class Transformer(nn.Module):
    """Tokens in, logits of each next token out."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        self.tokens = nn.Embedding(options.vocabulary, options.width)
        self.positions = nn.Parameter(0.02 * torch.randn(options.context, options.width))
        self.blocks = nn.Sequential(*(Block(options.width, options.heads) for _ in range(options.layers)))
        self.norm, self.head = nn.LayerNorm(options.width), nn.Linear(options.width, options.vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits for each place of the text."""
        return self.head(self.norm(self.blocks(self.tokens(tokens) + self.positions)))


def write_text(options: argparse.Namespace) -> Tensor:
    """A batch for each step, and one for the warm-up.

    A token follows from the one before by a fixed permutation, but for some surprises.
    """
    generator = torch.Generator().manual_seed(options.seed)
    shape = (options.steps + 1, options.batch_size, options.context + 1)
    follows = torch.randperm(options.vocabulary, generator=generator)
    text = torch.randint(options.vocabulary, shape, generator=generator)
    surprise = torch.rand(shape, generator=generator) < SURPRISE
    for place in range(1, shape[2]):
        text[..., place] = torch.where(surprise[..., place], text[..., place], follows[text[..., place - 1]])
    return text.pin_memory() if options.device == "cuda" else text


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = make_parser(__doc__)
    add_precision(parser, "bf16", ("fp32", "tf32", "bf16"))  # float16 would need a scaler in the graph
    parser.add_argument("--compile", action="store_true", help="let torch.compile fuse what lies between the products")
    parser.add_argument("--cuda-graphs", action="store_true", help="record a step once, then replay it")
    sizes = {"steps": 20, "batch_size": 8, "context": 1024, "layers": 4, "width": 1024, "heads": 16, "vocabulary": 8192}
    add_sizes(parser, sizes)
    options = parse(parser)
    if any(getattr(options, name) < 1 for name in sizes) or options.width % options.heads:
        parser.error("sizes begin at 1, and --width must be a multiple of --heads")
    if options.cuda_graphs and options.device == "cpu":
        parser.error("--cuda-graphs needs --device cuda")
    return options


def make_step(options: argparse.Namespace, text: Tensor) -> Callable[[], Tensor]:
    """The training step, on whatever the text holds when it is called; it returns the loss, its value not awaited."""
    model = Transformer(options).to(options.device)
    logits_of = torch.compile(model) if options.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True, capturable=options.cuda_graphs)
    # Weights stay in float32 and are rounded for each product; a CUDA graph must hold that rounding in each replay.
    autocast = set_precision(options.precision, options.device).autocast(cached=not options.cuda_graphs)

    def step() -> Tensor:
        with nvtx.annotate("forward"), autocast:
            logits = logits_of(text[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        with nvtx.annotate("backward"):
            loss.backward()
        with nvtx.annotate("optimizer"):
            optimizer.step()
            optimizer.zero_grad(set_to_none=not options.cuda_graphs)
        return loss.detach()

    return step


def record_graph(step: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """A warmed-up step as a CUDA graph: calling it replays the step, and gives the loss in the same place each time."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay() -> Tensor:
        graph.replay()
        return loss

    return replay


def main() -> None:
    """Train."""
    options = read_options()
    torch.manual_seed(options.seed)
    *batches, first = write_text(options)
    text = first.to(options.device)
    step = make_step(options, text)
    with nvtx.annotate("warm-up"):
        # What is to become a graph may not run on the default stream.
        on_side = torch.cuda.stream(torch.cuda.Stream()) if options.cuda_graphs else contextlib.nullcontext()
        with on_side:
            for _ in range(WARM_UP_STEPS):
                step()
        if options.cuda_graphs:
            step = record_graph(step)

    def step_on_new_text() -> Tensor:
        with nvtx.annotate("step"):
            with nvtx.annotate("copy"):
                text.copy_(batches.pop(0), non_blocking=True)
            return step().clone()

    report(options, *run_steps(step_on_new_text, options.steps, options.device))


def report(options: argparse.Namespace, losses: list[float], seconds: float) -> None:
    """Print the figures of the run."""
    best = SURPRISE * math.log(options.vocabulary / SURPRISE) - (1 - SURPRISE) * math.log(1 - SURPRISE)
    print(f"loss: {losses[0]:.3f} to {losses[-1]:.3f} in {len(losses)} steps (the best possible is about {best:.2f})")
    print_speed(seconds, options.batch_size * options.context, "tokens/s", options.device)


if __name__ == "__main__":
    main()
