"""Claim: BEMA helps less where the learning rate falls, and the picture of it.

An average of weights takes out the noise of large steps; a learning rate that falls does so too.
Rules, rates and seeds were written down here before any of these seeds was read.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
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
    drawing,
    estimate,
    once,
)
from lengthwise.claims.readings import (
    BIAS_POWERS,
    EMA_POWERS,
    SMALLEST_FACTOR,
    alive,
    by_seed,
    chosen_on_other_seeds,
    log_ratios,
    paired_ratio,
    weights_in_words,
)
from lengthwise.models import MinimalModel
from lengthwise.papers.whats_missing import V1
from lengthwise.report.style import COLOURS, Axes, Figure, new_panels
from lengthwise.runs import recipe_for
from lengthwise.training import Hyperparameters

FRACTIONS = (1.0, 0.5, 0.2, 0.1, 0.03, 0.01, 0.0)
"""What is left of the learning rate at the end of its cosine: all of it to nothing."""

CONSTANT, FALLEN = FRACTIONS[0], FRACTIONS[-1]

FIRST_SEED = 3000

AVERAGES = {"EMA": ("green", "^"), "BEMA": ("blue", "s")}
"""How the averages are drawn."""


class Size(NamedTuple):
    """How much is trained. Ours."""

    seeds: int
    steps: int


SIZES: dict[Scale, Size] = {
    "quick": Size(3, 300),
    "laptop": Size(16, 8_000),
    "paper": Size(64, 128_000),
}


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """A run per schedule, paired by seed."""
    size = SIZES[scale]
    recipe = recipe_for("set-complement", MinimalModel(), steps=size.steps)
    return {
        label(fraction): PlannedRun(
            recipe,
            tuple(
                Hyperparameters(
                    seed=seed,
                    final_lr_fraction=fraction,
                    ema_powers=EMA_POWERS,
                    bias_powers=BIAS_POWERS,
                )
                for seed in range(FIRST_SEED, FIRST_SEED + size.seeds)
            ),
        )
        for fraction in FRACTIONS
    }


def label(fraction: float) -> str:
    """The label of a run."""
    return f"ends-at-{fraction:g}"


@once
def beyond(results: Results, fraction: float) -> polars.DataFrame:
    """Mean TVD beyond the training length: columns `seed`, `kind` (weights in words), `value`."""
    rows = alive(results.tables[label(fraction)], "tvd")
    longer = rows.filter(polars.col("length") > results.recipe.max_train_length)
    groups = longer.with_columns(kind=weights_in_words()).group_by("seed", "kind")
    return groups.agg(polars.col("value").mean()).sort("seed", "kind")


def raw(results: Results, fraction: float) -> dict[int, float]:
    """TVD of the weights as they are, by seed."""
    return by_seed(beyond(results, fraction).filter(polars.col("kind") == "raw"))


def averaged(results: Results, fraction: float, average: str) -> dict[int, float]:
    """TVD of the average with the powers that are best on the other seeds, by seed."""
    return by_seed(chosen_on_other_seeds(beyond(results, fraction), average))


def gain(results: Results, fraction: float, average: str) -> Estimate:
    """How many times lower TVD is with the average."""
    return paired_ratio(raw(results, fraction), averaged(results, fraction, average))


def lost(results: Results) -> Estimate:
    """The gain of BEMA at a constant rate over that at one that falls to nothing, by seed."""
    logs = [
        dict(zip(sorted(raws.keys() & bemas.keys()), log_ratios(raws, bemas), strict=True))
        for raws, bemas in (
            (raw(results, one), averaged(results, one, "BEMA")) for one in (CONSTANT, FALLEN)
        )
    ]
    seeds = sorted(logs[0].keys() & logs[1].keys())
    return estimate([logs[0][seed] - logs[1][seed] for seed in seeds]).exp()


def evidence(results: Results) -> list[Finding]:
    """What BEMA loses by the fall decides; the gains of all schedules are shown."""
    whole = "mean TVD beyond the training length"
    shown = [
        Finding(
            f"{whole}, raw / {average}, learning rate {ending(fraction)}",
            gain(results, fraction, average),
            SMALLEST_FACTOR,
            decides=False,
        )
        for fraction in FRACTIONS
        for average in AVERAGES
    ]
    return [
        Finding(
            "how many times larger BEMA's gain is where the learning rate stays than where it "
            "falls to 0, powers chosen on other seeds",
            lost(results),
            SMALLEST_FACTOR,
        ),
        Finding(
            f"{whole}, raw with a rate that falls to 0 / BEMA with a constant one",
            paired_ratio(raw(results, FALLEN), averaged(results, CONSTANT, "BEMA")),
            SMALLEST_FACTOR,
            decides=False,
        ),
        *shown,
    ]


def ending(fraction: float) -> str:
    """A schedule in words."""
    return "constant" if fraction == CONSTANT else f"falls to {fraction:g} of itself"


@drawing(
    "schedule",
    "Left: how many times lower TVD beyond the training length is with an average of the weights, "
    "by what is left of the learning rate at the end; powers chosen on other seeds, 95 % bands. "
    "Right: the same TVD itself.",
    "Gain of EMA and BEMA, and TVD, by how far the learning rate falls",
)
def figure(results: Results) -> Figure:
    """Gains and TVD by schedule."""
    figure, (gains, levels) = new_panels(9.6, 4.0, 1, 2)
    places = range(len(FRACTIONS))
    for average, (colour, marker) in AVERAGES.items():
        found = [gain(results, fraction, average) for fraction in FRACTIONS]
        _band(gains, found, average, colour, marker)
        means = [averaged(results, fraction, average) for fraction in FRACTIONS]
        _band(levels, [_mean(one) for one in means], average, colour, marker)
    raws = [_mean(raw(results, fraction)) for fraction in FRACTIONS]
    _band(levels, raws, "raw weights", "orange", "o")
    gains.axhline(1.0, ls=":", color=COLOURS["grey"], lw=1.2)
    gains.set_ylabel("TVD raw / averaged (above 1: helps)")
    levels.set_ylabel("mean TVD beyond the training length")
    levels.set_ylim(0, None)
    for axes in (gains, levels):
        axes.set_xticks(places, labels=[f"{fraction:g}" for fraction in FRACTIONS])
        axes.set_xlabel("learning rate at the end / at the start")
        axes.legend()
    return figure


def _band(axes: Axes, found: Sequence[Estimate], name: str, colour: str, marker: str) -> None:
    places = np.arange(len(found))
    axes.plot(
        places, [one.mean for one in found], color=COLOURS[colour], marker=marker, markersize=5,
        label=name,
    )  # fmt: skip
    low, high = [one.low for one in found], [one.high for one in found]
    axes.fill_between(places, low, high, color=COLOURS[colour], alpha=0.15, lw=0)


def _mean(values: dict[int, float]) -> Estimate:
    return estimate(list(values.values()))


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    recipe, models = results.recipe, results.plan[label(CONSTANT)].hyperparameters
    return Section(
        title="What averages are worth where the learning rate falls",
        introduction=(
            "Minimal transformers are trained on set complement with learning rates that fall "
            "along a cosine to some part of what they were, the same data and initial weights at "
            f"every seed. Inputs have up to {recipe.max_train_length} tokens in training and up to "
            f"{recipe.task.lengths[-1]} in tests."
        ),
        pictures=[],
        notes=[
            "BEMA and EMA are the papers'; schedules, sizes, steps and seeds are ours: "
            f"{recipe.steps} steps of {recipe.batch} inputs at {models[0].learning_rate:g}, seeds "
            f"{models[0].seed} to {models[-1].seed}. Powers are chosen on the other seeds of the "
            "same schedule.",
        ],
    )


SCHEDULE = Claim(
    name="whats-missing/schedule",
    sentence="BEMA helps models whose learning rate stays more than those whose rate falls to 0.",
    source=f"a question that {V1}, EMA stabilization, leaves open; ours",
    experiment=Experiment("set-complement-schedule", plan, section),
    evidence=evidence,
    drawings=(figure,),
    place=25,
)
