"""Figures 3 to 5, the claims on Othello: their rules on made-up numbers, and the whole, small."""

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.claims import Claim, Reproduction, Results, reproduce, whole
from lengthwise.claims.readings import DEFAULT_BEMA, chosen_on_other_seeds
from lengthwise.papers import CLAIMS
from lengthwise.papers.whats_missing.othello import readings as read
from lengthwise.papers.whats_missing.othello.figure_3 import top_means
from lengthwise.papers.whats_missing.othello.plan import (
    BIAS_POWERS,
    EMA_POWERS,
    FIRST_SEED,
    PLAIN,
    SCALES,
    VARIANTS,
    Scaled,
    plan,
    variants_of,
)
from lengthwise.randomness import address

CLAIMS_HERE = [CLAIMS[f"whats-missing/figure-{number}"] for number in (3, 4, 5)]

SEEDS = range(FIRST_SEED, FIRST_SEED + SCALES["laptop"].seeds)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """All three claims after a few steps of training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SCALES, "quick", Scaled(4, 6, "tiny", 2, 20, 16, 2e-3, 64))
        out = tmp_path_factory.mktemp("othello")
        return reproduce(CLAIMS_HERE, "quick", out, ["test"], lambda progress: None)


def test_every_claim_is_judged(small: Reproduction) -> None:
    assert [verdict.claim for verdict in small.verdicts] == CLAIMS_HERE
    for verdict in small.verdicts:
        assert verdict.headline.estimate.count == 2
        assert sum(finding.decides for finding in verdict.findings) == 1
        assert all(math.isfinite(finding.estimate.mean) for finding in verdict.findings)


def test_pictures_and_tables_show_what_was_measured(small: Reproduction) -> None:
    assert len(small.pictures) == 4
    assert all(picture.svg.startswith("<svg") for picture in small.pictures)
    table, *files = small.tables
    assert [file.name for file in files] == ["measures", "guess"]
    assert not any(file.shown for file in files)
    assert 3 * len(VARIANTS) + 1 <= len(table.rows) <= 4 * len(VARIANTS) + 1
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_runs_are_one_per_seed_and_positions(small: Reproduction) -> None:
    names = sorted(folder.path.name for folder in small.folders)
    assert names == ["learned", "learned@2", "offset", "offset@2"]


@pytest.mark.slow
def test_models_have_learned_something_at_quick_scale(tmp_path: Path) -> None:
    done = reproduce(CLAIMS_HERE, "quick", tmp_path, ["test"], lambda progress: None)
    assert all(verdict.headline.estimate.count == 3 for verdict in done.verdicts)
    table, *_ = done.tables
    *models, guessed = table.rows
    for row in models:
        if row[1] == "raw":
            assert float(row[2].split()[0]) < 0.7 * float(guessed[2])


def test_variants_belong_to_their_models() -> None:
    for run in plan("laptop").values():
        for variant, one in zip(variants_of(run), run.hyperparameters, strict=True):
            assert VARIANTS[variant].dropout == one.embed_dropout
            assert VARIANTS[variant].final_lr_fraction == one.final_lr_fraction
            assert (VARIANTS[variant].positions,) == run.recipe.model.remedies
            assert one.attention_dropout == one.resid_dropout == 0


Value = Callable[[str, int, str, int], float]


def made_up(value: Value, tmp_path: Path) -> Results:
    """Results whose TVD is `value(variant, seed, kind, gap)`."""
    runs = whole(plan("laptop"))
    kinds = [
        ("raw", "raw", None, None),
        *((f"EMA {ema}", "ema", ema, None) for ema in EMA_POWERS),
        *(
            (f"BEMA {ema} {bias}", "bema", ema, bias)
            for ema, bias in itertools.product(EMA_POWERS, BIAS_POWERS)
        ),
    ]
    tables = {}
    for label, run in runs.items():
        longest = run.recipe.max_train_length
        rows = [
            {
                "model": model, "seed": run.hyperparameters[model].seed, "trial": 0,
                "diverged": None, "weights": weights, "ema_power": ema, "bias_power": bias,
                "length": longest + gap, "measure": "tvd", "inputs": 100, "exact": False,
                "value": value(variant, run.hyperparameters[model].seed, kind, gap),
            }
            for model, variant in enumerate(variants_of(run))
            for kind, weights, ema, bias in kinds
            for gap in (-1, 0, 1, 2, 5, 9)
        ]  # fmt: skip
        kinds_of = {"diverged": polars.Int64, "ema_power": polars.Float64}
        tables[label] = polars.DataFrame(rows, schema_overrides=kinds_of, infer_schema_length=None)
    return Results("laptop", runs, tables, tmp_path)


def judged(number: int, value: Value, tmp_path: Path) -> str:
    claim: Claim = CLAIMS[f"whats-missing/figure-{number}"]
    return claim.judge(made_up(value, tmp_path)).outcome


def noise(*place: object) -> float:
    """A factor near 1 that is the same for the same place."""
    seed = address(*map(str, place)) % 2**63
    return math.exp(0.02 * np.random.default_rng(seed).normal())


@pytest.mark.parametrize(("factor", "outcome"), [(0.8, "holds"), (1.0, "fails"), (1.2, "fails")])
def test_figure_3_follows_what_bema_does_beyond(
    factor: float, outcome: str, tmp_path: Path
) -> None:
    def value(variant: str, seed: int, kind: str, gap: int) -> float:
        # Within the training length BEMA is always better, which must not count.
        changed = kind.startswith("BEMA")
        return 0.4 * noise(1, seed) * ((factor if gap > 0 else 0.5) if changed else 1.0)

    assert judged(3, value, tmp_path) == outcome


@pytest.mark.parametrize(("factor", "outcome"), [(0.9, "holds"), (1.0, "fails"), (1.1, "fails")])
def test_figure_4_asks_whether_the_correction_adds_to_ema(
    factor: float, outcome: str, tmp_path: Path
) -> None:
    def value(variant: str, seed: int, kind: str, gap: int) -> float:
        return {"raw": 0.8, "EMA": 0.4, "BEMA": 0.4 * factor}[kind.split()[0]]

    assert judged(4, value, tmp_path) == outcome


@pytest.mark.parametrize(("factor", "outcome"), [(0.8, "holds"), (1.0, "fails"), (1.2, "fails")])
def test_figure_5_compares_dropout_with_raw_weights(
    factor: float, outcome: str, tmp_path: Path
) -> None:
    def value(variant: str, seed: int, kind: str, gap: int) -> float:
        # With averages dropout always helps, and so it does within: neither must count.
        counts = kind == "raw" and gap > 0
        return (
            0.4
            * noise(2, seed)
            * ((factor if counts else 0.5) if variant == "dropout 0.1" else 1.0)
        )

    assert judged(5, value, tmp_path) == outcome


def test_other_variants_do_not_decide(tmp_path: Path) -> None:
    def value(variant: str, seed: int, kind: str, gap: int) -> float:
        return 0.1 if variant not in PLAIN and kind.startswith("BEMA") else 0.4

    assert judged(3, value, tmp_path) == "fails"


def test_chosen_powers_do_not_peek(tmp_path: Path) -> None:
    """Each seed has a pair of its own that looks best by luck; no other seed shares it."""
    pairs = [f"BEMA {ema} {bias}" for ema, bias in itertools.product(EMA_POWERS, BIAS_POWERS)]
    lucky = dict(zip(SEEDS, pairs, strict=False))

    def value(variant: str, seed: int, kind: str, gap: int) -> float:
        return 0.1 if kind == lucky[seed] else 0.4

    results = made_up(value, tmp_path)
    plain = read.of_variants(read.over(read.readings(results)))
    assert chosen_on_other_seeds(plain, "BEMA")["value"].to_list() == pytest.approx(
        [0.4] * len(SEEDS) * 3
    )
    assert judged(3, value, tmp_path) == "fails"


def test_a_seed_counts_once(tmp_path: Path) -> None:
    results = made_up(
        lambda variant, seed, kind, gap: 0.4 * noise(variant, seed, kind, gap), tmp_path
    )
    plain = read.of_variants(read.over(read.readings(results)))
    estimate = read.ratios(read.of_kind(plain, "raw"), read.of_kind(plain, DEFAULT_BEMA))
    assert estimate.count == len(SEEDS)


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=2), min_size=1, max_size=20),
    st.floats(0.01, 1),
)
def test_top_means_are_means_of_the_lowest(models: list[list[float]], portion: float) -> None:
    values = np.array(models)
    top = top_means(values, portion)
    count = max(1, round(portion * len(values)))
    for column, mean in zip(values.T, top, strict=True):
        assert mean == pytest.approx(sum(sorted(column)[:count]) / count)
    assert (top <= values.mean(0) + 1e-12).all()


def test_the_guess_is_of_one_who_sees_the_empty_squares(tmp_path: Path) -> None:
    guesses = read.guess(made_up(lambda *place: 0.4, tmp_path))
    # After the first move of 32 there are 31 empty squares and always three legal moves on 6 x 6.
    assert guesses[1] == pytest.approx(1 - 3 / 31, abs=1e-6)
    # The last move is forced: one square is empty.
    assert guesses[31] == pytest.approx(0, abs=1e-6)
    assert all(0 <= value <= 1 for value in guesses.values())


@pytest.mark.parametrize(("within", "outcome"), [(0.05, "holds"), (0.2, "undecided")])
def test_models_that_have_not_learned_the_game_decide_nothing(
    within: float, outcome: str, tmp_path: Path
) -> None:
    def value(variant: str, seed: int, kind: str, gap: int) -> float:
        if gap <= 0:
            return within
        return noise(variant, seed, gap) * (0.3 if kind.startswith("BEMA") else 0.5)

    claim = CLAIMS["whats-missing/figure-3-learned"]
    assert claim.judge(made_up(value, tmp_path)).outcome == outcome
