"""The score of a model on a task, and the length at which it breaks."""

import math
from collections.abc import Sequence

from lengthwise.tasks import Task, TokenTask

MULTIPLES = (1.0, 1.5, 2.0, 4.0, 8.0)
"""Models are tested at so many times the training length."""

RELATIVE, FIXED = 0.85, 0.9
"""The two rules of the break length: below 0.85 of a model's own score at the training length (the
rule of NoLiMa, arXiv 2502.05167), or below 0.9 whatever it had there."""

GATE = 0.9
"""A model counts as having learned its task if its score at the training length is at least that,
unless the task says otherwise. Ours."""

ONE_MINUS = "1 - "
"""Begins the name of a score that is made of a measure of which less is better."""


def score_of(task: Task) -> str:
    """The score by which models on a task are judged; it is 1 where all is right.

    Written answers must be right from the first symbol to END (`exact_match`). Where one thing is
    asked, or many things each for itself, it is the share of right answers (`accuracy`). Where
    several answers may be right it is 1 - TVD.
    """
    if task.prefixes or task.graded:
        return f"{ONE_MINUS}tvd"
    end = task.end if isinstance(task, TokenTask) else None
    return "accuracy" if end is None else "exact_match"


def break_length(lengths: Sequence[int], scores: Sequence[float], threshold: float) -> float | None:
    """The length at which the score falls below a threshold, or None if it never does.

    Between two tested lengths the score is taken to fall evenly over the logarithm of the length.

    Args:
        lengths: Tested lengths, the training length first, rising.
        scores: One for each; the first is at least the threshold, or the break is right there.
        threshold: What the score must not fall below.
    """
    before: tuple[int, float] | None = None
    for length, score in zip(lengths, scores, strict=True):
        if math.isnan(score):
            return before and float(before[0])
        if score < threshold:
            if before is None:
                return float(length)
            part = (before[1] - threshold) / (before[1] - score)
            return before[0] * (length / before[0]) ** part
        before = length, score
    return None
