"""The claims on string edits in a band of lengths: their rules, and quick scale."""

from collections.abc import Callable
from pathlib import Path

import polars
import pytest
from made_up import judged

from lengthwise.claims import Results, reproduce
from lengthwise.papers import find_claims
from lengthwise.papers.length_is_a_domain.edits import plan as runs
from lengthwise.papers.length_is_a_domain.edits import readings

BOTH, WRITTEN, JOINED = (
    f"length-is-a-domain/{name}" for name in ("both-sides", "output-length", "joined")
)
MEASURES = (runs.MEASURE, runs.GIVEN)
Value = Callable[[str, str, int], float]


def test_every_claim_is_judged_at_quick_scale(tmp_path: Path) -> None:
    done = reproduce(find_claims("length-is-a-domain"), "quick", tmp_path, ["test"])
    assert [verdict.claim.name for verdict in done.verdicts] == [BOTH, WRITTEN, JOINED]
    assert len(done.folders) == 4
    assert [picture.name for picture in done.pictures] == ["edits", "joined"]
    names = ["right", "written", "right-joined", "written-joined"]
    assert [table.name for table in done.tables] == names


def by_bucket(shorter: float, inside: float, longer: float) -> Callable[[int], float]:
    return lambda length: shorter if length < 11 else inside if length < 16 else longer


@pytest.mark.parametrize(
    ("shorter", "inside", "longer", "outcome"),
    [
        (0.1, 0.99, 0.1, "holds"),
        (0.97, 0.99, 0.1, "fails"),
        (0.1, 0.99, 0.97, "fails"),
        (0.1, 0.8, 0.1, "undecided"),
    ],
)
def test_accuracy_must_fall_on_both_sides(
    shorter: float, inside: float, longer: float, outcome: str, tmp_path: Path
) -> None:
    """And models that did not learn the band decide nothing."""

    def value(label: str, measure: str, length: int, seed: int) -> float:
        return by_bucket(shorter, inside, longer)(length)

    assert judged(BOTH, MEASURES, value, tmp_path).outcome == outcome


def written(value: Value) -> Callable[[Results], dict[str, polars.DataFrame]]:
    """What models write, made up."""

    def made_up(results: Results) -> dict[str, polars.DataFrame]:
        return {
            label: polars.DataFrame(
                [
                    (one.seed, length, measure, value(label, measure, length) + 1e-4 * one.seed)
                    for one in run.hyperparameters
                    for length in runs.LENGTHS
                    for measure in (runs.MEASURE, "length_ratio")
                ],
                schema=["seed", "length", "measure", "value"],
                orient="row",
            )
            for label, run in results.plan.items()
        }

    return made_up


@pytest.mark.parametrize(
    ("shorter", "longer", "outcome"),
    [(1.6, 0.7, "holds"), (1.01, 0.7, "fails"), (1.6, 0.99, "fails"), (0.9, 1.2, "fails")],
)
def test_answers_must_be_too_long_and_too_short(
    shorter: float, longer: float, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratio = by_bucket(shorter, 1.0, longer)
    monkeypatch.setattr(readings, "decoded", written(lambda label, measure, n: ratio(n)))

    def value(label: str, measure: str, length: int, seed: int) -> float:
        return 0.99 if 11 <= length <= 15 else 0.1

    assert judged(WRITTEN, MEASURES, value, tmp_path).outcome == outcome


@pytest.mark.parametrize(
    ("band", "joined", "long", "outcome"),
    [
        (0.0, 0.9, 0.98, "holds"),
        (0.0, 0.05, 0.98, "fails"),
        (0.0, 0.3, 0.98, "fails"),
        (0.95, 0.98, 0.98, "fails"),
    ],
)
def test_joined_examples_must_give_half_of_what_long_ones_give(
    band: float,
    joined: float,
    long: float,
    outcome: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = {runs.SHORT: band, runs.JOINED: joined, runs.LONG: long}
    monkeypatch.setattr(readings, "decoded", written(lambda label, measure, n: right[label]))
    verdict = judged(JOINED, MEASURES, lambda label, measure, n, seed: 0.99, tmp_path)
    assert verdict.outcome == outcome
