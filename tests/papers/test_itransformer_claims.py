"""iTransformer as claims: what decides, on made-up losses, and the whole at quick scale."""

from pathlib import Path

import pytest

from lengthwise.claims import Reproduction, Results, reproduce
from lengthwise.papers import CLAIMS, find_claims
from lengthwise.papers.itransformer.variates import plan as runs
from lengthwise.papers.itransformer.variates import readings as read


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("itransformer")


@pytest.fixture(scope="module")
def quick(out: Path) -> Reproduction:
    return reproduce(find_claims("itransformer"), "quick", out)


def test_every_claim_is_judged_with_a_picture_and_a_table(quick: Reproduction) -> None:
    assert len(quick.verdicts) == 5
    for verdict in quick.verdicts:
        assert verdict.headline.estimate.count == len(runs.SIZES["quick"].seeds)
        assert verdict.headline.decides
    assert [picture.name for picture in quick.pictures] == ["variates"]
    (table,) = quick.tables
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_where_all_are_seen_the_run_itself_measured_the_same(
    quick: Reproduction, out: Path
) -> None:
    plan = runs.plan("quick")
    results = Results("quick", plan, {}, out / "itransformer-variates" / "quick")
    (folder,) = [one for one in quick.folders if one.path.name == "inverted-few"]
    rows = folder.table().filter(measure="mse").sort("seed")
    length = rows["length"][0]
    found = read.losses(results, runs.INVERTED, runs.FEW)[length]
    assert list(found.values()) == pytest.approx(rows["value"].to_list())


def test_without_attention_the_number_of_variates_does_not_matter_to_training() -> None:
    plan = runs.plan("laptop")
    fifth, few, every = (plan[runs.label(runs.ALONE, one)].recipe for one in runs.TRAINED)
    assert fifth.task.seen == fifth.max_train_length == few.max_train_length == 16  # type: ignore[attr-defined]
    assert few.task == every.task
    assert every.max_train_length == runs.SIZES["laptop"].variates


LOSSES = {
    runs.INVERTED: {runs.ALL: 0.40, runs.FEW: 0.41, runs.FIFTH: 0.43},
    runs.ALONE: {runs.ALL: 0.50, runs.FEW: 0.50, runs.FIFTH: 0.56},
    runs.NORM: {runs.ALL: 0.40, runs.FEW: 0.39, runs.FIFTH: 0.40},
}
"""On which every claim holds."""


def judged(name: str, losses: dict[str, dict[str, float]], tmp_path: Path) -> str:
    results = Results("laptop", runs.plan("laptop"), {}, tmp_path)
    every = runs.SIZES["laptop"].variates
    for variant, own in losses.items():
        for trained, loss in own.items():
            # A little of it is each seed's own, and each run's.
            by_seed = {seed: loss + 1e-4 * ((seed * len(trained)) % 3) for seed in range(6)}
            key = (read.losses.__wrapped__, (variant, trained))  # type: ignore[attr-defined]
            results.kept[key] = {every: by_seed}
    return CLAIMS[f"itransformer/{name}"].judge(results).outcome


@pytest.mark.parametrize(
    ("name", "variant", "trained", "worse"),
    [
        ("stays-close", runs.INVERTED, runs.FIFTH, 0.48),
        ("less-than-alone", runs.ALONE, runs.FIFTH, 0.51),
        ("attention-helps", runs.ALONE, runs.FIFTH, 0.43),
        ("unseen-not-more", runs.INVERTED, runs.FEW, 0.425),
        ("norm-helps", runs.NORM, runs.FIFTH, 0.44),
    ],
)
def test_a_claim_holds_on_its_effect_and_fails_without(
    name: str, variant: str, trained: str, worse: float, tmp_path: Path
) -> None:
    assert judged(name, LOSSES, tmp_path) == "holds"
    without = {**LOSSES, variant: {**LOSSES[variant], trained: worse}}
    assert judged(name, without, tmp_path) == "fails"
