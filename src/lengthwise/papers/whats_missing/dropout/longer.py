"""Claim: dropout helps wide models that are trained long, at some site and rate.

Every model with dropout has a twin without, of the same seed. Sites, rates and widths are many:
the best of them is chosen on the other seeds, and read on this one. The rules were written down
before any seed was read: docs/results/set-complement/PLAN.md.
"""

import math
from typing import NamedTuple

import polars

from lengthwise.claims import (
    Claim,
    Estimate,
    Experiment,
    Finding,
    PlannedRun,
    Results,
    Scale,
    Section,
    estimate,
    once,
)
from lengthwise.claims.readings import SMALLEST_FACTOR, alive
from lengthwise.models import MinimalModel
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.search.readings import SITES
from lengthwise.runs import recipe_for
from lengthwise.tasks import SetComplement
from lengthwise.training import Hyperparameters

RATES = (0.02, 0.05, 0.1, 0.2)
FIRST_SEED = 2000


class Size(NamedTuple):
    """How much is trained. Ours."""

    seeds: int
    steps: int
    widths: tuple[int, ...]


SIZES: dict[Scale, Size] = {
    "quick": Size(3, 300, (32,)),
    "laptop": Size(8, 32_000, (32, 64, 128)),
    "paper": Size(32, 128_000, (32, 64, 128)),
}

MODELS = (("", 0.0), *((site, rate) for site in SITES for rate in RATES))
"""The models of a fleet by site and rate of dropout; the first has none."""


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """A run per width, a fleet per seed."""
    size = SIZES[scale]
    plain = {"seed": FIRST_SEED, "ema_powers": (), "bias_powers": ()}
    models = tuple(
        Hyperparameters(**plain, **({site: rate} if site else {}))  # type: ignore[arg-type]
        for site, rate in MODELS
    )
    task = SetComplement()
    return {
        f"width-{width}": PlannedRun(
            recipe_for(task, MinimalModel(extra_width=width - task.classes + 1), steps=size.steps),
            models,
            size.seeds,
        )
        for width in size.widths
    }


@once
def gains(results: Results) -> dict[tuple[str, str, float], dict[int, float]]:
    """Logarithm of TVD beyond without over with dropout, by width, site and rate, then by seed."""
    found: dict[tuple[str, str, float], dict[int, float]] = {}
    for label, table in results.tables.items():
        longer = polars.col("length") > results.recipe.max_train_length
        means = alive(table, "tvd").filter(longer).group_by("model").agg(polars.col("value").mean())
        models = results.plan[label].hyperparameters
        tvd = {
            (MODELS[model % len(MODELS)], models[model].seed): value
            for model, value in means.iter_rows()
        }
        for site, rate in MODELS[1:]:
            found[label, site, rate] = {
                seed: math.log(tvd[MODELS[0], seed] / value)
                for (dropout, seed), value in sorted(tvd.items())
                if dropout == (site, rate) and (MODELS[0], seed) in tvd
            }
    return found


def chosen(results: Results) -> Estimate:
    """The gain of every seed where dropout is best on the other seeds."""
    table = gains(results)
    values = []
    for seed in sorted({seed for own in table.values() for seed in own}):
        means = {}
        for cell, own in table.items():
            others = [value for other, value in own.items() if other != seed]
            if others and seed in own:
                means[cell] = sum(others) / len(others)
        if means:
            values.append(table[max(means, key=means.__getitem__)][seed])
    return estimate(values).exp()


def evidence(results: Results) -> list[Finding]:
    """The best choice decides; every single one is shown, with an interval for as many looks."""
    table = gains(results)
    whole = "mean TVD beyond the training length, without / with dropout"
    return [
        Finding(
            f"{whole}, with width, site and rate chosen on the other seeds",
            chosen(results),
            SMALLEST_FACTOR,
        ),
        *(
            Finding(
                f"{whole} of the {SITES[site]} at {rate:g}, {label.replace('-', ' ')}",
                estimate(list(own.values()), looks=len(table)).exp(),
                SMALLEST_FACTOR,
                decides=False,
            )
            for (label, site, rate), own in table.items()
        ),
    ]


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    recipe = results.recipe
    return Section(
        title="Dropout, where the search did not look",
        introduction=(
            f"Minimal transformers of several widths are trained for {recipe.steps} steps on set "
            f"complement, with dropout at one site or none, on inputs of up to "
            f"{recipe.max_train_length} tokens."
        ),
        pictures=[],
        notes=[
            "Sites, rates, widths and steps are ours. A model with dropout and its twin without "
            "share data and initial weights. Intervals of single sites, rates and widths are "
            "widened for as many looks (Bonferroni).",
        ],
    )


DROPOUT_LONGER = Claim(
    name="whats-missing/dropout-longer",
    sentence=(
        "At its best site, rate and width, dropout lowers the TVD of models that are trained long "
        "beyond the training length."
    ),
    source=f"{V1}, attention dispersion; what the search does not rule out",
    experiment=Experiment("set-complement-dropout", plan, section),
    evidence=evidence,
    place=115,
)
