"""The claims on calibrated biases: their rules, and quick scale."""

from pathlib import Path

import pytest
from made_up import judged

from lengthwise.claims import reproduce
from lengthwise.papers import CLAIMS, find_claims
from lengthwise.papers.attention_bias_calibration.numbers import plan as runs
from lengthwise.runs.models import load_trainer

NAMES = [
    f"attention-bias-calibration/{kind}-{form}"
    for kind in ("successor", "addition")
    for form in runs.FORMS
]


@pytest.mark.parametrize("kind", ["successor", pytest.param("addition", marks=pytest.mark.slow)])
def test_every_claim_is_judged_at_quick_scale(kind: str, tmp_path: Path) -> None:
    """And every bias is made of the plain run of its own form, in both kinds of attention."""
    claims = [CLAIMS[name] for name in NAMES if kind in name]
    done = reproduce(claims, "quick", tmp_path, ["test"])
    assert [verdict.claim for verdict in done.verdicts] == claims
    assert len(done.folders) == len(runs.FORMS) * len(runs.LINES)
    assert [picture.name for picture in done.pictures] == [kind]
    assert len(done.tables) == len(runs.FORMS)
    for folder in done.folders:
        form, arm = folder.path.name.split("-")
        if arm not in (runs.CALIBRATED, runs.RANDOM):
            assert folder.recipe.start_from is None
            continue
        assert Path(folder.recipe.start_from or "").name == f"{form}-{runs.PLAIN}"
        buffers = load_trainer(folder).fleet.buffers
        for name in ("decoder.remedies.1.diagonals", "cross.remedies.0.diagonals"):
            assert (buffers[name] != 0).any(), "or no head of any seed kept anything"


def test_all_claims_are_found() -> None:
    assert [claim.name for claim in find_claims("attention-bias-calibration")] == NAMES


def share(label: str, length: int, trained: int, values: dict[str, float]) -> float:
    return 0.99 if length <= trained else values[label.split("-")[1]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("plain", "calibrated", "random", "learned", "outcome"),
    [
        (0.1, 0.95, 0.1, 0.2, "holds"),
        (0.1, 0.12, 0.1, 0.0, "fails"),
        (0.1, 0.95, 0.93, 0.2, "fails"),
        (0.1, 0.95, 0.1, 0.97, "fails"),
    ],
)
def test_calibrated_biases_must_beat_all_others_beyond_the_training_length(
    name: str,
    plain: float,
    calibrated: float,
    random: float,
    learned: float,
    outcome: str,
    tmp_path: Path,
) -> None:
    values = dict(zip(runs.LINES, (plain, calibrated, random, learned), strict=True))
    kind = "successor" if "successor" in name else "addition"
    trained = runs.SIZES[kind]["laptop"].trained  # type: ignore[index]

    def value(label: str, measure: str, length: int, seed: int) -> float:
        if label.split("-")[0] not in name.split("/")[1].split("-"):
            return 0.5  # the other form decides nothing
        return share(label, length, trained, values)

    assert judged(name, (runs.MEASURE,), value, tmp_path).outcome == outcome


def test_a_plain_model_that_did_not_learn_decides_nothing(tmp_path: Path) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        return 0.5 if label.endswith(runs.PLAIN) else 0.9

    for name in NAMES:
        assert judged(name, (runs.MEASURE,), value, tmp_path).outcome == "undecided"
