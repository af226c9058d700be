"""Train timm's ViT-S with accelerate: bf16, gradients of two batches accumulated, an evaluation after each epoch."""

import time

import timm
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    model = timm.create_model("vit_small_patch16_224", pretrained=False, num_classes=100, drop_path_rate=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    data = TensorDataset(torch.randn(480, 3, 224, 224), torch.randint(0, 100, (480,)))
    held_out = TensorDataset(torch.randn(144, 3, 224, 224), torch.randint(0, 100, (144,)))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
    model, optimizer, batches, tests, scheduler = accelerator.prepare(
        model, optimizer, DataLoader(data, batch_size=48, shuffle=True), DataLoader(held_out, batch_size=48), scheduler
    )
    for epoch in range(5):
        model.train()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for images, labels in batches:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(images), labels, label_smoothing=0.1)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        torch.cuda.synchronize()
        print(f"epoch {epoch}: {1e3 * (time.perf_counter() - begin) / len(batches):.2f} ms a batch", flush=True)
        model.eval()
        right = 0
        with torch.no_grad():
            for images, labels in tests:
                right += (accelerator.gather(model(images)).argmax(-1) == labels).sum()
        print(f"epoch {epoch}: accuracy {right.item() / len(held_out):.3f}", flush=True)


if __name__ == "__main__":
    main()
