"""What README.md says beside the claims, read out of the checkpoints of finished runs.

`python docs/results/othello/beside.py runs/reproduce/othello/laptop` prints the mean TVD beyond the
training length of every model with learned positions: with the untrained positions as they are and
set to zero, and with corrections stronger than the claims' grid has.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor

from lengthwise.averaging import BEMA
from lengthwise.papers.whats_missing.othello.plan import VARIANTS, plan, variants_of
from lengthwise.runs import RunFolder
from lengthwise.runs.models import load_trainer
from lengthwise.training import Trainer

EMA_POWER, BIAS_POWER = 0.7, 0.2
STRONGER = (0.1, 0.15, BIAS_POWER, 0.3)


def main(place: Path) -> None:
    """Print a line per run and kind of weights, with a number per variant."""
    torch.set_num_threads(1)
    runs = {label: run for label, run in plan("laptop").items() if label.startswith("learned")}
    first = next(iter(runs.values()))
    print(", ".join(VARIANTS[variant].title for variant in variants_of(first)))
    for label in runs:
        folder = RunFolder.open(place / label)
        trainer = load_trainer(folder)
        average = trainer.average
        assert isinstance(average, BEMA)
        kinds = {"raw": trainer.fleet.weights.clone()}
        for bias in STRONGER:
            weights = average.weights(_power(average, EMA_POWER), bias)["weights"]
            kinds[f"BEMA {EMA_POWER} {bias}"] = weights
        for kind, weights in kinds.items():
            measured = _beyond(folder, trainer, weights)
            print(f"{label}, {kind}: {_line(measured)}", flush=True)
            if kind in ("raw", f"BEMA {EMA_POWER} {BIAS_POWER}"):
                _zero_untrained(trainer, weights, folder.recipe.train_length)
                changed = _beyond(folder, trainer, weights) / measured - 1
                print(f"{label}, {kind}, untrained positions zero: {_line(100 * changed)} %")


def _power(average: BEMA, power: float) -> Tensor:
    """The power as the average knows it: a column with one per model."""
    return next(one for one in average.ema_powers if float(one[0]) == power)  # type: ignore[index,misc]


def _beyond(folder: RunFolder, trainer: Trainer, weights: Tensor) -> Tensor:
    readings = folder.recipe.measure(trainer, weights)
    longest = folder.recipe.train_length
    tvd = [one.values for one in readings if one.measure == "tvd" and one.length > longest]
    return torch.stack(tvd).mean(0)


def _zero_untrained(trainer: Trainer, weights: Tensor, trained: int) -> None:
    trainer.fleet.views(weights)["positions.vectors"][:, trained:] = 0


def _line(values: Tensor) -> str:
    return ", ".join(f"{value:.3f}" for value in values.tolist())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
