"""Several remedies at once: by their names and options, in order, and whether they fit."""

import inspect
from collections.abc import Iterator, Sequence
from typing import Any, get_type_hints

import msgspec
from torch import nn

from lengthwise.errors import InputError, require, require_name
from lengthwise.randomness import seeded
from lengthwise.registry import REMEDIES
from lengthwise.remedies._base import HOOKS, Remedy
from lengthwise.remedies._keys import Shape

_OF_MODEL_ALONE = ("ids", "embedded", "numbered", "visible")
_OF_MODEL = (*_OF_MODEL_ALONE, "bias")


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
