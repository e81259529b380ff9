"""AdamW over a whole fleet, with every hyper-parameter its own per model."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from lengthwise.training.fleet import Fleet

EPSILON = 1e-8

CACHED = 1 << 16
"""Numbers per tensor that a core's cache holds of all tensors of a step."""


class FleetAdamW:
    """AdamW with clipping, warm-up and cosine decay; updates the fleet's weights in place.

    A model whose loss or gradient is not finite is frozen as it was before that step, and marked.
    Nothing of it reaches the others: every operation works row by row.

    Args:
        fleet: The models to train.
        steps: How many steps there will be, for the decay of the rate.
    """

    def __init__(self, fleet: Fleet, steps: int) -> None:
        """Make the state for `steps` steps of training with the fleet's hyper-parameters."""
        self.fleet = fleet
        self.steps = steps
        weights = fleet.weights
        self.first = torch.zeros_like(weights)
        self.second = torch.zeros_like(weights)
        decays = any(one.weight_decay > 0 for one in fleet.hyperparameters)
        self._parts = _cached_parts(fleet, decays)
        self.diverged = torch.full((fleet.size,), -1, device=fleet.device)
        """The step at which each model diverged, or -1."""

        def column(field: str, dtype: torch.dtype = weights.dtype) -> Tensor:
            values = [getattr(one, field) for one in fleet.hyperparameters]
            return torch.tensor(values, dtype=dtype, device=fleet.device).unsqueeze(1)

        # The learning rate of each step is worked out in float64: it is cheap, and the same
        # wherever the model trains.
        self._rate = column("learning_rate", torch.float64)
        self._warmup = column("warmup", torch.float64)
        self._final = column("final_lr_fraction", torch.float64)
        self._betas = tuple(column(field, torch.float64) for field in ("beta1", "beta2"))
        self._beta1, self._beta2 = column("beta1"), column("beta2")
        self._clip = column("grad_clip").masked_fill(column("grad_clip") == 0, torch.inf)
        self._decay = column("weight_decay")

    def learning_rate(self, step: int) -> Tensor:
        """The learning rate of every model at `step`, which counts from 0: `(models, 1)`.

        Args:
            step: Number of the step, from 0.
        """
        rising = ((step + 1) / self._warmup).clamp(max=1.0)
        share = (1 + math.cos(math.pi * step / self.steps)) / 2
        return self._rate * rising * (self._final + (1 - self._final) * share)

    @torch.no_grad()
    def step(self, step: int, loss: Tensor, gradient: Tensor) -> None:
        """Update all weights that are still alive.

        Args:
            step: Number of this step, from 0.
            loss: `(models,)`.
            gradient: In the layout of `fleet.weights`; it is overwritten.
        """
        norm = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
        finite = torch.isfinite(loss) & torch.isfinite(norm.squeeze(1))
        self.diverged = torch.where(finite | (self.diverged >= 0), self.diverged, step)
        alive = (self.diverged < 0).unsqueeze(1)
        rate = self.learning_rate(step) * alive
        # A frozen row takes part with a gradient and a rate of exactly zero.
        if gradient.device.type != "cpu" or not alive.all():
            gradient.masked_fill_(~alive, 0.0)
        shrink = (self._clip / norm.clamp(min=EPSILON)).clamp(max=1.0).nan_to_num()
        correction1, correction2 = (1 - beta ** (step + 1) for beta in self._betas)
        scale = (correction2.sqrt() / correction1 * rate).to(gradient)
        epsilon = EPSILON * correction2.sqrt().to(gradient)
        kept = 1 - rate.to(gradient) * self._decay
        new1: Tensor | float = 1 - self._beta1
        if self.fleet.size == 1 and gradient.device.type == "cpu":
            new1 = float(new1)  # the kernel is twice as fast with a number
        weights = self.fleet.weights
        spare = torch.empty_like(weights[:, self._parts[0].columns])
        for columns, decayed in self._parts:
            own, first, second = (t[:, columns] for t in (gradient, self.first, self.second))
            root = spare[:, : own.shape[1]]
            own.mul_(shrink)
            first.lerp_(own, new1)
            second.mul_(self._beta2).addcmul_(own, torch.mul(own, 1 - self._beta2, out=root))
            torch.sqrt(second, out=root).add_(epsilon)
            for matrices in decayed:
                weights[:, matrices].mul_(kept)
            weights[:, columns].sub_(torch.div(first, root, out=root).mul_(scale))


class Part(NamedTuple):
    """Columns of `weights` that are updated at once, and those of them that decay."""

    columns: slice
    decayed: list[slice]


def _cached_parts(fleet: Fleet, decays: bool) -> list[Part]:
    """All columns in parts.

    A step passes over every tensor some dozen times. Where they are large, a processor does all
    passes over a part that fits its cache before the next one; each number comes out the same.
    """
    models, parameters = fleet.weights.shape
    width = parameters
    if fleet.device.type == "cpu" and fleet.weights.numel() > 4 * CACHED:
        width = max(1, CACHED // models)
    matrices = _decayed_columns(fleet) if decays else []
    return [
        Part(
            slice(begin, begin + width),
            [
                slice(max(begin, first), min(begin + width, end))
                for first, end in matrices
                if first < begin + width and begin < end
            ],
        )
        for begin in range(0, parameters, width)
    ]


def _decayed_columns(fleet: Fleet) -> list[tuple[int, int]]:
    """First and end of every run of matrices that decay; neighbours are one run."""
    runs: list[tuple[int, int]] = []
    begin = 0
    for name, shape in fleet.shapes.items():
        end = begin + shape.numel()
        if len(shape) >= 2 and name not in fleet.no_weight_decay:
            follows = runs and runs[-1][1] == begin
            runs.append((runs.pop()[0] if follows else begin, end))
        begin = end
    return runs
