"""The claims on retrieval: their rules, and the whole at quick scale."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars
import pytest

from lengthwise.claims import Reproduction, Results, reproduce
from lengthwise.papers import CLAIMS
from lengthwise.papers.vanishing_variance.retrieval import ablation
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval import tables as accuracy
from lengthwise.papers.vanishing_variance.retrieval.plan import (
    MAIN_SIZES,
    MAP_SIZES,
    TASKS,
    VARIANTS,
    plan,
)
from lengthwise.randomness import address
from lengthwise.report.findings import findings_table

NAMES = (
    *("figure-2", "figure-2-dictionary", "figure-3", "figure-4", "figure-4-dictionary"),
    *("table-argmax", "table-dictionary", "table-adaptive"),
)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("retrieval")


@pytest.fixture(scope="module")
def quick(out: Path) -> Reproduction:
    claims = [CLAIMS[f"vanishing-variance/{name}"] for name in NAMES]
    return reproduce(claims, "quick", out, ["test"], lambda progress: None)


def test_every_claim_is_judged(quick: Reproduction) -> None:
    assert [verdict.claim.name.split("/")[1] for verdict in quick.verdicts] == list(NAMES)
    for verdict in quick.verdicts:
        # So short a training leaves a seed or two behind, which then do not count.
        assert 1 <= verdict.headline.estimate.count <= MAIN_SIZES["quick"].seeds
        assert any(finding.decides for finding in verdict.findings)


def test_variance_of_features_vanishes_even_at_quick_scale(quick: Reproduction) -> None:
    for verdict in quick.verdicts[:2]:
        assert verdict.outcome == "holds"
        assert 0.2 < verdict.headline.estimate.mean < 1.2


def test_pictures_and_tables_show_what_was_measured(quick: Reproduction) -> None:
    assert len(quick.pictures) == 9
    assert all(picture.svg.startswith("<svg") for picture in quick.pictures)
    names = [table.name for table in quick.tables]
    assert names == [
        *("argmax-accuracy", "argmax-gain", "dictionary-accuracy", "dictionary-gain"),
        "argmax-adaptive",
    ]
    for table in quick.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_all_findings_fit_one_table(quick: Reproduction) -> None:
    found = findings_table(quick.verdicts)
    assert len(found) == sum(len(verdict.findings) for verdict in quick.verdicts)
    headline = found.row(0, named=True)
    assert headline["unit"] == "seeds"
    assert headline["estimate"] == quick.verdicts[0].headline.estimate.mean
    assert headline["outcome"] == quick.verdicts[0].headline.outcome


def test_runs_are_shared_and_not_trained_again(quick: Reproduction, out: Path) -> None:
    shared = out / "retrieval" / "quick"
    trained = [f"{task}-{norm}" for task in TASKS for norm in ("none", "layernorm")]
    assert sorted(path.name for path in shared.iterdir()) == sorted(
        [*trained, "argmax-standardization"]
    )
    before = {path: path.stat().st_mtime_ns for path in shared.glob("*/measures.parquet")}
    again = reproduce(
        [CLAIMS["vanishing-variance/table-argmax"]], "quick", out, ["test"], lambda progress: None
    )
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert again.verdicts[0].findings == quick.verdicts[5].findings


def table(rows: list[tuple[int, int, str, float]]) -> polars.DataFrame:
    """A run's table out of seed, length, measure and value."""
    frame = polars.DataFrame(rows, schema=["seed", "length", "measure", "value"], orient="row")
    return frame.with_columns(diverged=polars.lit(None, polars.Int64))


def made_up(accuracies: dict[str, dict[int, list[float]]], tmp_path: Path) -> Results:
    """Results with these accuracies by variant and length, one per seed; both tasks alike."""
    runs = plan(MAP_SIZES["paper"], variants=tuple(accuracies))
    tables = {
        f"{task}-{variant}": table([
            (seed, n, "accuracy", value)
            for n, values in by_length.items()
            for seed, value in enumerate(values)
        ])
        for task in TASKS
        for variant, by_length in accuracies.items()
    }  # fmt: skip
    return Results("paper", runs, tables, tmp_path)


LENGTHS = [2**power for power in range(4, 15)]

MEASURES = (
    *("accuracy", "accuracy_adaptive", "largest_weight", "right_weight", "global_mean_after"),
    *("global_variance_after", "feature_variance_before", "feature_variance_after"),
)

Value = Callable[[str, str, int], float]
"""Of a run's label, a measure and a length."""


