"""Images augmented one by one in Python by the loader of the main process; remedy: workers that load ahead."""

import numpy as np
import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torch.utils.data import DataLoader, Dataset

BATCH = size(64, 4)


class Photos(Dataset):
    def __init__(self, count):
        self.pixels = np.random.default_rng(0).integers(0, 255, (count, 80, 80, 3), dtype=np.uint8)

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        top, left = rng.integers(0, 16, 2)
        image = self.pixels[index][top : top + 64, left : left + 64].astype(np.float32) / 255
        if rng.random() < 0.5:
            image = image[:, ::-1]
        image = np.clip((image - 0.5) * rng.uniform(0.8, 1.2) + 0.5 + rng.normal(0, 0.02, image.shape), 0, 1)
        return torch.from_numpy(image.transpose(2, 0, 1).astype(np.float32)), index % 10


def block(channels, out):
    return nn.Sequential(nn.Conv2d(channels, out, 3, 2, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU())


def main():
    torch.manual_seed(0)
    workers = {"num_workers": 4, "pin_memory": DEVICE == "cuda", "persistent_workers": True} if FIXED else {}
    loader = DataLoader(Photos(BATCH * STEPS), batch_size=BATCH, shuffle=True, **workers)
    model = nn.Sequential(block(3, 128), block(128, 256), block(256, 512), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    model = nn.Sequential(model, nn.Linear(512, 10)).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    clock = Clock()
    for images, labels in loader:
        clock.begin()
        images, labels = images.to(DEVICE, non_blocking=FIXED), labels.to(DEVICE, non_blocking=FIXED)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    clock.stop()


if __name__ == "__main__":
    main()
