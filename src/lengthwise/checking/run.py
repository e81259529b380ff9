"""The check itself: a model, lengths, and what it does at each of them, plain and changed."""

import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lengthwise.checking.behaviour import Behaviour, measure, unwatched
from lengthwise.checking.budget import Memory, in_words, pairs_per_token, predict_seconds
from lengthwise.checking.inputs import TARGETS, Inputs
from lengthwise.checking.kept import PLAIN, KeptLengths, Settings
from lengthwise.checking.mechanism import Watcher, cannot_watch
from lengthwise.checking.positions import Positions, require_causal
from lengthwise.checking.result import Check
from lengthwise.checking.what_ifs import Rescaling, Situation, WhatIf, choose
from lengthwise.errors import InputError, require
from lengthwise.probing.inputs import Vocabulary, read_text
from lengthwise.probing.models import DType, load
from lengthwise.probing.observer import attention_of
from lengthwise.probing.run import evaluating, fingerprint
from lengthwise.probing.summary import HEADS, Summary
from lengthwise.progress import Progress, Report

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SHORTEST = 32
"""A length below this leaves nothing to copy or to read. Ours."""

MEASURED_FIRST = 2
"""So many lengths are measured before anything is predicted."""


def check(
    model: "PreTrainedModel | str",
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    *,
    lengths: Sequence[int],
    text: str | Path | Tensor | None = "shakespeare",
    remedies: Sequence[str] | None = None,
    remedies_at: Sequence[int] | None = None,
    documents: int = 8,
    sequences: int = 4,
    mechanism: bool = True,
    budget: float | None = None,
    seed: int = 0,
    dtype: DType = "float32",
    device: str = "cpu",
    name: str | None = None,
    out: Path | None = None,
    report: Report = lambda progress: None,
    say: Callable[[str], None] = lambda line: None,
) -> Check:
    """Find at which length a pretrained model breaks, why, and what mends it without training.

    Args:
        model: A causal model of transformers; or a short name (`smollm2`), a folder, a GGUF file or
            a name on the hub, loaded with its tokenizer.
        tokenizer: Reads the text and writes the needles.
        lengths: Numbers of tokens, ascending. They may go beyond what the configuration claims
            unless positions are learned.
        text: A file of plain text, or `shakespeare`, or the tokens of a text.
        remedies: Which what-ifs to try, in this order; None for all that the model can take.
        remedies_at: At which of the lengths to try them; None for all.
        documents: On how many documents of the text the loss is taken.
        sequences: How many sequences to copy, and how many haystacks, at each length; half as many
            to copy out of order.
        mechanism: Whether to watch attention while documents are read.
        budget: Seconds; what would not fit is left out, and the result says what.
        seed: Of all that is drawn.
        dtype: Of the weights, if the model is loaded here.
        device: Where to run, if the model is loaded here.
        name: What to call the model; its own name if None.
        out: A folder that keeps each length as it is done; those found there are not done again.
        report: Told of the progress.
        say: Told in words what is predicted and left out.

    Raises:
        InputError: If the model is not causal, has no position for a length, or cannot take a
            remedy that is named; if the text is too short; if a number overflows.
    """
    if isinstance(model, str):
        name = name or model
        model, tokenizer = load(model, dtype, device)
    require_causal(model)
    positions = Positions.of(model)
    _require_lengths(model, positions, lengths)
    for length in remedies_at or ():
        require(length in lengths, "remedies_at", length, f"one of the lengths {list(lengths)}")
    require(documents >= 2, "documents", documents, "at least 2, to see how they differ")
    require(sequences >= 2, "sequences", sequences, "at least 2, to see how they differ")
    if text is None:
        raise InputError("text = None: expected a file of text, or its tokens")
    tokens = text if isinstance(text, Tensor) else read_text(text, tokenizer)
    targets = min(TARGETS, lengths[0] // 2)
    inputs = Inputs(Vocabulary.of(model, tokenizer), tokens, tokenizer, documents, targets, seed)
    inputs.require_lengths(lengths)
    settings = Settings(
        model=name or Path(model.config.name_or_path or "").name or type(model).__name__,
        weights=fingerprint(model.parameters()),
        dtype=str(next(model.parameters()).dtype).removeprefix("torch."),
        text=fingerprint([tokens]),
        documents=documents,
        sequences=sequences,
        targets=targets,
        seed=seed,
    )
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        stack.enter_context(evaluating(model))
        what_ifs, notes = choose(model, remedies)
        if mechanism:
            reason = cannot_watch(model, inputs.document(0, lengths[0]).unsqueeze(0))
            mechanism = reason is None
            notes += [f"Attention was not watched: {reason}"] if reason else []
        if mechanism:
            stack.enter_context(attention_of(model, "sdpa"))
        elif named := [one.name for one in what_ifs if one.watched]:
            require(remedies is None, "remedies", named[0], "a model whose attention is watched")
            what_ifs = [one for one in what_ifs if not one.watched]
            notes.append(f"{named[0]} is left out: attention was not watched")
        kept = KeptLengths(out, settings)
        work = _Work(model, inputs, kept, positions, sequences, mechanism, budget, report, say)
        work.plain(lengths)
        for length in work.behaviours:
            for one in what_ifs:
                work.changed(one, length, remedies_at is None or length in remedies_at)
    return Check(
        settings=settings,
        positions=positions,
        behaviours=work.behaviours,
        mechanism=work.summaries,
        what_ifs={one.name: one for one in what_ifs},
        changed=work.changes,
        dropped=tuple(work.dropped),
        notes=tuple(notes + _notes(positions, list(work.behaviours))),
    )


@dataclass
class _Work:
    """What is done, what it took, and what was left out."""

    model: "PreTrainedModel"
    inputs: Inputs
    kept: KeptLengths
    positions: Positions
    sequences: int
    mechanism: bool
    budget: float | None
    report: Report
    say: Callable[[str], None]
    behaviours: dict[int, Behaviour] = field(default_factory=dict)
    summaries: dict[int, Summary] = field(default_factory=dict)
    changes: dict[str, dict[int, Behaviour]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    _began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        """See how much memory is free before anything is done."""
        self._memory = Memory(self.model.device, max(self.inputs.documents, self.sequences))
        self._pairs = pairs_per_token(self.model)

    def plain(self, lengths: Sequence[int]) -> None:
        """Measure the model as it is at every length that fits."""
        for number, length in enumerate(lengths):
            if number == MEASURED_FIRST:
                self._say_predictions(lengths[MEASURED_FIRST:])
            behaviour = self.kept.load(PLAIN, length)
            summary = self.kept.load_mechanism(length) if self.mechanism else None
            if behaviour is None or (self.mechanism and summary is None):
                if number >= MEASURED_FIRST and not self._fits(PLAIN, length, self._plain(length)):
                    continue
                self._memory.begin()
                behaviour, summary = self._measure_plain(length)
                self._memory.note(length)
                self.kept.save(PLAIN, length, behaviour, summary)
            self.behaviours[length] = behaviour
            if summary is not None:
                self.summaries[length] = summary

    def changed(self, one: WhatIf, length: int, wanted: bool = True) -> None:
        """Measure the model with a what-if at a length, if wanted and not the plain model."""
        trained = self.positions.claimed or max(self.behaviours)
        found = self.changes.setdefault(one.name, {})
        if one.beyond and length <= trained:
            found[length] = self.behaviours[length]
            return
        if not wanted:
            return
        behaviour = self.kept.load(one.name, length)
        if behaviour is None:
            if not self._fits(one.name, length, self._what_if(one.name, length)):
                return
            situation = Situation(trained, length, self._rescaling(length, trained))
            with one.apply(self.model, situation):
                behaviour = self._measure(length, one.name, whole=False)
            self.kept.save(one.name, length, behaviour)
        found[length] = behaviour

    def _measure_plain(self, length: int) -> tuple[Behaviour, Summary | None]:
        if not self.mechanism:
            return self._measure(length, PLAIN, whole=True), None
        watcher = Watcher(self.model, length, self.inputs.targets)
        behaviour = self._measure(length, PLAIN, whole=True, watcher=watcher)
        return behaviour, watcher.summary(self.inputs.seed, length)

    def _measure(
        self, length: int, what_if: str, whole: bool, watcher: Watcher | None = None
    ) -> Behaviour:
        more = self.sequences // 2 + self.sequences if whole else 0
        done, total = 0, (self.inputs.documents + self.sequences + more) * length

        def progress(tokens: int) -> None:
            nonlocal done
            done += tokens
            self.report(Progress(f"{what_if}, length {length}", done, total, "tokens"))

        around = unwatched if watcher is None else watcher.around
        return measure(self.model, self.inputs, length, self.sequences, whole, around, progress)

    def _plain(self, length: int) -> float:
        """Predicted seconds of the plain model at a length."""
        known = {n: float(b.seconds + b.more_seconds) for n, b in self.behaviours.items()}
        return predict_seconds(known, length, self._pairs)

    def _what_if(self, name: str, length: int) -> float:
        """Predicted seconds of a what-if: of reading and copying, by what it cost elsewhere."""
        trained = self.positions.claimed or max(self.behaviours)
        ratios = [
            float(b.seconds / self.behaviours[n].seconds)
            for n, b in self.changes.get(name, {}).items()
            if b is not self.behaviours[n] or n > trained
        ]
        ratio = sorted(ratios)[len(ratios) // 2] if ratios else 1.0
        return ratio * float(self.behaviours[length].seconds)

    def _fits(self, what_if: str, length: int, seconds: float) -> bool:
        label = f"length {length}" + ("" if what_if == PLAIN else f" with {what_if}")
        if not self._memory.fits(length):
            needed, free = self._memory.predict(length), self._memory.free
            assert needed is not None
            assert free is not None
            self._drop(
                f"{label}: needs about {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free"
            )
            return False
        left = None if self.budget is None else self.budget - (time.perf_counter() - self._began)
        if left is not None and seconds > left:
            self._drop(
                f"{label}: needs about {in_words(seconds)}, and {in_words(max(left, 0.0))} of the "
                "budget are left"
            )
            return False
        return True

    def _drop(self, line: str) -> None:
        self.dropped.append(line)
        self.say(f"left out: {line}")

    def _say_predictions(self, lengths: Sequence[int]) -> None:
        for length in lengths:
            needed = self._memory.predict(length)
            memory = "" if needed is None else f" and {needed / 1e9:.2f} GB beyond the model"
            self.say(f"length {length}: about {in_words(self._plain(length))}{memory}")

    def _rescaling(self, length: int, trained: int) -> Rescaling | None:
        reference = max((n for n in self.summaries if n <= trained), default=None)
        if reference is None or length not in self.summaries:
            return None
        return rescaling(self.summaries[reference], self.summaries[length])


def rescaling(before: Summary, now: Summary) -> Rescaling:
    """What brings the outputs of attention at one length back to their deviation at another."""
    layers = {layer for layer, place, _ in now.estimates if place == HEADS}
    return Rescaling(
        {layer: now.means[layer, HEADS] for layer in layers},
        {
            layer: before.estimates[layer, HEADS, "std"][0]
            / now.estimates[layer, HEADS, "std"][0].clamp(min=1e-12)
            for layer in layers
        },
    )


def _require_lengths(
    model: "PreTrainedModel", positions: Positions, lengths: Sequence[int]
) -> None:
    shown = list(lengths)
    ascending = all(a < b for a, b in itertools.pairwise(shown))
    require(bool(shown) and ascending, "lengths", shown, "numbers of tokens in ascending order")
    require(shown[0] >= SHORTEST, "lengths", shown[0], f"at least {SHORTEST} tokens")
    if positions.limit is not None:
        name = type(model).__name__
        expected = f"at most {positions.limit}, the {positions.kind} positions that {name} has"
        require(shown[-1] <= positions.limit, "lengths", shown[-1], expected)


def _notes(positions: Positions, lengths: Sequence[int]) -> list[str]:
    claimed = positions.claimed
    if claimed is None:
        return ["The configuration claims no length: the longest one stands for the trained one."]
    beyond = [length for length in lengths if length > claimed]
    if not beyond:
        return []
    return [
        f"Lengths from {beyond[0]} on lie beyond the {claimed} tokens that the configuration "
        f"claims; {positions.kind} positions can be continued."
    ]