def judged(name: str, value: Value, tmp_path: Path) -> str:
    """What comes of a claim on such values, with a little noise from seed to seed."""
    claim = CLAIMS[f"vanishing-variance/{name}"]
    runs = claim.experiment.plan("paper")

    def noise(label: str, measure: str, seed: int) -> float:
        # It is each model's own, so that in a pair it does not cancel.
        return 1 + 1e-4 * np.random.default_rng(address(label, measure, seed) % 2**63).normal()

    tables = {
        label: table([
            (seed, n, measure, value(label, measure, n) * noise(label, measure, seed))
            for measure in MEASURES
            for n in LENGTHS
            for seed in range(5)
        ])
        for label in runs
    }  # fmt: skip
    early = {
        label: {
            step: own.with_columns(value=polars.col("value") - 0.03 * label.endswith("layernorm"))
            for step in run.recipe.test_steps
        }
        for (label, run), own in zip(runs.items(), tables.values(), strict=True)
    }
    results = Results("paper", runs, tables, tmp_path, on_the_way=early)
    return claim.judge(results).outcome


def accuracy_at(length: int) -> float:
    """That of models which learn the task and break at 128 items."""
    return 0.95 if length <= 64 else 0.5


GAINS = [(0.05, "holds"), (0.0, "fails"), (-0.05, "fails")]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("gain", "outcome"), GAINS)
def test_tables_follow_what_layernorm_gains_where_the_baseline_breaks(
    task: str, gain: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, measure: str, length: int) -> float:
        # Neither standardization nor lengths before the break must count.
        if label.endswith("standardization"):
            return accuracy_at(length) + 0.04
        helped = gain if length >= 128 else -gain
        return accuracy_at(length) + helped * label.endswith("layernorm")

    assert judged(f"table-{task}", value, tmp_path) == outcome


@pytest.mark.parametrize(("gain", "outcome"), GAINS)
def test_layernorm_must_be_above_standardization_on_both_tasks(
    gain: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, measure: str, length: int) -> float:
        gains = {"argmax-layernorm": 0.1, "dictionary-layernorm": gain}
        return accuracy_at(length) + gains.get(label, 0.0) * (length >= 128)

    assert judged("standardization", value, tmp_path) == outcome


@pytest.mark.parametrize(("rival", "outcome"), [(0.0, "holds"), (0.045, "fails"), (0.1, "fails")])
def test_layernorm_must_be_above_every_norm_of_the_ablation(
    rival: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, measure: str, length: int) -> float:
        gains = {"argmax-layernorm": 0.05, "dictionary-layernorm": 0.05, "argmax-rmsnorm": rival}
        return accuracy_at(length) + gains.get(label, 0.0) * (length >= 128)

    assert judged("table-ablation", value, tmp_path) == outcome


@pytest.mark.parametrize(("gain", "outcome"), GAINS)
def test_the_map_needs_a_gain_in_every_setting(gain: float, outcome: str, tmp_path: Path) -> None:
    def value(label: str, measure: str, length: int) -> float:
        helped = gain if label == "dictionary-narrow-keys-layernorm" else 0.05
        return accuracy_at(length) + helped * (label.endswith("layernorm") and length >= 128)

    assert judged("where-norm-helps", value, tmp_path) == outcome


def test_the_gain_must_rise_with_training(tmp_path: Path) -> None:
    """On the way LayerNorm gains 3 points less than in the end, whatever that is."""
    for gain in (-0.05, 0.05):
        outcome = judged(
            "longer",
            lambda label, measure, n, gain=gain: accuracy_at(n) + gain * label.endswith("norm"),  # type: ignore[misc]
            tmp_path,
        )
        assert outcome == "holds"
    results = made_up({"none": {n: [0.9, 0.9] for n in LENGTHS}}, tmp_path)
    none = results.tables["argmax-none"]
    tables = {**results.tables, "argmax-layernorm": none}
    same = {label: dict.fromkeys((20_000, 50_000), none) for label in tables}
    claim = CLAIMS["vanishing-variance/longer"]
    flat = Results("paper", results.plan, tables, tmp_path, on_the_way=same)
    assert claim.judge(flat).outcome == "fails"


def test_the_deciding_runs_share_fleets_of_fresh_seeds() -> None:
    *main, plain, norms = (
        CLAIMS[f"vanishing-variance/{name}"].experiment
        for name in ("table-argmax", "table-dictionary", "standardization", "table-ablation")
    )
    assert len({one.folder for one in (*main, plain, norms)}) == 1
    shared = {label: run for one in main for label, run in one.plan("laptop").items()}
    assert plain.plan("laptop").items() <= norms.plan("laptop").items()
    for label, run in norms.plan("laptop").items():
        assert [one.seed for one in run.hyperparameters] == list(range(1000, 1008))
        if label in shared:
            assert run.recipe == shared[label].recipe
            assert run.hyperparameters == shared[label].hyperparameters
    assert all(one.looks("laptop") == (16, 32, 48, 64) for one in main)


