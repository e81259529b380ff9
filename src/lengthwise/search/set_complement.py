"""The search space of the set complement task. Its names are the paper's, its ranges are ours."""

from lengthwise.runs import SetComplementRecipe
from lengthwise.search.distributions import Choice, LogUniform, Sometimes, Uniform
from lengthwise.search.space import Space

EMA_POWERS = (0.5, 0.7, 0.9)
BIAS_POWERS = (0.2, 0.4, 0.6)
"""Every trial is measured raw, and for all pairs of these powers, out of one training."""

DROPOUTS = ("dropout_embedding", "dropout_weights", "dropout_output")
"""The sites of dropout, as hyper-parameters."""


def set_complement_space() -> Space:
    """Minimal transformers of 16 tokens: gap, width, norm, dropout by site, training.

    Few values of what makes a fleet's shape, so that fleets are full. Trials come in pairs of
    twins that differ in the norm or in one dropout alone.
    """
    dropout = Sometimes(Uniform(0.0, 0.3))
    return Space(
        SetComplementRecipe(),
        {
            "train_length": Choice(3, 6, 10),
            "extra": Choice(0, 5, 17),
            "norm": Choice("none", "layernorm"),
            "steps": Choice(1000, 8000, weights=(3, 1)),
            "learning_rate": LogUniform(5e-4, 2e-2),
            "final_rate": Choice(1.0, 0.0),
            "weight_decay": Sometimes(LogUniform(1e-3, 1.0)),
            "loss": Choice("drawn", "exact"),
            "dropout_embedding": dropout,
            "dropout_weights": dropout,
            "dropout_output": dropout,
            "ema_powers": EMA_POWERS,
            "bias_powers": BIAS_POWERS,
            "batch": 16,
            "test_inputs": 512,
        },
        twins=("norm", *DROPOUTS),
    )
