"""What every remedy is: a module of hooks into a model, each the identity unless overridden."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
    """What queries are made of, `(..., queries, width)`; None where keys are read as a multiset
    for many queries at once (`by_multiset`)."""
    context: Tensor | None = None
    """What keys are made of, `(..., keys, width)`; None where no key is formed."""
    queries: Tensor | None = None
    """The queries as keys are compared with them, `(..., heads * maps, queries, head width)`;
    only in `scores`, and None like `context`."""
    bias: Tensor | None = None
    """A bias of the scores that all layers share."""
    causal: bool = False
    """Whether `log_count` says no more than that later keys are hidden."""
    counted: Tensor | None = None
    """How many keys a query sees, where that is known without counting."""
    made: "dict[str, tuple[tuple[Any, ...], Tensor]]" = field(default_factory=dict, repr=False)
    """What was made of the above, which copies for other layers share."""

    @property
    def count(self) -> Tensor:
        """How many keys a query sees: `(..., queries, 1)`."""
        if self.counted is not None:
            return self.counted
        return self._once("count", _sum_of_counts, self.log_count)

    @property
    def distance(self) -> Tensor:
        """Position of the query minus position of the key, `(..., 1, queries, keys)`."""
        assert self.query_ids is not None
        assert self.key_ids is not None
        return self._once("distance", _differences, self.query_ids, self.key_ids)

    @property
    def mask(self) -> Tensor:
        """What all layers add to the scores: `log_count`, with `bias` if there is one."""
        if self.bias is None:
            return self.log_count
        return self._once("mask", torch.add, self.log_count, self.bias)

    def _once(self, name: str, make: Callable[..., Tensor], *sources: Tensor) -> Tensor:
        """What `make` gives, which a copy with the same sources need not make again."""
        kept = self.made.get(name)
        if kept is None or any(
            one is not other for one, other in zip(kept[0], sources, strict=True)
        ):
            kept = self.made[name] = sources, make(*sources)
        return kept[1]


def _sum_of_counts(log_count: Tensor) -> Tensor:
    return log_count.exp().sum(-1, keepdim=True)


def _differences(query_ids: Tensor, key_ids: Tensor) -> Tensor:
    return (query_ids.unsqueeze(-1) - key_ids.unsqueeze(-2)).unsqueeze(-3)


class Remedy(nn.Module):
    """A part that claims to carry a model further in length.

    A remedy is made once per layer and acts through the hooks of attention, or with
    `per_layer = False` once per model, where it may treat position ids, embedded tokens, hide keys,
    and give one bias to all layers. Several remedies chain in the order in which they are named.
    """

    name: ClassVar[str]
    """The name by which models know it: see `remedy`."""

    per_layer: ClassVar[bool] = True
    """Whether every layer has its own."""

    maps: ClassVar[int] = 1
    """Score maps per head: 2 for differential attention, which makes one of them (`combined`)."""

    shared_keys: ClassVar[bool] = False
    """Whether the maps of a head share its keys, and differ in their queries alone: the model's
    own queries are those of the first map, and `second_queries` makes those of the second."""

    excludes: ClassVar[tuple[str, ...]] = ()
    """Hooks in which no other remedy may act beside it, because it leaves nothing for them."""

    by_multiset: ClassVar[bool] = False
    """Whether equal keys may be read once with the logarithm of their count, because nothing
    depends on where a key stands. Fast paths ask this and never guess."""

    stochastic: ClassVar[bool] = True
    """Whether attention weights are still positive and sum to 1."""

    positional: ClassVar[bool] = False
    """Whether it needs position ids, which a set has not."""

    ordered: ClassVar[bool] = False
    """Whether it needs the order of the tokens, which a set has not, but no ids."""

    tracks: ClassVar[bool] = False
    """Whether it can read several position ids per token."""

    causal: ClassVar[bool] = True
    """Whether a token's output stays independent of later tokens."""

    sees_later: ClassVar[bool] = False
    """Whether it depends on them outside training too: then no model takes it in which tokens see
    earlier ones only, not even one that takes batch norm."""

    by_prefix: ClassVar[bool] = True
    """Whether outside training a token's output stays the same however many tokens follow it. If
    not, as where positions are stretched by the length of the input, every length is measured on
    inputs of its own."""

    in_place_of: ClassVar[str | None] = None
    """The remedy of a trained model whose place it takes where it is one of `test_remedies`."""

    from_run: ClassVar[bool] = False
    """Whether its buffers are made, by `begun`, of the attention of another run's models, which
    `start_from` names; the run's own models then begin with weights that are drawn anew."""

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

    @classmethod
    def reshaped(cls, shape: Shape, **options: Any) -> Shape:
        """The shape that all remedies beside it are made for: it may need more position ids."""
        return shape

    @property
    def replaces(self) -> str | None:
        """What of the model it replaces: two remedies that replace the same are refused."""
        return "the attention weights" if self.acts("weights", "combined") else None

    def begun(self, weights: Tensor, key: Tensor) -> dict[str, Tensor]:
        """Its buffers by name, with `from_run`: out of the last layer's attention weights.

        Args:
            weights: `(inputs, heads, length, length)` of a trained model on some inputs.
            key: A random stream of the model's own.
        """
        raise NotImplementedError

    def acts(self, *hooks: str) -> bool:
        """Whether it does anything in one of these hooks: those that its class overrides."""
        return any(getattr(type(self), hook) is not getattr(Remedy, hook) for hook in hooks)

    def ids(self, ids: Tensor) -> Tensor:
        """Position ids `(..., length)` that everything after it sees (not per layer)."""
        return ids

    def embedded(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """The embedded tokens `(..., length, width)` (not per layer)."""
        return hidden

    def numbered(self, hidden: Tensor, tokens: Tensor) -> Tensor:
        """The embedded tokens as `embedded`, by the numbers `(..., length)` of the tokens."""
        return hidden

    def visible(self, read: Keys) -> Tensor | None:
        """Which keys stay seen: True and False that broadcast to `log_count` (not per layer)."""
        return None

    def second_queries(self, x: Tensor) -> Tensor:
        """Queries of the second map, `(..., queries, heads * head width)`, with `shared_keys`."""
        raise NotImplementedError

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

    def by_kernel(
        self, keys: Tensor, values: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor] | None:
        """Keys, values and mask of which the softmax mixes what `weights` would; None is none."""
        return None

    def combined(self, maps: Tensor, read: Keys) -> Tensor:
        """What a head makes of its softmax maps: `(..., heads, maps, queries, any)` without maps.

        It must be linear in the maps: it is given their weights, or what these have mixed.
        """
        raise NotImplementedError

    def mixed(self, heads: Tensor) -> Tensor:
        """The mixed values before W_O, `(..., queries, heads, value width of a head)`."""
        return heads

    def output(self, output: Tensor) -> Tensor:
        """What attention gives out, after W_O: `(..., queries, width)`."""
        return output


HOOKS = (
    "ids", "embedded", "numbered", "visible", "second_queries", "queries_keys", "scale", "bias",
    "scores", "weights", "combined", "mixed", "output",
)  # fmt: skip
_OF_MODEL_ALONE = ("ids", "embedded", "numbered", "visible")
_OF_MODEL = (*_OF_MODEL_ALONE, "bias")


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


def chain_key_maps(specifications: Sequence[str]) -> int:
    """How many keys a head has with these remedies: one for each of its maps that share none."""
    kinds = [REMEDIES.get(name) for name in names_of(specifications)]
    return max((kind.maps for kind in kinds if not kind.shared_keys), default=1)


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
        for specification in specifications:
            name, options = _parsed(specification)
            kind = REMEDIES.get(name)
            shape = kind.reshaped(shape, **_options(kind, options))
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
    remedies: Sequence[Any],
    *,
    positions: bool,
    causal: bool,
    tracks: int,
    model: str,
    hides_later: bool = False,
) -> None:
    """Raise `InputError` unless these remedies go together and with the model.

    Args:
        remedies: All of the model.
        positions: Whether tokens have positions.
        causal: Whether no token may depend on later ones, in training neither.
        tracks: How many position ids a token has.
        model: What errors call it.
        hides_later: Whether tokens see earlier ones only, though `causal` does not hold in
            training.
    """
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
        for other in remedies:
            if other is not one and one.excludes and other.acts(*one.excludes):
                raise InputError(
                    f"remedies = {one.name!r} and {other.name!r}: {one.name!r} leaves no place for "
                    f"what {other.name!r} does: expected one of them"
                )
        expected = f"one that needs no positions, as {model} has none"
        require(positions or not one.positional, "remedy", one.name, expected)
        expected = f"one that needs no order of keys, as {model} has none"
        require(positions or not one.ordered, "remedy", one.name, expected)
        expected = "another one beside it that reads position ids, such as 'rotary'"
        read = any(other.positional for other in remedies)
        require(read or not one.acts("ids"), "remedy", one.name, expected)
        expected = "another one: over a batch of sequences it mixes later tokens into earlier ones"
        require(one.causal or not causal, "remedy", one.name, expected)
        expected = f"one that does not choose by later tokens, which {model} hides"
        require(not (one.sees_later and hides_later), "remedy", one.name, expected)
        expected = f"one that reads {tracks} position ids per token, as this task has"
        require(tracks == 1 or one.tracks or not one.positional, "remedy", one.name, expected)


def _require_hooks(one: Remedy) -> None:
    """A hook that would never be called is a mistake in the remedy."""
    for hook in HOOKS:
        called = hook in _OF_MODEL if not one.per_layer else hook not in _OF_MODEL_ALONE
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
