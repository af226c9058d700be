"""Serve texts from a small Llama over HTTP, in batches, and let a request say when to record.

Record a server for a few seconds: POST /start_profile and /stop_profile begin and end a capture, between two
batches. It opens no range; tcprof names prefill and decoding by itself.
"""

import argparse
import json
import queue
import signal
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from llama import Feedforward, Norm, rotate
from torch import Tensor, nn
from torch.nn import functional

VOCABULARY = 256  # bytes
MOST_WAIT_S = 0.01  # of the first request in a batch for others
LONGEST = 1024  # tokens of a prompt, and of an answer
START, STOP = "/start_profile", "/stop_profile"


class CachedAttention(nn.Module):
    """Causal attention that keeps keys and values of the tokens before."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv_proj, self.o_proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.kept: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor, angles: Tensor) -> Tensor:
        """Vectors in, for each a mixture of those up to it out."""
        shape = (*x.shape[:2], self.heads, -1)
        query, key, value = (part.view(shape).transpose(1, 2) for part in self.qkv_proj(x).chunk(3, -1))
        query, key = (rotate(part, angles).to(value.dtype) for part in (query, key))
        is_prefill = self.kept is None
        if self.kept is not None:
            key, value = torch.cat((self.kept[0], key), 2), torch.cat((self.kept[1], value), 2)
        self.kept = key, value
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=is_prefill)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """Attention and a network, each added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention_norm, self.attention = Norm(width), CachedAttention(width, heads)
        self.mlp_norm, self.mlp = Norm(width), Feedforward(width)

    def forward(self, x: Tensor, angles: Tensor) -> Tensor:
        """Vectors in, vectors out."""
        x = x + self.attention(self.attention_norm(x), angles)
        return x + self.mlp(self.mlp_norm(x))


