"""`lengthwise average`."""

from dataclasses import dataclass
from pathlib import Path

import tyro


@dataclass
class Average:
    """Average a series of safetensors checkpoints of any model: EMA, or BEMA without its lag.

    The checkpoints are taken in the order of the steps in their names, whatever the order they are
    given in, and the steps are the clock: the first gives the first weights, every later one is an
    update at its step, as in training with that interval. A multiplier of 1/interval lets the clock
    count checkpoints. Memory holds one tensor at a time.

    Example: lengthwise average ckpt-100.safetensors ckpt-200.safetensors --out averaged.safetensors
    """

    checkpoints: tyro.conf.Positional[tuple[Path, ...]]
    """Files, or folders with a model's safetensors files; the name of each holds its step."""

    out: Path
    """The safetensors file to write."""

    ema_power: float = 0.5
    """From 0 (the last checkpoint) to 1 (the mean of all); the paper's kappa."""

    bias_power: float | None = 0.2
    """How fast the correction of BEMA fades, the paper's eta; None for the EMA itself."""

    schedule: str = "paper"
    """The formulas: paper, trl, authors-offline or authors-online."""

    lag: float = 10.0
    """Larger makes the first weights and corrections count less; the paper's rho."""

    multiplier: float = 1.0
    """How fast the clock runs; the paper's gamma."""

    min_weight: float | None = None
    """The smallest weight of a checkpoint in the EMA; by default the schedule's own."""

    overwrite: bool = False
    """Replace the output if it exists."""

    def run(self) -> None:
        """Average the checkpoints and say what was written."""
        from lengthwise.averaging.post_hoc import average_checkpoints

        series = average_checkpoints(
            self.checkpoints,
            self.out,
            ema_power=self.ema_power,
            bias_power=self.bias_power,
            schedule=self.schedule,
            lag=self.lag,
            multiplier=self.multiplier,
            min_weight=self.min_weight,
            overwrite=self.overwrite,
        )
        tensors = len(series[-1].entries)
        print(
            f"{self.out}: {tensors} tensors averaged over {len(series)} checkpoints, "
            f"steps {series[0].step} to {series[-1].step}"
        )
