"""What the claims on formal languages read out of the tables of runs."""

import numpy as np
import polars

from lengthwise.claims import Finding, Results, estimate
from lengthwise.claims.readings import (
    SMALLEST_FACTOR,
    alive,
    by_seed,
    chosen_on_other_seeds,
    weights_in_words,
)
from lengthwise.papers.whats_missing.languages.plan import LANGUAGES

MEASURES = {"tvd": "mean TVD", "illegal_mass": "mean illegal mass"}

LEARNED = 0.1
"""A model counts only if its mean TVD up to the training length is at most this. Ours."""


def curves(results: Results, run: str, measure: str, kind: str = "raw") -> polars.DataFrame:
    """One measure by seed and length."""
    rows = alive(results.tables[run], measure).filter(weights_in_words() == kind)
    return rows.select("seed", "length", "value").sort("seed", "length")


def learned(results: Results, run: str) -> set[int]:
    """The seeds whose model learned its training lengths."""
    within = polars.col("length") <= results.recipe.max_train_length
    found = by_seed(curves(results, run, "tvd").filter(within))
    return {seed for seed, value in found.items() if value <= LEARNED}


def beyond(results: Results, run: str, measure: str, kind: str = "raw") -> dict[int, float]:
    """A measure over all lengths beyond the training length, by seed, of models that learned."""
    longer = polars.col("length") > results.recipe.max_train_length
    found = by_seed(curves(results, run, measure, kind).filter(longer))
    counts = learned(results, run)
    return {seed: value for seed, value in found.items() if seed in counts}


def averaged(results: Results, run: str, measure: str) -> dict[int, float]:
    """The same with EMA, of the power that is best over all other seeds."""
    longer = polars.col("length") > results.recipe.max_train_length
    rows = alive(results.tables[run], measure).filter(longer).with_columns(kind=weights_in_words())
    means = rows.group_by("seed", "kind", maintain_order=True).agg(polars.col("value").mean())
    counts = learned(results, run)
    kept = means.filter(polars.col("seed").is_in(list(counts)), polars.col("kind") != "raw")
    return by_seed(chosen_on_other_seeds(kept, "EMA")) if len(kept) else {}


def ratios(above: dict[str, dict[int, float]], below: dict[str, dict[int, float]]) -> list[float]:
    """Log ratios by seed, each the mean over the languages that both have at this seed."""
    seeds: dict[int, list[float]] = {}
    for language in LANGUAGES:
        ours, theirs = above[language], below[language]
        for seed in ours.keys() & theirs.keys():
            seeds.setdefault(seed, []).append(float(np.log(ours[seed] / theirs[seed])))
    return [float(np.mean(seeds[seed])) for seed in sorted(seeds)]


def lowered(
    effect: str, above: dict[str, dict[int, float]], below: dict[str, dict[int, float]],
    *, decides: bool = True,
) -> list[Finding]:  # fmt: skip
    """How many times lower a measure is, over all languages; each on its own is shown."""
    every = estimate(ratios(above, below)).exp()
    alone = (
        Finding(
            f"{effect}, {LANGUAGES[one][0]}",
            estimate(
                [
                    float(np.log(above[one][seed] / below[one][seed]))
                    for seed in sorted(above[one].keys() & below[one].keys())
                ]
            ).exp(),
            SMALLEST_FACTOR,
            decides=False,
        )
        for one in LANGUAGES
    )
    return [Finding(f"{effect}, all languages", every, SMALLEST_FACTOR, decides), *alone]
