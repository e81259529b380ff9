"""What there is to say of a remedy without running it: for lists, explanations and pages."""

import inspect
import re
import sys
from dataclasses import dataclass
from typing import get_args

from lengthwise.registry import REMEDIES
from lengthwise.remedies._base import HOOKS, Remedy
from lengthwise.remedies._chain import Chain, chain_key_maps, names_of
from lengthwise.remedies._keys import Shape

LAYERS, HEADS, WIDTH = 4, 4, 128
"""The small GPT, in which parameters are counted."""

KINDS = {
    "positions": "where tokens stand: added to them, or turning queries and keys",
    "biases": "added to the scores, mostly by distance",
    "scores and weights": "what is made of the scores",
    "norms": "after attention, before or after the output projection W_O",
}
"""Kinds of remedies, by what they act on."""

FLAGS = {
    "positional": (True, "needs position ids, which sets have not"),
    "ordered": (True, "needs the order of keys, which sets have not"),
    "per_layer": (False, "is one for the whole model"),
    "stochastic": (False, "makes weights that are no probabilities; entropies are not measured"),
    "by_multiset": (True, "may read equal keys once, with their count"),
    "by_prefix": (False, "reads a prefix otherwise than alone; every length is measured by itself"),
    "causal": (False, "mixes later tokens into earlier ones; causal models refuse it"),
    "sees_later": (True, "chooses by later tokens; models that hide them refuse it"),
    "tracks": (True, "reads several position ids per token"),
}
"""What a remedy may say of itself: the value worth telling, and what it means."""


@dataclass(frozen=True)
class Entry:
    """One remedy in words."""

    name: str
    kind: str
    hooks: tuple[str, ...]
    """Where it acts, in the order in which attention calls them."""
    source: str
    """The arXiv number of the paper that it is from; empty where there is none."""
    summary: str
    """The first sentence of its docstring, without its source."""
    text: str
    """All of its docstring."""
    options: tuple[str, ...]
    """As `name: type = default`."""
    replaces: str
    """What of the model it replaces; empty for nothing."""
    flags: tuple[str, ...]
    """What it says of itself beside."""
    parameters: int
    """How many it adds to the small GPT."""


def small_shape(specification: str, max_train_length: int = 64, max_length: int = 64) -> Shape:
    """The shape of the small GPT, as a remedy sees it."""
    return Shape(
        width=WIDTH,
        heads=HEADS,
        head_width=WIDTH // HEADS // chain_key_maps([specification]),
        value_width=WIDTH,
        layer=0,
        max_length=max_length,
        max_train_length=max_train_length,
    )


def with_what_it_needs(specification: str) -> tuple[str, ...]:
    """The remedy, and beside one that changes position ids one that reads them."""
    (name,) = names_of([specification])
    reads = REMEDIES.get(name).ids is Remedy.ids
    return (specification,) if reads else (specification, "rotary")


def describe(specification: str) -> Entry:
    """The remedy of that name or file, with options behind a colon.

    Raises:
        InputError: There is none, or it cannot be made for the small GPT.
    """
    (name,) = names_of([specification])
    cls = REMEDIES.get(name)
    chain = Chain([specification], small_shape(specification), stream=0)
    made = [*chain.of_model(), *(one for layer in range(LAYERS) for one in chain.of_layer(layer))]
    text = inspect.getdoc(cls) or ""
    return Entry(
        name=cls.name,
        kind=kind_of(made[0]),
        hooks=tuple(hook for hook in HOOKS if made[0].acts(hook)),
        source=_source(cls, text),
        summary=_summary(text),
        text=text,
        options=_options(cls),
        replaces=made[0].replaces or "",
        flags=tuple(said for flag, (told, said) in FLAGS.items() if getattr(cls, flag) == told),
        parameters=sum(parameter.numel() for one in made for parameter in one.parameters()),
    )


def catalogue() -> dict[str, list[Entry]]:
    """All remedies of the package by kind, by name within it."""
    entries = [describe(name) for name in sorted(REMEDIES.listed())]
    return {kind: [entry for entry in entries if entry.kind == kind] for kind in KINDS}


def kind_of(one: Remedy) -> str:
    """One of `KINDS`, by the hooks it acts on; none at all are the positions that are not there."""
    if one.acts("ids", "embedded", "numbered", "visible"):
        return "positions"
    if one.positional and one.acts("queries_keys"):
        return "positions"
    if one.acts("bias") or "position" in (one.replaces or ""):
        return "biases"
    if one.acts("queries_keys", "scale", "scores", "weights", "combined"):
        return "scores and weights"
    return "norms" if one.acts("mixed", "output") else "positions"


def _summary(text: str) -> str:
    first = " ".join(text.partition("\n\n")[0].split())
    return re.sub(r" \([^(]*\d{4}\.\d{4,5}\)", "", first)


def _source(cls: type[Remedy], text: str) -> str:
    """The first arXiv number of the docstring's first paragraph, of its file's, or of the rest."""
    file = sys.modules[cls.__module__].__doc__ or ""
    for words in (text.partition("\n\n")[0], file, text):
        found = re.search(r"arXiv (\d{4}\.\d{4,5})", " ".join(words.split()))
        if found:
            return found[1]
    return ""


def _options(cls: type[Remedy]) -> tuple[str, ...]:
    parameters = list(inspect.signature(cls).parameters.values())[1:]
    return tuple(f"{one.name}: {_type(one.annotation)} = {one.default}" for one in parameters)


def _type(annotation: object) -> str:
    """As one would say it: the words of `Literal['a', 'b']` are what may be given."""
    if isinstance(annotation, str | type) or not get_args(annotation):
        return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return " | ".join(_type(part) for part in get_args(annotation))
