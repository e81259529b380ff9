"""What-ifs: a model with a remedy that needs no training, and the model as it was afterwards."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lengthwise.checking.what_ifs._base import Rescaling, Situation, WhatIf
from lengthwise.checking.what_ifs.rotary import KINDS, ROTARY_OFF, stretched
from lengthwise.errors import InputError, require_name

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["Rescaling", "Situation", "WhatIf", "all_what_ifs", "choose", "what_if"]

FACTORS = (2, 4, 8)


def all_what_ifs() -> dict[str, WhatIf]:
    """All that are tried unless some are named."""
    from lengthwise.checking.what_ifs import scores

    listed = [stretched(kind, factor) for kind in KINDS for factor in FACTORS]
    listed += [scores.WINDOW, scores.BLOCKWISE, scores.LOG_LENGTH, scores.ADAPTIVE]
    listed += [scores.RESCALE, ROTARY_OFF]
    return {one.name: one for one in listed}


def what_if(name: str) -> WhatIf:
    """By name; the factor of a stretched rotation may be any number above 1, as in `yarn-3`."""
    kind, _, factor = name.rpartition("-")
    if kind in KINDS:
        try:
            if (number := float(factor)) > 1:
                return stretched(kind, number)
        except ValueError:
            pass
    known = all_what_ifs()
    require_name(name, known, "remedies")
    return known[name]


def choose(model: "PreTrainedModel", names: Sequence[str] | None) -> tuple[list[WhatIf], list[str]]:
    """The what-ifs to try, and notes on those that the model cannot take.

    Args:
        model: The model that they are for.
        names: Which ones; None for all that it can take.

    Raises:
        InputError: If one that is named cannot be taken.
    """
    chosen, notes = [], []
    for one in all_what_ifs().values() if names is None else map(what_if, names):
        reason = one.refusal(model)
        if reason is None:
            chosen.append(one)
        elif names is None:
            notes.append(f"{one.name} is left out: {reason}")
        else:
            raise InputError(
                f"remedies = {one.name!r}: {type(model).__name__} cannot take it, because {reason}"
            )
    return chosen, notes
