"""Speech from mel spectrograms, chunk by chunk, whose weights are normalized anew in each call; remedy: remove_parametrizations.

Planted: ``weight_norm``, which training wants, is left on the 78 convolutions of a HiFi-GAN that only synthesizes.
"""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.parametrize import remove_parametrizations

WIDTH, FRAMES, MELS = size(512, 32), size(32, 4), 80
KERNELS, DILATIONS, RATES = (3, 7, 11), (1, 3, 5), (8, 8, 2, 2)


class ResBlock(nn.Module):
    def __init__(self, channels, kernel):
        super().__init__()
        self.convs1 = nn.ModuleList(
            weight_norm(nn.Conv1d(channels, channels, kernel, dilation=d, padding=(kernel - 1) * d // 2))
            for d in DILATIONS
        )
        self.convs2 = nn.ModuleList(
            weight_norm(nn.Conv1d(channels, channels, kernel, padding=(kernel - 1) // 2)) for _ in DILATIONS
        )

    def forward(self, x):
        for conv1, conv2 in zip(self.convs1, self.convs2):
            y = conv1(functional.leaky_relu(x, 0.1))
            x = x + conv2(functional.leaky_relu(y, 0.1))
        return x


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_pre = weight_norm(nn.Conv1d(MELS, WIDTH, 7, padding=3))
        self.ups, self.blocks = nn.ModuleList(), nn.ModuleList()
        channels = WIDTH
        for rate in RATES:
            self.ups.append(weight_norm(nn.ConvTranspose1d(channels, channels // 2, 2 * rate, rate, padding=rate // 2)))
            channels //= 2
            self.blocks.append(nn.ModuleList(ResBlock(channels, kernel) for kernel in KERNELS))
        self.conv_post = weight_norm(nn.Conv1d(channels, 1, 7, padding=3))

    def forward(self, mel):
        x = self.conv_pre(mel)
        for up, blocks in zip(self.ups, self.blocks):
            x = up(functional.leaky_relu(x, 0.1))
            x = sum(block(x) for block in blocks) / len(blocks)
        return torch.tanh(self.conv_post(functional.leaky_relu(x)))


torch.manual_seed(0)
generator = Generator().to(DEVICE).eval()
if FIXED:
    for module in generator.modules():
        if isinstance(module, (nn.Conv1d, nn.ConvTranspose1d)):
            remove_parametrizations(module, "weight")
mels = torch.randn(1, MELS, FRAMES * 50, device=DEVICE)
clock, speech = Clock(), []
with torch.no_grad():
    for step in range(STEPS):
        clock.begin("synthesize")
        begin = step % 50 * FRAMES
        speech.append(generator(mels[:, :, begin : begin + FRAMES]))
speech = torch.cat(speech, -1).cpu()
clock.stop()
