"""The search space of the set complement task. Its names are the paper's, its ranges are ours."""

from lengthwise.runs import recipe_for
from lengthwise.search.distributions import Choice, LogUniform, Sometimes, Uniform
from lengthwise.search.space import Space

EMA_POWERS = (0.5, 0.7, 0.9)
BIAS_POWERS = (0.2, 0.4, 0.6)
"""Every trial is measured raw, and for all pairs of these powers, out of one training."""

DROPOUTS = ("embed_dropout", "attention_dropout", "resid_dropout")
"""The sites of dropout, as hyper-parameters."""

STREAMS = {
    "max_train_length": "train_length",
    "model.extra_width": "extra",
    "model.remedies": "norm",
    "final_lr_fraction": "final_rate",
    "embed_dropout": "dropout_embedding",
    "attention_dropout": "dropout_weights",
    "resid_dropout": "dropout_output",
}
"""What these were called when the committed search was run: its trials are still the same."""


def set_complement_space() -> Space:
    """Minimal transformers of 16 tokens: gap, width, norm, dropout by site, training.

    Few values of what makes a fleet's shape, so that fleets are full. Trials come in pairs of
    twins that differ in the norm or in one dropout alone.
    """
    dropout = Sometimes(Uniform(0.0, 0.3))
    return Space(
        recipe_for("set-complement", batch=16, test_inputs=512),
        {
            "max_train_length": Choice(3, 6, 10),
            "model.extra_width": Choice(0, 5, 17),
            "model.remedies": Choice((), ("layernorm",)),
            "steps": Choice(1000, 8000, weights=(3, 1)),
            "learning_rate": LogUniform(5e-4, 2e-2),
            "final_lr_fraction": Choice(1.0, 0.0),
            "weight_decay": Sometimes(LogUniform(1e-3, 1.0)),
            "loss": Choice("sampled", "soft"),
            "embed_dropout": dropout,
            "attention_dropout": dropout,
            "resid_dropout": dropout,
            "ema_powers": EMA_POWERS,
            "bias_powers": BIAS_POWERS,
        },
        twins=("model.remedies", *DROPOUTS),
        streams=STREAMS,
    )
