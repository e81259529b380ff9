"""What may differ from model to model within a fleet. No torch: the command line shows it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from lengthwise.errors import require, require_name


def setting(default: Any, help: str) -> Any:
    """A field whose meaning can be read at run time, so that the command line can show it."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Hyperparameters:
    """The hyper-parameters of one model of a fleet. All defaults are ours."""

    seed: int = setting(0, "Seed of the initial weights, the data and the dropout masks.")
    trial: int = setting(
        0, "Number of the trial within its seed: another trial sees other random numbers."
    )
    learning_rate: float = setting(3e-3, "Peak learning rate of AdamW.")
    weight_decay: float = setting(
        0.0, "Decoupled weight decay, of matrices only; in a GPT not of embeddings."
    )
    beta1: float = setting(0.9, "Decay of the first moment.")
    beta2: float = setting(0.99, "Decay of the second moment.")
    grad_clip: float = setting(1.0, "Largest norm of the gradient; 0 switches clipping off.")
    warmup: int = setting(100, "Steps over which the learning rate rises to its peak.")
    final_lr_fraction: float = setting(
        1.0, "Where a cosine takes the learning rate by the last step, as a part of its peak."
    )
    loss: Literal["sampled", "soft"] = setting(
        "sampled",
        "Cross-entropy against the one answer that was drawn, or the exact target distribution.",
    )
    embed_dropout: float = setting(
        0.0, "Dropout rate of the embedded tokens, with their positions."
    )
    attention_dropout: float = setting(0.0, "Dropout rate of the attention weights.")
    resid_dropout: float = setting(
        0.0, "Dropout rate of the attention output; in a GPT, of what the MLP adds as well."
    )
    ema_powers: tuple[float, ...] = setting(
        (0.5,), "EMA powers; each costs one copy of the weights."
    )
    bias_powers: tuple[float, ...] = setting(
        (0.2,), "BEMA powers; each is read out of every EMA and costs nothing in training."
    )

    def __post_init__(self) -> None:
        def check(name: str, fits: Callable[[float], bool], expected: str) -> None:
            value = getattr(self, name)
            require(fits(value), name, value, expected)

        for name in ("seed", "trial", "warmup"):
            check(name, lambda value: abs(value) < 1 << 63, "a whole number of at most 64 bits")
        check("learning_rate", lambda rate: 0 < rate < math.inf, "a positive number")
        check("weight_decay", lambda decay: 0 <= decay < math.inf, "a number of at least 0")
        check(
            "grad_clip",
            lambda norm: 0 <= norm < math.inf,
            "a number of at least 0 (0: no clipping)",
        )
        check("warmup", lambda steps: steps >= 0, "a number of steps, at least 0")
        check("final_lr_fraction", lambda part: 0 <= part <= 1, "a part in [0, 1]")
        for name in ("beta1", "beta2", "embed_dropout", "attention_dropout", "resid_dropout"):
            check(name, lambda rate: 0 <= rate < 1, "a rate in [0, 1)")
        for power in self.ema_powers:
            require(0 <= power <= 1, "ema_powers", power, "numbers from 0 to 1")
        for power in self.bias_powers:
            require(0 <= power < math.inf, "bias_powers", power, "numbers of at least 0")
        require_name(self.loss, ("sampled", "soft"), "loss")
