"""`lengthwise train TASK`: one command for every task, model and remedy."""

import inspect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import tyro

from lengthwise.errors import InputError, require
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.registry import MODELS, REMEDIES, TASKS, Registry

LISTS = ("ema_powers", "bias_powers")
"""Hyper-parameters that are several values already: they are the same for all models."""

OVERVIEW = """\
usage: lengthwise train TASK [--model NAME] [--remedies NAME ...] [OPTIONS]

Train a fleet of models on a task, and measure it at lengths that training never saw. Options that
are given several values make a grid: every combination is trained, once per seed, all side by side.
The run folder can be resumed at any time. Wherever a name is taken, the path of your own Python
file is taken as well.

Example: lengthwise train set-complement --seeds 4 --learning-rate 1e-3 3e-3 --remedies layernorm
Example: lengthwise train my_task.py --model gpt --remedies rotary my_remedy.py
"""


def overview() -> str:
    """What `lengthwise train --help` says; it needs no torch."""
    lists = "\n".join(_listed(registry) for registry in (TASKS, MODELS, REMEDIES))
    return f"{OVERVIEW}\n{lists}\n'lengthwise train TASK --help' shows all options of a task."


def _listed(registry: Registry[Any]) -> str:
    known = registry.listed()
    width = max(map(len, known))
    plural = "remedies" if registry.kind == "remedy" else f"{registry.kind}s"
    lines = [f"  {name:<{width}}  {known[name].summary}" for name in sorted(known)]
    return "\n".join([f"{plural}:", *lines, ""])


def command(arguments: Sequence[str]) -> type[Any] | None:
    """The class of the options of `train TASK --model MODEL`; None where only help is asked for."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
        return None
    require(not arguments[0].startswith("-"), "task", arguments[0], "a name; see train --help")
    from lengthwise.runs.recipe import (
        Training,
        default_hyperparameters,
        default_model,
        default_training,
    )

    task = TASKS.get(arguments[0])
    name = _value_of("--model", arguments) or default_model(task)
    model = MODELS.get(name)
    training = Training(**default_training(task()))
    grid = _grid(default_hyperparameters(task))
    _require_own_names(task, model, Training, grid, Train)
    kind = make_dataclass(
        "Options",
        [
            ("task", tyro.conf.Positional[str], field(default=arguments[0])),
            ("model", Annotated[str, tyro.conf.arg(help="The model, by name or file.")], name),
            ("the_task", task, field(default_factory=task)),
            ("the_model", model, field(default_factory=model)),
            ("training", Training, field(default=training)),
            ("hyperparameters", grid, field(default_factory=grid)),
            ("seeds", Annotated[int, tyro.conf.arg(help="How many seeds.")],
             task.defaults.get("seeds", 4)),
            ("out", Annotated[Path, tyro.conf.arg(help="The run folder to make.")],
             Path("runs") / task.name),
        ],
        bases=(Train,),
        kw_only=True,
    )  # fmt: skip
    kind.__doc__ = (
        f"{inspect.getdoc(task)}\n\nThe model: {(inspect.getdoc(model) or '').splitlines()[0]}\n\n"
        f"Example: lengthwise train {arguments[0]} --model {name} --seeds 2 --remedies layernorm"
    )
    return kind


@dataclass(kw_only=True)
class Train:
    """What training has in common, whatever the task and the model."""

    first_seed: int = 0
    """The first seed."""

    overwrite: bool = False
    """Replace the run that is in that folder."""

    checkpoint_seconds: float = 20.0
    """Time between checkpoints."""

    def run(self) -> int:
        """Make the run folder and train."""
        from lengthwise.cli.resume import train
        from lengthwise.cli.terminal import command_line
        from lengthwise.runs import Recipe, RunFolder

        given: Any = self
        require(given.seeds >= 1, "seeds", given.seeds, "at least 1")
        seeds = range(self.first_seed, self.first_seed + given.seeds)
        folder = RunFolder.create(
            given.out,
            Recipe(task=given.the_task, model=given.the_model, **vars(given.training)),
            combinations(given.hyperparameters, seeds),
            command_line(),
            overwrite=self.overwrite,
        )
        return train(folder, self.checkpoint_seconds)


def combinations(grid: Any, seeds: range) -> tuple[Hyperparameters, ...]:
    """Every combination of the grid's values, for every seed."""
    names = [item.name for item in fields(grid) if item.name not in LISTS]
    lists = {name: getattr(grid, name) for name in LISTS}
    products = itertools.product(*(getattr(grid, name) for name in names))
    return tuple(
        Hyperparameters(seed=seed, **dict(zip(names, values, strict=True)), **lists)
        for values in products
        for seed in seeds
    )


def _grid(defaults: Hyperparameters) -> type[Any]:
    """A class with the fields of `Hyperparameters`, whose words are thus written down once."""
    kinds = get_type_hints(Hyperparameters)
    return make_dataclass(
        "Grid",
        [
            _grid_field(
                item.name, kinds[item.name], getattr(defaults, item.name), item.metadata["help"]
            )
            for item in fields(Hyperparameters)
            if item.name not in ("seed", "trial")
        ],
    )


def _grid_field(name: str, kind: Any, default: Any, help: str) -> tuple[str, Any, Any]:
    if name not in LISTS:
        kind, default, help = tuple[kind, ...], (default,), f"{help} One value or several."
    return name, Annotated[kind, tyro.conf.arg(help=help)], field(default=default)


def _require_own_names(*parts: type[Any]) -> None:
    """On a command line every option has one name only."""
    seen = {"task": "the command", "model": "the command", "seeds": "the command"}
    for part in parts:
        for item in fields(part):
            if item.name in seen:
                raise InputError(
                    f"{part.__name__}.{item.name}: expected another name, as {seen[item.name]} has "
                    "that option already"
                )
            seen[item.name] = part.__name__


def _value_of(option: str, arguments: Sequence[str]) -> str | None:
    for place, word in enumerate(arguments):
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
        if word == option and place + 1 < len(arguments):
            return arguments[place + 1]
    return None
