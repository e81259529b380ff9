"""What every remedy is: a module of hooks into a model, each the identity unless overridden."""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, get_type_hints

import msgspec
import torch
from torch import Tensor, nn

from lengthwise.errors import InputError, require, require_name
from lengthwise.randomness import seeded
from lengthwise.registry import REMEDIES

remedy = REMEDIES.register
"""`@remedy("alibi")` above a subclass of `Remedy` makes it known by that name."""


class Shape(NamedTuple):
    """All that a remedy may be built for."""

    width: int
    """Width of the residual stream."""
    heads: int
    """Heads that mix values."""
    head_width: int
    """Width of a query or key of one score map."""
    value_width: int
    """Width of the values of all heads together."""
    layer: int
    """Number of the layer, from 0; 0 for a remedy that is one for all layers."""
    max_length: int
    """How many position ids there are in the longest input."""
    max_train_length: int
    """The longest input of training."""
    tracks: int = 1
    """How many position ids a token has."""


@dataclass(frozen=True)
class Keys:
    """All that a remedy may know of what queries read."""

    log_count: Tensor
    """The logarithm of how often each key stands there, which broadcasts to scores
    `(..., heads, queries, keys)`: 0 is an ordinary key, -inf a hidden one, log 3 one that counts
    three times."""
    query_ids: Tensor | None = None
    """Position ids of queries, `(..., queries)`; None where there is no order."""
    key_ids: Tensor | None = None
    """Position ids of keys, `(..., keys)`."""
    x: Tensor | None = None
    """What queries are made of, `(..., queries, width)`; None where keys are read as a multiset."""
    context: Tensor | None = None
    """What keys are made of, `(..., keys, width)`; None like `x`."""
    bias: Tensor | None = None
    """A bias of the scores that all layers share."""
    causal: bool = False
    """Whether `log_count` says no more than that later keys are hidden."""
    counted: Tensor | None = None
    """How many keys a query sees, where that is known without counting."""

    @cached_property
    def count(self) -> Tensor:
        """How many keys a query sees: `(..., queries, 1)`."""
        if self.counted is not None:
            return self.counted
        return self.log_count.exp().sum(-1, keepdim=True)

    @cached_property
    def distance(self) -> Tensor:
        """Position of the query minus position of the key, `(..., 1, queries, keys)`."""
        assert self.query_ids is not None
        assert self.key_ids is not None
        return (self.query_ids.unsqueeze(-1) - self.key_ids.unsqueeze(-2)).unsqueeze(-3)


