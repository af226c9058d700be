"""Text from a model of transformers by generate(); no remedy is planted."""

import torch
from clock import DEVICE, STEPS, Clock, size
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    hidden_size=size(2048, 32), intermediate_size=size(5632, 64), num_hidden_layers=size(16, 2), num_attention_heads=size(16, 2),
    num_key_value_heads=size(8, 2), vocab_size=size(32000, 100),
)  # fmt: skip
model = LlamaForCausalLM(config).to(DEVICE, torch.bfloat16).eval()
model.generation_config.pad_token_id = 0
prompt = torch.randint(1, config.vocab_size, (4, size(512, 8)), device=DEVICE)
clock = Clock()


def mark(module, arguments, words):
    clock.begin("decode" if words["input_ids"].shape[1] == 1 else "prefill")


model.register_forward_pre_hook(mark, with_kwargs=True)
for _ in range(max(STEPS // 10, 1)):
    model.generate(prompt, max_new_tokens=65, min_new_tokens=65, do_sample=False)
clock.stop()
