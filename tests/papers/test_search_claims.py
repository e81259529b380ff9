"""The claims about the search, on a real but small one; and the statistics they rest on."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest

from lengthwise.claims import PlannedSearch, Reproduction, Results, Scale, reproduce
from lengthwise.papers import find_claims
from lengthwise.papers.whats_missing import search_dropout, search_readings, table_1
from lengthwise.papers.whats_missing.search_experiment import SEARCH, TRIALS, plan
from lengthwise.report.page import page
from lengthwise.runs import SetComplementRecipe
from lengthwise.search import Choice, SearchFolder, Space
from lengthwise.search.set_complement import set_complement_space


def small_space() -> Space:
    """The real space, made small."""
    space = set_complement_space()
    smaller = space.hyperparameters | {
        "vocab": 8,
        "train_length": Choice(3, 5),
        "extra": Choice(0, 2),
        "steps": Choice(30, 45),
        "batch": 8,
        "test_inputs": 60,
    }
    return Space(SetComplementRecipe, twins=space.twins, **smaller)


def small_plan(scale: Scale) -> PlannedSearch:
    return PlannedSearch(small_space(), 120)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("search")


@pytest.fixture(scope="module")
def done(out: Path) -> Reproduction:
    experiment = replace(SEARCH, search=small_plan)
    claims = [
        replace(claim, experiment=experiment)
        for claim in find_claims("whats-missing")
        if claim.experiment is SEARCH
    ]
    return reproduce(claims, "quick", out, ["lengthwise", "test"], lambda progress: None)


@pytest.fixture(scope="module")
def results(done: Reproduction, out: Path) -> Results:
    place = out / SEARCH.name / "quick"
    return Results("quick", {}, {}, place, search=SearchFolder.open(place / "search"))


def test_every_claim_is_judged_and_drawn(done: Reproduction) -> None:
    names = [verdict.claim.name.split("/")[1] for verdict in done.verdicts]
    assert names == [
        "table-1", "figure-1", "figure-2", "search-dropout", "search-ema", "search-bema",
        "search-post-norm", "search-combination",
    ]  # fmt: skip
    for verdict in done.verdicts:
        for finding in verdict.findings:
            estimate = finding.estimate
            assert estimate.low <= estimate.mean <= estimate.high, finding.effect
    text = page(done, "lengthwise reproduce whats-missing/figure-2")
    assert text.count("<figure") == len(done.pictures) == 6
    assert "120 trials" in text
    assert "ours" in text


def test_the_norm_shows_even_in_small_models(done: Reproduction) -> None:
    verdicts = {verdict.claim.name: verdict for verdict in done.verdicts}
    assert verdicts["whats-missing/table-1"].outcome in ("holds", "undecided")
    assert verdicts["whats-missing/search-post-norm"].headline.estimate.mean > 1


def test_the_scales_are_planned() -> None:
    assert [plan(scale).trials for scale in ("quick", "laptop", "paper")] == list(TRIALS.values())  # type: ignore[arg-type]
    assert TRIALS["laptop"] >= 2000


def test_twins_differ_in_the_factor_alone(results: Results) -> None:
    table = search_readings.trials(results)
    for factor in ("norm", *search_readings.SITES):
        pairs = search_readings.twins(table, factor)
        assert len(pairs) > 5
        raw = table.filter(polars.col("kind") == "raw")
        for row in pairs.iter_rows(named=True):
            first, second = (
                raw.filter(polars.col("pair") == row["pair"]).sort("trial").rows(named=True)
            )
            off, on = (first, second) if first[factor] in (0.0, "none") else (second, first)
            assert (row["off"], row["on"]) == (off["tvd_beyond"], on["tvd_beyond"])
            assert row["rate"] == on[factor]
            assert on[factor] not in (0.0, "none")


def test_kinds_and_gaps(results: Results) -> None:
    table = search_readings.trials(results)
    assert set(table["gap"]) == {2, 4}
    kinds = {"raw"} | {f"EMA {e}" for e in (0.5, 0.7, 0.9)}
    kinds |= {f"BEMA {e} {b}" for e, b in itertools.product((0.5, 0.7, 0.9), (0.2, 0.4, 0.6))}
    assert set(table["kind"]) == kinds
    best = search_readings.best_weights(table)
    assert best["trial"].is_unique().all()
    least = table.group_by("trial").agg(polars.col("tvd_beyond").min()).sort("trial")
    assert best["tvd_beyond"].to_list() == least["tvd_beyond"].to_list()


def test_parts_of_the_pairs_are_parts(results: Results) -> None:
    table = search_readings.trials(results)
    looks = search_dropout.parts(table)
    for site in search_readings.SITES:
        whole = set(search_readings.twins(table, site)["pair"])
        for (found, _), part in looks.items():
            if found == site:
                assert set(part["pair"]) <= whole


def made_up(values: np.ndarray, scores: np.ndarray) -> polars.DataFrame:
    count = len(values)
    return polars.DataFrame(
        {"trial": range(count), "pair": [i // 2 for i in range(count)], "tvd_beyond": scores,
         "value": values, "cell": [0] * count}
    )  # fmt: skip


def test_the_top_portion_is_what_sorting_gives() -> None:
    generator = np.random.default_rng(1)
    values, scores = generator.random(200), generator.random(200)
    top = search_readings.TopPortion(made_up(values, scores), "value", ["cell"], portion=0.1)
    assert top.point == pytest.approx(values[np.argsort(scores)[:20]].mean())
    whole = search_readings.TopPortion(made_up(values, scores), "value", ["cell"], portion=1.0)
    assert whole.point == pytest.approx(values.mean())


def test_bootstrap_intervals_cover_and_widen_for_twins() -> None:
    generator = np.random.default_rng(2)
    covered = 0
    for _ in range(60):
        values = generator.normal(size=100)
        one = search_readings.TopPortion(made_up(values, values), "value", ["cell"], 1.0).estimate()
        covered += one.low < 0 < one.high
    assert covered >= 50, "a 95 % interval misses the truth seldom"
    single = generator.normal(size=100)
    twins = np.repeat(single[:50], 2)
    widths = [
        np.ptp([one.low, one.high])
        for values in (single, twins)
        for one in [
            search_readings.TopPortion(made_up(values, values), "value", ["cell"], 1.0).estimate()
        ]
    ]
    assert widths[1] > 1.2 * widths[0], "equal twins are half as many witnesses"


def test_more_looks_widen_the_interval() -> None:
    generator = np.random.default_rng(3)
    pairs = polars.DataFrame({"off": generator.random(50) + 1, "on": generator.random(50) + 1})
    one, many = (search_readings.factor_lower(pairs, looks) for looks in (1, 40))
    assert many.low < one.low < one.mean == many.mean < one.high < many.high


def test_a_distribution_that_was_not_drawn_from_is_seen() -> None:
    drawn = polars.Series("x", np.linspace(0, 1, 500))
    assert table_1.distance(drawn, {"uniform": [0.0, 1.0]}) < 0.01
    assert table_1.distance(drawn, {"uniform": [0.0, 2.0]}) > 0.4
    logs = polars.Series("x", np.geomspace(1e-3, 1, 500))
    assert table_1.distance(logs, {"log_uniform": [1e-3, 1.0]}) < 0.01
    assert table_1.distance(drawn + 1e-3, {"log_uniform": [1e-3, 1.1]}) > 0.4
    choices = polars.Series("x", ["a"] * 75 + ["b"] * 25)
    assert table_1.distance(choices, {"choice": ["a", "b"], "weights": [3, 1]}) < 1e-9
    assert table_1.distance(choices, {"choice": ["a", "b"], "weights": [1, 1]}) == 0.25


def test_the_table_names_every_hyperparameter(results: Results) -> None:
    assert results.search is not None
    listed = dict(table_1.rows(results))
    assert listed["learning_rate"] == "log-uniform, 0.0005 to 0.02"
    assert listed["dropout_weights"] == "50% 0, else uniform, 0.0 to 0.3"
    assert listed["train_length"] == "one of 3, 5"
    assert listed["ema_powers"] == "0.5, 0.7, 0.9 (fixed)"
    assert set(results.search.description["space"]["hyperparameters"]) <= set(listed)
