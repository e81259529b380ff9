"""What the suites share: a task of another kind than the package has, and comparisons."""

import json
import re
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from lengthwise.registry import TASKS
from lengthwise.remedies import Dropout
from lengthwise.runs import Recipe, recipe_from_json, recipe_to_json
from lengthwise.tasks._base import map_tensors
from lengthwise.training import Fleet

CLOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}
"""Equal but for rounding, in float64."""

VOCAB, LENGTH, LONG = 7, 6, 12
"""Tokens, and how many of them a usual and a long input of the suite of remedies has."""

SITES = ("embed_dropout", "attention_dropout", "resid_dropout")

Sum = TASKS.get(str(Path(__file__).with_name("_sum.py")))
"""A task that asks once, as a user's file."""

Module = TypeVar("Module", bound=nn.Module)


def some_tokens(count: int = 4, length: int = LENGTH) -> Tensor:
    """Random tokens."""
    return torch.randint(VOCAB, (count, length))


def shaken(model: Module, size: float = 0.3) -> Module:
    """The model with parameters as training may leave them: no zeros, no ones."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(size * torch.randn_like(parameter))
    return model


def require_close(found: Tensor, expected: Tensor, case: str, **tolerance: Any) -> None:
    """Assert that two tensors are equal but for rounding; a failure begins with the case."""

    def say(told: str) -> str:
        where = re.search(r"absolute difference: (\S+) (at index \(.*?\))", told)
        return f"{case}: {f'they differ by {float(where[1]):.3g} {where[2]}' if where else told}"

    torch.testing.assert_close(found, expected, **(tolerance or CLOSE), msg=say)


def gradients(model: nn.Module, logits: Tensor) -> Tensor:
    """The gradient of some loss, flat; zero where a parameter does not matter."""
    parameters = list(model.parameters())
    loss = logits.float().logsumexp(-1).square().mean()
    found = torch.autograd.grad(loss, parameters, allow_unused=True)
    pairs = zip(found, parameters, strict=True)
    return torch.cat([(torch.zeros_like(p) if one is None else one).flatten() for one, p in pairs])


def require_alone_as_in_fleet(models: list[Any], inputs: Any, passes: int = 2) -> None:
    """Assert that training passes, gradients and buffers are the same in a fleet of all.

    Args:
        models: Modules of one shape; they are trained on.
        inputs: One batch for each, stacked.
        passes: How many passes are made: state may pass from one to the next.
    """
    fleet = Fleet(models)
    for _ in range(passes):
        logits = fleet.forward(inputs)
        loss = logits.float().logsumexp(-1).square().flatten(1).mean(1)
        together = fleet.gradient(loss)
        for index, model in enumerate(models):
            own = model.train()(map_tensors(itemgetter(index), inputs))
            torch.testing.assert_close(logits[index], own, **CLOSE)
            alone = gradients(model, own)
            torch.testing.assert_close(together[index], alone, rtol=1e-6, atol=1e-7)
    for index, model in enumerate(models):
        idle = {n for n, m in model.named_modules() if isinstance(m, Dropout) and m.rate == 0}
        for name, buffer in model.named_buffers():
            if name.rpartition(".")[0] not in idle:  # it may count the steps of the others
                torch.testing.assert_close(fleet.buffers[name][index], buffer, **CLOSE, msg=name)


def through_json(recipe: Recipe) -> Recipe:
    """The recipe as another process reads it."""
    return recipe_from_json(json.loads(json.dumps(recipe_to_json(recipe))))
