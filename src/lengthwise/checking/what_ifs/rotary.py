"""Rotary positions stretched or switched off: what a configuration can say."""

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from lengthwise.checking.positions import rotary_modules
from lengthwise.checking.what_ifs._base import Situation, WhatIf
from lengthwise.probing.observer import without_rotary_positions

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel

KINDS = {
    "interpolation": ("linear", "positions divided by {factor:g} (arXiv 2306.15595)"),
    "dynamic-ntk": ("dynamic", "a larger rotary base beyond the trained length, factor {factor:g}"),
    "yarn": ("yarn", "slow rotations divided by {factor:g}, fast ones kept (arXiv 2309.00071)"),
}
"""Our name: that of transformers, and what it does."""


def stretched(kind: str, factor: float) -> WhatIf:
    """Interpolation, dynamic NTK or YaRN by a factor, as transformers' own `rope_parameters`."""
    rope_type, sentence = KINDS[kind]

    def setting(trained: int) -> dict[str, object]:
        parameters: dict[str, object] = {"rope_type": rope_type, "factor": float(factor)}
        if rope_type == "yarn":
            parameters["original_max_position_embeddings"] = trained
        return {"rope_parameters": parameters}

    def apply(model: "PreTrainedModel", situation: Situation) -> AbstractContextManager[None]:
        return _replaced(model, setting(situation.trained)["rope_parameters"])

    return WhatIf(
        name=f"{kind}-{factor:g}",
        sentence=sentence.format(factor=factor),
        apply=apply,
        refusal=_refusal,
        beyond=rope_type == "dynamic",
        setting=setting,
    )


def _off(model: "PreTrainedModel", _: Situation) -> AbstractContextManager[None]:
    return without_rotary_positions(model)


def _no_rotary(model: "PreTrainedModel") -> str | None:
    return None if rotary_modules(model) else "it has no rotary positions"


ROTARY_OFF = WhatIf(
    name="rotary-off",
    sentence="no rotation at all, and no recalibration either, which DroPE (2512.12167) needs",
    apply=_off,
    refusal=_no_rotary,
    beyond=False,
)


def _refusal(model: "PreTrainedModel") -> str | None:
    if reason := _no_rotary(model):
        return reason
    parameters = getattr(model.config, "rope_parameters", None)
    if not isinstance(parameters, dict) or "rope_type" not in parameters:
        return "its configuration has no rope_parameters of one rope_type for all layers"
    if parameters["rope_type"] != "default":
        return f"its rotary positions are scaled already (rope_type {parameters['rope_type']!r})"
    return None


@contextmanager
def _replaced(model: "PreTrainedModel", changes: Any) -> Iterator[None]:
    """With new rotary modules, made by the model's own class from a changed configuration."""
    with ExitStack() as stack:
        for path, module in rotary_modules(model).items():
            config: Any = copy.deepcopy(module.config)
            config.rope_parameters = {**config.rope_parameters, **changes}
            kind: Any = type(module)
            made = kind(config=config).to(model.device).eval()
            parent, _, name = path.rpartition(".")
            owner: nn.Module = model.get_submodule(parent)
            stack.callback(setattr, owner, name, module)
            setattr(owner, name, made)
        yield
