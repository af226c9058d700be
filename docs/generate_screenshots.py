"""Take the pictures and the film of the pages that the documentation shows: ``python docs/generate_screenshots.py``.

Needs playwright and Chromium (on PATH, or CHROMIUM=/path).
"""

import base64
import os
import shutil
import struct
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

import tcprof
from tcprof.comparison import Side
from tcprof.comparison import compare as compare_sides
from tcprof.findings.compared import judge_comparison
from tcprof.render.html.page import write_page
from tcprof.views.comparison import view_comparison
from tcprof.views.recording.show import view_recording

ROOT = Path(__file__).parent.parent
FIXTURES, DOCS = ROOT / "fixtures", ROOT / "docs"
SIZE = {"width": 1200, "height": 1100}
SCENE, QUALITY = {"width": 1100, "height": 700}, 0.7
_AS_WEBP = """async ([png, quality]) => {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  canvas.getContext("2d", { alpha: false }).drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", quality).split(",")[1];
}"""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"]


def main() -> None:
    """Take all."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is absent: install Debian's package chromium, or set CHROMIUM=/path")
    base, new = (tcprof.read(FIXTURES / f"transformer_{name}.sqlite") for name in ("eager", "compiled"))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        page = Path(folder) / "page.html"
        write_page(view_recording(new.analysis, new.findings, new.advice), page)
        take(browser, page, "report", "light")
        llama = tcprof.read(FIXTURES / "llama.sqlite")
        write_page(view_recording(llama.analysis, llama.findings, llama.advice), page)
        film_idle(browser, page)
        comparison = compare_sides(Side("eager", (base.analysis,)), Side("compiled", (new.analysis,)))
        write_page(view_comparison([judge_comparison(comparison)]), page)
        take(browser, page, "comparison", "dark")
        browser.close()


def take(browser: Browser, page: Path, name: str, scheme: str) -> None:
    """The top of a page, as a picture in docs/."""
    open_page(browser, page, SIZE, scheme).screenshot(path=DOCS / f"{name}.png")


def open_page(browser: Browser, page: Path, size: dict[str, int], scheme: str) -> Page:
    """A page that is drawn."""
    opened = browser.new_page(viewport=size, color_scheme=scheme)
    opened.goto(page.as_uri())
    opened.wait_for_selector("html[data-drawn]", state="attached")
    opened.wait_for_timeout(300)
    return opened


def film_idle(browser: Browser, page: Path) -> None:
    """From the verdict to the reason why the GPU is idle, as a film in docs/."""
    opened = open_page(browser, page, SCENE, "light")
    frames: list[tuple[bytes, int]] = []

    def shoot(milliseconds: int) -> None:
        opened.wait_for_timeout(400)
        frames.append((opened.screenshot(), milliseconds))

    idle = opened.locator(".shares .idle")
    shoot(2000)
    idle.evaluate("each => each.focus({ focusVisible: true })")
    shoot(1200)
    idle.click()
    shoot(3000)
    for _ in range(3):
        opened.keyboard.press("n")
        shoot(1500)
    blank = browser.new_page()
    pictures = [blank.evaluate(_AS_WEBP, [base64.b64encode(frame).decode(), QUALITY]) for frame, _ in frames]
    times = [milliseconds for _, milliseconds in frames]
    (DOCS / "idle.webp").write_bytes(join_frames([base64.b64decode(picture) for picture in pictures], times, SCENE))


def join_frames(pictures: Sequence[bytes], milliseconds: Sequence[int], size: dict[str, int]) -> bytes:
    """Join WebP pictures of one size to an animation without end, as Google's container specification has it."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)

    def three(*numbers: int) -> bytes:
        return b"".join(number.to_bytes(3, "little") for number in numbers)

    def pick_image(picture: bytes) -> bytes:
        """The chunk of a picture that a frame may hold: not its colour profile, nor the size."""
        place = 12
        while picture[place : place + 4] not in (b"VP8 ", b"VP8L"):
            (length,) = struct.unpack("<I", picture[place + 4 : place + 8])
            place += 8 + length + length % 2
        (length,) = struct.unpack("<I", picture[place + 4 : place + 8])
        return picture[place : place + 8 + length + length % 2]

    area = three(size["width"] - 1, size["height"] - 1)
    frames = b"".join(
        chunk(b"ANMF", three(0, 0) + area + three(shown) + b"\0" + pick_image(picture))
        for picture, shown in zip(pictures, milliseconds, strict=True)
    )
    body = b"WEBP" + chunk(b"VP8X", b"\x02\0\0\0" + area) + chunk(b"ANIM", b"\xff\xff\xff\xff\0\0") + frames
    return chunk(b"RIFF", body)


if __name__ == "__main__":
    main()
