"""The successor of a number: the shortest task in which a carry may travel all the way."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor
from torch.nn import functional

from lengthwise.tasks._arithmetic import NumberTask
from lengthwise.tasks._base import task
from lengthwise.tasks._digits import BASE, EQUALS, carried, count_numbers, draw_numbers
from lengthwise.tasks._splits import split_symbol
from lengthwise.tasks._words import draw_words
from lengthwise.tasks.addition import ADDITION_DEFAULTS


@task("successor")
@dataclass(frozen=True)
class Successor(NumberTask):
    """The number after a number, such as `1299=0031`: 1300, its last digit first.

    Numbers of a length are all equally likely. (Attention Bias Calibration, arXiv 2310.11984, whose
    code fills numbers up with zeros to one size for all lengths, so that no input of a test is
    longer than those of training: that is `fixed`. By default a longer number is a longer input.)
    """

    defaults: ClassVar[Mapping[str, Any]] = {
        **ADDITION_DEFAULTS,
        "max_train_length": 6,
        "test_lengths": (1, 2, 4, 6, 7, 8, 10, 12, 16, 24, 40, 60),
    }

    padded: bool = False
    """Whether the answer has a leading zero where it has no more digits than the number."""

    fixed: bool = False
    """Whether numbers have leading zeros up to the longest there are, and answers one digit more:
    inputs of all lengths then have one size, and only their leading zeros tell them apart."""

    def answer_digits(self, length: int) -> int:
        """One more than the number: 999 has the successor 1000."""
        return length + 1

    def sizes(self, length: int) -> tuple[int, int]:
        """The number and =; the answer and END."""
        length = self.longest if self.fixed else length
        return length + 1, length + 2

    def count_inputs(self, length: int) -> int:
        """All numbers of so many digits."""
        return self.split_share(count_numbers(length))

    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        """Numbers, as they are written."""
        (words,) = draw_words(key, count, (length,))
        digits = draw_numbers(words, length)
        digits[..., 0] = split_symbol(words[..., 0], digits[..., 1:], BASE, self.split)
        if self.fixed:
            digits = functional.pad(digits, (0, self.longest - length))
        digits = digits if self.order == "reversed" else digits.flip(-1)
        return functional.pad(digits, (0, 1), value=EQUALS)

    def answers(self, prompts: Tensor, length: int) -> Tensor:
        """Successors, as they are written."""
        digits = prompts[..., :-1]
        columns = digits.clone() if self.order == "reversed" else digits.flip(-1)
        columns[..., 0] += 1
        whole = carried(columns, digits.shape[-1] + 1)
        return self._answer(whole, padded=self.padded or self.fixed)
