"""Images and texts by two encoders with a contrastive loss, in float32 without TF32; remedy: TF32."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torch.nn import functional

DIM, BATCH, LAYERS = size(512, 16), size(256, 4), size(6, 1)


def transformer(heads):
    layer = nn.TransformerEncoderLayer(DIM, heads, 4 * DIM, 0.0, "gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)


class ImageEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.encoder = nn.Conv2d(3, DIM, 16, 16), transformer(8)

    def forward(self, images):
        return self.encoder(self.patches(images).flatten(2).transpose(1, 2)).mean(1)


class TextEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.encoder = nn.Embedding(size(30000, 100), DIM), transformer(8)

    def forward(self, tokens):
        return self.encoder(self.words(tokens))[:, -1]


torch.manual_seed(0)
if FIXED:
    torch.set_float32_matmul_precision("high")
image_encoder, text_encoder = ImageEncoder().to(DEVICE), TextEncoder().to(DEVICE)
scale = nn.Parameter(torch.tensor(2.7, device=DEVICE))
parameters = [*image_encoder.parameters(), *text_encoder.parameters(), scale]
optimizer = torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0.2)
images = torch.rand(BATCH, 3, size(112, 32), size(112, 32), device=DEVICE)
texts = torch.randint(size(30000, 100), (BATCH, size(76, 6)), device=DEVICE)
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    a = functional.normalize(image_encoder(images), dim=-1)
    b = functional.normalize(text_encoder(texts), dim=-1)
    logits = scale.exp() * a @ b.T
    labels = torch.arange(len(logits), device=DEVICE)
    loss = (functional.cross_entropy(logits, labels) + functional.cross_entropy(logits.T, labels)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
