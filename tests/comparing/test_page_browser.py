"""The page in a real browser: what a reader does with a mouse, a keyboard, a phone and a link."""

import time
from urllib.parse import urlencode

import pytest
from comparing.browser import accessibility, requests, show, started
from comparing.payloads import HOSTILE, QUOTES, hostile, payload
from comparing.small import small_study, trained

from lengthwise.comparing.page import page
from lengthwise.comparing.sections import FILES
from lengthwise.comparing.write import write_page

DESK, PHONE = 1280, 360
NOTHING, MINUS, TIMES = "\u2013", "\u2212", "\u00d7"


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with started(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Pages on disk: the whole study, the hostile one, and one with two models."""
    folder = tmp_path_factory.mktemp("pages")
    two = payload(4, 2)
    two["models"].append("gpt: 4 layers")
    two["remedies"][0]["model"] = "gpt: 4 layers"
    pages = {"study": payload(), "hostile": hostile(), "two": two}
    for name, study in pages.items():
        (folder / f"{name}.html").write_text(page(study), encoding="utf-8")
    return folder


@pytest.fixture
def opened(driver, files):
    """Opens a page afresh; whatever a test does, nothing is asked for elsewhere."""
    driver.get("about:blank")
    show(driver, DESK)
    driver.get_log("browser")
    requests(driver)
    addresses = []

    def opened(name="study", **state):
        address = (files / f"{name}.html").as_uri()
        addresses.append(address)
        driver.get("about:blank")
        driver.get(f"{address}#{urlencode(state)}" if state else address)

    yield opened
    assert driver.get_log("browser") == []
    asked = {one.split("#")[0] for one in requests(driver)}
    assert asked <= {*addresses, "about:blank", "data:,"}
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0


def find(driver, selector):
    from selenium.webdriver.common.by import By

    return driver.find_elements(By.CSS_SELECTOR, selector)


def until(driver, happens):
    """What `happens` gives as soon as it is true of a page that is still busy."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, 10, poll_frequency=0.02).until(lambda driver: happens())


def texts(driver, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
    return driver.execute_script(script, selector)


def column(driver, table, number):
    return texts(driver, f"#{table} tbody tr > :nth-child({number})")


def press(driver, *keys):
    from selenium.webdriver import ActionChains

    ActionChains(driver).send_keys(*keys).perform()


def choose(driver, name, value):
    from selenium.webdriver.support.ui import Select

    Select(find(driver, f"select[name={name}]")[0]).select_by_value(value)


def state_of(driver):
    return driver.execute_script("return location.hash")


def cell(driver, remedy, task):
    return next(
        one
        for one in find(driver, f'#matrix-table button[data-task="{task}"]')
        if one.get_attribute("data-remedy") == remedy
    )


def cell_of(study, remedy, task):
    return next(c for c in study["cells"] if (c["remedy"], c["task"]) == (remedy, task))


def is_open(driver):
    return driver.execute_script("return document.getElementById('panel').open")


def focused(driver):
    return driver.switch_to.active_element


def test_it_opens_at_once(driver, opened):
    opened()
    took = driver.execute_script(
        "return performance.getEntriesByType('navigation')[0].loadEventEnd"
    )
    assert len(column(driver, "reach-table", 2)) == 16
    assert 0 < took < 5000  # 0.05 to 0.15 s where it was made; machines may be busy


def test_tables_show_the_numbers_of_the_study(driver, opened):
    opened()
    study = payload()
    for one in study["remedies"]:
        row = column(driver, "reach-table", 2).index(
            one["name"] + (" baseline" if one["baseline"] else "")
        )
        reach = one["reach"]
        said = f"{reach['mean']:.2f}{reach['low']:.2f} to {reach['high']:.2f}"
        assert column(driver, "reach-table", 3)[row] == said
    for one in study["cells"][::7]:
        text = cell(driver, one["remedy"], one["task"]).text
        assert text.split("\n")[-1].lstrip("▲▼ ") == f"{one['reach']['mean']:.2f}"
        assert ("▲" in text) == (one["verdict"] == "helps")
        assert ("▼" in text) == (one["verdict"] == "harms")
    assert {"helps", "harms", "unclear"} <= {one["verdict"] for one in study["cells"]}


def test_the_table_of_reach_is_sorted_by_mouse_and_by_keyboard(driver, opened):
    opened()
    head = "#reach-table button[data-key=%s]"
    reach = [float(one[:4]) for one in column(driver, "reach-table", 3)]
    assert reach == sorted(reach, reverse=True)
    find(driver, head % "reach")[0].click()
    assert [float(one[:4]) for one in column(driver, "reach-table", 3)] == sorted(reach)
    find(driver, head % "name")[0].send_keys("\n")
    names = column(driver, "reach-table", 2)
    assert names == sorted(names, key=str.lower)
    assert texts(driver, "#reach-table th[aria-sort=ascending]") == ["Remedy↑"]
    assert "sort=name" in state_of(driver)
    press(driver, "\n")  # the heading has kept the focus
    assert column(driver, "reach-table", 2) == names[::-1]


def test_what_is_not_known_comes_last_whichever_way_it_is_sorted(driver, opened):
    for order in ("up", "down"):
        opened("hostile", sort="reach", order=order)
        assert [one == NOTHING for one in column(driver, "reach-table", 3)] == [False] * 4 + [
            True
        ] * 2


def test_the_matrix_is_sorted_by_a_task(driver, opened):
    opened(show="3")
    find(driver, '#matrix-table button[data-key="task:sort"]')[0].click()
    shown = [float(one.lstrip("▲▼")) for one in column(driver, "matrix-table", 5)]
    assert shown == sorted(shown, reverse=True)
    assert shown != sorted(shown)


def test_less_of_an_error_is_better(driver, opened):
    opened(show="2")
    find(driver, '#matrix-table button[data-key="task:tomita-4"]')[0].click()
    shown = [float(one.lstrip("▲▼")) for one in column(driver, "matrix-table", 10)]
    assert shown == sorted(shown)
    first = find(driver, "#matrix-table tbody tr:first-child td:nth-child(10)")[0]
    assert "more" in first.get_attribute("class")


def test_filters_choose_tasks_length_measure_and_change(driver, opened):
    opened()
    study = payload()
    choose(driver, "family", "Chomsky")
    heads = texts(driver, "#matrix-table thead button")
    assert heads == ["Remedy", "Reach↓", "parity", "tomita-4"]
    choose(driver, "measure", "accuracy")
    choose(driver, "show", "2")
    assert texts(driver, "#matrix-table thead button")[2:] == ["parity"]
    one = cell_of(study, "cope", "parity")
    shown = cell(driver, "cope", "parity").text.lstrip("▲▼\n ")
    assert shown == f"{one['scores']['accuracy']['mean'][2]:.2f}"
    assert texts(driver, "#matrix-table tfoot th") == ["chance", "length only"]
    choose(driver, "as", "change")
    shown = cell(driver, "cope", "parity").text.lstrip("▲▼\n ")
    assert shown == f"{one['differences']['accuracy']['mean'][2]:+.2f}"
    assert state_of(driver) == "#show=2&as=change&measure=accuracy&family=Chomsky"


def test_models_are_filtered(driver, opened):
    opened("two")
    assert len(column(driver, "reach-table", 2)) == 4
    choose(driver, "model", "gpt: 4 layers")
    assert len(column(driver, "reach-table", 2)) == 1
    assert len(column(driver, "matrix-table", 1)) == 1
    opened()
    assert find(driver, "select[name=model]") == []


def test_a_cell_tells_its_interval_on_hover_and_on_focus(driver, opened):
    from selenium.webdriver import ActionChains

    opened(show="3")
    one = cell_of(payload(), "alibi", "sort")
    bands = one["scores"]["exact_match"]
    ActionChains(driver).move_to_element(cell(driver, "alibi", "sort")).perform()
    tip = find(driver, "#tip")[0]
    assert tip.is_displayed()
    assert f"({bands['low'][3]:.2f} to {bands['high'][3]:.2f})".replace("-", MINUS) in tip.text
    assert f"{bands['mean'][3]:.3f}" in tip.text
    assert "chance" in tip.text
    assert "length only" in tip.text
    ActionChains(driver).move_to_element(find(driver, "h1")[0]).perform()
    assert not tip.is_displayed()
    driver.execute_script("arguments[0].focus()", cell(driver, "t5", "sort"))
    assert "t5 on sort" in tip.text
    assert focused(driver).get_attribute("aria-describedby") == "tip"
    press(driver, "\ue00c")  # Escape
    assert not tip.is_displayed()


def test_a_click_opens_a_cell_with_its_curves(driver, opened):
    opened()
    cell(driver, "alibi", "unique-copy").click()
    assert is_open(driver)
    assert texts(driver, "#panel-title") == ["alibi on unique-copy"]
    figures = find(driver, "#panel figure")
    assert len(figures) == 3  # two measures over length, one over steps
    assert len(find(driver, "#panel figure:first-child .line.seed")) == 4
    assert len(find(driver, "#panel figure:first-child .band")) == 2
    labels = set(texts(driver, "#panel figure:first-child .label"))
    assert labels == {"alibialibi", "rotaryrotary", "chancechance", "length onlylength only"}
    assert len(find(driver, "#panel [aria-label=Seeds] tbody tr")) == 4
    assert len(find(driver, "#panel [aria-label='Learning rates'] tbody tr")) == 2
    assert "lengthwise train unique-copy" in find(driver, "#command")[0].text
    assert "remedy=alibi&task=unique-copy" in state_of(driver)
    find(driver, "#panel .copy")[0].click()
    for _ in range(50):  # the clipboard answers later
        if find(driver, "#panel .copy")[0].text != "Copy":
            break
        time.sleep(0.02)
    assert find(driver, "#panel .copy")[0].text in ("Copied", "Selected")
    find(driver, "#panel .close")[0].click()
    assert not is_open(driver)
    until(driver, lambda: "remedy" not in state_of(driver))  # the address follows


def test_points_of_a_curve_stand_where_their_numbers_are(driver, opened):
    opened(remedy="alibi", task="unique-copy")
    one = next(
        c for c in payload()["cells"] if (c["remedy"], c["task"]) == ("alibi", "unique-copy")
    )
    points = [
        (float(circle.get_attribute("cx")), float(circle.get_attribute("cy")))
        for circle in find(driver, "#panel figure:first-child circle.remedy")
    ]
    across = [x for x, _ in points]
    # On a logarithmic axis a doubling is as wide anywhere: 12 to 24, 24 to 48, 48 to 96.
    steps = [across[2] - across[0], across[3] - across[2], across[4] - across[3]]
    assert steps == pytest.approx([steps[0]] * 3, rel=1e-3)
    means = one["scores"]["exact_match"]["mean"]
    per_unit = (points[0][1] - points[4][1]) / (means[0] - means[4])
    heights = [points[0][1] + (mean - means[0]) * per_unit for mean in means]
    assert [y for _, y in points] == pytest.approx(heights, abs=0.05)


def test_a_cell_is_reached_and_opened_by_keyboard_alone(driver, opened):
    opened()
    for _ in range(80):
        press(driver, "\t")
        if "cell" in (focused(driver).get_attribute("class") or ""):
            break
    first = focused(driver).get_attribute("data-remedy")
    assert first == column(driver, "matrix-table", 1)[0]
    press(driver, "\ue015", "\ue014")  # down, right
    here = focused(driver)
    assert here.get_attribute("data-remedy") == column(driver, "matrix-table", 1)[1]
    assert here.get_attribute("data-task") == "repeat-copy"
    assert len(find(driver, '#matrix-table button.cell[tabindex="0"]')) == 1
    press(driver, "\n")
    assert is_open(driver)
    assert focused(driver).get_attribute("id") == "panel-title"
    press(driver, "\ue00c")
    assert not is_open(driver)
    assert focused(driver).get_attribute("data-task") == "repeat-copy"


def test_every_place_the_keyboard_reaches_is_seen(driver, opened):
    opened()
    outline = "return parseFloat(getComputedStyle(document.activeElement).outlineWidth)"
    for _ in range(25):
        press(driver, "\t")
        assert driver.execute_script(outline) >= 2, focused(driver).get_attribute("outerHTML")


def test_the_panel_goes_to_the_next_remedy(driver, opened):
    opened(remedy="alibi", task="sort")
    order = [one.removesuffix(" baseline") for one in column(driver, "matrix-table", 1)]
    find(driver, "#panel [data-go]")[1].click()
    assert texts(driver, "#panel-title") == [f"{order[order.index('alibi') + 1]} on sort"]
    assert focused(driver).get_attribute("id") == "panel-title"  # the button that had it is gone


def test_a_link_shows_the_same(driver, opened):
    opened(sort="cost", order="up", by="task:parity", show="4", family="Chomsky", remedy="t5",
           task="parity", theme="dark")  # fmt: skip
    assert texts(driver, "#reach-table th[aria-sort=ascending] button") == ["Cost↑"]
    assert texts(driver, "#matrix-table th[aria-sort=descending] button") == ["parity↓"]
    assert texts(driver, "#panel-title") == ["t5 on parity"]
    assert driver.execute_script("return document.documentElement.dataset.theme") == "dark"


def test_a_link_of_another_study_shows_what_there_is(driver, opened):
    opened(sort="no", show="99", family="no", measure="no", remedy="no", task="sort", by="task:no")
    assert not is_open(driver)
    assert len(column(driver, "reach-table", 2)) == 16
    assert len(texts(driver, "#matrix-table thead button")) == 10
    assert texts(driver, "th[aria-sort=descending] button") == ["Reach↓", "Reach↓"]


def test_the_way_back_closes_a_cell(driver, opened):
    opened()
    cell(driver, "alibi", "sort").click()
    driver.back()
    assert not is_open(driver)
    driver.forward()
    assert is_open(driver)


def test_a_remedy_opens_its_section(driver, opened):
    opened()
    section = find(driver, "#remedy-rotary-fire")[0]
    for _ in range(2):  # the second time the address stays as it is
        find(driver, '#reach-table a[href="#remedy-rotary-fire"]')[0].click()
        assert section.get_attribute("open") is not None
        driver.execute_script("arguments[0].open = false", section)
    driver.execute_script("arguments[0].open = true", section)
    assert "m_h = 2^(-8 h / H)" in section.text
    assert "Helps:" in section.text
    cells = until(
        driver, lambda: find(driver, "#remedy-rotary-fire button.cell")
    )  # drawn when it has opened
    cells[0].click()
    assert texts(driver, "#panel-title") == ["rotary+fire on unique-copy"]


def test_dark_and_light_by_preference_and_by_button(driver, opened):
    paper = "return getComputedStyle(document.body).backgroundColor"
    opened()
    light = driver.execute_script(paper)
    show(driver, DESK, prefers_color_scheme="dark")
    opened()
    dark = driver.execute_script(paper)
    assert light == "rgb(255, 255, 255)"
    assert dark != light
    find(driver, "#theme")[0].click()
    assert driver.execute_script(paper) == light
    assert "theme=light" in state_of(driver)


def test_names_that_are_markup_are_shown_and_do_nothing(driver, opened):
    opened("hostile")
    names = column(driver, "reach-table", 2)
    assert HOSTILE in names
    assert QUOTES in names
    for remedy in (HOSTILE, QUOTES):
        opened("hostile", remedy=remedy, task="unique-copy")
        assert texts(driver, "#panel-title") == [f"{remedy} on unique-copy"]
        assert driver.execute_script("return window.broken") is None


def test_cells_without_numbers_say_so(driver, opened):
    opened("hostile")
    assert {one[:1] for one in column(driver, "matrix-table", 5)} <= {TIMES, "○"}
    cell(driver, HOSTILE, "unique-copy").click()
    assert "not done" in find(driver, "#panel .badge")[0].text
    assert find(driver, "#panel figure") == []
    assert "lengthwise train" in find(driver, "#command")[0].text


def test_a_study_that_was_trained(driver, opened, files):
    """What the rest of the package hands over is what the page reads; its links lead to files."""
    folder = trained(files / "trained", small_study(("alibi", "ema"), seeds=1))
    values = write_page(folder)
    opened("trained/page")
    assert len(column(driver, "reach-table", 2)) == 3
    for shown in ("learned", "0", "4"):
        choose(driver, "show", shown)
        assert len(find(driver, "#matrix-table button.cell")) == 6
    assert accessibility(driver) == []
    for one in values["cells"]:
        opened("trained/page", remedy=one["remedy"], task=one["task"])
        assert len(find(driver, "#panel figure")) >= 2
    assert all((folder.path / name).is_file() for name in FILES)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESK, PHONE])
