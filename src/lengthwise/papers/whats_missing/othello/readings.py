"""What the claims about Othello read: TVD by gap, and powers that are chosen without peeking."""

from collections.abc import Sequence
from typing import NamedTuple

import polars

from lengthwise.claims import Estimate, Results, estimate
from lengthwise.papers.whats_missing.kinds import kind_of_weights
from lengthwise.papers.whats_missing.othello import PLAIN, arms_of
from lengthwise.runs import OthelloRecipe

SMALLEST_FACTOR = 1.05
"""A change of TVD by less than 5 % would not matter. Ours."""

DEFAULT = "BEMA 0.5 0.2"
"""BEMA at its own paper's powers (arXiv 2508.00180)."""


def recipe_of(results: Results) -> OthelloRecipe:
    """The recipe of all runs, but for the positions."""
    recipe = next(iter(results.plan.values())).recipe
    assert isinstance(recipe, OthelloRecipe)
    return recipe


def readings(results: Results, measure: str = "tvd") -> polars.DataFrame:
    """One measure of all models that did not diverge.

    Columns: `arm`, `seed`, `kind` ("raw", "EMA 0.5", "BEMA 0.5 0.2" ...), `length`, `gap` (moves
    beyond those seen in training; 0 and less are within), `value`, `inputs`.
    """
    pieces = []
    for label, table in results.tables.items():
        arms = arms_of(results.plan[label])
        names = polars.DataFrame({"model": range(len(arms)), "arm": arms})
        pieces.append(table.join(names, on="model"))
    return (
        polars.concat(pieces)
        .filter(polars.col("measure") == measure, polars.col("diverged").is_null())
        .with_columns(
            kind=kind_of_weights(), gap=polars.col("length") - recipe_of(results).train_length
        )
        .select("arm", "seed", "kind", "length", "gap", "value", "inputs")
        .sort("arm", "seed", "kind", "length")
    )


class Gaps(NamedTuple):
    """A range of gaps, in words and as its bounds; None is no bound."""

    words: str
    least: int | None
    most: int | None


WITHIN = Gaps("within the training length", None, 0)
BEYOND = Gaps("beyond the training length", 1, None)
NEAR, FAR = Gaps("gaps 1 to 4", 1, 4), Gaps("gaps from 5 on", 5, None)
"""Where near ends is ours."""


def over(table: polars.DataFrame, gaps: Gaps = BEYOND) -> polars.DataFrame:
    """Mean over a range of gaps, in a row per arm, seed and kind."""
    gap = polars.col("gap")
    if gaps.least is not None:
        table = table.filter(gap >= gaps.least)
    if gaps.most is not None:
        table = table.filter(gap <= gaps.most)
    groups = table.group_by("arm", "seed", "kind", maintain_order=True)
    return groups.agg(polars.col("value").mean())


def of_arms(table: polars.DataFrame, arms: Sequence[str] = tuple(PLAIN)) -> polars.DataFrame:
    """The rows of some arms, by default those that the claims rest on."""
    return table.filter(polars.col("arm").is_in(list(arms)))


def ratios(above: polars.DataFrame, below: polars.DataFrame) -> Estimate:
    """How many times lower `value` is in `below`, seed by seed: geometric means of ratios.

    Both have one row per arm and seed. Models of one seed share their data and initial weights, so
    a seed counts once, with the mean over its arms.
    """
    pairs = above.join(below, on=["arm", "seed"], suffix="_below")
    logs = pairs.with_columns(log=(polars.col("value") / polars.col("value_below")).log())
    means = logs.group_by("seed", maintain_order=True).agg(polars.col("log").mean())
    return estimate(means["log"].to_list()).exp()


def of_kind(table: polars.DataFrame, kind: str) -> polars.DataFrame:
    """The rows of one kind of weights."""
    return table.filter(polars.col("kind") == kind).drop("kind")


def best_kind(table: polars.DataFrame, prefix: str) -> str:
    """The powers of "EMA" or "BEMA" with the least geometric mean of `value`."""
    own = table.filter(polars.col("kind").str.starts_with(f"{prefix} "))
    means = own.group_by("kind").agg(polars.col("value").log().mean()).sort("value", "kind")
    return str(means["kind"][0])


def chosen(table: polars.DataFrame, prefix: str) -> polars.DataFrame:
    """Every seed with the powers that are best over all other seeds.

    What is chosen by its numbers must not be judged by the same numbers.
    """
    pieces = []
    for seed in table["seed"].unique().sort():
        others = table.filter(polars.col("seed") != seed)
        kind = best_kind(others if len(others) else table, prefix)
        pieces.append(of_kind(table.filter(polars.col("seed") == seed), kind))
    return polars.concat(pieces)
