"""Video clips copied from ordinary memory as float32 in each step; remedy: pinned memory, copied a step ahead."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

CLIPS, FRAMES, SIDE = size(16, 2), size(16, 4), size(128, 16)


def stage(channels, out):
    return nn.Sequential(nn.Conv3d(channels, out, 3, 2, 1, bias=False), nn.BatchNorm3d(out), nn.ReLU(inplace=True))


torch.manual_seed(0)
model = nn.Sequential(
    stage(3, 64), stage(64, 128), stage(128, 256), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(256, 40)
)
model = model.to(DEVICE, memory_format=torch.channels_last_3d)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
batches = [(torch.randn(CLIPS, 3, FRAMES, SIDE, SIDE), torch.randint(0, 40, (CLIPS,))) for _ in range(4)]
if FIXED and DEVICE == "cuda":
    batches = [(clips.pin_memory(), labels.pin_memory()) for clips, labels in batches]
    copies = torch.cuda.Stream()


def load(step):
    clips, labels = batches[step % 4]
    if not FIXED or DEVICE == "cpu":
        return clips.to(DEVICE), labels.to(DEVICE)
    with torch.cuda.stream(copies):
        return clips.to(DEVICE, non_blocking=True), labels.to(DEVICE, non_blocking=True)


clock, ahead = Clock(), load(0) if FIXED else None
for step in range(STEPS):
    clock.begin()
    if FIXED and DEVICE == "cuda":
        torch.cuda.current_stream().wait_stream(copies)
        clips, labels = ahead
        clips.record_stream(torch.cuda.current_stream())
        ahead = load(step + 1)
    else:
        clips, labels = load(step)
    with torch.autocast(DEVICE, torch.bfloat16):
        loss = nn.functional.cross_entropy(model(clips.to(memory_format=torch.channels_last_3d)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
clock.stop()