class Remedy(nn.Module):
    """A part that claims to carry a model further in length.

    A remedy is made once per layer and acts through the hooks of attention, or with
    `per_layer = False` once per model, where it may treat position ids, embedded tokens, and give
    one bias to all layers. Several remedies chain in the order in which they are named.
    """

    name: ClassVar[str]
    """The name by which models know it: see `remedy`."""

    per_layer: ClassVar[bool] = True
    """Whether every layer has its own."""

    maps: ClassVar[int] = 1
    """Score maps per head: 2 for differential attention, whose `weights` makes one of them."""

    by_multiset: ClassVar[bool] = False
    """Whether equal keys may be read once with the logarithm of their count, because nothing
    depends on where a key stands. Fast paths ask this and never guess."""

    stochastic: ClassVar[bool] = True
    """Whether attention weights are still positive and sum to 1."""

    positional: ClassVar[bool] = False
    """Whether it needs position ids, which a set has not."""

    tracks: ClassVar[bool] = False
    """Whether it can read several position ids per token."""

    causal: ClassVar[bool] = True
    """Whether a token's output stays independent of later tokens."""

    own_stream: ClassVar[bool] = True
    """Whether its initial weights come from a random stream of its own, so that the rest of the
    model starts out as it would without it."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        # True of the class above it, it may be wrong of one that overrides a hook.
        if "by_multiset" not in vars(cls) and any(hook in vars(cls) for hook in HOOKS):
            cls.by_multiset = False

    def __init__(self, shape: Shape) -> None:
        """Make it for a shape; further keywords of a subclass are its options."""
        super().__init__()

    @property
    def replaces(self) -> str | None:
        """What of the model it replaces: two remedies that replace the same are refused."""
        return "the attention weights" if self.acts("weights") else None

    def acts(self, *hooks: str) -> bool:
        """Whether it does anything in one of these hooks: those that its class overrides."""
        return any(getattr(type(self), hook) is not getattr(Remedy, hook) for hook in hooks)

    def ids(self, ids: Tensor) -> Tensor:
        """Position ids `(..., length)` that everything after it sees (not per layer)."""
        return ids

    def embedded(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """The embedded tokens `(..., length, width)` (not per layer)."""
        return hidden

    def queries_keys(self, queries: Tensor, keys: Tensor, read: Keys) -> tuple[Tensor, Tensor]:
        """Queries and keys `(..., heads, rows, head width)`; queries come scaled already."""
        return queries, keys

    def scale(self, read: Keys) -> Tensor | None:
        """A factor of the scores, `(..., heads or 1, queries, 1)`; queries are multiplied by it."""
        return None

    def bias(self, read: Keys) -> Tensor | None:
        """What is added to the scores of all maps of a head: `(..., heads or 1, queries, keys)`."""
        return None

    def scores(self, scores: Tensor, read: Keys) -> Tensor:
        """The scores `(..., heads * maps, queries, keys)`, before hidden keys are left out."""
        return scores

    def weights(self, scores: Tensor, read: Keys) -> Tensor | None:
        """Attention weights `(..., heads, queries, keys)`; None is the softmax."""
        return None

    def mixed(self, heads: Tensor) -> Tensor:
        """The mixed values before W_O, `(..., queries, heads, value width of a head)`."""
        return heads

    def output(self, output: Tensor) -> Tensor:
        """What attention gives out, after W_O: `(..., queries, width)`."""
        return output


HOOKS = (
    "ids", "embedded", "queries_keys", "scale", "bias", "scores", "weights", "mixed", "output",
)  # fmt: skip
_OF_MODEL = ("ids", "embedded", "bias")


def softmax(scores: Tensor, read: Keys) -> Tensor:
    """The usual attention weights."""
    return (scores + read.log_count).softmax(-1)


def canonical(specifications: Sequence[str]) -> tuple[str, ...]:
    """Remedies as they are kept: paths of Python files become keys, and all options are checked.

    Raises:
        InputError: A remedy or an option is not known.
    """
    kept = []
    for specification in specifications:
        name, options = _parsed(specification)
        _options(REMEDIES.get(name), options)
        kept.append(":".join([REMEDIES.key(name), *([options] if options else [])]))
    return tuple(kept)


def chain_maps(specifications: Sequence[str]) -> int:
    """How many score maps a head has with these remedies."""
    names = names_of(specifications)
    return max((int(REMEDIES.get(name).maps) for name in names), default=1)


def names_of(specifications: Sequence[str]) -> list[str]:
    """The names or keys of remedies without their options."""
    return [_parsed(specification)[0] for specification in specifications]


class Remedies(nn.ModuleList):
    """Remedies in their order."""

    def __iter__(self) -> Iterator[Remedy]:
        """One after the other."""
        return super().__iter__()  # type: ignore[return-value]


class Chain:
    """The remedies of one model, made from their names."""

    def __init__(self, specifications: Sequence[str], shape: Shape, stream: int) -> None:
        """Note what is to be made.

        Args:
            specifications: Names with options, such as `layernorm:place=before`.
            shape: What they are made for.
            stream: Key of the random stream of the model: see `lengthwise.randomness.where`.
        """
        self._specifications = specifications
        self._shape = shape
        self._stream = stream

    def of_model(self) -> Remedies:
        """Those that are one for the whole model."""
        return self._made(self._shape, per_layer=False)

    def of_layer(self, layer: int) -> Remedies:
        """Those of one layer."""
        return self._made(self._shape._replace(layer=layer), per_layer=True)

    def _made(self, shape: Shape, *, per_layer: bool) -> Remedies:
        made = Remedies()
        for place, specification in enumerate(self._specifications):
            name, options = _parsed(specification)
            kind = REMEDIES.get(name)
            if kind.per_layer != per_layer:
                continue
            settings = _options(kind, options)
            if kind.own_stream:
                with seeded(self._stream, "remedy", kind.name, place, shape.layer):
                    one = kind(shape, **settings)
            else:
                one = kind(shape, **settings)
            _require_hooks(one)
            made.append(one)
        return made


def require_fit(
    remedies: Sequence[Any], *, positions: bool, causal: bool, tracks: int, model: str
) -> None:
    """Raise `InputError` unless these remedies go together and with the model."""
    taken: dict[str, str] = {}
    maps = [one.name for one in remedies if one.maps > 1]
    require(len(maps) <= 1, "remedies", maps, "one at most that has several score maps")
    for one in remedies:
        if one.replaces is not None:
            if one.replaces in taken:
                raise InputError(
                    f"remedies = {taken[one.replaces]!r} and {one.name!r}: both replace "
                    f"{one.replaces}: expected one of them"
                )
            taken[one.replaces] = one.name
        expected = f"one that needs no positions, as {model} has none"
        require(positions or not one.positional, "remedy", one.name, expected)
        expected = "another one: over a batch of sequences it mixes later tokens into earlier ones"
        require(one.causal or not causal, "remedy", one.name, expected)
        expected = f"one that reads {tracks} position ids per token, as this task has"
        require(tracks == 1 or one.tracks or not one.positional, "remedy", one.name, expected)


def _require_hooks(one: Remedy) -> None:
    """A hook that would never be called is a mistake in the remedy."""
    for hook in HOOKS:
        called = hook in _OF_MODEL if not one.per_layer else hook not in ("ids", "embedded")
        expected = f"per_layer = {not one.per_layer}, as it overrides {hook}"
        require(called or not one.acts(hook), "remedy", one.name, expected)


def _parsed(specification: str) -> tuple[str, str]:
    """A name and its options, which are told apart by a colon."""
    if not isinstance(specification, str):
        raise InputError(f"remedy = {specification!r}: expected a name or the path of a .py file")
    name, _, options = specification.partition(":")
    return name, options


def _options(kind: type[Remedy], text: str) -> dict[str, Any]:
    """`place=before,width=8` as keywords, each of the type that the remedy says."""
    hints = get_type_hints(kind.__init__)
    known = [name for name in inspect.signature(kind).parameters if name != "shape"]
    settings = {}
    for part in text.split(",") if text else ():
        name, equals, value = part.partition("=")
        expected = f"NAME=VALUE, with a name out of {known}" if known else "none: it has no options"
        require(bool(equals) and bool(known), f"option of {kind.name}", part, expected)
        require_name(name, known, f"option of {kind.name}")
        try:
            settings[name] = msgspec.convert(value, hints[name], strict=False)
        except msgspec.ValidationError as error:
            raise InputError(f"{kind.name}:{name} = {value!r}: {error}") from None
    return settings


def ids_like(tokens: Tensor) -> Tensor:
    """The usual position ids of tokens `(..., length)`: 0, 1, ..., `(length,)`."""
    return torch.arange(tokens.shape[-1], device=tokens.device)
