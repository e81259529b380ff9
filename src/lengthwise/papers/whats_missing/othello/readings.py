"""What the claims about Othello read: TVD by gap, and what a guess would get."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import polars

from lengthwise.claims import Estimate, Results, once
from lengthwise.claims.readings import alive, by_seed, paired_ratio, weights_in_words
from lengthwise.measures.distribution import total_variation
from lengthwise.papers.whats_missing.othello.plan import PLAIN, variants_of

GUESSES = 512
"""Games over which the guess is measured that the figure shows."""


@once
def readings(results: Results, measure: str = "tvd") -> polars.DataFrame:
    """One measure of all models that did not diverge.

    Columns: `variant`, `seed`, `kind` ("raw", "EMA 0.5", "BEMA 0.5 0.2" ...), `length`, `gap`
    (moves beyond those seen in training; 0 and less are within), `value`, `inputs`.
    """
    pieces = []
    for label, table in results.tables.items():
        variants = variants_of(results.plan[label])
        names = polars.DataFrame({"model": range(len(variants)), "variant": variants})
        pieces.append(alive(table, measure).join(names, on="model"))
    columns = ("variant", "seed", "kind", "length", "gap", "value", "inputs")
    gap = polars.col("length") - results.recipe.max_train_length
    table = polars.concat(pieces).with_columns(kind=weights_in_words(), gap=gap)
    return table.select(columns).sort(columns[:4])


class Gaps(NamedTuple):
    """A range of gaps, in words and as its bounds."""

    words: str
    least: float
    most: float


WITHIN = Gaps("within the training length", -math.inf, 0)
BEYOND = Gaps("beyond the training length", 1, math.inf)
NEAR, FAR = Gaps("gaps 1 to 4", 1, 4), Gaps("gaps from 5 on", 5, math.inf)
"""Where near ends is ours."""


def over(table: polars.DataFrame, gaps: Gaps = BEYOND) -> polars.DataFrame:
    """Mean over a range of gaps, in a row per variant, seed and kind."""
    own = table.filter(polars.col("gap").is_between(gaps.least, gaps.most))
    groups = own.group_by("variant", "seed", "kind", maintain_order=True)
    return groups.agg(polars.col("value").mean())


def of_variants(
    table: polars.DataFrame, variants: Sequence[str] = tuple(PLAIN)
) -> polars.DataFrame:
    """The rows of some variants, by default those that the claims rest on."""
    return table.filter(polars.col("variant").is_in(list(variants)))


def of_kind(table: polars.DataFrame, kind: str) -> polars.DataFrame:
    """The rows of one kind of weights."""
    return table.filter(polars.col("kind") == kind).drop("kind")


def ratios(above: polars.DataFrame, below: polars.DataFrame) -> Estimate:
    """How many times lower `value` is in `below`, seed by seed: geometric means of ratios.

    Both have one row per variant and seed. Models of one seed share their data and initial weights,
    so a seed counts once, with the mean over its variants.
    """
    pairs = above.join(below, on=["variant", "seed"], suffix="_below")
    logs = (by_seed(pairs.select("seed", polars.col(c).log().alias("value")))
            for c in ("value", "value_below"))  # fmt: skip
    upper, lower = ({seed: math.exp(log) for seed, log in one.items()} for one in logs)
    return paired_ratio(upper, lower)


@once
def guess(results: Results) -> dict[int, float]:
    """TVD by length of one who knows only which squares are empty, and guesses among them."""
    import torch

    from lengthwise.randomness import address

    games = results.recipe.task.held_out()
    tokens = games.draw(torch.tensor(address("guess")), games.lengths[-1], GUESSES).inputs
    target = games.targets(tokens)
    played = torch.nn.functional.one_hot(tokens, games.classes).cumsum(-2)
    played[..., -1] = 1  # the padding is no square
    logits = torch.zeros(target.shape).masked_fill(played > 0, -math.inf)
    asked = target.sum(-1) > 0
    values = total_variation(logits, target).nan_to_num().where(asked, torch.zeros(()))
    means = values.sum(0) / asked.sum(0).clamp(min=1)
    return {
        length: float(mean)
        for length, mean, count in zip(games.lengths, means, asked.sum(0), strict=True)
        if count
    }
