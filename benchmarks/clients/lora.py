"""Fine-tune a Llama with LoRA, with transformers' Trainer and gradient checkpointing."""

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


class Tokens(Dataset):
    def __init__(self, count, length, vocabulary):
        generator = torch.Generator().manual_seed(0)
        self.ids = torch.randint(0, vocabulary, (count, length), generator=generator)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.ids[index]}


def main():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=10,
        num_attention_heads=16,
        num_key_value_heads=8,
        max_position_embeddings=1024,
        use_cache=False,
    )
    model = LlamaForCausalLM(config)
    lora = LoraConfig(
        r=16, lora_alpha=32, lora_dropout=0.05, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"
    )
    model = get_peft_model(model, lora)
    model.enable_input_require_grads()
    model.print_trainable_parameters()
    arguments = TrainingArguments(
        output_dir="/tmp/lora-out",
        max_steps=30,
        per_device_train_batch_size=8,
        bf16=True,
        learning_rate=2e-4,
        gradient_checkpointing=True,
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        dataloader_num_workers=0,
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=Tokens(512, 512, 32000))
    print(trainer.train().metrics)


if __name__ == "__main__":
    main()