@pytest.mark.parametrize(("gain", "outcome"), GAINS)
def test_the_adaptive_temperature_is_judged_in_the_same_model(
    gain: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, measure: str, length: int) -> float:
        return accuracy_at(length) + gain * (measure == "accuracy_adaptive")

    assert judged("table-adaptive", value, tmp_path) == outcome


@pytest.mark.parametrize(("rate", "outcome"), [(0.5, "holds"), (0.05, "fails"), (-0.5, "fails")])
def test_figure_2_follows_the_baseline(rate: float, outcome: str, tmp_path: Path) -> None:
    def value(label: str, measure: str, length: int) -> float:
        counts = label == "argmax-none" and measure == "feature_variance_before"
        return length ** -(rate if counts else 0.9)

    assert judged("figure-2", value, tmp_path) == outcome


@pytest.mark.parametrize(
    ("mean", "variance", "outcome"),
    [(0.5, 0.5, "holds"), (1.0, 0.5, "fails"), (0.5, 1.0, "fails"), (1.5, 1.5, "fails")],
)
def test_figure_3_needs_both_shifts_to_be_smaller(
    mean: float, variance: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, measure: str, length: int) -> float:
        normed = label.endswith("layernorm")
        if measure == "global_mean_after":
            return 1 + math.log2(length / 16) * (mean if normed else 1.0)
        if measure == "global_variance_after":
            return (length / 16) ** -(variance if normed else 1.0)
        return accuracy_at(length)

    assert judged("figure-3-dictionary", value, tmp_path) == outcome


@pytest.mark.parametrize(("factor", "outcome"), [(1.2, "holds"), (1.0, "fails"), (0.8, "fails")])
def test_figure_4_follows_the_largest_weight_where_the_baseline_breaks(
    factor: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, measure: str, length: int) -> float:
        if measure == "accuracy":
            return accuracy_at(length)
        # The weight on the right item, and short sets, must not count.
        counts = measure == "largest_weight" and length >= 128
        return 0.3 * ((factor if counts else 2.0) if label.endswith("layernorm") else 1.0)

    assert judged("figure-4", value, tmp_path) == outcome


def by_length(values: dict[int, list[float]]) -> dict[int, list[float]]:
    return {n: values.get(n, [0.1] * len(values[16])) for n in LENGTHS}


def test_the_baseline_breaks_below_four_fifths_of_what_it_learned(tmp_path: Path) -> None:
    baseline = by_length({16: [1.0, 0.9, 0.5], 32: [0.9, 0.9, 0.0], 64: [0.8, 0.8, 0.0],
                          128: [0.75, 0.75, 0.9]})  # fmt: skip
    results = made_up({"none": baseline}, tmp_path)
    assert read.learned(results, "argmax", ("none",)) == [0, 1], "the third never learned the task"
    assert read.breaking_lengths(results, "argmax") == [128, 512]


def test_the_longest_length_stands_for_a_baseline_that_never_breaks(tmp_path: Path) -> None:
    results = made_up({"none": {2**power: [0.99, 0.98] for power in range(4, 15)}}, tmp_path)
    assert read.breaking_lengths(results, "argmax") == [2**14]


def test_the_gain_is_paired_and_leaves_out_seeds_that_did_not_learn(tmp_path: Path) -> None:
    baseline = by_length({16: [1.0, 1.0, 1.0], 32: [0.5, 0.6, 0.7]})
    norm = by_length({16: [1.0, 0.7, 1.0], 32: [0.53, 0.0, 0.75], 128: [0.2, 0.0, 0.3]})
    plain = by_length({16: [1.0, 1.0, 1.0], 32: [0.5, 0.6, 0.7]})
    results = made_up({"none": baseline, "layernorm": norm, "standardization": plain}, tmp_path)
    gained = read.differences(results, "argmax", "layernorm", 32)
    assert gained == pytest.approx([0.03, 0.05])
    first, second, *others = accuracy.evidence(results, "argmax")
    assert first.decides
    assert (first.estimate.mean, first.estimate.count) == (pytest.approx(0.04), 2)
    assert "128 items" in second.effect
    assert second.estimate.mean == pytest.approx(0.15)
    assert not any(finding.decides for finding in others)


def test_no_seed_that_learned_leaves_the_claim_undecided(tmp_path: Path) -> None:
    useless = {2**power: [0.1, 0.1] for power in range(4, 15)}
    results = made_up(dict.fromkeys(VARIANTS, useless), tmp_path)
    assert all(finding.outcome == "undecided" for finding in ablation.evidence(results))


@pytest.mark.slow
def test_the_ablation_runs_whole(tmp_path: Path) -> None:
    done = reproduce(
        [CLAIMS["vanishing-variance/table-ablation"]], "quick", tmp_path, ["test"], lambda p: None
    )
    assert len(done.folders) == len(TASKS) * len(VARIANTS)
    assert len(done.tables) == 2 * len(TASKS)
