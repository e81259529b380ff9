"""A real browser for the tests of pages: Chromium and its driver, if they are there."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--force-device-scale-factor=1",
)  # fmt: skip


def _missing() -> str:
    if find_spec("selenium") is None or find_spec("axe_playwright_python") is None:
        return "selenium or axe is not installed: `make test` installs them"
    if not _chromium() or not shutil.which("chromedriver"):
        return "no Chromium with its driver (Debian: apt-get install chromium chromium-driver)"
    return ""


def _chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


@contextmanager
def started(folder: Path) -> Iterator[Any]:
    """A driver with a profile of its own in that folder; the test is skipped where there is none.

    With LENGTHWISE_BROWSER=required a missing browser is a failure.
    """
    if reason := _missing():
        if os.environ.get("LENGTHWISE_BROWSER") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = _chromium() or ""
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = Service(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


def requests(driver: Any) -> list[str]:
    """Addresses that were asked for since the last look."""
    messages = [json.loads(one["message"])["message"] for one in driver.get_log("performance")]
    return [
        one["params"]["request"]["url"]
        for one in messages
        if one["method"] == "Network.requestWillBeSent"
    ]


def show(driver: Any, width: int, height: int = 900, **media: str) -> None:
    """Take a screen of that size, with what the reader prefers (`prefers_color_scheme="dark"`).

    Unless that is said, without motion: what is still on its way cannot be clicked.
    """
    media = {"prefers_reduced_motion": "reduce"} | media
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    features = [{"name": k.replace("_", "-"), "value": v} for k, v in media.items()]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def accessibility(driver: Any) -> list[str]:
    """What axe finds wrong with the page as it is now, a line each."""
    package = resources.files("axe_playwright_python")
    driver.execute_script(package.joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = driver.execute_async_script(
        "const done = arguments[0];"
        "axe.run(document, {resultTypes: ['violations']}).then((r) => done(r.violations))"
    )
    return [f"{one['id']}: {node['target']}" for one in found for node in one["nodes"]]
