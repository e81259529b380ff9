"""A claim of one's own: ALiBi helps a small GPT with inputs that are longer than in training."""

import polars
from matplotlib.figure import Figure

from lengthwise import Hyperparameters, recipe_for
from lengthwise.claims import (
    Claim,
    Drawing,
    Experiment,
    Finding,
    PlannedRun,
    Results,
    Scale,
    Section,
)
from lengthwise.claims.readings import SMALLEST_FACTOR, alive, by_seed, paired_ratio
from lengthwise.models import GPTModel
from lengthwise.report.lengths import Curve, figure_by_length
from lengthwise.report.style import COLOURS
from lengthwise.tasks import SetComplement

VARIANTS = {"learned": COLOURS["orange"], "alibi": COLOURS["blue"]}
"""Positions that are compared, and how they are drawn."""

SEEDS_AND_STEPS: dict[Scale, tuple[int, int]] = {
    "quick": (3, 300),
    "laptop": (8, 2_000),
    "paper": (32, 10_000),
}


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """One run per variant; models of the same seed see the same data."""
    seeds, steps = SEEDS_AND_STEPS[scale]
    models = tuple(Hyperparameters(seed=seed, loss="soft", ema_powers=()) for seed in range(seeds))
    settings = {"max_train_length": 4, "steps": steps, "batch": 16, "test_inputs": 200}
    return {
        variant: PlannedRun(
            recipe_for(
                SetComplement(vocab=10),
                GPTModel(layers=1, heads=2, width=16, remedies=(variant,)),
                **settings,
            ),
            models,
        )
        for variant in VARIANTS
    }


def tvd(results: Results, variant: str) -> polars.DataFrame:
    """TVD by seed and length."""
    return alive(results.tables[variant], "tvd").select("seed", "length", "value")


def evidence(results: Results) -> list[Finding]:
    """Compare models of the same seed at the lengths that training never saw."""
    longer = polars.col("length") > results.recipe.max_train_length
    learned, alibi = (by_seed(tvd(results, variant).filter(longer)) for variant in VARIANTS)
    return [
        Finding(
            "mean TVD beyond the training length, learned positions / ALiBi",
            paired_ratio(learned, alibi),
            SMALLEST_FACTOR,
        )
    ]


def figure(results: Results) -> Figure:
    """TVD against length for every variant."""
    curves = {variant: Curve(tvd(results, variant), VARIANTS[variant]) for variant in VARIANTS}
    recipe = results.recipe
    lengths = recipe.task.lengths
    return figure_by_length(curves, recipe.max_train_length, lengths, "TVD", "Positions in a GPT")


def section(results: Results) -> Section:
    """What the page says about the experiment."""
    steps = results.recipe.steps
    return Section(
        title="ALiBi in a small GPT",
        introduction="A GPT of one layer names a token that it has not seen yet, out of ten.",
        pictures=[],
        notes=[f"All sizes are ours: {steps} steps, trained on up to 4 tokens, tested on up to 9."],
    )


ALIBI = Claim(
    name="mine/alibi",
    sentence="ALiBi lowers TVD beyond the training length of a small GPT.",
    source="Ours",
    experiment=Experiment("my-alibi", plan, section),
    evidence=evidence,
    drawings=(
        Drawing(
            "alibi",
            figure,
            "Total variation distance from the exact answer, mean over seeds with 95 % bands.",
            "TVD against input length with learned positions and with ALiBi",
        ),
    ),
)
