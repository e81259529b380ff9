"""Random numbers of examples, all at once."""

from collections.abc import Sequence

import numpy
import torch
from torch import Tensor

from lengthwise.randomness import at, bits


def words_of(key: Tensor, step: int, count: int, first: int = 0) -> Tensor:
    """`bits(at(key, step), count, first)`, in a tenth of the time on a CPU."""
    if key.device.type != "cpu":
        return bits(at(key, step), count, first)
    from lengthwise.tasks._drawing import fill_words

    words = torch.empty(key.numel(), count, dtype=torch.int32)
    fill_words(key.reshape(-1).contiguous().numpy(), step, first, words.numpy())
    return words.view(*key.shape, count)


def draw_words(key: Tensor, count: int, sizes: Sequence[int]) -> list[Tensor]:
    """Random bits of `count` examples of each stream, in parts: `(*key.shape, count, size)` each.

    One call for all that an example needs is several times as fast as one for each part.
    """
    total = sum(sizes)
    words = bits(key, count * total).unflatten(-1, (count, total))
    return list(words.split(list(sizes), -1))


def distinct(words: Tensor, bound: int) -> Tensor:
    """Distinct numbers of 0..bound-1 out of random bits `(..., count)`, uniform: `words.shape`."""
    from lengthwise.tasks._kernels import choose_distinct

    rows = words.flatten(0, -2).cpu().numpy()
    chosen = numpy.empty(rows.shape, dtype=numpy.int64)
    choose_distinct(rows, bound, chosen)
    return torch.from_numpy(chosen).view(words.shape).to(words.device)
