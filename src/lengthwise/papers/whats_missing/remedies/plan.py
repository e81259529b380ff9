"""The runs behind the claims about remedies."""

from lengthwise.claims import PlannedRun, Scale
from lengthwise.claims.readings import BIAS_POWERS, EMA_POWERS
from lengthwise.models import MinimalModel
from lengthwise.runs import recipe_for
from lengthwise.training import Hyperparameters

SEEDS_AND_STEPS: dict[Scale, tuple[int, int]] = {
    "quick": (12, 8_000),
    "laptop": (32, 32_000),
    "paper": (64, 128_000),
}
"""The paper gives neither. Ours."""


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """Two runs, paired by seed: no remedy, and LayerNorm after attention.

    The averages of both come from the same runs.
    """
    seeds, steps = SEEDS_AND_STEPS[scale]
    models = tuple(
        Hyperparameters(seed=seed, ema_powers=EMA_POWERS, bias_powers=BIAS_POWERS)
        for seed in range(seeds)
    )
    return {
        label: PlannedRun(
            recipe_for("set-complement", MinimalModel(remedies=remedies), steps=steps), models
        )
        for label, remedies in (("baseline", ()), ("norm", ("layernorm",)))
    }
