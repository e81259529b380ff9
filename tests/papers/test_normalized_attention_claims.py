"""NAP as claims: the rule for shares, the noise law, and the whole at quick scale."""

from pathlib import Path

import numpy as np
import polars
import pytest
import torch

from lengthwise.claims import Reproduction, Results, reproduce
from lengthwise.papers import CLAIMS, find_claims
from lengthwise.papers.normalized_attention.grid import readings as read
from lengthwise.papers.normalized_attention.grid.plan import MTE, NAP, SIZES, SOFTMAX, label, plan
from lengthwise.papers.normalized_attention.noise import readings as noise


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    claims = find_claims("normalized-attention")
    return reproduce(claims, "quick", tmp_path_factory.mktemp("nap"))


def test_every_claim_is_judged_with_pictures_and_tables(quick: Reproduction) -> None:
    assert [verdict.claim.name.split("/")[1] for verdict in quick.verdicts] == [
        *("share", "share-at-twice", "norms", "spread", "noise-law")
    ]
    for verdict in quick.verdicts:
        assert any(finding.decides for finding in verdict.findings)
    assert [picture.name for picture in quick.pictures] == ["grid", "noise-law"]
    (table,) = quick.tables
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_the_law_needs_no_training(quick: Reproduction) -> None:
    assert [verdict.outcome for verdict in quick.verdicts[3:]] == ["holds", "holds"]


def made_up(good: dict[str, int], tmp_path: Path) -> Results:
    """Results in which so many models of every seed are good, and the longer length is worse."""
    size, runs = SIZES["laptop"], plan("laptop")
    tables = {}
    for variant, many in good.items():
        for place, width in enumerate(size.widths):
            rows = []
            for model in range(len(size.powers) * len(size.seeds)):
                cell = place * len(size.powers) + model // len(size.seeds)
                for times in (1, 2):
                    value = 0.95 if cell < many // times + model % 2 * (times - 1) else 0.3
                    rows.append((model, times * size.length, read.MEASURE, value))
            frame = polars.DataFrame(
                rows, schema=["model", "length", "measure", "value"], orient="row"
            )
            tables[label(variant, width)] = frame.with_columns(
                diverged=polars.lit(None, polars.Int64)
            )
    return Results("laptop", runs, tables, tmp_path)


@pytest.mark.parametrize(
    ("nap", "outcome"), [(12, "holds"), (4, "fails"), (8, "fails")]
)  # fmt: skip
def test_more_good_cells_decide(nap: int, outcome: str, tmp_path: Path) -> None:
    results = made_up({NAP: nap, MTE: 8, SOFTMAX: 2}, tmp_path)
    assert CLAIMS["normalized-attention/share"].judge(results).outcome == outcome
    assert CLAIMS["normalized-attention/norms"].judge(results).outcome == "holds"
    assert read.share_of_cells(results, NAP, 1) == pytest.approx(nap / 18)
    assert read.share_by_seed(results, MTE, 1) == pytest.approx(np.full(4, 8 / 18))


def test_a_model_that_diverged_is_not_good(tmp_path: Path) -> None:
    results = made_up({NAP: 18, MTE: 18, SOFTMAX: 18}, tmp_path)
    for run in results.tables:
        table = results.tables[run].with_columns(diverged=polars.lit(5))
        results.tables[run] = table  # type: ignore[index]
    assert read.share_by_seed(results, NAP, 1).tolist() == [0.0] * 4


def test_shares_are_those_of_the_formulas() -> None:
    scores = torch.randn(3, 50)
    expected = (scores - scores.mean(-1, keepdim=True)) / (
        scores.std(-1, correction=0, keepdim=True) + 1e-3
    )
    torch.testing.assert_close(noise.weights("NAP", scores), expected)
    # One key ahead of equal ones, by hand: its weight is sqrt(n - 1), the others' -1/sqrt(n - 1).
    results = Results("quick", {}, {}, Path())
    (share, *_) = noise.found_share(results, "NAP", 0.0, 256)
    assert share == pytest.approx(255 / 256, abs=1e-4)
    (share, *_) = noise.found_share(results, "softmax", 0.0, 256)
    assert share == pytest.approx(np.exp(8) / (np.exp(8) + 255), abs=1e-4)
