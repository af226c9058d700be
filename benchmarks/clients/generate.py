"""Answer prompts with a Llama of random weights; print tokens per second and the time to the first token."""

import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.generation.streamers import BaseStreamer


class Clock(BaseStreamer):
    """Notes when tokens arrive; the prompt is put first."""

    def __init__(self):
        self.times = []

    def put(self, value):
        self.times.append(time.perf_counter())

    def end(self):
        pass


@torch.inference_mode()
def main():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=16,
        num_attention_heads=32,
        num_key_value_heads=8,
        max_position_embeddings=2048,
    )
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).to(torch.bfloat16).eval()
    print(f"{sum(each.numel() for each in model.parameters()) / 1e9:.2f} billion parameters")
    for batch, length, new in [(4, 128, 32), (4, 512, 48), (8, 1024, 48), (8, 1024, 48), (1, 1536, 48), (8, 1024, 48)]:
        prompt = torch.randint(0, 32000, (batch, length), device="cuda")
        clock = Clock()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        out = model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=new,
            min_new_tokens=new,
            do_sample=False,
            pad_token_id=0,
            streamer=clock,
        )
        torch.cuda.synchronize()
        took = time.perf_counter() - begin
        first, last = clock.times[1] - begin, clock.times[-1] - clock.times[1]
        tokens = batch * (out.shape[1] - length)
        print(
            f"batch {batch}, prompt {length}, new {new}: {tokens / took:.1f} tokens/s, "
            f"first token after {1e3 * first:.2f} ms, then {1e3 * last / (new - 1):.3f} ms a token "
            f"({batch * (new - 1) / last:.1f} tokens/s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
