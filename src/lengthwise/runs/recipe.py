"""A recipe: all that the models of a run share. One for every task, model and remedy."""

import dataclasses
import os
import shutil
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError, require, require_name
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.measures import Measurement, measure
from lengthwise.measures.by_length import require_lengths
from lengthwise.models import Model
from lengthwise.registry import MODELS, REMEDIES, TASKS
from lengthwise.remedies import Dropout, Remedy
from lengthwise.remedies._chain import canonical, names_of
from lengthwise.tasks import Task
from lengthwise.training import Fleet, Trainer, build_fleet
from lengthwise.training.devices import require_device_name

Precision = Literal["auto", "float32", "float64", "bfloat16"]
Switch = Literal["auto", "yes", "no"]


ON_THE_WAY = 16
"""Of so many test inputs, one is read on the way. Ours."""


class Part(NamedTuple):
    """A part of what is measured."""

    remedies: tuple[str, ...]
    """Those that models are measured with a second time, or none."""
    lengths: tuple[int, ...] | range


@dataclass(frozen=True, kw_only=True)
class Training:
    """How models are trained and tested. All defaults are ours."""

    max_train_length: int
    """Longest input of training. Tests go beyond it."""

    min_train_length: int | None = None
    """With it, every step draws the length of its inputs from here to max_train_length. Without,
    all have max_train_length; where a task asks after every prefix, that trains all up to it."""

    batch: int = 32
    """Inputs per step; all are new."""

    accumulate: int = 1
    """In how many parts a batch goes through the model, where memory is short."""

    steps: int = 8000
    """Training steps."""

    test_lengths: tuple[int, ...] = ()
    """Lengths that are measured; all that the task has if none are given."""

    test_inputs: int = 2048
    """Inputs per length for the measures; all of them where there are no more than that."""

    test_items: int | None = None
    """Most items or tokens per length for the measures; of long inputs there are fewer then."""

    test_seed: int = 0
    """Seed of the test inputs, which are the same for every model."""

    test_remedies: tuple[str, ...] = ()
    """Remedies without weights that trained models are measured with a second time, beside their
    own or, as yarn for rotary, in place of one; the names of these measures end in the remedies'.
    """

    test_steps: tuple[int, ...] = ()
    """Steps after which models are measured on the way too, with a sixteenth of the inputs and
    without test_remedies: see how a gain comes about."""

    precision: Precision = "float32"
    """Precision of training. With bfloat16 only matrix products are, and weights are float32. Auto:
    bfloat16 on a GPU that has it, else float32, even on a CPU that would gain from bfloat16."""

    compiled: Switch = "no"
    """Whether training goes through torch.compile. Auto: on a GPU."""

    device: str = "cpu"
    """Device to train on, such as cpu or cuda."""

    start_from: str | None = None
    """A run folder whose trained models these begin with, each with the one of its seed. Weights
    are taken over by name; those that only the new models have stay as they are drawn. With the
    remedy calibrated, its bias is made of their attention, and no weights are taken over."""


