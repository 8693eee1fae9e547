"""The site: every page is in its navigation, a broken link ends the build, nothing is fetched."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
ELSEWHERE = re.compile(r"^\s*(?:https?:)?//", re.I)
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""Elements whose address a browser fetches on its own."""


def project() -> dict[str, Any]:
    """The configuration of the site."""
    text = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)["project"]
    return found


def pages(nav: Any) -> Iterator[str]:
    """The pages that a navigation leads to."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        yield from pages(list(nav.values()))
    else:
        for part in nav:
            yield from pages(part)


def test_every_page_is_in_the_navigation_once() -> None:
    docs = ROOT / "docs"
    there = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    assert sorted(pages(project()["nav"])) == there


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the copy of the site in a folder, as `make docs` does."""
    pytest.importorskip("zensical", reason="the extra `docs` is not installed: make docs")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what the site is built from."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    return tmp_path


class Addresses(HTMLParser):
    """The addresses in a page: those that a browser fetches to show it, and those of links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the element's address."""
        self.fetched += [value or "" for name, value in attrs if name == FETCHED.get(tag)]
        self.links += [value or "" for name, value in attrs if (tag, name) == ("a", "href")]


def dangling(site: Path) -> list[str]:
    """Addresses in the pages of a site that lead to no file of it."""
    found = []
    for page in site.rglob("*.html"):
        addresses = Addresses(page.read_text(encoding="utf-8"))
        for one in addresses.fetched + addresses.links:
            path = urlsplit(one).path
            base = site if page.name == "404.html" or path.startswith("/") else page.parent
            if not urlsplit(one).scheme and not (base / unquote(path).lstrip("/")).exists():
                found.append(f"{page.name}: {one}")
    return found


def test_a_picture_that_is_not_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<img src="b.png"> <a href="c.html#d">c</a> <a href="#e">e</a>'
    )
    assert dangling(tmp_path) == ["a.html: b.png", "a.html: c.html#d"]


def test_it_builds_and_its_pages_lead_somewhere_and_fetch_nothing(copy: Path) -> None:
    done = build(copy)
    assert done.returncode == 0, done.stdout + done.stderr
    site = copy / project()["site_dir"]
    for page in pages(project()["nav"]):
        assert (site / page).with_suffix(".html").is_file()
    assert dangling(site) == []
    fetched = []
    for page in site.rglob("*.html"):
        fetched += Addresses(page.read_text(encoding="utf-8")).fetched
    assert len(fetched) > 100
    assert [one for one in fetched if ELSEWHERE.match(one)] == []
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", text), style


def test_what_leads_nowhere_ends_the_build(copy: Path) -> None:
    faults = ["[there](nowhere.md)", "[there](hooks.md#nowhere)", "[there](#nowhere)"]
    with (copy / "docs" / "index.md").open("a", encoding="utf-8") as page:
        page.writelines(f"\n{fault}\n" for fault in faults)
    done = build(copy)
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    assert done.returncode != 0
    assert f"{len(faults)} issues found" in said
    assert said.count("index.md:") == len(faults)
