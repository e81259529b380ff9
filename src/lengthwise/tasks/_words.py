"""Random numbers of examples, all at once."""

from collections.abc import Sequence

from torch import Tensor

from lengthwise.randomness import bits


def draw_words(key: Tensor, count: int, sizes: Sequence[int]) -> list[Tensor]:
    """Random bits of `count` examples of each stream, in parts: `(*key.shape, count, size)` each.

    One call for all that an example needs is several times as fast as one for each part.
    """
    total = sum(sizes)
    words = bits(key, count * total).unflatten(-1, (count, total))
    return list(words.split(list(sizes), -1))