class Decoder(nn.Module):
    """Tokens in, logits of each next token out."""

    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = Norm(width)
        self.lm_head = nn.Linear(width, VOCABULARY, bias=False)
        frequency = 10_000.0 ** -torch.linspace(0, 1, width // heads // 2)
        self.register_buffer("angles", torch.outer(torch.arange(2 * LONGEST), frequency), persistent=False)

    def forward(self, tokens: Tensor, begin: int = 0) -> Tensor:
        """Logits for each place from ``begin`` on."""
        x = self.embed_tokens(tokens)
        angles = self.angles[begin : begin + tokens.shape[1]]
        for layer in self.layers:
            x = layer(x, angles)
        return self.lm_head(self.norm(x))

    @torch.inference_mode()
    def generate(self, prompts: Tensor, count: int) -> Tensor:
        """The likeliest next tokens: the prompts in one call, then a call for each token."""
        for layer in self.layers:
            layer.attention.kept = None
        tokens = [self(prompts)[:, -1:].argmax(-1)]
        for place in range(prompts.shape[1], prompts.shape[1] + count - 1):
            tokens.append(self(tokens[-1], place)[:, -1:].argmax(-1))
        return torch.cat(tokens, 1)


@dataclass
class Request:
    """What a client asks for: a text, or that a capture begins or ends."""

    prompt: bytes = b""
    count: int = 0
    command: str = ""  # START, STOP or none
    answer: Future = field(default_factory=Future)


class Batcher(threading.Thread):
    """Answers requests in batches, one after the other."""

    def __init__(self, model: Decoder, options: argparse.Namespace) -> None:
        super().__init__(daemon=True)
        self.model, self.options = model, options
        self.waiting: queue.Queue[Request] = queue.Queue()

    def ask(self, request: Request) -> str:
        """The answer, once it is there."""
        self.waiting.put(request)
        return request.answer.result()

    def run(self) -> None:
        """Serve for ever."""
        while True:
            batch, command = self.collect()
            for requests, answer in ((batch, self.generate), ([command] if command else [], self.obey)):
                try:
                    for request, text in zip(requests, answer(requests) if requests else [], strict=True):
                        request.answer.set_result(text)
                except Exception as error:  # one batch fails, the server goes on
                    for request in requests:
                        request.answer.set_exception(error)

    def collect(self) -> tuple[list[Request], Request | None]:
        """Requests for texts that came within a moment, and the command that came after them, if one did."""
        batch: list[Request] = []
        until = None
        while len(batch) < self.options.batch_size:
            try:
                request = self.waiting.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if request.command:
                return batch, request
            batch.append(request)
            until = until or time.monotonic() + MOST_WAIT_S
        return batch, None

    def generate(self, batch: list[Request]) -> list[str]:
        """A text for each request; prompts are filled up with spaces in front, to one length."""
        length = max(len(request.prompt) for request in batch)
        prompts = torch.tensor([list(request.prompt.rjust(length)) for request in batch], device=self.options.device)
        tokens = self.model.generate(prompts, max(request.count for request in batch)).tolist()
        return [bytes(row[: request.count]).decode("latin-1") for row, request in zip(tokens, batch, strict=True)]

    def obey(self, commands: list[Request]) -> list[str]:
        """Begin or end a capture: what a profiler waiting for the CUDA profiler API records."""
        if self.options.device != "cuda":
            raise RuntimeError("only work on a GPU can be captured")
        torch.cuda.synchronize()
        if commands[0].command == START:
            torch.cuda.profiler.start()
            return ["recording"]
        torch.cuda.profiler.stop()
        return ["recorded"]


def make_handler(batcher: Batcher) -> type[BaseHTTPRequestHandler]:
    """What answers HTTP's requests: GET /health, POST /generate, /start_profile and /stop_profile."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(200, {"ready": True}) if self.path == "/health" else self.reply(404, {"error": "no such page"})

        def do_POST(self) -> None:
            try:
                self.reply(200, {"text": batcher.ask(self.read())})
            except (ValueError, KeyError, TypeError) as error:
                self.reply(400, {"error": f"{type(error).__name__}: {error}"})
            except RuntimeError as error:
                self.reply(500, {"error": str(error)})

        def read(self) -> Request:
            if self.path in (START, STOP):
                return Request(command=self.path)
            if self.path != "/generate":
                raise ValueError(f"POST to /generate, {START} or {STOP}")
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt, count = asked["prompt"].encode(), int(asked.get("tokens", 32))
            if not (1 <= len(prompt) <= LONGEST and 1 <= count <= LONGEST):
                raise ValueError(f"a prompt and an answer have 1 to {LONGEST} tokens each")
            return Request(prompt, count)

        def reply(self, status: int, content: dict) -> None:
            body = json.dumps(content).encode() + b"\n"
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    sizes = {"port": 8000, "batch-size": 16, "layers": 8, "width": 2048, "heads": 16}
    for name, value in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=value, help="default: %(default)s")
    options = parser.parse_args()
    if min(options.batch_size, options.layers, options.width, options.heads) < 1 or options.width % (2 * options.heads):
        parser.error("sizes begin at 1, and --width must be a multiple of twice --heads")
    return options


def end(*_: object) -> None:
    """SIGTERM ends the server as Ctrl-C does."""
    raise KeyboardInterrupt


def main() -> None:
    """Load, warm up, serve until Ctrl-C or SIGTERM."""
    options = read_options()
    signal.signal(signal.SIGTERM, end)
    torch.manual_seed(0)
    dtype = torch.bfloat16 if options.device == "cuda" else torch.float32
    model = Decoder(options.width, options.heads, options.layers).eval().to(options.device, dtype)
    model.generate(torch.zeros((1, 16), dtype=torch.int64, device=options.device), 4)
    batcher = Batcher(model, options)
    batcher.start()
    server = ThreadingHTTPServer(("127.0.0.1", options.port), make_handler(batcher))
    print(f"serving on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("ended", flush=True)


if __name__ == "__main__":
    main()
