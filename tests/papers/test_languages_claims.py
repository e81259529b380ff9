"""The claims on formal languages: their rules on made-up tables, and the whole at quick scale."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars
import pytest

from lengthwise.claims import Results, reproduce
from lengthwise.papers import CLAIMS
from lengthwise.papers.whats_missing.languages import readings as read
from lengthwise.papers.whats_missing.languages.plan import LANGUAGES, VARIANTS
from lengthwise.randomness import address

NAMES = [f"whats-missing/languages-{name}" for name in ("post-norm", "post-ln", "ema")]

Value = Callable[[str, str, str], float]
"""Of a run's variant, a measure and a kind of weights, beyond the training length."""


def made_up(value: Value, tmp_path: Path, inside: float = 0.01) -> Results:
    """Results with these values, and a little noise."""
    plan = CLAIMS[NAMES[0]].experiment.plan("laptop")
    tables = {}
    for label, run in plan.items():
        rows = []
        for one in run.hyperparameters:
            noise = np.random.default_rng(address(label, one.seed) % 2**63)
            for measure in read.MEASURES:
                for weights, power in (("raw", None), *(("ema", p) for p in one.ema_powers)):
                    kind = weights if power is None else f"ema {power}"
                    far = value(label.rsplit("-", 1)[1], measure, kind)
                    factor = 1 + 1e-3 * noise.normal()
                    for length in (10, 20, 30, 60):
                        got = (far if length > 20 else inside) * factor
                        rows.append((one.seed, length, measure, weights, power, got))
        schema = {"seed": int, "length": int, "measure": str, "weights": str, "ema_power": float,
                  "value": float}  # fmt: skip
        frame = polars.DataFrame(rows, schema=schema, orient="row")
        tables[label] = frame.with_columns(
            diverged=polars.lit(None, polars.Int64), bias_power=polars.lit(None, polars.Float64)
        )
    return Results("laptop", plan, tables, tmp_path)


@pytest.mark.parametrize(("name", "variant"), [(NAMES[0], "norm"), (NAMES[1], "post")])
@pytest.mark.parametrize(
    ("tvd", "mass", "outcome"), [(2, 2, "holds"), (2, 1, "fails"), (1, 2, "fails")]
)
def test_a_norm_must_lower_both_measures(
    name: str, variant: str, tvd: float, mass: float, outcome: str, tmp_path: Path
) -> None:
    factors = {"tvd": tvd, "illegal_mass": mass}

    def value(run: str, measure: str, kind: str) -> float:
        # The other variant, and averages, must not count.
        return 0.2 / (factors[measure] if run == variant and kind == "raw" else 1)

    verdict = CLAIMS[name].judge(made_up(value, tmp_path))
    assert verdict.outcome == outcome
    assert verdict.headline.estimate.mean == pytest.approx(tvd, rel=0.01)


@pytest.mark.parametrize(("factor", "outcome"), [(1.5, "holds"), (1.0, "fails")])
def test_ema_is_judged_in_the_same_models_at_the_best_power(
    factor: float, outcome: str, tmp_path: Path
) -> None:
    def value(run: str, measure: str, kind: str) -> float:
        helped = factor if kind == "ema 0.7" and run == "baseline" else 1.0
        return 0.2 / helped

    assert CLAIMS[NAMES[2]].judge(made_up(value, tmp_path)).outcome == outcome


def test_models_that_did_not_learn_do_not_count(tmp_path: Path) -> None:
    results = made_up(lambda run, measure, kind: 0.2, tmp_path, inside=0.3)
    for name in NAMES:
        verdict = CLAIMS[name].judge(results)
        assert verdict.outcome == "undecided"
        assert verdict.headline.estimate.count == 0


def test_the_whole_runs_at_quick_scale(tmp_path: Path) -> None:
    done = reproduce([CLAIMS[name] for name in NAMES], "quick", tmp_path, [], lambda progress: None)
    assert len(done.folders) == len(LANGUAGES) * len(VARIANTS)
    (table,) = done.tables
    assert len(table.rows) == len(done.folders)
    assert [picture.name for picture in done.pictures] == ["formal-languages"]
    assert any(verdict.headline.estimate.count for verdict in done.verdicts), "some models learn"