def test_axe_finds_nothing(driver, opened, scheme, width):
    show(driver, width, prefers_color_scheme=scheme)
    for name, state in (("study", {}), ("hostile", {"show": "2"})):
        opened(name, **state)
        driver.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
        assert accessibility(driver) == []
    opened(remedy="cope", task="tomita-4")
    driver.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    assert accessibility(driver) == []


def test_a_phone_scrolls_tables_and_not_the_page(driver, opened):
    width = "return [document.documentElement.scrollWidth, innerWidth]"
    show(driver, PHONE, 740)
    for state in ({}, {"show": "3"}, {"remedy": "alibi", "task": "sort"}):
        for name in ("study", "hostile"):
            opened(name, **state)
            driver.execute_script(
                "for (const d of document.querySelectorAll('details')) d.open = true"
            )
            assert driver.execute_script(width) == [PHONE, PHONE]
    opened()
    left = "return document.querySelector('#matrix-table tbody th').getBoundingClientRect().left"
    before = driver.execute_script(left)
    driver.execute_script("document.querySelector('#matrix .wide').scrollLeft = 300")
    assert driver.execute_script("return document.querySelector('#matrix .wide').scrollLeft") == 300
    assert driver.execute_script(left) == pytest.approx(before)


def test_motion_is_left_out_where_it_is_not_wanted(driver, opened):
    moves = "return getComputedStyle(document.documentElement).scrollBehavior"
    for preference, behaviour in (("reduce", "auto"), ("no-preference", "smooth")):
        show(driver, DESK, prefers_reduced_motion=preference)
        opened()
        assert driver.execute_script(moves) == behaviour
