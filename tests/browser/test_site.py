"""The site of the documentation, as ``make docs`` has built it: no link is broken, and it needs no network."""

import os
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(os.environ.get("SITE", ""))
pytestmark = pytest.mark.skipif("SITE" not in os.environ, reason="make docs builds the site, and runs these")


class Page(HTMLParser):
    """What a page links to and loads, and the names of its places."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.places |= {known[name] or "" for name in ("id", "name") if name in known}
        if tag == "a" and "href" in known:
            self.links.append(known["href"] or "")
        elif tag in ("script", "img", "link", "iframe", "source"):
            self.loads += [known[name] or "" for name in ("src", "href") if name in known]


read = cache(Page)


def pages() -> list[Path]:
    return [page for page in SITE.rglob("*.html") if "gallery" not in page.relative_to(SITE).parts]


def test_every_page_of_the_documentation_is_in_the_site():
    docs = Path(__file__).parents[2] / "docs"
    written = {page.relative_to(docs).with_suffix(".html") for page in docs.rglob("*.md")}
    assert written <= {page.relative_to(SITE) for page in pages()}
    assert len(written) > 40


def test_links_lead_to_a_page_and_a_place_in_it():
    broken = []
    for page in pages():
        for link in read(page).links:
            target = urlsplit(link)
            if target.scheme or target.netloc:
                continue
            path = page if not target.path else Path(os.path.normpath(page.parent / unquote(target.path)))
            has_place = path.suffix != ".html" or not target.fragment or target.fragment in read(path).places
            if not (path.is_file() and has_place):
                broken.append(f"{page.relative_to(SITE)}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_the_network():
    loaded = {each for page in SITE.rglob("*.html") for each in read(page).loads}
    assert [each for each in loaded if urlsplit(each).scheme not in ("", "data")] == []
    styles = [sheet.read_text(encoding="utf-8") for sheet in SITE.rglob("*.css")]
    assert not [sheet for sheet in styles if "@import" in sheet or "url(http" in sheet or "url(//" in sheet]


def test_the_gallery_has_its_pages():
    linked = {link for link in read(SITE / "gallery.html").links if link.startswith("gallery/")}
    assert linked == {f"gallery/{page.name}" for page in (SITE / "gallery").glob("*.html")}


@pytest.mark.browser
@pytest.mark.parametrize("name", ["index.html", "questions/amp.html", "gallery/llama.html", "search.html?q=warm-up"])
def test_pages_open_without_a_request_or_an_error(name, browser):
    page, complaints = browser.new_page(), []
    page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
    page.on("request", lambda sent: sent.url.startswith(("file:", "data:", "blob:")) or complaints.append(sent.url))
    path, mark, query = name.partition("?")
    page.goto(f"{(SITE / path).resolve().as_uri()}{mark}{query}")
    page.wait_for_selector("#search-results li" if query else "h1")
    page.close()
    assert complaints == []
