"""The site: built without the network, no dead link, and every page opens in a real browser."""

import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from comparing.browser import requests, show, started

pytest.importorskip("mkdocs")
filelock = pytest.importorskip("filelock")

ROOT = Path(__file__).parents[2]
NO_NETWORK = '''
"""What every process of the build reads first: it cannot reach anything."""
import socket

def refuse(*_):
    raise OSError("the site must be built without the network")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
'''
KINDS = (
    "index.html",
    "tutorials/training.html",
    "add-a-remedy.html",
    "remedies.html",
    "results/index.html",
    "results/compare/index.html",
    "api/averaging.html",
    "shown/examples/check_your_model.ipynb.html",
)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once however many processes test it."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    folder = shared / "site"
    with filelock.FileLock(shared / "site.lock"):
        if not folder.exists():
            forbidding = shared / "no-network"
            forbidding.mkdir()
            (forbidding / "sitecustomize.py").write_text(NO_NETWORK, encoding="utf-8")
            command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir"]
            done = subprocess.run(
                [*command, str(shared / "building")],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(forbidding), "NO_MKDOCS_2_WARNING": "1"},
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            (shared / "building").rename(folder)
    return folder


class Parsed(HTMLParser):
    """What a page links to, loads and shows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.without_text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(values["href"])
        elif tag in ("img", "script", "iframe", "source") and "src" in values:
            self.loaded.append(values["src"])
        if tag == "img" and len(values.get("alt", "").strip()) < 5:
            self.without_text.append(values["src"][:80])


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Parsed]:
    return {page: Parsed(page.read_text(encoding="utf-8")) for page in site.rglob("*.html")}


def target(page: Path, link: str) -> tuple[Path, str]:
    address, part = urldefrag(link)
    path = unquote(urlsplit(address).path)
    found = (page.parent / path).resolve() if path else page
    return found / "index.html" if found.is_dir() else found, unquote(part)


def test_no_link_is_dead(site: Path, pages: dict[Path, Parsed]) -> None:
    dead = []
    followed = 0
    for page, parsed in pages.items():
        if page.name == "404.html":
            continue  # its links begin at the root of wherever the site is put
        for link in (*parsed.links, *parsed.loaded):
            if urlsplit(link).scheme or link == "#":
                continue
            followed += 1
            file, part = target(page, link)
            there = file.is_file() and (
                not part or file.suffix != ".html" or part in pages[file].ids or ":~:" in part
            )
            # Parts of the comparison are named by its own script.
            if not there and not (file.name == "page.html" and file.is_file()):
                dead.append(f"{page.relative_to(site)}: {link}")
    assert followed > 1000
    assert dead == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Parsed]) -> None:
    for page, parsed in pages.items():
        if page.name != "404.html":
            far = [link for link in parsed.loaded if urlsplit(link).scheme not in ("", "data")]
            assert far == [], page
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert "url(http" not in text, sheet
        assert "@import" not in text, sheet


def test_every_picture_has_a_text(site: Path, pages: dict[Path, Parsed]) -> None:
    found = {str(p.relative_to(site)): o.without_text for p, o in pages.items() if o.without_text}
    assert found == {}


def test_every_page_and_result_is_there(site: Path, pages: dict[Path, Parsed]) -> None:
    for source in ROOT.glob("docs/**/*.md"):
        name = source.relative_to(ROOT / "docs").with_suffix(".html")
        name = name.with_name("index.html") if name.name == "README.html" else name
        assert (site / name).is_file(), name
    menu = {target(site / "index.html", link)[0] for link in pages[site / "index.html"].links}
    for folder in (ROOT / "docs/results").glob("*/README.md"):
        assert site / "results" / folder.parent.name / "index.html" in menu, folder
        for figure in folder.parent.glob("*.svg"):
            assert (site / "results" / folder.parent.name / figure.name).is_file()
    built = site / "results/compare/page.html"
    assert built.read_bytes() == (ROOT / "docs/results/compare/page.html").read_bytes()
    assert built in menu


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with started(tmp_path_factory.mktemp("profile")) as driver:
        show(driver, 1280)
        driver.get("about:blank")
        requests(driver)
        yield driver


def opened(driver: Any, page: Path) -> None:
    """Open a page; it must complain of nothing and ask for nothing outside its folder."""
    driver.get_log("browser")
    driver.get(page.as_uri())
    broken = driver.execute_script(
        "return [...document.images].filter((one) => one.complete && !one.naturalWidth)"
        ".map((one) => one.src)"
    )
    assert broken == [], page
    assert driver.get_log("browser") == [], page
    asked = requests(driver)
    own = ("file://", "data:", "about:", "chrome://")
    assert [one for one in asked if not one.startswith(own)] == [], page


@pytest.mark.parametrize("page", [*KINDS, "results/compare/page.html"])
def test_a_page_of_every_kind_opens(site: Path, driver: Any, page: str) -> None:
    opened(driver, site / page)


@pytest.mark.slow
def test_all_pages_open(site: Path, driver: Any) -> None:
    for page in site.rglob("*.html"):
        if page.name != "404.html":
            opened(driver, page)


def test_the_start_page_answers_in_one_screen(site: Path, driver: Any) -> None:
    show(driver, 1280, 1000)
    opened(driver, site / "index.html")
    seen = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
    assert driver.execute_script(seen, ".md-content table") < 600
    assert driver.execute_script(seen, ".md-content img") <= 1000
    driver.execute_script("document.querySelector('.md-content img').click()")
    assert driver.current_url.endswith("results/compare/page.html")


def test_search_finds_without_a_server(site: Path, driver: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    opened(driver, site / "index.html")
    driver.find_element(By.CSS_SELECTOR, "input.md-search__input").send_keys("stick-breaking")
    titles = "return [...document.querySelectorAll('.md-search-result__link')].map((a) => a.href)"
    found = WebDriverWait(driver, 60).until(lambda one: one.execute_script(titles))
    assert any("remedies.html" in address for address in found)
    assert driver.get_log("browser") == []
    driver.get("about:blank")
