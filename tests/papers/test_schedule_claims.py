"""BEMA where the learning rate falls: its rule on made-up numbers, and the whole, small."""

from pathlib import Path

import numpy as np
import polars
import pytest

from lengthwise.claims import Results, reproduce
from lengthwise.papers import CLAIMS
from lengthwise.papers.whats_missing.schedule import falling
from lengthwise.randomness import address

CLAIM = CLAIMS["whats-missing/schedule"]


def made_up(constant: float, fallen: float, folder: Path) -> Results:
    """BEMA at one pair of powers helps `constant` times, down to `fallen` times; others harm."""
    runs = falling.plan("laptop")
    tables = {}
    for label, run in runs.items():
        share = run.hyperparameters[0].final_lr_fraction
        rows = []
        for one in run.hyperparameters:
            noise = np.random.default_rng(address(label, one.seed) % 2**63)
            tvd = 0.3 * np.exp(0.2 * noise.normal())  # of the seed: pairs take it out
            for weights, ema, bias, factor in (
                ("raw", None, None, 1.0),
                ("ema", 0.7, None, 1.01),
                ("bema", 0.7, 0.4, fallen + share * (constant - fallen)),
                ("bema", 0.5, 0.2, 0.8),
            ):
                value = tvd / factor * np.exp(0.005 * noise.normal())
                # Within the training length nothing counts.
                for length, found in ((2, 0.9), (run.recipe.max_train_length + 1, value)):
                    rows.append((one.seed, length, "tvd", weights, ema, bias, found))
        columns = ["seed", "length", "measure", "weights", "ema_power", "bias_power", "value"]
        table = polars.DataFrame(rows, schema=columns, orient="row")
        tables[label] = table.with_columns(diverged=polars.lit(None, polars.Int64))
    return Results("laptop", runs, tables, folder)


@pytest.mark.parametrize(
    ("constant", "fallen", "outcome"),
    [(1.3, 1.0, "holds"), (1.3, 1.29, "fails"), (1.0, 1.3, "fails"), (1.05, 1.0, "undecided")],
)
def test_what_the_fall_costs_decides(
    constant: float, fallen: float, outcome: str, tmp_path: Path
) -> None:
    verdict = CLAIM.judge(made_up(constant, fallen, tmp_path))
    assert verdict.outcome == outcome
    assert verdict.headline.estimate.mean == pytest.approx(constant / fallen, rel=0.01)
    assert verdict.headline.estimate.count == 16
    shown = {finding.effect: finding.estimate.mean for finding in verdict.findings[2:]}
    effect = "mean TVD beyond the training length, raw / BEMA, learning rate constant"
    assert shown[effect] == pytest.approx(constant, rel=0.01)


def test_it_runs_whole_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(falling.SIZES, "quick", falling.Size(2, 10))
    monkeypatch.setattr(falling, "FRACTIONS", (falling.CONSTANT, falling.FALLEN))
    done = reproduce([CLAIM], "quick", tmp_path, ["test"])
    assert len(done.folders) == 2
    assert done.verdicts[0].headline.estimate.count == 2
    assert [picture.name for picture in done.pictures] == ["schedule"]
