"""AdamW over a whole fleet, with every hyper-parameter its own per model."""

import math

import torch
from torch import Tensor

from lengthwise.training.fleet import Fleet

EPSILON = 1e-8

CACHED = 1 << 15
"""Numbers per tensor that a core's cache holds of all tensors of a step."""


class FleetAdamW:
    """AdamW with clipping, warm-up and cosine decay; updates the fleet's weights in place.

    A model whose loss or gradient is not finite is frozen as it was before that step, and marked.
    Nothing of it reaches the others: every operation works row by row.
    """

    def __init__(self, fleet: Fleet, steps: int) -> None:
        """Make the state for `steps` steps of training with the fleet's hyper-parameters."""
        self.fleet = fleet
        self.steps = steps
        weights = fleet.weights
        self.first = torch.zeros_like(weights)
        self.second = torch.zeros_like(weights)
        self._parts = _cached_parts(weights)
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
        decayed = [
            torch.full(
                (shape.numel(),), float(len(shape) >= 2 and name not in fleet.no_weight_decay)
            )
            for name, shape in fleet.shapes.items()
        ]
        self._decay = column("weight_decay") * torch.cat(decayed).to(weights)
        self._decays = any(one.weight_decay > 0 for one in fleet.hyperparameters)

    def learning_rate(self, step: int) -> Tensor:
        """The learning rate of every model at `step`, which counts from 0: `(models, 1)`."""
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
        shrink = (self._clip / norm.clamp(min=EPSILON)).clamp(max=1.0).nan_to_num()
        correction1, correction2 = (1 - beta ** (step + 1) for beta in self._betas)
        scale = (correction2.sqrt() / correction1 * rate).to(gradient)
        epsilon = EPSILON * correction2.sqrt().to(gradient)
        for part in self._parts:
            own, first, second = gradient[:, part], self.first[:, part], self.second[:, part]
            weights = self.fleet.weights[:, part]
            own.masked_fill_(~alive, 0.0)
            own *= shrink
            first.lerp_(own, 1 - self._beta1)
            second.mul_(self._beta2).addcmul_(own, own * (1 - self._beta2))
            root = second.sqrt().add_(epsilon)
            if self._decays:
                weights.mul_(1 - rate.to(gradient) * self._decay[:, part])
            weights.sub_(torch.div(first, root, out=root).mul_(scale))


def _cached_parts(weights: Tensor) -> list[slice]:
    """Columns of `weights` that are updated at once.

    A step passes over every tensor some dozen times. Where they are large, a processor does all
    passes over a part that fits its cache before the next one; each number comes out the same.
    """
    models, parameters = weights.shape
    if weights.device.type != "cpu" or weights.numel() <= 8 * CACHED:
        return [slice(None)]
    width = max(1, CACHED // models)
    return [slice(begin, begin + width) for begin in range(0, parameters, width)]
