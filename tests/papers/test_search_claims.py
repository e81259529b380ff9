"""The claims about the search: their rules on made-up numbers, and the whole on a small one."""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from lengthwise.claims import PlannedSearch, Reproduction, Results, Scale, reproduce
from lengthwise.papers import CLAIMS, find_claims
from lengthwise.papers.whats_missing.search import dropout, readings, table_1
from lengthwise.papers.whats_missing.search.plan import TRIALS, plan
from lengthwise.papers.whats_missing.search.section import SEARCH
from lengthwise.papers.whats_missing.search.space import (
    BIAS_POWERS,
    EMA_POWERS,
    STREAMS,
    set_complement_space,
)
from lengthwise.report.page import page
from lengthwise.search import Choice, LogUniform, SearchFolder, Space

SPACE = set_complement_space()

KINDS = [
    ("raw", "raw", None, None),
    *((f"EMA {ema}", "ema", ema, None) for ema in EMA_POWERS),
    *(
        (f"BEMA {ema} {bias}", "bema", ema, bias)
        for ema, bias in itertools.product(EMA_POWERS, BIAS_POWERS)
    ),
]

Value = Callable[[Mapping[str, Any], str], float]


@dataclass
class MadeUpSearch:
    """The trials that the real space draws, with a TVD that nobody trained for."""

    value: Value
    illegal: float = 0.0
    space: Space = SPACE
    trials: int = 400
    seed = 0

    @property
    def description(self) -> dict[str, Any]:
        return {"space": SPACE.describe()}

    def table(self) -> polars.DataFrame:
        rows = []
        for number in range(self.trials):
            trial = self.space.trial(0, number)
            noise = math.exp(0.02 * np.random.default_rng(number // 2).normal())
            for kind, weights, ema, bias in KINDS:
                measured = dict.fromkeys(
                    ("argmax_illegal_beyond", "illegal_mass_beyond"), self.illegal
                )
                tvd = noise * self.value(trial.values, kind)
                rows.append({
                    **trial.values, "trial": number, "factor": trial.factor, "diverged": None,
                    "weights": weights, "ema_power": ema, "bias_power": bias,
                    "tvd_within": 0.1, "tvd_beyond": tvd, **measured,
                })  # fmt: skip
        overrides = {"diverged": polars.Int64}
        return polars.DataFrame(rows, schema_overrides=overrides, infer_schema_length=None)

    def by_length(self) -> polars.DataFrame:
        return polars.DataFrame({"length": [1, 15]})


def judged(name: str, value: Value, tmp_path: Path, **others: Any) -> str:
    results = Results("laptop", {}, {}, tmp_path, search=MadeUpSearch(value, **others))  # type: ignore[arg-type]
    claim = CLAIMS[f"whats-missing/{name}"]
    assert claim.drawings or claim.tables(results), "alone, it has something to show"
    return claim.judge(results).outcome


def flat(settings: Mapping[str, Any], kind: str) -> float:
    return 0.3


FACTORS = [(0.8, "holds"), (1.0, "fails"), (1.2, "fails")]


@pytest.mark.parametrize(("factor", "outcome"), FACTORS)
def test_the_norm_is_judged_between_twins_with_raw_weights(
    factor: float, outcome: str, tmp_path: Path
) -> None:
    def value(settings: Mapping[str, Any], kind: str) -> float:
        # Averages with the norm are always better, which must not count.
        helped = factor if kind == "raw" else 0.1
        return 0.3 * (helped if settings["model.remedies"] else 1.0)

    assert judged("search-post-norm", value, tmp_path) == outcome


@pytest.mark.parametrize(("factor", "outcome"), FACTORS)
def test_dropout_must_help_at_every_site(factor: float, outcome: str, tmp_path: Path) -> None:
    def value(settings: Mapping[str, Any], kind: str) -> float:
        # Two sites always help; the third decides.
        embedding, *others = (settings[site] > 0 for site in readings.SITES)
        return 0.3 * (factor if embedding else 1.0) * 0.5 ** sum(others)

    assert judged("search-dropout", value, tmp_path) == outcome


@pytest.mark.parametrize(("sign", "outcome"), [(-1, "holds"), (1, "fails")])
def test_the_best_models_have_more_or_less_dropout(sign: int, outcome: str, tmp_path: Path) -> None:
    def value(settings: Mapping[str, Any], kind: str) -> float:
        return math.exp(sign * sum(settings[site] for site in readings.SITES))

    assert judged("figure-2", value, tmp_path) == outcome


@pytest.mark.parametrize(("factor", "outcome"), FACTORS)
def test_ema_is_judged_where_the_loss_is_on_the_drawn_token(
    factor: float, outcome: str, tmp_path: Path
) -> None:
    def value(settings: Mapping[str, Any], kind: str) -> float:
        # On exact targets EMA always helps, and so does BEMA: neither must count.
        if kind.startswith("EMA"):
            return 0.3 * (factor if settings["loss"] == "sampled" else 0.5)
        return 0.3 if kind == "raw" else 0.1

    assert judged("search-ema", value, tmp_path) == outcome


@pytest.mark.parametrize(("factor", "outcome"), FACTORS)
def test_bema_is_judged_on_models_without_norm(factor: float, outcome: str, tmp_path: Path) -> None:
    def value(settings: Mapping[str, Any], kind: str) -> float:
        if kind.startswith("BEMA"):
            return 0.3 * (factor if not settings["model.remedies"] else 0.2)
        return 0.3

    assert judged("search-bema", value, tmp_path) == outcome


def test_powers_are_not_judged_by_the_pairs_that_chose_them(tmp_path: Path) -> None:
    """BEMA 0.5 0.2 shines on the pairs that choose, which are those that are not read."""
    trials = {str(SPACE.trial(0, number).values): number for number in range(400)}

    def value(settings: Mapping[str, Any], kind: str) -> float:
        chooses = trials[str(settings)] // 2 % 2 == 0
        return 0.3 * (0.5 if kind == "BEMA 0.5 0.2" and chooses else 1.0)

    assert judged("search-bema", value, tmp_path) == "fails"


@pytest.mark.parametrize(("second", "outcome"), [(0.1, "holds"), (0.3, "fails"), (0.5, "fails")])
def test_the_second_version_is_judged_against_the_first(
    second: float, outcome: str, tmp_path: Path
) -> None:
    def value(settings: Mapping[str, Any], kind: str) -> float:
        dropped = any(settings[site] > 0 for site in readings.SITES)
        if settings["model.remedies"] and not dropped and kind.startswith("EMA"):
            return second
        return 0.3

    assert judged("search-combination", value, tmp_path) == outcome


@pytest.mark.parametrize(("illegal", "outcome"), [(0.0, "holds"), (6e-4, "fails")])
def test_the_best_models_are_held_to_the_papers_bound(
    illegal: float, outcome: str, tmp_path: Path
) -> None:
    assert judged("figure-1", flat, tmp_path, illegal=illegal) == outcome


def test_a_search_that_drew_from_another_space_does_not_cover_the_stated_one(
    tmp_path: Path,
) -> None:
    assert judged("table-1", flat, tmp_path, trials=1600) == "holds"
    other = SPACE.hyperparameters | {"learning_rate": LogUniform(2e-3, 2e-2)}
    narrower = Space(SPACE.recipe, other, twins=SPACE.twins, streams=STREAMS)
    verdict = judged("table-1", flat, tmp_path, space=narrower, trials=1600)
    assert verdict == "undecided", "one of eleven is not covered"


def small_space() -> Space:
    """The real space, made small."""
    smaller = SPACE.hyperparameters | {
        "task.vocab": 8,
        "max_train_length": Choice(3, 5),
        "model.extra_width": Choice(0, 2),
        "steps": Choice(30, 45),
        "batch": 8,
        "test_inputs": 60,
    }
    return Space(SPACE.recipe, smaller, twins=SPACE.twins, streams=STREAMS)


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
    names = [picture.name for picture in done.pictures]
    assert len(set(names)) == len(names) == 7, "the one that EMA and BEMA share is drawn once"
    assert text.count("<figure") == 8, "seven pictures and table 1"
    assert "120 trials" in text
    assert "60 pairs" in text
    assert [table.name for table in done.tables] == ["table-1", "best-of-families"]


def test_a_search_is_planned_at_every_scale() -> None:
    trials = [plan(scale).trials for scale in ("quick", "laptop", "paper")]
    assert trials == sorted(TRIALS.values())
    assert trials[1] >= 2000, "that of the committed page"
    assert plan("quick").space.describe() == SPACE.describe()


def test_twins_differ_in_the_factor_alone(results: Results) -> None:
    table = readings.trials(results)
    for factor in ("norm", *readings.SITES):
        pairs = readings.twins(table, factor)
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
    table = readings.trials(results)
    assert set(table["largest_gap"]) == {2, 4}
    kinds = {"raw"} | {f"EMA {e}" for e in (0.5, 0.7, 0.9)}
    kinds |= {f"BEMA {e} {b}" for e, b in itertools.product((0.5, 0.7, 0.9), (0.2, 0.4, 0.6))}
    assert set(table["kind"]) == kinds
    best = readings.best_weights(table)
    assert best["trial"].is_unique().all()
    least = table.group_by("trial").agg(polars.col("tvd_beyond").min()).sort("trial")
    assert best["tvd_beyond"].to_list() == least["tvd_beyond"].to_list()


def test_parts_of_the_pairs_are_parts(results: Results) -> None:
    table = readings.trials(results)
    looks = dropout.parts(table)
    for site in readings.SITES:
        whole = set(readings.twins(table, site)["pair"])
        for (found, _), part in looks.items():
            if found == site:
                assert set(part["pair"]) <= whole


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
    assert listed["attention_dropout"] == "50% 0, else uniform, 0.0 to 0.3"
    assert listed["max_train_length"] == "one of 3, 5"
    assert listed["ema_powers"] == "0.5, 0.7, 0.9 (fixed)"
    assert (listed["task.vocab"], listed["grad_clip"]) == ("8 (fixed)", "1.0 (fixed)")
    assert set(results.search.description["space"]["hyperparameters"]) <= set(listed)


def test_the_committed_table_is_that_of_the_space_as_it_is_now(tmp_path: Path) -> None:
    search: Any = MadeUpSearch(flat, trials=2)
    rows = table_1.rows(Results("laptop", {}, {}, tmp_path, search=search))
    page = Path(__file__).parents[2] / "docs" / "results" / "set-complement"
    assert polars.read_csv(page / "table-1.csv").rows() == rows
    text = (page / "README.md").read_text(encoding="utf-8")
    assert all(f"| {name} | {words} |\n" in text for name, words in rows)
