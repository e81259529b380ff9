"""The runs behind figures 3 to 5: GPTs that see the first moves of Othello games."""

from dataclasses import replace
from typing import Literal, NamedTuple, get_args

from lengthwise.claims import PlannedRun, Scale
from lengthwise.models import GPTModel
from lengthwise.models.gpt import SIZES
from lengthwise.runs import default_hyperparameters, recipe_for
from lengthwise.tasks import Othello

EMA_POWERS = (0.3, 0.5, 0.7, 0.9)
BIAS_POWERS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
"""The grid of figure 4, all of it read out of each run. Ours."""

DROPOUTS = (0.0, 0.1, 0.3)
"""Rates of embedding dropout: without, the original's, and more. Ours."""


Positions = Literal["learned", "offset"]


class Variant(NamedTuple):
    """One way of training."""

    title: str
    dropout: float
    """Dropout of the embedding; there is no other."""
    final_lr_fraction: float = 1.0
    positions: Positions = "learned"


PLAIN = {f"dropout {rate:g}": Variant(f"embedding dropout {rate:g}", rate) for rate in DROPOUTS}
"""What the claims rest on: learned positions, as in GPT-1, and a constant learning rate."""

DECAYED, OFFSET = "decayed", "offset"

VARIANTS = {
    **PLAIN,
    DECAYED: Variant("learning rate decayed to 0", 0.0, final_lr_fraction=0.0),
    OFFSET: Variant("positions with random offset", 0.1, positions="offset"),
}
"""With two more, to see whether BEMA still helps a learning rate that falls, and a model all of
whose positions were trained. Ours."""


class Scaled(NamedTuple):
    """How much is trained. The paper gives none of it: ours."""

    board: int
    train_moves: int
    size: Literal["original", "small", "tiny"]
    seeds: int
    steps: int
    batch: int
    learning_rate: float
    test_inputs: int
    device: str = "cpu"


SCALES: dict[Scale, Scaled] = {
    "quick": Scaled(6, 17, "tiny", 3, 600, 64, 2e-3, 256),
    "laptop": Scaled(6, 17, "tiny", 5, 12_000, 64, 2e-3, 1024),
    "paper": Scaled(8, 30, "original", 8, 100_000, 512, 5e-4, 4096, "cuda"),
}

FIRST_SEED = 1
"""Seed 0 served to find sizes and rates, so the verdicts rest on others."""


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """A run per kind of positions, a fleet per seed, with the variants that differ in the rest."""
    return planned(SCALES[scale], FIRST_SEED)


def planned(size: Scaled, first_seed: int) -> dict[str, PlannedRun]:
    """The same at a size of one's own."""
    return {positions: _planned(size, first_seed, positions) for positions in get_args(Positions)}


def variants_of(run: PlannedRun) -> list[str]:
    """The variant of each model of a run."""
    own = [n for n, one in VARIANTS.items() if (one.positions,) == run.recipe.model.remedies]
    return own * (len(run.hyperparameters) // len(own))


def _planned(size: Scaled, first_seed: int, positions: Positions) -> PlannedRun:
    recipe = recipe_for(
        Othello(size.board),
        GPTModel(**SIZES[size.size]._asdict(), remedies=(positions,)),
        max_train_length=size.train_moves - 1,  # the last move of training is only an answer
        steps=size.steps,
        batch=size.batch,
        test_inputs=size.test_inputs,
        device=size.device,
    )
    models = tuple(
        replace(
            default_hyperparameters(Othello),
            seed=first_seed,
            learning_rate=size.learning_rate,
            final_lr_fraction=variant.final_lr_fraction,
            embed_dropout=variant.dropout,
            attention_dropout=0.0,
            resid_dropout=0.0,
            ema_powers=EMA_POWERS,
            bias_powers=BIAS_POWERS,
        )
        for variant in VARIANTS.values()
        if variant.positions == positions
    )
    return PlannedRun(recipe, models, fleets=size.seeds)
