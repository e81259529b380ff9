"""From what was observed in many sequences to numbers with bootstrap resamples."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.files import regular, write_with
from lengthwise.probing import weights
from lengthwise.probing.observer import Observation, Output

HEADS, PROJECTED = "heads", "projected"
"""Where an attention output is read: per head before the output projection, or after it."""

OUTPUT_MEASURES = ("std", "std_component", "global_mean", "global_variance")


@dataclass(frozen=True)
class Summary:
    """What attention did at one length, in float32.

    An estimate's first row is the estimate itself; every other row is the same estimate over a
    bootstrap resample of the sequences.
    """

    estimates: dict[tuple[int, str, str], Tensor]
    """By layer, place and measure: `(1 + resamples, groups)`; a group is a head, or the layer."""
    means: dict[tuple[int, str], Tensor]
    """By layer and place, the mean output: `(groups, components)`."""

    def save(self, path: Path) -> None:
        """Write it to a safetensors file."""
        tensors = {f"{a}/{b}/{c}": value for (a, b, c), value in self.estimates.items()}
        tensors |= {f"{a}/{b}": value for (a, b), value in self.means.items()}
        tensors = {name: value.contiguous() for name, value in tensors.items()}
        write_with(path, lambda temporary: save_file(tensors, temporary))

    @classmethod
    def load(cls, path: Path) -> "Summary":
        """Read it back."""
        try:
            tensors = load_file(regular(path))
        except (SafetensorError, OSError) as error:
            raise InputError(f"{path} is damaged ({error}): remove it to measure again") from error
        summary = cls({}, {})
        for name, value in tensors.items():
            layer, place, *measure = name.split("/")
            if measure:
                summary.estimates[int(layer), place, measure[0]] = value
            else:
                summary.means[int(layer), place] = value
        return summary


def summarise(
    batches: Sequence[dict[int, Observation]], component: int, resamples: int, seed: int
) -> Summary:
    """Estimate every measure over all sequences, and over resamples of them.

    Args:
        batches: The observations of some sequences each, by layer.
        component: Which component of the output is read on its own.
        resamples: How often the sequences are drawn anew with replacement.
        seed: Of the resampling.
    """
    summary = Summary({}, {})
    for layer in batches[0]:
        observed = [batch[layer] for batch in batches]
        values = torch.cat([one.weights for one in observed], 1).double()
        shares = _shares(values.shape[1], resamples, seed)
        for measure, of_heads in zip(weights.MEASURES, values, strict=True):
            summary.estimates[layer, HEADS, measure] = (shares @ of_heads).float()
        outputs = {HEADS: [one.heads for one in observed]}
        if observed[0].projected is not None:
            outputs[PROJECTED] = [one.projected for one in observed if one.projected]
        for place, parts in outputs.items():
            mean, variance = _moments(parts, shares)
            summary.means[layer, place] = mean[0].float()
            found = (
                variance.mean(-1).sqrt(),
                variance[..., component].sqrt(),
                mean.mean(-1),
                variance.mean(-1) + mean.var(-1, correction=0),
            )
            for measure, value in zip(OUTPUT_MEASURES, found, strict=True):
                summary.estimates[layer, place, measure] = value.float()
    return summary


def _shares(sequences: int, resamples: int, seed: int) -> Tensor:
    """How much each sequence counts: all alike in the first row, then as it was redrawn."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(sequences, (resamples, sequences), generator=generator)
    counts = torch.zeros(resamples, sequences, dtype=torch.float64)
    counts.scatter_add_(1, drawn, torch.ones_like(counts))
    return torch.cat((torch.ones(1, sequences, dtype=torch.float64), counts)) / sequences


def _moments(parts: Sequence[Output], shares: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of each component over sequences: `(1 + resamples, groups, components)`.

    Several queries of a sequence are pooled: their variance within it adds to that between them.
    """
    mean = torch.cat([part.mean for part in parts]).double()
    within = torch.cat([part.variance for part in parts]).double()
    centre = mean.mean(0)  # the variance is a small difference unless taken around here
    sequences, *shape = mean.shape
    apart = (mean - centre).flatten(1)
    shift = shares @ apart
    between = (shares @ apart.square() - shift.square()) * (sequences / (sequences - 1))
    variance = between.clamp_(min=0) + shares @ within.flatten(1)
    return shift.unflatten(1, shape) + centre, variance.unflatten(1, shape)
