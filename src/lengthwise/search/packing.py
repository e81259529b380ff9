"""Packing trials into fleets: models of one shape that train side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from lengthwise.search.space import Space, Trial

MOST_MODELS = {"cpu": 64}
"""Models of a fleet by kind of device: beyond it a CPU gains no more."""

MOST_MODELS_ELSEWHERE = 1024
"""A GPU gains for longer."""

MOST_MODEL_STEPS = 1 << 18
"""Models times steps of a fleet: a killed worker loses at most that much, about two minutes."""

MOST_BYTES = 1 << 30
"""Memory of a fleet's weights with their gradients, moments and averages."""


@dataclass(frozen=True)
class Chunk:
    """Trials that are trained as one fleet: the unit of work."""

    trials: tuple[int, ...]
    model_steps: int
    """Models times steps: what it costs, roughly."""

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.trials[:5]))
        return f"trials {shown}{' ...' if len(self.trials) > 5 else ''}"


def pack(space: Space, seed: int, trials: Sequence[int]) -> list[Chunk]:
    """Put trials that fit together into chunks; the longest come first.

    The same trials give the same chunks, whatever has been done of them already: a trial that is
    run again after a kill runs in the same company, and comes out bit for bit the same.
    """
    groups: dict[object, list[Trial]] = {}
    for number in trials:
        trial = space.trial(seed, number)
        groups.setdefault(_shape(trial), []).append(trial)
    chunks = []
    for group in groups.values():
        for piece in _pieces(group, most_models(group[0])):
            numbers = tuple(trial.number for trial in piece)
            chunks.append(Chunk(numbers, len(numbers) * group[0].recipe.steps))
    return sorted(chunks, key=lambda chunk: (-chunk.model_steps, chunk.trials))


def most_models(trial: Trial) -> int:
    """How many models like this one a fleet may have."""
    device = torch.device(trial.recipe.device)
    most = MOST_MODELS.get(device.type, MOST_MODELS_ELSEWHERE)
    with torch.device("meta"):
        model = trial.recipe.build(trial.hyperparameters)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    # Weights, gradient, two moments, first weights, a place to work, and one EMA per power.
    copies = 6 + len(trial.hyperparameters.ema_powers)
    memory = MOST_BYTES // (8 * copies * max(parameters, 1))
    return max(1, min(most, MOST_MODEL_STEPS // trial.recipe.steps, memory))


def _shape(trial: Trial) -> object:
    """What trials of one fleet share: a shape, and whatever else makes them fast together."""
    own = trial.hyperparameters
    powers = len(own.ema_powers), len(own.bias_powers)
    return trial.recipe, powers, trial.recipe.pack_key(own)


def _pieces(group: list[Trial], most: int) -> Iterator[list[Trial]]:
    """Cut a group into as few pieces as may be, of sizes that differ by one at most."""
    count = -(-len(group) // most)
    for piece in range(count):
        yield group[piece * len(group) // count : (piece + 1) * len(group) // count]
