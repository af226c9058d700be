"""Speech to text by a Whisper of transformers, word by word under autocast, its weights in float32; remedy: in bfloat16.

Planted: autocast converts all weights of the decoder anew for each word, as it forgets them at the end of each context.
"""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from transformers import WhisperConfig, WhisperForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

WORDS, BATCH, FRAMES = size(64, 3), size(8, 1), size(1500, 20)

torch.manual_seed(0)
config = WhisperConfig(
    d_model=size(1024, 32), encoder_layers=size(12, 1), decoder_layers=size(24, 2), encoder_attention_heads=size(16, 2),
    decoder_attention_heads=size(16, 2), encoder_ffn_dim=size(4096, 64), decoder_ffn_dim=size(4096, 64),
    max_source_positions=FRAMES, vocab_size=size(51865, 51865),
)  # fmt: skip
with torch.device(DEVICE):
    model = WhisperForConditionalGeneration(config).eval()
if FIXED:
    model = model.to(torch.bfloat16)
sounds = torch.randn(BATCH, 80, 2 * FRAMES, device=DEVICE, dtype=model.dtype)
clock, texts = Clock(), []
for _ in range(max(STEPS // WORDS, 1)):
    token, past, words = torch.full((BATCH, 1), config.decoder_start_token_id, device=DEVICE), None, []
    clock.begin("encode")
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16, enabled=not FIXED):
        heard = model.model.encoder(sounds).last_hidden_state
    for _ in range(WORDS):
        clock.begin("decode")
        with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16, enabled=not FIXED):
            out = model(
                encoder_outputs=BaseModelOutput(heard), decoder_input_ids=token, past_key_values=past, use_cache=True
            )
        token, past = out.logits[:, -1].argmax(-1, keepdim=True), out.past_key_values
        words.append(token)
    texts.extend(torch.cat(words, 1).tolist())
clock.stop()
