"""LoRA by peft on a Llama whose weights and arithmetic are float32; remedy: bfloat16 by autocast."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    hidden_size=size(1024, 32), intermediate_size=size(2816, 64), num_hidden_layers=size(12, 2), num_attention_heads=size(16, 2),
    vocab_size=size(32000, 100),
)  # fmt: skip
base = LlamaForCausalLM(config).to(DEVICE)
model = get_peft_model(
    base, LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
tokens = torch.randint(config.vocab_size, (size(32, 4), size(512, 8)), device=DEVICE)
model.train()
clock = Clock()
for step in range(STEPS):
    clock.begin()
    batch = tokens[step % 4 :: 4]
    with torch.autocast(DEVICE, torch.bfloat16, enabled=FIXED):
        loss = model(input_ids=batch, labels=batch).loss
    loss.backward()
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        print(f"loss {loss.item():.3f}")
clock.stop()
