"""The digits the MNIST scripts learn from: real ones from IDX files, or ones drawn here.

Drawn digits need no download, so the scripts run anywhere, and every machine trains on the same images.
They are easier than handwriting: their accuracy shows that training works, and says nothing about MNIST.
"""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

SIDE = 28

# The digits 0 to 9 of a 5 x 7 dot-matrix display, row by row from the top.
FONT = (
    "01110 10001 10001 10001 10001 10001 01110",
    "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00010 00100 01000 11111",
    "11111 00010 00100 00010 00001 10001 01110",
    "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110",
    "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110",
    "01110 10001 10001 01111 00001 00010 01100",
)


class Digits(NamedTuple):
    """Images (float32, N x 1 x 28 x 28, from 0 to 1) and their labels (int64, N)."""

    images: Tensor
    labels: Tensor


def load(folder: Path | None) -> tuple[Digits, Digits]:
    """The training set and the test set: MNIST from a folder, or drawn where there is none.

    Raises:
        OSError: If a file is missing or cannot be read.
        ValueError: If a file is not what its name says.
    """
    if folder is None:
        # Like a data set's, these images are always the same. 12,032 are 188 batches of 64.
        return draw(12_032, seed=0), draw(2_000, seed=1)
    return _read(folder, "train"), _read(folder, "t10k")


def draw(count: int, seed: int) -> Digits:
    """Draw digits that differ in place, size, slant, shape, stroke, contrast and noise.

    Args:
        count: How many images.
        seed: The same seed draws the same images.
    """
    generator = torch.Generator().manual_seed(seed)

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(count, *shape, generator=generator)

    labels = torch.randint(10, (count,), generator=generator)
    dots = [[float(dot) for dot in rows.replace(" ", "")] for rows in FONT]
    glyphs = torch.tensor(dots).view(10, 1, 7, 5)[labels]

    # Where in its glyph each pixel of an image looks: an affine map (size on the diagonal, slant and rotation
    # beside it, place in the last column) plus a smooth wobble, so that no two digits have the same shape.
    # Coordinates run from -1 to 1 over image and glyph: a 2 makes the glyph half as wide as the image.
    affine = torch.stack(
        [
            torch.stack([uniform(1.5, 2.4), uniform(-0.4, 0.4), uniform(-0.3, 0.3)], dim=1),
            torch.stack([uniform(-0.2, 0.2), uniform(1.1, 1.6), uniform(-0.2, 0.2)], dim=1),
        ],
        dim=1,
    )
    grid = functional.affine_grid(affine, [count, 1, SIDE, SIDE], align_corners=False)
    wobble = functional.interpolate(uniform(-0.2, 0.2, 2, 4, 4), size=(SIDE, SIDE), mode="bicubic")
    field = functional.grid_sample(glyphs, grid + wobble.movedim(1, 3), align_corners=False)

    # Interpolated dots fade into each other. Where the threshold cuts that field sets the stroke's thickness,
    # how steeply it cuts sets the blur.
    ink = torch.sigmoid((field - uniform(0.25, 0.5, 1, 1, 1)) * uniform(8, 30, 1, 1, 1))
    noise = 0.1 * torch.randn(ink.shape, generator=generator)
    return Digits((ink * uniform(0.6, 1.0, 1, 1, 1) + noise).clamp(0, 1), labels)


def _read(folder: Path, prefix: str) -> Digits:
    """Read one half of MNIST, ``train`` or ``t10k``, from its file of images and its file of labels."""
    images = _read_idx(folder / f"{prefix}-images-idx3-ubyte", dimensions=3)
    labels = _read_idx(folder / f"{prefix}-labels-idx1-ubyte", dimensions=1)
    if images.shape[1:] != (SIDE, SIDE):
        size = " x ".join(str(side) for side in images.shape[1:])
        raise ValueError(f"{folder}: {prefix} images are {size} pixels, not {SIDE} x {SIDE}")
    if len(images) != len(labels):
        raise ValueError(f"{folder}: {len(images)} {prefix} images but {len(labels)} labels")
    if len(labels) == 0 or labels.max() > 9:
        raise ValueError(f"{folder}: {prefix} labels are not digits from 0 to 9")
    return Digits(images.unsqueeze(1) / 255, labels.long())


def _read_idx(path: Path, dimensions: int) -> Tensor:
    """Read an IDX file: magic number, one big-endian size a dimension, then the bytes."""
    path, content = _read_bytes(path)
    header = 4 * (1 + dimensions)
    magic = 0x0800 + dimensions  # 0x08 says unsigned bytes
    if len(content) < header or int.from_bytes(content[:4], "big") != magic:
        raise ValueError(f"{path}: not an IDX file of {dimensions} dimension(s): magic number is not {magic}")
    shape = struct.unpack_from(f">{dimensions}I", content, offset=4)
    expected = header + math.prod(shape)
    if len(content) != expected:
        raise ValueError(f"{path}: {len(content)} bytes where its header promises {expected}")
    # A writable copy: PyTorch has no read-only tensors and warns about a buffer that is.
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)[header:].view(shape)


def _read_bytes(path: Path) -> tuple[Path, bytes]:
    """Read a file or, where there is none of that name, its ``.gz``; say which of them it was."""
    if path.is_file():
        return path, path.read_bytes()
    packed = path.with_name(path.name + ".gz")
    if not packed.is_file():
        raise FileNotFoundError(f"{path.parent}: found neither {path.name} nor {packed.name}")
    try:
        return packed, gzip.decompress(packed.read_bytes())
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{packed}: damaged gzip file: {error}") from error
