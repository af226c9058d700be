"""BERT fine-tuned by transformers' Trainer, each batch padded to its longest text; remedy: ``bf16=True``."""

import numpy as np
import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

BATCH, WORDS = size(32, 2), 30522


class Texts(torch.utils.data.Dataset):
    def __init__(self, count):
        rng = np.random.default_rng(0)
        lengths = rng.integers(size(64, 4), size(200, 9), count)
        self.rows = [{"input_ids": rng.integers(1000, WORDS, length), "label": int(length) % 2} for length in lengths]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def pad(rows):
    ids = [torch.tensor(row["input_ids"]) for row in rows]
    ids = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True)
    return {
        "input_ids": ids,
        "attention_mask": (ids > 0).long(),
        "labels": torch.tensor([row["label"] for row in rows]),
    }


class Times(TrainerCallback):
    def __init__(self):
        self.clock = Clock()

    def on_step_begin(self, *args, **kwargs):
        self.clock.begin()

    def on_train_end(self, *args, **kwargs):
        self.clock.stop()


def main():
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=size(768, 32), num_hidden_layers=size(8, 1), num_attention_heads=size(12, 2), num_labels=2
    )
    arguments = TrainingArguments(
        "/tmp/bert_trainer", max_steps=STEPS, per_device_train_batch_size=BATCH, bf16=FIXED, report_to=[], save_strategy="no",
        logging_steps=10, disable_tqdm=True, use_cpu=DEVICE == "cpu",
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    Trainer(model, arguments, train_dataset=Texts(BATCH * STEPS), data_collator=pad, callbacks=[Times()]).train()


if __name__ == "__main__":
    main()
