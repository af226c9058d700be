"""A small batching server: HTTP on loopback, a queue, one thread that runs the model; and the clients that try it."""

import json
import queue
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from transformers import LlamaConfig, LlamaForCausalLM

MOST, WAIT_S, NEW = 8, 0.01, 32
requests = queue.Queue()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        done, answer = threading.Event(), {}
        requests.put((body["tokens"], answer, done))
        done.wait()
        out = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    def log_message(self, *arguments):
        pass


def take():
    """A batch: the first request, and those that come within a moment."""
    batch = [requests.get()]
    end = time.monotonic() + WAIT_S
    while len(batch) < MOST:
        try:
            batch.append(requests.get(timeout=max(0.0, end - time.monotonic())))
        except queue.Empty:
            break
    return batch


@torch.inference_mode()
def serve(model, counts):
    while True:
        batch = take()
        if batch[0] is None:
            return
        longest = max(len(tokens) for tokens, _, _ in batch)
        ids = torch.tensor([[0] * (longest - len(tokens)) + tokens for tokens, _, _ in batch]).cuda()
        mask = torch.tensor([[0] * (longest - len(tokens)) + [1] * len(tokens) for tokens, _, _ in batch]).cuda()
        out = model.generate(
            ids, attention_mask=mask, max_new_tokens=NEW, min_new_tokens=NEW, do_sample=False, pad_token_id=0
        )[:, longest:].tolist()
        counts.append(sum(map(len, out)))
        for (_, answer, done), tokens in zip(batch, out):
            answer["tokens"] = tokens
            done.set()


def ask(port, seed, times):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(times):
        length = int(torch.randint(32, 512, (1,), generator=generator))
        tokens = torch.randint(1, 32000, (length,), generator=generator).tolist()
        request = urllib.request.Request(f"http://127.0.0.1:{port}", json.dumps({"tokens": tokens}).encode())
        begin = time.perf_counter()
        with urllib.request.urlopen(request) as answer:
            json.loads(answer.read())
        latencies.append(time.perf_counter() - begin)


latencies = []


def main():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=12,
        num_attention_heads=16,
        num_key_value_heads=8,
        max_position_embeddings=2048,
    )
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).to(torch.bfloat16).eval()
    counts = []
    worker = threading.Thread(target=serve, args=(model, counts))
    worker.start()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    begin = time.perf_counter()
    clients = [threading.Thread(target=ask, args=(server.server_port, seed, 6)) for seed in range(8)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    took = time.perf_counter() - begin
    requests.put(None)
    worker.join()
    server.shutdown()
    latencies.sort()
    print(
        f"{len(latencies)} requests in {len(counts)} batches, {sum(counts)} tokens in {took:.2f} s: "
        f"{sum(counts) / took:.1f} tokens/s; "
        f"median latency {1e3 * latencies[len(latencies) // 2]:.1f} ms"
    )


if __name__ == "__main__":
    main()
