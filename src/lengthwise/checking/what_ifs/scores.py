"""What-ifs that change which keys are seen, how sharply, or how large the output is."""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import PreTrainedModel

from lengthwise.checking.what_ifs._base import Situation, WhatIf
from lengthwise.checking.what_ifs.attention import Call, Change, changed_attention, refusal
from lengthwise.errors import require

FIRST_TOKENS = 4
"""So many tokens at the start stay visible to a window (arXiv 2309.17453)."""

BLOCK = 256
"""So many queries are attended for at once where a mask is needed: never N x N at once."""

POLYNOMIAL = (-0.037, 0.481, -2.3, 4.917, -1.791)
"""Of the entropy, highest power first: the adaptive temperature of arXiv 2410.01104."""


def _what_if(
    name: str,
    sentence: str,
    change: Callable[[Situation], Change],
    beyond: bool = True,
    watched: bool = False,
) -> WhatIf:
    def apply(model: PreTrainedModel, situation: Situation) -> AbstractContextManager[None]:
        return changed_attention(model, change(situation))

    return WhatIf(name, sentence, apply, refusal, beyond, watched)


def _window(situation: Situation) -> Change:
    """The last keys, as many as were trained with, and the first ones."""
    size = situation.trained - FIRST_TOKENS

    def first_key(query: int) -> int:
        return max(0, query + 1 - size)

    def seen(queries: Tensor, keys: Tensor) -> Tensor:
        return (keys < FIRST_TOKENS) | (keys > queries - size)

    return lambda call: _visible_only(call, first_key, FIRST_TOKENS, seen)


def _blockwise(situation: Situation) -> Change:
    """The own block and the one before it, blocks being half as long as was trained."""
    size = max(1, situation.trained // 2)

    def first_key(query: int) -> int:
        return max(0, (query // size - 1) * size)

    def seen(queries: Tensor, keys: Tensor) -> Tensor:
        return keys // size >= queries // size - 1

    return lambda call: _visible_only(call, first_key, 0, seen)


def _log_length(situation: Situation) -> Change:
    """Scores times log n over log of the trained length, n being the keys that a query sees."""

    def change(call: Call) -> Tensor:
        length = call.query.shape[2]
        seen = torch.arange(1, length + 1, device=call.query.device).float()
        factor = (seen.log() / math.log(situation.trained)).clamp(min=1.0)
        return call.plain(call.with_query(call.query * factor.to(call.query.dtype)[:, None]))

    return change


def _adaptive(_: Situation) -> Change:
    """Scores times a factor that grows where the entropy of the weights is high."""

    def change(call: Call) -> Tensor:
        groups = call.query.shape[1] // call.key.shape[1]
        key, value = (part.repeat_interleave(groups, 1).float() for part in (call.key, call.value))
        parts = []
        for start, stop in _blocks(call.query.shape[2]):
            scores = call.query[:, :, start:stop].float() @ key[:, :, :stop].transpose(2, 3)
            scores = scores * call.scale
            hidden = ~_causal(call, start, stop, 0)
            scores = scores.masked_fill(hidden, -torch.inf)
            plain = scores.softmax(-1)
            entropy = torch.special.entr(plain).sum(-1, keepdim=True)
            factor = torch.zeros_like(entropy)
            for coefficient in POLYNOMIAL:
                factor = factor * entropy + coefficient
            factor = torch.where(entropy > 0.5, factor.clamp(min=1.0), 1.0)
            parts.append((scores * factor).softmax(-1) @ value[:, :, :stop])
        return torch.cat(parts, 2).transpose(1, 2).to(call.query.dtype)

    return change


def _rescaled(situation: Situation) -> Change:
    """Each head's output drawn away from its mean until it varies as at the trained length."""
    rescaling = situation.rescaling
    require(
        rescaling is not None, "remedies", "rescale",
        "a model whose attention can be watched, at a trained length and at this one",
    )  # fmt: skip
    assert rescaling is not None

    def change(call: Call) -> Tensor:
        output = call.plain(call)
        beyond = output[:, situation.trained :]
        mean = rescaling.mean[call.layer].to(output)
        factor = rescaling.factor[call.layer].to(output).unsqueeze(-1)
        output[:, situation.trained :] = mean + (beyond - mean) * factor
        return output

    return change


WINDOW = _what_if(
    "window",
    f"only the last keys, as many as were trained with, and the first {FIRST_TOKENS}, which keep "
    "their rotary distance (StreamingLLM, 2309.17453, numbers them anew)",
    _window,
)
BLOCKWISE = _what_if(
    "blockwise",
    "only the own block of half the trained length and the one before it (arXiv 2212.10554)",
    _blockwise,
)
LOG_LENGTH = _what_if(
    "log-n",
    "scores times log n / log of the trained length, from there on (after arXiv 2501.19399, which "
    "trains with it)",
    _log_length,
)
ADAPTIVE = _what_if(
    "adaptive-temperature",
    "scores sharpened where their entropy is high, at every length (arXiv 2410.01104; its "
    "polynomial was fitted to another model)",
    _adaptive,
    beyond=False,
)
RESCALE = _what_if(
    "rescale",
    "every head's output varies again as at the trained length (arXiv 2504.02827 as an "
    "intervention; factors are measured in the plain model)",
    _rescaled,
    watched=True,
)


def _visible_only(
    call: Call,
    first_key: Callable[[int], int],
    always: int,
    seen: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Attention over some keys only, a block of queries at a time.

    Args:
        call: What is attended to.
        first_key: The first key that a query sees, not counting those at the start.
        always: So many keys at the start are seen besides.
        seen: Whether queries at some positions see keys at some positions, causality aside.
    """
    groups = call.query.shape[1] // call.key.shape[1]
    key, value = (part.repeat_interleave(groups, 1) for part in (call.key, call.value))
    parts = []
    for start, stop in _blocks(call.query.shape[2]):
        low = first_key(start)
        begin = min(always, low)
        keys = torch.cat((torch.arange(begin), torch.arange(low, stop))).to(key.device)
        queries = torch.arange(start, stop, device=key.device)[:, None]
        mask = _causal(call, start, stop, 0)[..., keys] & seen(queries, keys)
        parts.append(
            scaled_dot_product_attention(
                call.query[:, :, start:stop], key[:, :, keys], value[:, :, keys],
                attn_mask=mask, scale=call.scale,
            )
        )  # fmt: skip
    return torch.cat(parts, 2).transpose(1, 2).contiguous()


def _blocks(length: int) -> Iterator[tuple[int, int]]:
    for start in range(0, length, BLOCK):
        yield start, min(start + BLOCK, length)


def _causal(call: Call, start: int, stop: int, first: int) -> Tensor:
    """Which keys `first` to `stop` the queries `start` to `stop` see in the model itself."""
    if call.mask is not None:
        return call.mask[..., start:stop, first:stop]
    device = call.query.device
    return (
        torch.arange(first, stop, device=device)
        <= torch.arange(start, stop, device=device)[:, None]
    )
