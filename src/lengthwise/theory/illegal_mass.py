"""Illegal mass as it is measured, to stand beside the bounds of a certificate."""

from dataclasses import dataclass

import torch
from torch import nn

from lengthwise.measures.distribution import illegal_mass
from lengthwise.randomness import address
from lengthwise.tasks import SetComplement
from lengthwise.theory.certificate import Certificate
from lengthwise.theory.sampling import last_logits
from lengthwise.theory.tables import in_float64


@dataclass(frozen=True)
class MeasuredMass:
    """Illegal mass over some inputs of one length."""

    mean: float
    """Over all inputs if there are few, else over random ones."""
    worst: float
    """Over these and the certificate's worst input."""
    inputs: int
    """How many the mean is over."""


@torch.no_grad()
def measure_illegal_mass(
    model: nn.Module, certificate: Certificate, inputs: int = 2048, seed: int = 0
) -> dict[int, MeasuredMass]:
    """Run the model, in float64, at every length of its certificate.

    Args:
        model: The model that was certified.
        certificate: Its certificate.
        inputs: How many random inputs per length.
        seed: Seed of the inputs.
    """
    model = in_float64(model)
    task = SetComplement(model.vocab)
    measured = {}
    for length, worst_input in certificate.worst_inputs.items():
        rows = task.enumerate_inputs(length, limit=inputs)
        if rows is None:
            rows = task.draw(torch.tensor(address(seed, "test")), length, inputs).inputs
        rows = torch.cat([torch.tensor([worst_input]), rows])
        mass = illegal_mass(last_logits(model, rows), task.targets(rows)[:, -1])
        measured[length] = MeasuredMass(float(mass[1:].mean()), float(mass.max()), len(rows) - 1)
    return measured
