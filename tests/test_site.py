"""The documents as a site: it builds without a warning and loads nothing from another host."""

from __future__ import annotations

import doctest
import functools
import http.server
import importlib
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from documents import ROOT
from playwright.sync_api import Page, sync_playwright

pytest.importorskip("mkdocs")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
LOADED_BY = {
    "src": {"audio", "embed", "iframe", "img", "input", "script", "source", "track", "video"},
    "srcset": {"img", "source"},
    "href": {"base", "image", "link", "use"},
    "data": {"object"},
    "poster": {"video"},
}
"""Attributes by which these elements have a browser fetch something."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


class Loads(HTMLParser):
    """Collects what a page has a browser fetch, and its inline styles and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if tag in LOADED_BY.get(name, ()):
                self.addresses.append(value or "")
            elif name == "style":
                self.addresses += fetched_by_style(value or "")

    def handle_data(self, data: str) -> None:
        if self.get_starttag_text() == "<style>":
            self.addresses += fetched_by_style(data)


def fetched_by_style(text: str) -> list[str]:
    return re.findall(r"(?:url\(|@import)\s*[\"']?([^)\"']+)", text)


def is_outside(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def test_no_page_asks_another_host_for_anything(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loads = Loads()
        loads.feed(page.read_text("utf-8"))
        assert any(address.endswith(".css") for address in loads.addresses)
        assert not list(filter(is_outside, loads.addresses)), page
    for style in site.rglob("*.css"):
        assert not [
            address for address in fetched_by_style(style.read_text()) if is_outside(address)
        ]


def test_every_page_of_the_repository_is_in_the_site_where_it_lies(site: Path) -> None:
    assert (site / "index.html").is_file()
    for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "CHANGELOG.md"]:
        assert (site / page.relative_to(ROOT).with_suffix("") / "index.html").is_file(), page


def test_the_reference_shows_the_public_names_with_examples_as_code(site: Path) -> None:
    text = "".join(
        page.read_text("utf-8") for page in (site / "docs" / "reference").rglob("*.html")
    )
    public = re.findall(r'^    "(\w+)",$', (ROOT / "pyramid_env" / "__init__.py").read_text(), re.M)
    assert len(public) > 10
    assert [name for name in public if f'id="pyramid_env.{name}"' not in text] == []
    assert "<blockquote>" not in text


def test_examples_in_docstrings_are_put_between_fences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    tried = doctest.testmod(importlib.import_module("doctests"))
    assert tried.attempted
    assert not tried.failed


def test_the_search_knows_the_words_of_the_glossary(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    assert any("regret" in entry["text"] for entry in index["docs"])


# In a browser


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *rest: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module", params=[(1280, 900), (390, 844)], ids=["desk", "phone"])
def page(address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    width, height = request.param
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": height})
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: is_ours(asked.url) or complaints.append(asked.url))

        def is_ours(url: str) -> bool:
            return url.startswith((address, "data:", "blob:"))

        yield page
        browser.close()
        assert complaints == []


@pytest.mark.parametrize("path", ["", "docs/tutorial/", "docs/reference/game/", "docs/actions/"])
def test_a_page_shows_without_a_complaint_and_is_no_wider_than_the_screen(
    page: Page, address: str, path: str
) -> None:
    page.goto(f"{address}/{path}")
    page.wait_for_load_state("networkidle")
    assert page.locator("h1").first.is_visible()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]  # type: ignore[index]
    broken = page.locator("img").evaluate_all(
        "all => all.filter(i => !i.naturalWidth).map(i => i.src)"
    )
    assert broken == []


def test_a_word_can_be_searched_for(page: Page, address: str) -> None:
    page.goto(f"{address}/docs/glossary/")
    page.keyboard.press("/")
    page.keyboard.type("regret")
    page.locator(".md-search-result__item").first.wait_for()
