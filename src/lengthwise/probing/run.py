"""The probe itself: a model, lengths, and what attention does at each of them."""

import hashlib
import inspect
import itertools
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from torch import Tensor

from lengthwise.errors import InputError, require, require_name
from lengthwise.probing.inputs import Input, Query, Source, Vocabulary, read_text
from lengthwise.probing.kept import KeptLengths, Settings
from lengthwise.probing.models import load, positions_of
from lengthwise.probing.observer import (
    Enough,
    Observation,
    Queries,
    attention_of,
    observing,
    without_rotary_positions,
)
from lengthwise.probing.summary import Summary, summarise
from lengthwise.probing.table import ProbeTable
from lengthwise.randomness import address

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

BATCH_TOKENS = 4096
"""How many tokens go through the model at once, or one sequence if it is longer."""

CHECK_LENGTH = 256
"""The longest length at which the logits are compared with and without the probe."""

RESAMPLES = 400
"""How many bootstrap resamples the intervals rest on."""


@dataclass(frozen=True)
class Progress:
    """How far a probe has come."""

    length: int
    """The length that is being measured."""
    tokens: int
    """How many tokens have gone through the model."""
    of: int
    """How many will have in the end."""


Report = Callable[[Progress], None]


def probe(
    model: "PreTrainedModel | str",
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    *,
    lengths: Sequence[int],
    input: Input = "random",
    text: str | Path | Tensor | None = None,
    query: Query = "fixed",
    queries: Queries = "last",
    layers: Sequence[int] | None = None,
    sequences: int = 256,
    positions: Literal["on", "off"] = "on",
    component: int = 0,
    top: int = 8,
    seed: int = 0,
    name: str | None = None,
    out: Path | None = None,
    report: Report = lambda progress: None,
) -> ProbeTable:
    """Measure what attention does inside a model as its input grows.

    Args:
        model: A model of transformers; or a short name (`smollm2`, `minilm`), a folder, a GGUF
            file or a name on the hub, loaded in float32 with its tokenizer.
        tokenizer: Says which tokens are special, and reads the text. Without one, random tokens
            are drawn from all of the model's vocabulary.
        lengths: Numbers of tokens, ascending.
        input: `random` tokens, `unigram` (single tokens as frequent as in the text), or `text`.
        text: A file of plain text, or `shakespeare`, or the tokens of a text.
        query: The last token of a sequence: `fixed`, `random`, or `natural` (left as it comes).
        queries: Which positions' attention to measure: `last`, `all`, or a number of positions.
        layers: Which layers, counted from 0; None for all.
        sequences: How many sequences of each length.
        positions: `off` switches rotary positions off, which alters the model.
        component: Which component of the attention output is read on its own.
        top: How many of the largest weights make up `top_mass`.
        seed: Of the tokens and of the bootstrap.
        name: What to call the model; its own name if None.
        out: A folder that keeps each length as it is done; those found there are not done again.
        report: Told of the progress.

    Raises:
        InputError: A setting is refused, the model cannot be watched, or a text is needed and
            missing.
    """
    if isinstance(model, str):
        name = name or model
        model, tokenizer = load(model)
    require_name(input, get_args(Input), "input")
    require_name(query, get_args(Query), "query")
    require_name(positions, ("on", "off"), "positions")
    require(sequences >= 2, "sequences", sequences, "at least 2, to see how they differ")
    require(top >= 1, "top", top, "at least 1")
    _require_lengths(model, lengths)
    tokens = None
    if input != "random":
        if text is None:
            raise InputError(f"text = None: expected a file of text, for input {input!r}")
        tokens = text if isinstance(text, Tensor) else read_text(text, tokenizer)
    source = Source(Vocabulary.of(model, tokenizer), input, query, seed, tokens)
    for length in lengths:
        source.require_length(length, sequences)
    settings = Settings(
        model=name or model.config.name_or_path or type(model).__name__,
        weights=fingerprint(model.parameters()),
        positions=positions,
        input=input,
        text=None if tokens is None else fingerprint([tokens]),
        query=query,
        queries=queries,
        layers=None if layers is None else tuple(layers),
        sequences=sequences,
        component=component,
        top=top,
        seed=seed,
    )
    altered = without_rotary_positions(model) if positions == "off" else nullcontext()
    with torch.inference_mode(), evaluating(model), altered:
        difference = _check(model, source, settings, lengths)
        kept = None if out is None else KeptLengths(out, settings)
        summaries = _measure(model, source, settings, lengths, kept, report)
    notes = source.notes(lengths[-1], sequences)
    return ProbeTable(str(settings), summaries, sequences, difference, notes)


