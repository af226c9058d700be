"""GPT-2 that writes with transformers' generate, but without its cache; remedy: use_cache."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(n_layer=size(12, 2), n_embd=size(768, 16), n_head=size(12, 2), n_positions=1024, use_cache=FIXED)
model = GPT2LMHeadModel(config).to(DEVICE, torch.bfloat16).eval()
clock = Clock()


def begin(_, scores):
    clock.begin("write")
    return scores


for _ in range(STEPS):
    prompt = torch.randint(50257, (size(16, 2), size(512, 8)), device=DEVICE)
    with torch.no_grad():
        model.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=size(64, 4), min_new_tokens=size(64, 4),
            do_sample=True, top_k=50, pad_token_id=50256, use_cache=FIXED,
            logits_processor=[begin],
        )  # fmt: skip
clock.stop()
