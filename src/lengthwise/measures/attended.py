"""What attention gives out, summed up over samples: no sample is kept."""

import torch
from torch import Tensor


class Moments:
    """Mean and variance of every feature over samples, of all of them pooled, and within a sample.

    Kept apart, because they behave differently as inputs grow (arXiv 2504.02827): the variance of a
    feature over samples vanishes, while the variance across the features of one sample tends to
    that of the features' means.
    """

    def __init__(self, models: int, width: int) -> None:
        """Start with no sample; all sums are in float64."""
        self._count = torch.zeros(models, dtype=torch.float64)
        self._sum = torch.zeros(models, width, dtype=torch.float64)
        self._squares = torch.zeros(models, width, dtype=torch.float64)
        self._within = torch.zeros(models, dtype=torch.float64)

    def add(self, model: int, output: Tensor) -> None:
        """Add samples `(batch, width)` of one model."""
        output = output.to("cpu", torch.float64)
        self._sum[model] += output.sum(0)
        self._squares[model] += output.square().sum(0)
        self._within[model] += output.var(1, unbiased=False).sum()
        self._count[model] += len(output)

    def readings(self) -> dict[str, Tensor]:
        """One number per model each, `(models,)`."""
        mean, squares = (total / self._count[:, None] for total in (self._sum, self._squares))
        variance = (squares - mean.square()).clamp(min=0.0)
        return {
            # Over samples, for one feature at a time; then the mean over the features.
            "feature_variance": variance.mean(1),
            "global_mean": mean.mean(1),
            # Pooled: over samples and features together.
            "global_variance": squares.mean(1) - mean.mean(1).square(),
            # Across the features of one sample; then the mean over samples.
            "sample_variance": self._within / self._count,
        }