def forward(model: "PreTrainedModel", ids: Tensor) -> Tensor:
    """Run the model and give its logits: of the last position only, if it can be asked for that."""
    accepted = inspect.signature(model.forward).parameters
    options: dict[str, Any] = {"use_cache": False, "logits_to_keep": 1}
    options = {name: value for name, value in options.items() if name in accepted}
    output = model(input_ids=ids.to(model.device), **options)
    return output.logits if hasattr(output, "logits") else output[0]


def _measure(
    model: "PreTrainedModel",
    source: Source,
    settings: Settings,
    lengths: Sequence[int],
    kept: KeptLengths | None,
    report: Report,
) -> dict[int, Summary]:
    summaries: dict[int, Summary] = {}
    missing = [length for length in lengths if kept is None or length not in kept]
    done, total = 0, sum(missing) * settings.sequences
    for length in lengths:
        if kept is not None and length in kept:
            summaries[length] = kept.load(length)
            continue
        batches = []
        for ids in source.draw(length, settings.sequences).split(max(1, BATCH_TOKENS // length)):
            report(Progress(length, done, total))
            batches.append(_observe(model, ids, settings))
            done += ids.numel()
        resampling = address(settings.seed, "bootstrap", length)
        summaries[length] = summarise(batches, settings.component, RESAMPLES, resampling)
        if kept is not None:
            kept.save(length, summaries[length])
        report(Progress(length, done, total))
    return summaries


def _observe(model: "PreTrainedModel", ids: Tensor, settings: Settings) -> dict[int, Observation]:
    with observing(
        model, settings.queries, settings.layers, settings.top, stop_early=True
    ) as observer:
        with suppress(Enough):
            forward(model, ids)
        return {layer: one.cpu() for layer, one in observer.observations.items()}


def _check(
    model: "PreTrainedModel", source: Source, settings: Settings, lengths: Sequence[int]
) -> float:
    """Compare the logits with and without the probe, and see that all that is asked for is there.

    Returns:
        The largest difference of a logit, which is 0.
    """
    length = max((length for length in lengths if length <= CHECK_LENGTH), default=lengths[0])
    ids = source.draw(length, settings.sequences)[:1]
    name = type(model).__name__
    with attention_of(model, "sdpa"):
        unwatched = forward(model, ids)
    with observing(model, settings.queries, top=settings.top) as observer:
        watched = forward(model, ids)
    seen = observer.observations
    if not seen:
        raise InputError(f"model = {name!r}: none of its layers went through attention")
    difference = float((watched - unwatched).abs().max())
    if difference != 0:
        raise InputError(
            f"model = {name!r}: cannot be probed, because its logits change by {difference:g} "
            "under the probe; its attention is not transformers' own sdpa path"
        )
    if settings.layers is not None:
        known = len(settings.layers) > 0 and all(layer in seen for layer in settings.layers)
        require(known, "layers", list(settings.layers), f"layers between 0 and {max(seen)}")
    width = min(one.heads.mean.shape[-1] for one in seen.values())
    component = settings.component
    require(0 <= component < width, "component", component, f"between 0 and {width - 1}")
    return difference


def _require_lengths(model: "PreTrainedModel", lengths: Sequence[int]) -> None:
    shown = list(lengths)
    ascending = all(a < b for a, b in itertools.pairwise(shown))
    require(bool(shown) and ascending, "lengths", shown, "numbers of tokens in ascending order")
    limit = positions_of(model)
    if limit is not None:
        expected = f"at most {limit}, the number of positions that {type(model).__name__} has"
        require(shown[-1] <= limit, "lengths", shown[-1], expected)


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Without dropout; the mode the model was in comes back."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def fingerprint(tensors: Iterable[Tensor]) -> str:
    """A short name of the values of tensors, to tell them from others."""
    sums = [float(tensor.detach().sum(dtype=torch.float64)) for tensor in tensors]
    return hashlib.sha256(struct.pack(f"{len(sums)}d", *sums)).hexdigest()[:16]
