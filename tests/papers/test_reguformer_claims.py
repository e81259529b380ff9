"""Reguformer as claims: what decides, on made-up accuracies, and the whole at quick scale."""

from pathlib import Path

import polars
import pytest

from lengthwise.claims import Reproduction, Results, reproduce
from lengthwise.papers import CLAIMS, find_claims
from lengthwise.papers.reguformer.blanks import plan as runs
from lengthwise.papers.reguformer.blanks import readings as read


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reguformer")


@pytest.fixture(scope="module")
def quick(out: Path) -> Reproduction:
    return reproduce(find_claims("reguformer"), "quick", out)


def test_every_claim_has_findings_a_picture_and_a_table(quick: Reproduction) -> None:
    assert [verdict.claim.name for verdict in quick.verdicts] == [
        "reguformer/robust", "reguformer/longer"
    ]  # fmt: skip
    for verdict in quick.verdicts:
        # In ten steps nobody learns the task, and nothing counts.
        assert verdict.headline.decides
        assert verdict.headline.estimate.count == 0
        assert verdict.outcome == "undecided"
    assert [picture.name for picture in quick.pictures] == ["blanked"]
    (table,) = quick.tables
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_with_nothing_blanked_the_run_itself_measured_the_same(
    quick: Reproduction, out: Path
) -> None:
    results = Results(
        "quick", runs.plan("quick"), {one.path.name: one.table() for one in quick.folders},
        out / "reguformer-blanks" / "quick",
    )  # fmt: skip
    length = runs.SIZES["quick"].length
    for variant in runs.TITLES:
        found = read.blanked(results, variant)
        assert found[0.0] == pytest.approx(read.by_length(results, variant)[length])
    assert found[0.0] != pytest.approx(found[0.9], abs=1e-6)


def made_up(gain: float, learned: dict[str, float], tmp_path: Path) -> Results:
    """Results in which topQ gains this much with half blanked and at the longest length."""
    size = runs.SIZES["laptop"]
    plan = runs.plan("laptop")
    lengths = plan[runs.FULL].recipe.test_lengths
    tables, blanked = {}, {}
    for variant in runs.TITLES:
        own = gain if variant == runs.TOP else 0.0
        noise = {seed: 1e-4 * ((seed * len(variant)) % 3) for seed in size.seeds}
        rows = [
            (seed, length, read.MEASURE, value + noise[seed])
            for seed in size.seeds
            for length in lengths
            for value in [learned[variant] + (own if length == lengths[-1] else 0.0)]
        ]
        frame = polars.DataFrame(rows, schema=["seed", "length", "measure", "value"], orient="row")
        tables[variant] = frame.with_columns(diverged=polars.lit(None, polars.Int64))
        blanked[variant] = {
            part: {seed: 0.7 + noise[seed] + (own if part == 0.5 else 0.0) for seed in size.seeds}
            for part in runs.BLANKED
        }
    results = Results("laptop", plan, tables, tmp_path)
    for variant, found in blanked.items():
        results.kept[read.blanked.__wrapped__, (variant,)] = found  # type: ignore[attr-defined]
    return results


@pytest.mark.parametrize("name", ["robust", "longer"])
@pytest.mark.parametrize(("gain", "outcome"), [(0.05, "holds"), (0.0, "fails"), (-0.05, "fails")])
def test_a_gain_decides(name: str, gain: float, outcome: str, tmp_path: Path) -> None:
    results = made_up(gain, dict.fromkeys(runs.TITLES, 0.85), tmp_path)
    assert CLAIMS[f"reguformer/{name}"].judge(results).outcome == outcome


def test_models_that_did_not_learn_decide_nothing(tmp_path: Path) -> None:
    results = made_up(0.05, {runs.FULL: 0.85, runs.TOP: 0.6, runs.RAND: 0.85}, tmp_path)
    for name in ("robust", "longer"):
        assert CLAIMS[f"reguformer/{name}"].judge(results).outcome == "undecided"
