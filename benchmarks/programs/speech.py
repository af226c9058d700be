"""Speech recognition by a recurrent network and CTC, whose features are normalized one by one; remedy: all at once."""

import torch
from clock import DEVICE, FIXED, STEPS, Clock, size
from torch import nn

MELS, LETTERS, HIDDEN, BATCH, SAMPLES = size(80, 8), 32, size(512, 16), size(48, 2), size(64_000, 4_000)


class Features(nn.Module):
    """Logarithms of mel energies of waves, with mean 0 and deviation 1 in each utterance."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(400))
        self.register_buffer("mel", torch.rand(MELS, 201))

    def forward(self, waves, lengths):
        power = torch.stft(waves, 400, 160, window=self.window, return_complex=True).abs() ** 2
        logs = torch.log10(torch.clamp(self.mel @ power, min=1e-10))
        frames = lengths // 160
        if FIXED:
            mask = torch.arange(logs.shape[2], device=logs.device) < frames[:, None]
            count = frames[:, None].float()
            mean = (logs * mask[:, None]).sum(2) / count
            deviation = (((logs - mean[..., None]) * mask[:, None]) ** 2).sum(2).div(count).sqrt()
            return (logs - mean[..., None]) / (deviation[..., None] + 1e-5) * mask[:, None], frames
        for utterance, frame in zip(logs, frames):
            part = utterance[:, :frame]
            utterance[:, :frame] = (part - part.mean(1, keepdim=True)) / (part.std(1, keepdim=True) + 1e-5)
        return logs, frames


class Recognizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = Features()
        self.reduce = nn.Sequential(nn.Conv1d(MELS, HIDDEN, 5, 2, 2), nn.GELU(), nn.Conv1d(HIDDEN, HIDDEN, 5, 2, 2))
        self.rnn = nn.LSTM(HIDDEN, HIDDEN, 3, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * HIDDEN, LETTERS)

    def forward(self, waves, lengths):
        features, frames = self.features(waves, lengths)
        hidden, _ = self.rnn(self.reduce(features).transpose(1, 2))
        return self.out(hidden).log_softmax(-1), frames // 4


torch.manual_seed(0)
model, criterion = Recognizer().to(DEVICE), nn.CTCLoss(zero_infinity=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=DEVICE == "cuda")
clock = Clock()
for _ in range(STEPS):
    clock.begin()
    waves = torch.randn(BATCH, SAMPLES, device=DEVICE)
    lengths = torch.randint(SAMPLES // 2, SAMPLES, (BATCH,), device=DEVICE)
    letters = torch.randint(1, LETTERS, (BATCH, 20), device=DEVICE)
    scores, frames = model(waves, lengths)
    loss = criterion(scores.transpose(0, 1), letters, frames, torch.full_like(frames, size(20, 2)))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
clock.stop()
