"""How bad a model can get at each length: exactly where that is known, else as far as was tried."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import nn

from lengthwise.errors import require
from lengthwise.models import MinimalTransformer
from lengthwise.theory.sampling import margin, negative_spread, try_inputs
from lengthwise.theory.tables import Tables, in_float64, tables_of
from lengthwise.theory.worst_gap import smallest_gaps

EQUAL = 1e-9
"""Legal logits that differ by no more than this count as equal."""


@dataclass(frozen=True)
class Certificate:
    """The worst case of one model, by input length."""

    vocab: int
    """Number of tokens."""
    margins: Mapping[int, float]
    """Minimum over all inputs of (lowest legal logit - highest logit of an input token)."""
    worst_inputs: Mapping[int, tuple[int, ...]]
    """An input that has that margin; its last entry is the last token."""
    legal_spreads: Mapping[int, float]
    """Maximum over all inputs of (highest - lowest legal logit)."""
    inputs: Mapping[int, int]
    """How many inputs this speaks of: all there are, or as many as were tried."""
    exact: Mapping[int, bool]
    """Whether these are all inputs of the length; if not, a worse one may exist."""

    def precision(self, length: int, tolerance: float = EQUAL) -> float:
        """The theorem's precision: the margin, or -inf where legal logits differ by more.

        Args:
            length: One of its lengths.
            tolerance: How much legal logits may differ.
        """
        return self.margins[length] if self.legal_spreads[length] <= tolerance else -math.inf

    @property
    def strength(self) -> float:
        """C: the lesser of the margins at lengths 1 and 2, from which Theorem 4.2 (b) starts."""
        for length in (1, 2):
            require(length in self.margins, "lengths", list(self.margins), "1 and 2 among them")
        return min(self.margins[1], self.margins[2])

    def illegal_mass_bounds(self, length: int) -> tuple[float, float]:
        """Bounds on the largest illegal mass of any input of this length.

        At most: all tokens of the input lie just the margin below all legal ones. At least: at the
        worst input one token does, and no legal logit exceeds the lowest by more than the spread.
        Where `exact` is False, the first holds for the inputs that were tried only.

        Args:
            length: One of its lengths.

        Returns:
            `(at least, at most)`.
        """
        low, spread, legal = self.margins[length], self.legal_spreads[length], self.vocab - length
        others = math.log(legal - 1) + spread if legal > 1 else -math.inf
        return _sigmoid(-low - _log_one_plus_exp(others)), _sigmoid(-low - math.log(legal / length))


def certify(
    model: nn.Module, lengths: Sequence[int] | None = None, *, inputs: int = 1 << 17, seed: int = 0
) -> Certificate:
    """The worst case of a `MinimalTransformer` over ALL inputs of each length, in float64.

    Without a norm after attention the answer is exact and nothing is enumerated: no input is worse
    by more than 1e-12 of the largest difference of logits. With a norm we know of no such method:
    lengths with few enough inputs are gone through (all lengths, up to 16 tokens), the others are
    sampled and searched, and `exact` and `inputs` of the certificate say so.

    Args:
        model: Constant or softmax attention, without positions.
        lengths: Which lengths (default: all, 1..vocab-1).
        inputs: With a norm: how many inputs to go through at most, or to draw, per length.
        seed: With a norm: seed of the drawn inputs.

    Raises:
        InputError: A length is none of the model's, or `inputs` is below 1.
    """
    model = in_float64(model)
    chosen = list(range(1, model.vocab)) if lengths is None else sorted(set(lengths))
    for length in chosen:
        require(0 < length < model.vocab, "length", length, f"one of 1..{model.vocab - 1}")
    require(inputs >= 1, "inputs", inputs, "at least 1")
    tables = tables_of(model)
    return _exact(tables, chosen) if tables.linear else _tried(model, chosen, inputs, seed)


def _exact(tables: Tables, lengths: list[int]) -> Certificate:
    gaps = smallest_gaps(tables, lengths, "illegal")
    # A single legal token has no spread.
    legal_gaps = smallest_gaps(tables, [s for s in lengths if s < tables.vocab - 1], "legal")
    return Certificate(
        tables.vocab,
        margins={s: gap.value for s, gap in gaps.items()},
        worst_inputs={s: gap.worst_input for s, gap in gaps.items()},
        legal_spreads={s: 0.0 - legal_gaps[s].value if s in legal_gaps else 0.0 for s in lengths},
        inputs={s: math.perm(tables.vocab, s) for s in lengths},
        exact=dict.fromkeys(lengths, True),
    )


def _tried(model: MinimalTransformer, lengths: list[int], inputs: int, seed: int) -> Certificate:
    tried = {s: try_inputs(model, s, (margin, negative_spread), inputs, seed) for s in lengths}
    return Certificate(
        model.vocab,
        margins={s: low.value for s, (low, _) in tried.items()},
        worst_inputs={s: low.worst_input for s, (low, _) in tried.items()},
        legal_spreads={s: 0.0 - spread.value for s, (_, spread) in tried.items()},
        inputs={s: low.inputs for s, (low, _) in tried.items()},
        exact={s: low.complete for s, (low, _) in tried.items()},
    )


def _sigmoid(value: float) -> float:
    """1 / (1 + exp(-value)), precise also where it is next to 0."""
    small = math.exp(-abs(value))
    return small / (1 + small) if value < 0 else 1 / (1 + small)


def _log_one_plus_exp(value: float) -> float:
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))
