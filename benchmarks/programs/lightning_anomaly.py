"""A variational autoencoder in Lightning with ``detect_anomaly`` left on; remedy: off."""

import lightning
import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

BATCH, PIXELS, WIDTH, EPOCHS = size(1024, 8), 784, size(1024, 16), 3


class VAE(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(PIXELS, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, 64)
        )
        self.decoder = nn.Sequential(
            nn.Linear(32, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, PIXELS)
        )
        self.clock = Clock()

    def loss(self, batch):
        mean, log_variance = self.encoder(batch).chunk(2, -1)
        decoded = self.decoder(mean + torch.randn_like(mean) * (0.5 * log_variance).exp())
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(-1).mean()
        return nn.functional.binary_cross_entropy_with_logits(decoded, batch) * PIXELS + divergence

    def training_step(self, batch, index):
        self.clock.begin("train")
        loss = self.loss(batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        self.clock.begin("validate")
        self.log("val_loss", self.loss(batch))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    torch.manual_seed(0)
    digits, held_out = torch.rand(STEPS // EPOCHS * BATCH, PIXELS), torch.rand(5 * BATCH, PIXELS)
    loaders = [torch.utils.data.DataLoader(data.split(BATCH), batch_size=None) for data in (digits, held_out)]
    model = VAE()
    trainer = lightning.Trainer(
        max_epochs=EPOCHS, accelerator="gpu" if DEVICE == "cuda" else "cpu", devices=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, detect_anomaly=not FIXED, num_sanity_val_steps=0,
    )  # fmt: skip
    trainer.fit(model, *loaders)
    model.clock.stop()


if __name__ == "__main__":
    main()
