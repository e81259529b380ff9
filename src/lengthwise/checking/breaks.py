"""At which length a model breaks, by named rules, each with an interval."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

RESAMPLES = 1000
"""How many bootstrap resamples of the sequences an interval rests on."""

CONFIDENCE = 0.95

SHARE = 0.85
"""Of its own best score a model must keep so much (the rule of NoLiMa, arXiv 2502.05167)."""

WORTH_JUDGING = 0.1
"""A score whose best is below this says nothing about length: the model cannot do it. Ours."""

Rule = Literal["loss", "copying", "needles"]

RULES: dict[Rule, str] = {
    "loss": "the first length whose loss on the same tokens is higher than at the best shorter "
    "length, by a paired test over documents at 95 %, corrected for the number of lengths",
    "copying": "the first length whose copy accuracy, minus that of tokens that cannot be copied, "
    "is below 0.85 of its best at shorter lengths",
    "needles": "the first length whose share of needles found is below 0.85 of its best at shorter "
    "lengths",
}


@dataclass(frozen=True)
class BreakLength:
    """Where one rule sees a model break."""

    rule: Rule
    """The rule that sees it."""
    length: float
    """Infinite if it does not break at any of the lengths; not a number if that cannot be said."""
    low: float
    """In 95 % of the resamples of sequences the rule's length lies from here ..."""
    high: float
    """... to here."""
    longest: int
    """The longest length that was looked at."""

    def __str__(self) -> str:
        """The length in words, with its interval."""
        if math.isnan(self.length):
            return "cannot be judged"
        words = f"{self.length:.0f}" if math.isfinite(self.length) else f"not up to {self.longest}"
        if self.low == self.high:
            return words
        return f"{words} ({_end(self.low, self.longest)} to {_end(self.high, self.longest)})"


def break_length(rule: Rule, values: Mapping[int, np.ndarray]) -> BreakLength:
    """Apply a rule, and apply it again to resamples of the sequences.

    Args:
        rule: Which one.
        values: By length, ascending: losses of documents, or scores of sequences. Documents are
            paired: number d is the same at every length.
    """
    lengths = np.array(list(values), dtype=float)
    if len(lengths) < 2:
        longest = int(lengths[-1]) if len(lengths) else 0
        return BreakLength(rule, math.nan, math.nan, math.nan, longest)
    table = np.stack([np.asarray(row, dtype=float) for row in values.values()])
    sequences = table.shape[1]
    drawn = np.random.default_rng(0).integers(sequences, size=(RESAMPLES, sequences))
    samples = np.concatenate([table[None], table[:, drawn].transpose(1, 0, 2)])
    found = _by_loss(samples, lengths) if rule == "loss" else _by_score(samples, lengths)
    tail = (1 - CONFIDENCE) / 2
    judged = np.where(np.isnan(found[1:]), np.inf, found[1:])
    low, high = np.quantile(judged, (tail, 1 - tail), method="inverted_cdf")
    if math.isnan(found[0]):
        low = high = math.nan
    return BreakLength(rule, float(found[0]), float(low), float(high), int(lengths[-1]))


def _by_loss(samples: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """By sample; `samples` is `(samples, lengths, documents)`."""
    count, _, documents = samples.shape
    means = samples.mean(-1)
    looks = len(lengths) - 1
    found = np.full(count, np.inf)
    if documents < 2:
        return np.full(count, np.nan)
    reach = stats.t.ppf(1 - (1 - CONFIDENCE) / looks, documents - 1)
    rows = np.arange(count)
    for place in range(len(lengths) - 1, 0, -1):
        best = means[:, :place].argmin(1)
        worse = samples[:, place] - samples[rows, best]
        error = worse.std(-1, ddof=1) / math.sqrt(documents)
        found[worse.mean(-1) > reach * error + 1e-9] = lengths[place]
    return found


def _by_score(samples: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    means = samples.mean(-1)
    best = np.maximum.accumulate(means, 1)
    found = np.full(len(means), np.inf)
    for place in range(len(lengths) - 1, 0, -1):
        judged = best[:, place - 1] >= WORTH_JUDGING
        found[judged & (means[:, place] < SHARE * best[:, place - 1])] = lengths[place]
    found[best[:, -1] < WORTH_JUDGING] = np.nan
    return found


def _end(length: float, longest: int) -> str:
    return f"{length:.0f}" if math.isfinite(length) else f"beyond {longest}"
