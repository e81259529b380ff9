"""The runs behind the claims on the grid: a fleet of rates and seeds per variant and width."""

from typing import NamedTuple

from lengthwise.claims import PlannedRun, Scale
from lengthwise.models import GPTModel
from lengthwise.runs import recipe_for
from lengthwise.tasks.majority import Mode
from lengthwise.training import Hyperparameters


class Variant(NamedTuple):
    """What attention is."""

    title: str
    remedies: tuple[str, ...]


NAP, MTE, SOFTMAX = "nap", "mte", "softmax"

VARIANTS = {
    NAP: Variant("NAP", ("nap", "layernorm")),
    MTE: Variant("softmax with norms (MTE)", ("mte", "layernorm")),
    SOFTMAX: Variant("softmax", ("none",)),
}
"""The first two as the paper has them: norm and GELU before W_O, a norm after it. The third is an
ordinary layer without a norm after attention (the paper's BERT layout is not here)."""


class Size(NamedTuple):
    """How much is trained and measured."""

    widths: tuple[int, ...]
    powers: tuple[int, ...]
    """Learning rates are 0.3 to these powers, as in the paper."""
    seeds: tuple[int, ...]
    steps: int
    length: int
    """Of all inputs of training; tests have it once and twice."""
    layers: int
    symbols: int
    test_inputs: int


SIZES: dict[Scale, Size] = {
    "quick": Size((8,), (3, 5), (0, 1), 100, 8, 1, 3, 128),
    "laptop": Size((8, 16, 32), (2, 3, 4, 5, 6, 7), (0, 1, 2, 3), 1000, 32, 1, 5, 1024),
    "paper": Size((8, 16, 32, 64, 128, 256, 512, 1024), tuple(range(1, 11)), (0, 1, 2, 3, 4), 3200,
                  128, 2, 10, 4096),
}  # fmt: skip
"""The paper has 2 layers, 4 heads, 3200 steps of 32 strings of 128 symbols out of ten, widths 8 to
1024, ten rates and five seeds. The other sizes are ours. (A pilot on seed 100 with ten symbols and
two layers learned too little in 600 steps, 0.7 at best; then symbols and layers became fewer.)"""

HEADS = 4


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """All variants at all widths; a model is paired with those of its width, rate and seed."""
    size = SIZES[scale]
    models = tuple(
        Hyperparameters(
            seed=seed, learning_rate=0.3**power, final_lr_fraction=0.0, warmup=0, grad_clip=0.0,
            ema_powers=(), bias_powers=(),
        )
        for power in size.powers
        for seed in size.seeds
    )  # fmt: skip
    return {
        label(variant, width): PlannedRun(
            recipe_for(
                Mode(longest=2 * size.length, symbols=size.symbols),
                GPTModel(layers=size.layers, heads=HEADS, width=width, remedies=made.remedies),
                min_train_length=None,
                max_train_length=size.length,
                test_lengths=(size.length, 2 * size.length),
                test_inputs=size.test_inputs,
                steps=size.steps,
                batch=32,
            ),
            models,
        )
        for variant, made in VARIANTS.items()
        for width in size.widths
    }


def label(variant: str, width: int) -> str:
    """The label of a run."""
    return f"{variant}-{width}"
