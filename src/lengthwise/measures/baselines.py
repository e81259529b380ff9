"""What can be had without reading the input: by chance, and by knowing the length and the place.

A score means something beside these two numbers only. In the Chomsky suite (arXiv 2207.02098), for
one, a predictor that never reads its input scores 0.897 on bucket sort.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from lengthwise.measures.by_length import require_lengths
from lengthwise.randomness import address, at
from lengthwise.tasks import Task, TokenTask

INPUTS, FEWER = 8192, 512
"""Inputs that a baseline is computed over, unless all can be enumerated; fewer where they are no
tokens, as targets of series take long. A share of inputs is then known to about 0.01. Ours."""

ELEMENTS = 1 << 22
"""Numbers of inputs and targets that are held at once: of long inputs there are fewer."""

FEWEST = 64
"""Inputs that are drawn in any case."""


HIGH_IS_GOOD = (
    "accuracy", "expected_accuracy", "exact_match", "exact_match_length_given", "legal_set",
    "legal_set_match",
)  # fmt: skip
"""Measures that rise as a model gets better; all others of the baselines fall."""

Scores = dict[str, tuple[Tensor, Tensor]]
"""By measure: chance and length only, each by place, or of all places together."""


@dataclass(frozen=True)
class Baseline:
    """What one measure comes to at one length, for predictors that do not read the input."""

    measure: str
    """The name of the measure."""
    length: int
    """At which length."""
    chance: float
    """Of a guess: every class equally likely. Of numbers: one constant for all answers."""
    length_only: float
    """Of the best predictor that knows only the length of the input and the place of the answer."""
    inputs: int
    """How many inputs it was computed over."""
    exact: bool
    """Whether these are all inputs, so that nothing is estimated."""


def baselines(
    task: Task,
    lengths: Sequence[int] | None = None,
    *,
    inputs: int | None = None,
    seed: int = 0,
) -> Iterator[Baseline]:
    """The baselines of every measure of a task at some lengths.

    They follow from the targets alone. Of a length that has no more than `inputs` inputs all are
    taken, and the baselines are exact. Of others, inputs are drawn: the length-only predictor is
    chosen on one half of them and scored on the other, so that it is not flattered by what it was
    chosen on. At every place it answers

    - for accuracy, illegal mass and exact match with the class that is right most often. For an
      exact match, the one whole answer that is right most often is tried as well, and the better
      one counts: the very best fixed answer is not searched for;
    - for KL with the mean target, which is the best there is;
    - for expected accuracy with the largest class of the mean target;
    - for TVD with the mean target or with all mass on its largest class, whichever is nearer: of
      answers with one right class that is the best there is, of others a bound;
    - for legal sets with the set that is the right one most often; a guess names all classes, as
      all of them have an even share;
    - for numbers with their mean.

    Args:
        task: Whose targets are asked for.
        lengths: At which lengths (default: all that the task has).
        inputs: How many inputs are drawn per length (default: 8192, or 512 where they are no
            tokens); fewer where they are long.
        seed: Seed of the inputs that are drawn.

    Raises:
        InputError: A length is none of the task's, or there are too many to take all.
    """
    lengths = require_lengths(task, lengths)
    if inputs is None:
        inputs = INPUTS if isinstance(task, TokenTask) else FEWER
    shared: tuple[Scores, int] | None = None
    for length in lengths:
        rates = task.answer_rates(length)
        every = task.enumerate_inputs(length, inputs) if rates is None else None
        place, exact = -1, rates is not None or every is not None
        if rates is not None:
            found, count = _of_rates(rates), 0
        elif every is not None:
            found, count = _scores(task, every, every)
        elif task.prefixes:  # one draw serves all lengths
            if shared is None:
                shared = _scores(task, *_halves(task, max(lengths), inputs, seed))
            (found, count), place = shared, length - 1
        else:
            found, count = _scores(task, *_halves(task, length, inputs, seed))
        for name, (chance, length_only) in found.items():
            values = float(chance[place]), float(length_only[place])
            # Who knows the length may still guess.
            best = max(values) if name in HIGH_IS_GOOD else min(values)
            if not math.isnan(values[0]):  # something is asked there
                yield Baseline(name, length, values[0], best, count, exact)


def baseline_of(task: Task, measure: str, lengths: Sequence[int], seed: int = 0) -> list[Baseline]:
    """The baselines of one measure, or none where it has none.

    A measure that was taken with another remedy, such as `accuracy_scalable`, has that of
    `accuracy`.
    """
    found = list(baselines(task, lengths, seed=seed))
    known = {one.measure for one in found}
    fitting = [name for name in known if measure == name or measure.startswith(f"{name}_")]
    name = max(fitting, key=len, default=None)
    return [one for one in found if one.measure == name]


def _halves(task: Task, length: int, inputs: int, seed: int) -> tuple[Any, Any]:
    """Inputs to choose a predictor on, and as many to score it on."""
    one = task.draw(torch.tensor(0), length, 1).inputs
    per_input = task.targets(one).numel() + sum(
        leaf.numel() for leaf in tree_leaves(one) if leaf is not None
    )
    count = max(FEWEST, min(inputs, ELEMENTS // per_input)) // 2
    keys = torch.tensor([address(seed, "baseline", length, half) for half in range(2)])
    return task.draw(keys[0], length, count).inputs, task.draw(keys[1], length, count).inputs


def _scores(task: Task, first: Any, second: Any) -> tuple[Scores, int]:
    """A predictor that is chosen on some inputs and scored on others, and how many these are."""
    same = first is second
    found = _Predictor(task, first, exact=same).scores(second)
    return found, len(tree_leaves(second)[0]) * (1 if same else 2)


def _of_rates(rates: Tensor) -> Scores:
    """Of one answer of which it is known how often each class is the right one."""
    rates, classes = rates.to(torch.float64), len(rates)
    best, even = rates.max().reshape(1), torch.tensor([1 / classes], dtype=torch.float64)
    entropy = torch.special.entr(rates).sum().reshape(1)
    return {
        "accuracy": (even, best),
        "exact_match": (even, best),
        "illegal_mass": (1 - even, 1 - best),
        "argmax_illegal": (1 - even, 1 - best),
        "tvd": (1 - even, 1 - best),
        "kl": (-even.log(), entropy),
    }


class _Predictor:
    """Answers by the place alone, chosen on some inputs."""

    def __init__(self, task: Task, inputs: Any, *, exact: bool) -> None:
        self._task = task
        target = self._targets(inputs)
        if task.numbers:
            self._constant = target.mean((0, 1))
            self._mean = target.mean(0)
            return
        asked, legal = target.sum(-1) > 0, target > 0
        # Where inputs are drawn, a class that none of them has is still possible.
        unseen = 0.0 if exact else 1.0 / task.classes
        total = target.sum(0) + unseen
        self._mean = total / total.sum(-1, keepdim=True).clamp(min=1e-9)
        self._likeliest = total.argmax(-1)
        self._often = legal.sum(0)
        answers = target.argmax(-1).masked_fill(~asked, 0)
        rows, counts = answers.unique(dim=0, return_counts=True)
        self._whole = rows[counts.argmax()]
        if task.legal_sets:
            names, number = _names(legal).unique(return_inverse=True)
            places = torch.arange(legal.shape[1]).expand_as(number)
            cells = (places * len(names) + number)[asked]
            counts = cells.bincount(minlength=legal.shape[1] * len(names))
            self._set = names[counts.view(-1, len(names)).argmax(-1)]

    def scores(self, inputs: Any) -> Scores:
        """How it does, by every measure."""
        target = self._targets(inputs)
        if self._task.numbers:
            return self._numbers(target, inputs)
        asked, classes = target.sum(-1) > 0, self._task.classes
        even = torch.full_like(self._mean, 1 / classes)
        largest = self._over(self._right(target, self._likeliest), asked)
        nearest = torch.minimum(self._over(_distance(self._mean, target), asked), 1 - largest)
        found: Scores = {
            "tvd": (self._over(_distance(even, target), asked), nearest),
            "kl": (self._over(_divergence(even, target), asked),
                   self._over(_divergence(self._mean, target), asked)),
        }  # fmt: skip
        if self._task.graded:
            guess = self._over(even[..., 0].expand_as(asked), asked)
            return found | {"expected_accuracy": (guess, largest)}
        return found | self._of_legal(target > 0, asked)

    def _of_legal(self, legal: Tensor, asked: Tensor) -> Scores:
        """How it does by the measures that ask what is right."""
        classes = self._task.classes
        share = legal.sum(-1).to(torch.float64) / classes
        right = self._right(legal, self._often.argmax(-1))
        found: Scores = {"accuracy": (self._over(share, asked), self._over(right, asked))}
        for name in ("illegal_mass", "argmax_illegal"):
            found[name] = (1 - found["accuracy"][0], 1 - found["accuracy"][1])
        found["exact_match"] = (self._match(share, asked, asked), self._best(legal, asked, asked))
        if self._task.legal_sets:
            every = legal.all(-1).to(torch.float64)
            often = (_names(legal) == self._set).to(torch.float64)
            found["legal_set"] = (self._over(every, asked), self._over(often, asked))
            found["legal_set_match"] = (
                self._match(every, asked, asked), self._match(often, asked, asked),
            )  # fmt: skip
        end = self._task.end if isinstance(self._task, TokenTask) else None
        if end is not None:
            other = torch.arange(classes) != end
            legal = legal & other
            scored = legal.any(-1)
            share = legal.sum(-1).to(torch.float64) / (classes - 1)
            found["exact_match_length_given"] = (
                self._match(share, scored, asked), self._best(legal, scored, asked, other),
            )  # fmt: skip
        return found

    def _best(
        self, legal: Tensor, scored: Tensor, asked: Tensor, among: Tensor | None = None
    ) -> Tensor:
        """The share of answers that are right as a whole, by the better of two fixed answers."""
        often = self._often if among is None else self._often.where(among, -1)
        by_place = self._match(self._right(legal, often.argmax(-1)), scored, asked)
        if self._task.prefixes:
            return by_place
        return torch.maximum(by_place, self._match(self._right(legal, self._whole), scored, asked))

    def _match(self, right: Tensor, scored: Tensor, asked: Tensor) -> Tensor:
        """The mean of whole answers being right; with prefixes, of every prefix."""
        right = right.masked_fill(~scored, 1.0)
        if self._task.prefixes:
            return self._over(right.cumprod(-1), asked)
        return self._over(right.prod(-1, keepdim=True), asked.any(-1, keepdim=True))

    def _over(self, values: Tensor, asked: Tensor) -> Tensor:
        """The mean over the answers at every place, or with no prefixes over all of them."""
        total, count = values.masked_fill(~asked, 0.0).sum(0), asked.sum(0)
        if not self._task.prefixes:
            total, count = total.sum(-1, keepdim=True), count.sum(-1, keepdim=True)
        return total / count

    def _numbers(self, target: Tensor, inputs: Any) -> Scores:
        missed = self._task.variances(inputs).to(torch.float64).reshape(target.shape)
        everywhere = torch.ones(target.shape[:2], dtype=torch.bool)
        found: Scores = {}
        for name, added in (("mse", missed), ("excess_mse", torch.zeros_like(missed))):
            both = ((target - guess).square() + added for guess in (self._constant, self._mean))
            chance, mean = (self._over(errors.mean(-1), everywhere) for errors in both)
            found[name] = (chance, mean)
        return found

    def _targets(self, inputs: Any) -> Tensor:
        """`(inputs, places, classes)`, or of numbers their means given the input."""
        target = self._task.targets(inputs).to(torch.float64)
        return target.unsqueeze(1) if target.dim() == 2 else target

    @staticmethod
    def _right(mass: Tensor, classes: Tensor) -> Tensor:
        """The mass, or whether there is any, of one class at every place."""
        index = classes.expand(len(mass), -1).unsqueeze(-1)
        return mass.gather(-1, index).squeeze(-1).to(torch.float64)


def _names(sets: Tensor) -> Tensor:
    """64 random bits for every set of classes, `(..., classes)`: the same for equal ones."""
    return (sets * at(torch.tensor(0), torch.arange(sets.shape[-1]))).sum(-1)


def _distance(guess: Tensor, target: Tensor) -> Tensor:
    return (guess - target).abs().sum(-1) / 2


def _divergence(guess: Tensor, target: Tensor) -> Tensor:
    return (torch.xlogy(target, target) - torch.xlogy(target, guess)).sum(-1)
