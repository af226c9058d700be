"""A classifier of images with a prefetcher on a stream of its own that copies unpinned memory; remedy: it is pinned."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torchvision.models import resnet18

BATCH, SIDE = size(256, 4), size(224, 32)


class Prefetcher:
    def __init__(self, batches):
        self.batches, self.stream, self.next = iter(batches), torch.cuda.Stream() if DEVICE == "cuda" else None, None
        self.preload()

    def preload(self):
        images, labels = next(self.batches)
        with torch.cuda.stream(self.stream):
            images, labels = images.to(DEVICE, non_blocking=True), labels.to(DEVICE, non_blocking=True)
            self.next = (images.float().sub_(127.5).div_(64.0), labels)

    def take(self):
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
            for tensor in self.next:
                tensor.record_stream(torch.cuda.current_stream())
        batch = self.next
        self.preload()
        return batch


def load():
    pool = torch.randint(256, (4, BATCH, 3, SIDE, SIDE), dtype=torch.uint8)
    labels = torch.randint(10, (BATCH,))
    pool, labels = (pool.pin_memory(), labels.pin_memory()) if FIXED and DEVICE == "cuda" else (pool, labels)
    number = 0
    while True:
        yield pool[number % 4], labels
        number += 1


torch.manual_seed(0)
model = resnet18(num_classes=10).to(DEVICE, memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
prefetcher, clock = Prefetcher(load()), Clock()
for _ in range(STEPS):
    clock.begin()
    images, labels = prefetcher.take()
    with torch.autocast(DEVICE, torch.bfloat16):
        loss = nn.functional.cross_entropy(model(images.to(memory_format=torch.channels_last)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
