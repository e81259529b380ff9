"""What is compared: a model with some remedies, trained, averaged and tested in some way."""

import dataclasses
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

import msgspec

from lengthwise.errors import InputError, require, require_name
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models import Model
from lengthwise.registry import REMEDIES
from lengthwise.remedies._catalogue import describe
from lengthwise.remedies._chain import names_of
from lengthwise.runs import Recipe

Average = Literal["raw", "ema", "bema"]

WORDS = {
    "ema": ("weights=ema",),
    "bema": ("weights=bema",),
    "dropout": ("embed_dropout=0.1", "attention_dropout=0.1", "resid_dropout=0.1"),
}
"""Short words for settings. The rates of dropout are those of GPT-2."""

OWN_FIELDS = ("seed", "trial", "learning_rate", "ema_powers", "bias_powers")
"""Hyper-parameters that are the study's, and no remedy's."""


@dataclass(frozen=True)
class Entry:
    """One line of a comparison.

    It is written as parts with + between them. A part is a remedy by name or file, with options
    behind a colon, or a setting such as `layout=post`, `resid_dropout=0.1`, `weights=ema` (the
    average that is read) or `test=yarn` (a remedy that acts in tests alone). Remedies act beside
    the positions of the baseline, unless one of them is positions itself.
    """

    name: str
    """As tables show it."""
    specification: str
    """As it is written, with the user's files by their keys."""
    model: Model
    """The model with its remedies."""
    hyperparameters: tuple[tuple[str, Any], ...] = ()
    """What it trains with that the baseline does not."""
    weights: Average = "raw"
    """Which weights are read: the last ones, or an average of all."""
    test: tuple[str, ...] = ()
    """Remedies that act in tests alone."""

    @property
    def training(self) -> "Entry":
        """The entry that is trained: averages are read off models that are trained anyway."""
        return dataclasses.replace(self, name="", specification="", weights="raw")

    def recipe(self, baseline: Recipe) -> Recipe:
        """The recipe of its models on the task of the baseline's.

        Args:
            baseline: The recipe of the baseline on a task.
        """
        return _recipe(baseline, self.model, self.test)


def parse(specification: str, model: Model) -> Entry:
    """An entry out of its text.

    Args:
        specification: Parts with + between them.
        model: That of the baseline, with its positions.

    Raises:
        InputError: A part is neither a remedy nor a setting, or parts do not go together.
    """
    expected = "remedies and settings with + between them, such as alibi or rotary+layernorm"
    written = specification.split("+")
    require(all(part.strip() for part in written), "remedies", specification, expected)
    parts = [one for part in written for one in WORDS.get(part.strip(), (part.strip(),))]
    settings = [part for part in parts if _is_setting(part)]
    remedies = [part for part in parts if not _is_setting(part)]
    names, keys, beside = [], [], []
    for part in remedies:
        told = describe(part)
        keys.append(":".join([REMEDIES.key(names_of([part])[0]), *part.split(":")[1:]]))
        names.append(":".join([told.name, *part.split(":")[1:]]))
        acts_on_others = {"ids", "visible", "numbered"} & set(told.hooks)
        beside.append(told.kind not in ("positions", "biases") or bool(acts_on_others))
        cls = REMEDIES.get(names_of([part])[0])
        expected = "one that is made without another run; train it with 'lengthwise train'"
        require(not cls.from_run, "remedies", told.name, expected)
    # The same by one name: rotary+layernorm is layernorm where the baseline has rotary.
    own = len(model.remedies)
    if tuple(keys[:own]) == model.remedies and all(beside[own:]):
        remedies, names, keys, beside = remedies[own:], names[own:], keys[own:], beside[own:]
    chain = (*keys, *model.remedies) if _comes_first(remedies) else (*model.remedies, *keys)
    changed: dict[str, Any] = {"remedies": chain if all(beside) else tuple(keys)}
    rates: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for part in settings:
        field, value = _setting(part, model)
        if field in ("weights", "test"):
            found[field] = (*found.get("test", ()), value) if field == "test" else value
        else:
            target = changed if field in {one.name for one in fields(model)} else rates
            target[field] = value
    return Entry(
        name="+".join([*names, *_short(settings)]) or baseline_entry(model).name,
        specification="+".join([*keys, *settings]),
        model=dataclasses.replace(model, **changed),
        hyperparameters=tuple(sorted(rates.items())),
        **found,
    )


def baseline_entry(model: Model) -> Entry:
    """The entry that all others are compared with: the model as it is."""
    name = "+".join(REMEDIES.get(one).name for one in names_of(model.remedies)) or "none"
    return Entry(name, "+".join(model.remedies) or "none", model)


@cache
def _recipe(baseline: Recipe, model: Model, test: tuple[str, ...]) -> Recipe:
    """Made once: a recipe builds its model to see that it can."""
    return dataclasses.replace(baseline, model=model, test_remedies=test)


def _is_setting(part: str) -> bool:
    """`layout=post` is one; `layernorm:place=before` is a remedy with an option."""
    return "=" in part and ":" not in part.partition("=")[0]


def _comes_first(remedies: list[str]) -> bool:
    """Position ids are changed before what reads them."""
    return any("ids" in describe(part).hooks for part in remedies)


def _short(settings: list[str]) -> list[str]:
    """Settings as tables show them: by their short word, where all of one are there."""
    left = list(settings)
    shown = []
    for word, parts in WORDS.items():
        if all(part in left for part in parts):
            shown.append(word)
            left = [part for part in left if part not in parts]
    return [*left, *shown]


def _setting(part: str, model: Model) -> tuple[str, Any]:
    field, _, text = part.partition("=")
    hints = get_type_hints(type(model)) | get_type_hints(Hyperparameters)
    of_model = [one.name for one in fields(model) if one.name != "remedies"]
    of_training = [one.name for one in fields(Hyperparameters) if one.name not in OWN_FIELDS]
    require_name(field, [*of_model, *of_training, "weights", "test"], "setting")
    if field == "test":
        describe(text)
        return field, text
    if field == "weights":
        require_name(text, get_args(Average), "weights")
        return field, text
    try:
        return field, msgspec.convert(text, hints[field], strict=False)
    except msgspec.ValidationError as error:
        raise InputError(f"{field} = {text!r}: {error}") from None
