"""Captions of images, word by word, by a model that looks at the images again for each word; remedy: it does so once.

Planted: ``model(images, words)`` is called for each word, and runs the same images through the encoder each time.
"""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

DIM, HEADS, DEPTH, LAYERS = size(768, 32), size(12, 2), size(12, 2), size(6, 2)
BATCH, SIDE, PATCH, WORDS, VOCABULARY = size(64, 2), size(224, 32), 16, size(20, 4), size(16384, 64)


class ImageEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, DIM, PATCH, PATCH)
        self.place = nn.Parameter(0.02 * torch.randn((SIDE // PATCH) ** 2, DIM))
        layer = nn.TransformerEncoderLayer(DIM, HEADS, 4 * DIM, 0.0, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, DEPTH, enable_nested_tensor=False)

    def forward(self, images):
        return self.layers(self.patches(images).flatten(2).transpose(1, 2) + self.place)


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = ImageEncoder()
        self.embedding = nn.Embedding(VOCABULARY, DIM)
        self.place = nn.Parameter(0.02 * torch.randn(WORDS + 1, DIM))
        layer = nn.TransformerDecoderLayer(DIM, HEADS, 4 * DIM, 0.0, "gelu", batch_first=True, norm_first=True)
        self.decoder, self.head = nn.TransformerDecoder(layer, LAYERS), nn.Linear(DIM, VOCABULARY)

    def decode(self, memory, words):
        length = words.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=words.device, dtype=memory.dtype)
        x = self.decoder(self.embedding(words) + self.place[:length], memory, tgt_mask=mask)
        return self.head(x[:, -1])

    def forward(self, images, words):
        return self.decode(self.encoder(images), words)


torch.manual_seed(0)
model = Captioner().to(DEVICE, torch.bfloat16).eval()
photos = torch.rand(4 * BATCH, 3, SIDE, SIDE, device=DEVICE, dtype=torch.bfloat16)
clock, captions = Clock(), []
for batch in range(max(STEPS // WORDS, 1)):
    images = photos[batch % 4 :: 4]
    words = torch.ones(BATCH, 1, dtype=torch.long, device=DEVICE)
    with torch.no_grad():
        if FIXED:
            clock.begin("encode")
            memory = model.encoder(images)
        for _ in range(WORDS):
            clock.begin("decode")
            scores = model.decode(memory, words) if FIXED else model(images, words)
            words = torch.cat([words, scores.argmax(-1, keepdim=True)], 1)
    captions.append(words)
print(f"{len(torch.cat(captions).tolist())} captions")
clock.stop()
