"""Train torchvision's ResNet-50 with Lightning in 16-mixed."""

import time

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import resnet50


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = resnet50()
        self.loss = nn.CrossEntropyLoss()
        self.begins = []

    def training_step(self, batch, batch_index):
        images, labels = batch
        return self.loss(self.model(images), labels)

    def validation_step(self, batch, batch_index):
        images, labels = batch
        self.log("val_loss", self.loss(self.model(images), labels))

    def on_train_batch_start(self, batch, batch_index):
        torch.cuda.synchronize()
        self.begins.append(time.perf_counter())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)


def main():
    lightning.seed_everything(0)
    torch.backends.cudnn.benchmark = True
    data = TensorDataset(torch.randn(512, 3, 224, 224), torch.randint(0, 1000, (512,)))
    held_out = TensorDataset(torch.randn(128, 3, 224, 224), torch.randint(0, 1000, (128,)))
    trainer = lightning.Trainer(
        max_epochs=4,
        precision="16-mixed",
        accelerator="gpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    model = Classifier()
    trainer.fit(
        model, DataLoader(data, batch_size=64, shuffle=True, pin_memory=True), DataLoader(held_out, batch_size=64)
    )
    apart = sorted(b - a for a, b in zip(model.begins, model.begins[1:]))
    print(f"{len(model.begins)} batches, median time between them: {1e3 * apart[len(apart) // 2]:.2f} ms")


if __name__ == "__main__":
    main()
