"""The style of one picture on another by VGG-19, as in PyTorch's tutorial, with Adam; no remedy is planted."""

import torch
from clock import DEVICE, STEPS, Clock, size
from torch.nn import functional
from torchvision.models import vgg19

SIDE = size(768, 32)
STYLE, CONTENT = (0, 5, 10, 19, 28), (21,)


def gram(features):
    flat = features.flatten(2)
    return flat @ flat.transpose(1, 2) / flat[0].numel()


def describe(image):
    styles, contents, x = [], [], (image - mean) / std
    for i, layer in enumerate(network):
        x = layer(x)
        if i in STYLE:
            styles.append(gram(x))
        if i in CONTENT:
            contents.append(x)
    return styles, contents


torch.manual_seed(0)
network = vgg19(weights=None).features[:29].to(DEVICE).eval().requires_grad_(False)
for layer in network:
    if hasattr(layer, "inplace"):
        layer.inplace = False
mean = torch.tensor([0.485, 0.456, 0.406], device=DEVICE)[:, None, None]
std = torch.tensor([0.229, 0.224, 0.225], device=DEVICE)[:, None, None]
photo, painting = torch.rand(2, 1, 3, SIDE, SIDE, device=DEVICE)
with torch.no_grad():
    wanted_styles, wanted_contents = describe(painting)[0], describe(photo)[1]
image = photo.clone().requires_grad_()
optimizer = torch.optim.Adam([image], lr=0.02)
clock = Clock()
for step in range(STEPS):
    clock.begin()
    styles, contents = describe(image)
    style_loss = sum(functional.mse_loss(a, b) for a, b in zip(styles, wanted_styles))
    content_loss = sum(functional.mse_loss(a, b) for a, b in zip(contents, wanted_contents))
    loss = 1e6 * style_loss + content_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        image.clamp_(0, 1)
    if step % 50 == 0:
        print(f"step {step}: style {style_loss.item():.6f}, content {content_loss.item():.4f}")
clock.stop()
