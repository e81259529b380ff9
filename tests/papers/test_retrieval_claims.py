"""The claims on retrieval: their rules, and the whole at quick scale."""

from pathlib import Path

import polars
import pytest

from lengthwise.claims import Reproduction, Results, reproduce
from lengthwise.papers import CLAIMS
from lengthwise.papers.vanishing_variance import retrieval_readings as read
from lengthwise.papers.vanishing_variance import table_ablation, table_accuracy
from lengthwise.papers.vanishing_variance.retrieval import (
    ABLATION_SIZES,
    MAIN_SIZES,
    TASKS,
    VARIANTS,
    plan,
)
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
    assert len(quick.pictures) == 7
    assert all(picture.svg.startswith("<svg") for picture in quick.pictures)
    names = [table.name for table in quick.tables]
    assert names == [
        *("argmax-accuracy", "argmax-gain", "dictionary-accuracy", "dictionary-gain"),
        "argmax-adaptive",
    ]
    for table in quick.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_all_findings_fit_one_table(quick: Reproduction) -> None:
    table = findings_table(quick.verdicts)
    assert len(table) == sum(len(verdict.findings) for verdict in quick.verdicts)
    headline = table.row(0, named=True)
    assert headline["estimate"] == quick.verdicts[0].headline.estimate.mean
    assert headline["outcome"] == quick.verdicts[0].headline.outcome


def test_runs_are_shared_and_not_trained_again(quick: Reproduction, out: Path) -> None:
    shelf = out / "retrieval" / "quick"
    assert sorted(path.name for path in shelf.iterdir()) == sorted(
        f"{task}-{norm}" for task in TASKS for norm in ("none", "layernorm", "standardization")
    )
    before = {path: path.stat().st_mtime_ns for path in shelf.glob("*/measures.parquet")}
    again = reproduce(
        [CLAIMS["vanishing-variance/table-argmax"]], "quick", out, ["test"], lambda progress: None
    )
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert again.verdicts[0].findings == quick.verdicts[5].findings


def made_up(accuracies: dict[str, dict[int, list[float]]], tmp_path: Path) -> Results:
    """Results with these accuracies by variant and length, one per seed; both tasks alike."""
    runs = plan(ABLATION_SIZES["paper"], variants=tuple(accuracies))
    tables = {
        f"{task}-{variant}": polars.DataFrame(
            [
                {"seed": seed, "length": n, "measure": "accuracy", "value": value, "diverged": None}
                for n, values in by_length.items()
                for seed, value in enumerate(values)
            ],
            schema_overrides={"diverged": polars.Int64},
        )
        for task in TASKS
        for variant, by_length in accuracies.items()
    }
    return Results("paper", runs, tables, tmp_path)


def by_length(values: dict[int, list[float]]) -> dict[int, list[float]]:
    lengths = [2**power for power in range(4, 15)]
    return {n: values.get(n, [0.1] * len(values[16])) for n in lengths}


def test_the_baseline_breaks_below_four_fifths_of_what_it_learned(tmp_path: Path) -> None:
    baseline = by_length({16: [1.0, 0.9, 0.5], 32: [0.9, 0.9, 0.0], 64: [0.8, 0.8, 0.0],
                          128: [0.75, 0.75, 0.9]})  # fmt: skip
    results = made_up({"none": baseline}, tmp_path)
    assert read.learned(results, "argmax", ["none"]) == [0, 1], "the third never learned the task"
    assert read.breaking_lengths(results, "argmax") == [128, 512]


def test_the_longest_length_stands_for_a_baseline_that_never_breaks(tmp_path: Path) -> None:
    results = made_up({"none": {2**power: [0.99, 0.98] for power in range(4, 15)}}, tmp_path)
    assert read.breaking_lengths(results, "argmax") == [2**14]


def test_the_gain_is_paired_and_leaves_out_seeds_that_did_not_learn(tmp_path: Path) -> None:
    baseline = by_length({16: [1.0, 1.0, 1.0], 32: [0.5, 0.6, 0.7]})
    norm = by_length({16: [1.0, 0.7, 1.0], 32: [0.53, 0.0, 0.75], 128: [0.2, 0.0, 0.3]})
    plain = by_length({16: [1.0, 1.0, 1.0], 32: [0.5, 0.6, 0.7]})
    results = made_up({"none": baseline, "layernorm": norm, "standardization": plain}, tmp_path)
    assert read.differences(results, "argmax", "layernorm", "none", "accuracy", 32) == (
        pytest.approx([0.03, 0.05])
    )
    first, second, *others = table_accuracy.evidence(results, "argmax")
    assert first.decides
    assert (first.estimate.mean, first.estimate.count) == (pytest.approx(0.04), 2)
    assert "128 items" in second.effect
    assert second.estimate.mean == pytest.approx(0.15)
    assert not any(finding.decides for finding in others)


def test_no_seed_that_learned_leaves_the_claim_undecided(tmp_path: Path) -> None:
    useless = {2**power: [0.1, 0.1] for power in range(4, 15)}
    results = made_up(dict.fromkeys(VARIANTS, useless), tmp_path)
    assert all(finding.outcome == "undecided" for finding in table_ablation.evidence(results))


@pytest.mark.slow
def test_the_ablation_runs_whole(tmp_path: Path) -> None:
    done = reproduce(
        [CLAIMS["vanishing-variance/table-ablation"]], "quick", tmp_path, ["test"], lambda p: None
    )
    assert len(done.folders) == len(TASKS) * len(VARIANTS)
    assert len(done.tables) == 2 * len(TASKS)
