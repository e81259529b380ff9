"""`lengthwise train TASK`: one command for every task, model and remedy."""

import contextlib
import inspect
import io
import itertools
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints

import tyro

from lengthwise.errors import InputError, require, require_name
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.registry import MODELS, REMEDIES, TASKS, Registry
from lengthwise.tracking import TrackerName, require_tracker

LISTS = ("ema_powers", "bias_powers")
"""Hyper-parameters that are several values already: they are the same for all models."""

MOST_MODELS = 100_000
"""More seeds than that are a typing error, and would fill the memory first."""

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
    """The class of the options of `train TASK --model MODEL`; None where only help is asked for.

    The first of `arguments` is the task; the class is for those after it.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
        return None
    expected = "the name or file of a task first; see 'lengthwise train --help'"
    require(not arguments[0].startswith("-"), "task", arguments[0], expected)
    task = TASKS.get(arguments[0])
    given = _value_of("--model", arguments)
    if given is not None and not given.endswith(".py"):
        require_name(given, MODELS.names(), "model")  # before torch is imported
    from lengthwise.runs.recipe import (
        Training,
        default_hyperparameters,
        default_model,
        default_training,
    )

    name = given or default_model(task)
    model = MODELS.get(name)
    grid = _grid(default_hyperparameters(task))
    require_own_names(task, model, Training, grid, Train)
    # Lengths that are the default for one size of the task may be too long for another.
    training = Training(**default_training(_task_as_given(task, arguments[1:])))
    kind = make_dataclass(
        "Options",
        [
            ("model", str, field(default=name)),
            ("seeds", int, field(default=task.defaults.get("seeds", 4))),
            ("out", Path, field(default=Path("runs") / task.name)),
            ("the_task", group(task, f"task {task.name}"), field(default_factory=task)),
            ("the_model", group(model, f"model {model.name}", "'lengthwise train --help' lists "
             "all remedies and models."), field(default_factory=model)),
            ("training", group(Training, "training"), field(default=training)),
            ("hyperparameters", group(grid, "hyper-parameter", "One value or several each; of "
             "several, every combination is trained."), field(default_factory=grid)),
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

    config: ClassVar[Any] = ()
    """Settings that are on by default are switched off by name: both ways are shown."""

    model: str = ""
    """The model, by name or file. Its own options, below, are another model's for another name."""

    seeds: int = 1
    """How many seeds: each is one model per combination of hyper-parameters."""

    first_seed: int = 0
    """The first seed."""

    out: Path = Path("runs")
    """The run folder to make."""

    overwrite: tyro.conf.FlagCreatePairsOff[bool] = False
    """Replace the run that is in that folder."""

    checkpoint_seconds: float = 20.0
    """Time between checkpoints."""

    track: TrackerName | None = None
    """Hand losses and measures to a tracker, too: trackio, wandb, tensorboard or mlflow. Its files
    go into track/ in the folder; nothing is sent anywhere (docs/tracking.md)."""

    def run(self) -> int:
        """Make the run folder and train."""
        from lengthwise.cli.resume import train
        from lengthwise.cli.terminal import command_line
        from lengthwise.runs import Recipe, RunFolder
        from lengthwise.runs.exhausted import exhausted_note

        if self.track is not None:
            require_tracker(self.track)
        given: Any = self
        require(1 <= self.seeds <= MOST_MODELS, "seeds", self.seeds, f"1..{MOST_MODELS}")
        seeds = range(self.first_seed, self.first_seed + self.seeds)
        folder = RunFolder.create(
            self.out,
            Recipe(task=given.the_task, model=given.the_model, **vars(given.training)),
            combinations(given.hyperparameters, seeds),
            command_line(),
            overwrite=self.overwrite,
        )
        note = exhausted_note(folder.recipe)
        if note is not None:
            print(note)
        try:
            return train(folder, self.checkpoint_seconds, self.track)
        except Exception:
            if folder.newest_step() == 0:  # it would only stand in the way of the next try
                shutil.rmtree(folder.path)
            raise


def group(kind: Any, title: str, help: str = "") -> Any:
    """Options that stand together under a title."""
    return Annotated[kind, tyro.conf.arg(name=title, help=help)]


def _task_as_given(task: type[Any], arguments: Sequence[str]) -> Any:
    """The task with its own options; bad ones are left for the whole command to complain about."""
    words = [word for word in arguments if word not in ("-h", "--help")]
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return tyro.cli(task, args=words, return_unknown_args=True)[0]
    except (SystemExit, InputError):
        return task()


def combinations(grid: Any, seeds: range) -> tuple[Hyperparameters, ...]:
    """Every combination of the grid's values, for every seed."""
    names = [item.name for item in fields(grid) if item.name not in LISTS]
    for name in names:
        require(len(getattr(grid, name)) > 0, name, "", "at least one value")
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
        kind, default = tuple[kind, ...], (default,)
    return name, Annotated[kind, tyro.conf.arg(help=help)], field(default=default)


def require_own_names(*parts: type[Any]) -> None:
    """On a command line every option has one name only."""
    seen = {"the_task": "the command", "help": "the command"}
    for part in parts:
        for item in fields(part):
            if item.name in seen:
                raise InputError(
                    f"{part.__name__}.{item.name}: expected another name, as {seen[item.name]} has "
                    "that option already"
                )
            seen[item.name] = part.__name__


def _value_of(option: str, arguments: Sequence[str]) -> str | None:
    """The last value that is given to `option`: that one counts."""
    found = None
    for place, word in enumerate(arguments):
        if word.startswith(f"{option}="):
            found = word.partition("=")[2]
        if word == option and place + 1 < len(arguments):
            found = arguments[place + 1]
    return found
