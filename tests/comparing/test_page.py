"""The page as text: the same for the same study, in one file, with names that are never markup."""

import copy
import json
import math
import re
import tomllib
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest
from comparing.payloads import HOSTILE, QUOTES, hostile, payload

from lengthwise.comparing.page import SCRIPTS, page
from lengthwise.comparing.sections import FILES, prose


class Elements(HTMLParser):
    """Elements with their attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.found and self.found[-1][0] == "script" and self.lasttag == "script":
            self.scripts.append(data)


def data_of(text: str) -> dict:
    return json.loads(Elements(text).scripts[0])


def test_the_page_is_the_same_and_leaves_the_study_as_it_was():
    study = payload(5, 3)
    before = copy.deepcopy(study)
    assert page(study) == page(copy.deepcopy(study))
    assert study == before


def test_a_whole_study_is_small():
    assert len(page(payload(16, 8, 4)).encode()) < 3_000_000


@pytest.mark.parametrize("study", [payload(), hostile()], ids=["plain", "hostile"])
def test_nothing_comes_from_elsewhere(study):
    text = page(study)
    for tag, attributes in Elements(text).found:
        assert "src" not in attributes, tag
        assert "srcset" not in attributes, tag
        assert not any(name.startswith("on") for name in attributes), tag
        address = attributes.get("href") or ""
        if address.startswith("https:"):  # a source that a reader may follow
            assert re.fullmatch(r"https://arxiv\.org/abs/[\d.]+", address)
        else:
            assert tag == "link" or address[:1] in ("", "#") or address in FILES
            assert tag != "link" or address == "data:,"
    style = resources.files("lengthwise.comparing").joinpath("compare.css").read_text()
    assert "url(" not in style
    assert "@import" not in style
    for name in SCRIPTS:
        script = resources.files("lengthwise.comparing").joinpath(name).read_text()
        assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import|eval|innerHTML)\b", script)


def test_the_policy_lets_only_the_own_script_run():
    found = Elements(page(payload(2, 2))).found
    policy = next(a["content"] or "" for tag, a in found if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_names_are_never_markup():
    study = hostile()
    text = page(study)
    found = Elements(text).found
    assert [tag for tag, _ in found].count("script") == 2
    assert "img" not in [tag for tag, _ in found]
    kept = data_of(text)
    assert {HOSTILE, QUOTES} <= {one["name"] for one in kept["remedies"]}
    assert kept["title"] == study["title"]


def test_numbers_that_are_none_are_null_and_others_are_kept():
    study = payload(3, 2)
    study["cells"][1]["reach"] = {"mean": math.inf, "low": math.nan, "high": None, "count": 4}
    study["cells"][1]["rates"][0]["learning_rate"] = 3e-5
    study["cells"][1]["curve"]["scores"][0] = [math.nan, 0.5, -math.inf, None, 1]
    study["remedies"][0]["reach"]["mean"] = math.nan
    text = page(study)
    cell = data_of(text)["cells"][1]
    assert cell["curve"]["scores"][0] == [None, 0.5, None, None, 1]
    assert cell["reach"] == {"mean": None, "low": None, "high": None, "count": 4}
    assert cell["rates"][0]["learning_rate"] == 3e-5
    mean = data_of(text)["cells"][0]["reach"]["mean"]
    assert mean == pytest.approx(study["cells"][0]["reach"]["mean"], rel=1e-4)
    assert "nan" not in text.split('id="data"')[0]


def test_a_name_that_is_no_text_can_be_written(tmp_path: Path):
    study = payload(2, 2)
    study["remedies"][1]["name"] = "file-\udcff"
    (tmp_path / "index.html").write_text(page(study), encoding="utf-8")


def test_a_study_without_anything_has_a_page():
    study = payload(1, 1) | {"tasks": [], "remedies": [], "cells": [], "models": []}
    study["made"] |= {"done": 0, "planned": 0, "missing": []}
    assert "<h1>" in page(study)


def test_what_is_missing_and_what_nothing_learned_is_said():
    text = page(hostile())
    assert "Nothing learned sort" in text
    assert "2 models are missing" in text
    assert "fire on sort: 2 of 4 seeds" in text
    assert "142 of 144 models" in text


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([[1, 1], [2, 3], [2, 3]], "Furthest: <b>alibi</b> (3.00); rotary has 1.00."),
        ([[1, 2], [1, 2], [3, 3]], "<b>alibi</b> (3.00) and <b>none</b> (2.00), which intervals"),
        ([[1, 3], [1, 3], [1, 3]], "Intervals do not separate the remedies."),
        ([None, None, None], ""),
    ],
)
def test_who_reaches_furthest(ranks, said):
    study = payload(3, 2)
    by_name = {one["name"]: one for one in study["remedies"]}
    for name, rank, mean in zip(("alibi", "none", "rotary"), ranks, (3.0, 2.0, 1.0), strict=True):
        by_name[name] |= {"rank": rank, "reach": {"mean": mean, "low": mean, "high": mean}}
    text = page(study)
    assert said in text
    assert ("Furthest" in text) == ("Furthest" in said or "which intervals" in said)


def test_prose_has_paragraphs_formulas_and_code():
    assert prose("One `x`\nand two:\n\n    a < b\n      c\n\nThree.") == (
        "<p>One <code>x</code>\nand two:</p><pre class='formula' tabindex='0'>a &lt; b\n  c</pre>"
        "<p>Three.</p>"
    )


def test_sections_of_names_that_differ_by_signs_have_addresses_of_their_own():
    study = payload(3, 2)
    for one, name in zip(study["remedies"], ("a+b", "a-b", "a b"), strict=True):
        one["name"] = name
    identities = [a["id"] for _, a in Elements(page(study)).found if "id" in a]
    assert len(identities) == len(set(identities))


def test_an_identity_that_is_no_paper_is_no_link():
    study = payload(2, 1)
    study["remedies"][1]["parts"][0]["arxiv"] = 'x" onclick="alert(1)'
    assert "x&quot; onclick=&quot;alert(1)" in page(study)


def test_style_and_scripts_are_part_of_the_package():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    data = project["tool"]["setuptools"]["package-data"]["lengthwise"]
    assert {"comparing/*.css", "comparing/*.js"} <= set(data)
