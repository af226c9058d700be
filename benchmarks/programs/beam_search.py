"""Summaries by BART with beam search; remedy: four times as many texts at once, counted for as many as before."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from transformers import BartConfig, BartForConditionalGeneration

TEXTS, LENGTH = size(16, 2) if FIXED else size(4, 1), size(256, 8)
config = BartConfig(
    d_model=size(768, 32), encoder_layers=size(6, 1), decoder_layers=size(6, 1), encoder_attention_heads=size(12, 2),
    decoder_attention_heads=size(12, 2), encoder_ffn_dim=size(3072, 32), decoder_ffn_dim=size(3072, 32), vocab_size=size(50264, 99),
)  # fmt: skip
torch.manual_seed(0)
model = BartForConditionalGeneration(config).to(DEVICE, torch.float16 if DEVICE == "cuda" else torch.float32).eval()
clock = Clock()
model.model.encoder.register_forward_pre_hook(lambda *_: clock.begin("prefill"))
first = [True]


def on_decode(module, args, kwargs):
    """Begin a step at each token but the first, which is of the prefill."""
    if kwargs["input_ids"].shape[1] and not first[0]:
        clock.begin("decode")
    first[0] = False


model.model.decoder.register_forward_pre_hook(on_decode, with_kwargs=True)
for _ in range(4):
    first[0] = True
    texts = torch.randint(10, config.vocab_size, (TEXTS, LENGTH), device=DEVICE)
    tokens = max(2, STEPS // 2)
    summary = model.generate(texts, num_beams=4, min_new_tokens=tokens, max_new_tokens=tokens, do_sample=False)
clock.stop()
