"""Dropout in longer training: its rule on made-up numbers, and the whole, small."""

import math
from pathlib import Path

import numpy as np
import polars
import pytest

from lengthwise.claims import Results, reproduce, whole
from lengthwise.papers import CLAIMS
from lengthwise.papers.whats_missing.dropout import longer
from lengthwise.randomness import address

CLAIM = CLAIMS["whats-missing/dropout-longer"]


def made_up(factor: float, tmp_path: Path) -> Results:
    """One choice lowers TVD by `factor`; all others raise it, and noise is each model's own."""
    runs = whole(longer.plan("laptop"))
    tables = {}
    for label, run in runs.items():
        rows = []
        for model, one in enumerate(run.hyperparameters):
            dropout = longer.MODELS[model % len(longer.MODELS)]
            effect = {("", 0.0): 1.0, ("resid_dropout", 0.05): 1 / factor}.get(dropout, 1.2)
            noise = np.random.default_rng(address(label, *map(str, dropout), one.seed) % 2**63)
            value = 0.3 * effect * math.exp(0.01 * noise.normal())
            # Within the training length nothing counts.
            for length, tvd in ((2, 0.9), (run.recipe.max_train_length + 1, value)):
                rows.append((model, one.seed, length, "tvd", tvd))
        schema = ["model", "seed", "length", "measure", "value"]
        table = polars.DataFrame(rows, schema=schema, orient="row")
        tables[label] = table.with_columns(diverged=polars.lit(None, polars.Int64))
    return Results("laptop", runs, tables, tmp_path)


@pytest.mark.parametrize(("factor", "outcome"), [(1.2, "holds"), (1.0, "fails"), (0.9, "fails")])
def test_the_best_choice_decides(factor: float, outcome: str, tmp_path: Path) -> None:
    verdict = CLAIM.judge(made_up(factor, tmp_path))
    assert verdict.outcome == outcome
    assert verdict.headline.estimate.count == 8
    assert verdict.headline.estimate.mean == pytest.approx(max(factor, 1 / 1.2), rel=0.02)
    assert len(verdict.findings) == 1 + 3 * 3 * 4


def test_models_have_the_dropout_that_they_are_called_by() -> None:
    for label, run in longer.plan("laptop").items():
        extra_width = int(label.removeprefix("width-")) - run.recipe.task.classes + 1
        assert run.recipe.model.extra_width == extra_width  # type: ignore[attr-defined]
        for (site, rate), one in zip(longer.MODELS, run.hyperparameters, strict=True):
            rates = {name: getattr(one, name) for name in longer.SITES}  # type: ignore[attr-defined]
            assert rates == {name: rate if name == site else 0.0 for name in longer.SITES}  # type: ignore[attr-defined]


def test_it_runs_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(longer.SIZES, "quick", longer.Size(2, 20, (32,)))
    done = reproduce([CLAIM], "quick", tmp_path, ["test"])
    assert [folder.path.name for folder in done.folders] == ["width-32", "width-32@2001"]
    assert done.verdicts[0].headline.estimate.count == 2