@dataclass(frozen=True, kw_only=True)
class Recipe(Training):
    """All that the models of a run share: task, model with its remedies, training and tests."""

    task: Task
    """What is trained on."""

    model: Model
    """What is trained, with its remedies."""

    def __post_init__(self) -> None:
        for prefix, part in (("task.", self.task), ("model.", self.model), ("", self)):
            for one in fields(part):  # type: ignore[arg-type]
                value = getattr(part, one.name)
                fits = not isinstance(value, int) or abs(value) < 1 << 63
                require(fits, f"{prefix}{one.name}", value, "a whole number of at most 64 bits")
                whole = one.type not in (int, "int") or isinstance(value, Integral)
                require(whole, f"{prefix}{one.name}", value, "a whole number")
        for name in ("batch", "accumulate", "steps", "test_inputs"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        if self.test_items is not None:
            require(self.test_items >= 1, "test_items", self.test_items, "at least 1")
        for step in self.test_steps:
            fits = 1 <= step < self.steps
            require(fits, "test_steps", step, f"steps before the last of {self.steps}, from 1 on")
        expected = f"a divisor of batch = {self.batch}"
        require(self.batch % self.accumulate == 0, "accumulate", self.accumulate, expected)
        require_name(self.precision, ("auto", "float32", "float64", "bfloat16"), "precision")
        require_name(self.compiled, ("auto", "yes", "no"), "compiled")
        require_device_name(self.device)
        reads = self.model.reads
        if not isinstance(self.task, reads):
            raise InputError(
                f"model = {self.model.name!r}: expected one that can read the inputs of "
                f"{self.task.name!r}: this one reads those of a {reads.__name__}"
            )
        lengths = self.task.lengths
        expected = f"one of {lengths[0]}..{lengths[-1]}"
        for name in ("min_train_length", "max_train_length"):
            length = getattr(self, name)
            require(length is None or length in lengths, name, length, expected)
        shortest = self.min_train_length
        expected = f"at most max_train_length = {self.max_train_length}"
        fits = shortest is None or shortest <= self.max_train_length
        require(fits, "min_train_length", shortest, expected)
        try:
            require_lengths(self.task, self.test_lengths)
        except InputError as error:
            raise InputError(f"test_{error}") from None
        object.__setattr__(self, "test_remedies", canonical(self.test_remedies))
        for name in names_of(self.model.remedies):
            kind = REMEDIES.get(name)
            expected = f"a run whose attention {kind.name!r} is made of"
            fits = not kind.from_run or self.start_from is not None
            require(fits, "start_from", self.start_from, expected)
        try:
            with torch.device("meta"):
                built = self.build(Hyperparameters())  # says what is wrong with the model's fields
                if self.test_remedies:
                    tested = self._tested().build(Hyperparameters())
                    _require_same_weights(self.test_remedies, _shapes(built), _shapes(tested))
        except (RuntimeError, OverflowError, MemoryError) as error:
            reason = str(error).split("\n")[0]
            raise InputError(f"model = {self.model}: cannot be built ({reason})") from error

    def build(self, hyperparameters: Hyperparameters) -> nn.Module:
        """An untrained model; it knows its recipe, so that `save_model` can write it.

        Args:
            hyperparameters: Hyper-parameters of the model.

        Raises:
            InputError: The model makes no use of one of its remedies.
        """
        built = self.model.build(self.task, hyperparameters, self.max_train_length)
        used = {one.name for one in built.modules() if isinstance(one, Remedy)}
        for name in names_of(self.model.remedies):
            known = REMEDIES.get(name).name
            expected = f"none that model {self.model.name!r} leaves out: it makes no use of it"
            require(known in used, "remedies", known, expected)
        built.recipe = self  # type: ignore[assignment]
        return built

    def require_used(self, hyperparameters: Sequence[Hyperparameters]) -> None:
        """Raise `InputError` if the model would leave a dropout rate out without a word.

        Args:
            hyperparameters: Those of all models.

        Raises:
            InputError: A rate is not 0 where the model has no such dropout.
        """
        for site in ("embed_dropout", "attention_dropout", "resid_dropout"):
            rate = max(getattr(one, site) for one in hyperparameters)
            if rate == 0:
                continue
            with torch.device("meta"):
                built = self.build(Hyperparameters(**{site: rate}))
            used = any(isinstance(one, Dropout) and one.active for one in built.modules())
            require(used, site, rate, f"0, as model {self.model.name!r} makes no use of it")

    def fleet(self, hyperparameters: Sequence[Hyperparameters]) -> Fleet:
        """Untrained models, one for each of `hyperparameters`.

        Args:
            hyperparameters: Those of all models.
        """
        self.require_used(hyperparameters)
        dtype = torch.float64 if self.precision == "float64" else torch.float32
        return build_fleet(
            self.build,
            hyperparameters,
            self.device,
            dtype,
            autocast=torch.bfloat16 if self._half() else None,
            compiled=self._compile(),
        )

    def trainer(self, hyperparameters: Sequence[Hyperparameters], *, start: bool = True) -> Trainer:
        """A trainer at step 0.

        Args:
            hyperparameters: One for each model.
            start: Whether to take over the weights of `start_from`; a checkpoint has them already.

        Raises:
            InputError: The models do not fit the device, one another, or those of `start_from`.
        """
        fleet = self.fleet(hyperparameters)
        if start and self.start_from is not None:
            from lengthwise.runs.start import take_over

            take_over(fleet, self.start_from)
        return Trainer(
            fleet,
            self.task,
            max_train_length=self.max_train_length,
            min_train_length=self.min_train_length,
            batch=self.batch,
            steps=self.steps,
            accumulate=self.accumulate,
        )

    def measure(self, fleet: Fleet, weights: Tensor | None = None) -> Iterator[Measurement]:
        """All measures of a fleet at every test length, with its own or other weights.

        Args:
            fleet: The models.
            weights: `(models, parameters per model)`, such as an average; None is the fleet's own.
        """
        for part in self.test_parts():
            yield from self.measure_part(part, fleet, weights)

    def test_parts(self) -> list[Part]:
        """What can be measured on its own: each length, where one pass does not serve them all."""
        lengths = self.test_lengths or tuple(self.task.held_out().lengths)
        groups = [lengths] if self.task.prefixes else [(length,) for length in lengths]
        remedies = ((), self.test_remedies) if self.test_remedies else ((),)
        return [Part(one, group) for one in remedies for group in groups]

    def measure_part(
        self, part: Part, fleet: Fleet, weights: Tensor | None = None
    ) -> Iterator[Measurement]:
        """One part of `measure`.

        Args:
            part: Some of the lengths, with or without the remedies for tests.
            fleet: The models.
            weights: `(models, parameters per model)`, such as an average; None is the fleet's own.
        """
        task = self.task.held_out()
        longest = max(self.test_lengths or task.lengths)
        most = self.test_items or self.test_inputs * longest
        inputs = {length: max(1, min(self.test_inputs, most // length)) for length in part.lengths}
        settings = {"inputs": inputs, "seed": self.test_seed}
        if not part.remedies:
            yield from measure(fleet, task, part.lengths, weights=weights, **settings)  # type: ignore[arg-type]
            return
        suffix = "_".join(names_of(part.remedies))
        tested = _with_weights(self._tested(), fleet, weights)
        for found in measure(tested, task, part.lengths, **settings):  # type: ignore[arg-type]
            yield dataclasses.replace(found, measure=f"{found.measure}_{suffix}")

    def on_the_way(self) -> "Recipe":
        """The same, with the fewer tests that models have on the way."""
        items = self.test_items and max(1, self.test_items // ON_THE_WAY)
        inputs = max(1, self.test_inputs // ON_THE_WAY)
        return dataclasses.replace(self, test_inputs=inputs, test_items=items, test_remedies=())

    def pack_key(self, hyperparameters: Hyperparameters) -> Hashable:
        """Models whose keys differ train faster in fleets of their own.

        Args:
            hyperparameters: Hyper-parameters of the model.
        """
        return self.model.pack_key(hyperparameters)

    def on(self, device: str) -> "Recipe":
        """The same on another device.

        Args:
            device: A device of torch, such as "cuda".
        """
        return dataclasses.replace(self, device=device)

    def _tested(self) -> "Recipe":
        """The recipe of the models as they are measured a second time."""
        remedies = list(self.model.remedies)
        for specification in self.test_remedies:
            kind = REMEDIES.get(names_of([specification])[0])
            if kind.in_place_of is None:
                remedies.append(specification)
                continue
            names = names_of(remedies)
            expected = f"one for a model with {kind.in_place_of!r}, whose place it takes"
            require(kind.in_place_of in names, "test_remedies", kind.name, expected)
            remedies[names.index(kind.in_place_of)] = specification
        model = dataclasses.replace(self.model, remedies=tuple(remedies))
        return dataclasses.replace(self, model=model, test_remedies=())

    def _half(self) -> bool:
        if self.precision != "auto":
            return self.precision == "bfloat16"
        return self._on_gpu() and torch.cuda.is_bf16_supported(including_emulation=False)

    def _compile(self) -> bool:
        compilers = (os.environ.get("CXX"), "g++", "clang++", "c++")
        possible = any(name and shutil.which(name) for name in compilers)
        if self.compiled == "yes":
            expected = "'no' or 'auto', as there is no C++ compiler here, which torch.compile needs"
            require(possible, "compiled", self.compiled, expected)
        return self.compiled == "yes" or (self.compiled == "auto" and self._on_gpu() and possible)

    def _on_gpu(self) -> bool:
        return torch.device(self.device).type == "cuda"

    def __deepcopy__(self, memo: dict[int, Any]) -> "Recipe":
        """Itself: nothing of it changes, and models that know it are copied often."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """To other processes a recipe travels as JSON, with the user's files in it."""
        from lengthwise.runs.description import recipe_from_process, recipe_to_json

        return recipe_from_process, (recipe_to_json(self),)


def _with_weights(recipe: Recipe, fleet: Fleet, weights: Tensor | None) -> Fleet:
    """A fleet of another recipe's models with the weights and buffers of a trained one."""
    other = recipe.on(str(fleet.device)).fleet(fleet.hyperparameters)
    other.weights.copy_(fleet.weights if weights is None else weights)
    for name, buffer in other.buffers.items():
        if name in fleet.buffers:
            buffer.copy_(fleet.buffers[name])
    return other


def _shapes(module: nn.Module) -> dict[str, torch.Size]:
    return {name: weights.shape for name, weights in module.named_parameters()}


def _require_same_weights(
    remedies: Sequence[str], own: dict[str, torch.Size], tested: dict[str, torch.Size]
) -> None:
    if own != tested:
        names = sorted(own.keys() ^ tested.keys())
        raise InputError(
            f"test_remedies = {list(remedies)}: expected remedies without weights of their own, "
            f"not {names[0] if names else 'other shapes'}"
        )


RECIPE_FIELDS = tuple(field.name for field in fields(Training))
"""What a recipe says beside its task and model."""


def recipe_for(task: Task | str, model: Model | str | None = None, **settings: Any) -> Recipe:
    """The recipe of a task by its own defaults.

    Args:
        task: A task, or the name or file of one, which then has its default fields.
        model: Likewise (default: the task's own model).
        settings: Fields of the recipe that shall not be the default.

    Raises:
        InputError: A name is not known, or a value does not fit.
    """
    if isinstance(task, str):
        task = TASKS.get(task)()
        assert isinstance(task, Task)
    if model is None:
        model = default_model(task)
    if isinstance(model, str):
        model = MODELS.get(model)()
        assert isinstance(model, Model)
    return Recipe(task=task, model=model, **(default_training(task) | settings))


def default_training(task: Task) -> dict[str, Any]:
    """The fields of a recipe that a task has its own defaults for."""
    own = {name: value for name, value in task.defaults.items() if name in RECIPE_FIELDS}
    lengths = task.lengths
    # The defaults are for the task's own size: of a smaller one, something is still left to test.
    if own.get("max_train_length", lengths[-1]) >= lengths[-1]:
        own["max_train_length"] = lengths[(len(lengths) - 1) // 2]
    if own.get("min_train_length") is not None:
        own["min_train_length"] = min(own["min_train_length"], own["max_train_length"])
    own["test_lengths"] = tuple(n for n in own.get("test_lengths", ()) if n in lengths)
    return own


def default_model(task: Task | type[Task]) -> str:
    """The name of the model that a task is trained with."""
    name = task.defaults.get("model")
    require(name is not None, "model", name, f"a name, as {task.name!r} has no default model")
    assert isinstance(name, str)
    return name


def default_hyperparameters(task: Task | type[Task]) -> Hyperparameters:
    """The hyper-parameters that a task is trained with.

    Args:
        task: A task, or its class.
    """
    known = {field.name for field in fields(Hyperparameters)}
    return Hyperparameters(**{k: v for k, v in task.defaults.items() if k in known})
