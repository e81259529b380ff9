"""Rotary positions for longer inputs than training had: other frequencies, the same weights."""

import math
from typing import Literal

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.remedies._base import remedy
from lengthwise.remedies._keys import Keys, Shape
from lengthwise.remedies.rotary import BASE, Rotary


class ScaledRotary(Rotary):
    """Rotary positions of a model that was trained on inputs `factor` times shorter.

    Each of the family is a remedy of its own. In `test_remedies` it takes the place of `rotary` in
    a trained model; among the remedies of a run that starts from another one (`start_from`), it is
    there while training goes on. The factor is by default how much longer the task's longest input
    is than that of training (ours; published models have a fixed one).
    """

    in_place_of = "rotary"

    def __init__(self, shape: Shape, *, factor: float | Literal["auto"] = "auto") -> None:
        """Check the factor."""
        super().__init__(shape)
        longest = max(1.0, shape.max_length / shape.max_train_length)
        self.factor = longest if factor == "auto" else factor
        require(self.factor >= 1, f"{self.name}:factor", factor, "at least 1, or auto")
        self.trained = shape.max_train_length


@remedy("interpolated")
class Interpolated(ScaledRotary):
    """Rotary positions divided by a factor: position interpolation (arXiv 2306.15595).

    All frequencies are divided by `factor`, so an input that many times longer stays within the
    angles of training, at distances `factor` times finer than training saw, short inputs too. The
    paper trains on for some steps. It equals `linear` of transformers.
    """

    def frequencies(self, pairs: int, ids: Tensor) -> Tensor:
        """Those of rotary positions over the factor."""
        return super().frequencies(pairs, ids) / self.factor


@remedy("dynamic-ntk")
class DynamicNTK(ScaledRotary):
    """Rotary positions whose base grows with the input: dynamic NTK (after arXiv 2309.00071).

    With N the length of the input (its largest id + 1), N_0 that of training and d the width of a
    head, the base 10000 is multiplied by (f N / N_0 - f + 1)^(d / (d - 2)) once N > N_0: slow pairs
    are stretched, the fastest stays, and up to the training length nothing changes. f is `factor`.
    Every token turns by the length of the whole input, so a prefix is not read as it would be
    alone. It equals `dynamic` of transformers, but that every sequence of a batch has its own N.
    """

    by_prefix = False

    def __init__(self, shape: Shape, *, factor: float | Literal["auto"] = "auto") -> None:
        """Check the width of a head, of which one pair must be free to turn slower."""
        super().__init__(shape, factor=factor)
        width = shape.head_width
        require(width >= 4, "width of a head", width, "at least 4, for dynamic-ntk positions")

    def frequencies(self, pairs: int, ids: Tensor) -> Tensor:
        """Those of a larger base, `(..., 1, pairs)`, for every sequence."""
        length = (ids.amax(-1) + 1).clamp(min=self.trained)[..., None, None]
        stretch = self.factor * length / self.trained - (self.factor - 1)
        base = BASE * stretch ** (pairs / (pairs - 1))
        return base ** -(torch.arange(pairs, device=ids.device) / pairs)


@remedy("yarn")
class YaRN(ScaledRotary):
    """Rotary positions that interpolate the slow pairs of features only: YaRN (arXiv 2309.00071).

    A pair that turns fully `fast` times or more within the training length keeps its frequency, one
    that does so `slow` times or less has it divided by `factor`, and those between are mixed
    linearly by their number; queries and keys are multiplied by 0.1 ln(factor) + 1, and scores by
    its square. 32 and 1 are the paper's. As with `interpolated`, short inputs change too. It equals
    `yarn` of transformers, edges rounded to whole pairs, for training lengths of 7 or more; it is
    not dynamic YaRN, whose factor follows the input.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        factor: float | Literal["auto"] = "auto",
        fast: float = 32.0,
        slow: float = 1.0,
    ) -> None:
        """Check the numbers of turns."""
        super().__init__(shape, factor=factor)
        require(0 < slow < fast, "yarn:slow", slow, f"between 0 and fast = {fast}")
        self.fast = fast
        self.slow = slow

    def queries_keys(self, queries: Tensor, keys: Tensor, read: Keys) -> tuple[Tensor, Tensor]:
        """Both turned and made longer."""
        queries, keys = super().queries_keys(queries, keys, read)
        stretch = 0.1 * math.log(self.factor) + 1
        return queries * stretch, keys * stretch

    def frequencies(self, pairs: int, ids: Tensor) -> Tensor:
        """Each as it is, over the factor, or in between."""
        own = super().frequencies(pairs, ids)
        first = max(math.floor(self._pair(self.fast, pairs)), 0)
        last = min(math.ceil(self._pair(self.slow, pairs)), 2 * pairs - 1)
        numbers = torch.arange(pairs, device=ids.device)
        share = ((numbers - first) / max(last - first, 0.001)).clamp(0, 1)
        return own * (1 - share) + own / self.factor * share

    def _pair(self, turns: float, pairs: int) -> float:
        """The number of the pair, a fraction, that turns so often within the training length."""
        return pairs * math.log(self.trained / (turns * 2 * math.pi)) / math.log(BASE)
