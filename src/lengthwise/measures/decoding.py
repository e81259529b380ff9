"""Greedy decoding: what a model writes by itself, and how long that is."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.measures.by_length import BATCH, Measurement, require_lengths
from lengthwise.models import EncoderDecoder
from lengthwise.randomness import address, at
from lengthwise.tasks import AnswerTask, Tokens
from lengthwise.training import Fleet


@torch.no_grad()
def greedy(model: nn.Module, task: AnswerTask, prompts: Tensor, most: int) -> Tensor:
    """The answers that a model writes, each token the likeliest behind those before it.

    Args:
        model: One that reads the task; it is put into its mode for tests.
        task: Whose prompts these are.
        prompts: `(prompts, prompt size)`, filled up with END.
        most: After so many tokens an answer is cut.

    Returns:
        `(prompts, most)`: END and all behind it are END.

    Raises:
        InputError: There are no positions for answers so long, or tokens have ids that are the
            task's to say.
    """
    require(most >= 1, "most", most, "at least 1")
    size, room = prompts.shape[-1], task.max_position
    longest = room if isinstance(model, EncoderDecoder) else room - size + 1
    require(most <= longest, "most", most, f"at most {longest}: no more tokens have positions")
    row = task.draw(torch.tensor(0), task.lengths[0], 1).inputs
    expected = "one whose tokens stand at 0, 1, ...: ids of its own are known of its answers alone"
    require(isinstance(row, Tensor), "task", task.name, expected)
    model.eval()
    begins = torch.as_tensor(task.prompt_sizes(prompts), device=prompts.device)
    begins = begins.expand(len(prompts), 1)
    written = torch.full((len(prompts), most), task.end, device=prompts.device)
    if isinstance(model, EncoderDecoder):
        behind = _decoder(model, task, prompts, begins)
    else:
        behind = _reader(model, task, prompts, begins)
    for place in range(most):
        logits = behind(written[:, :place])
        ended = (written[:, :place] == task.end).any(-1)
        written[:, place] = torch.where(ended, task.end, logits.argmax(-1))
        if bool((written[:, : place + 1] == task.end).any(-1).all()):
            break
    return written


def written_sizes(written: Tensor, end: int) -> Tensor:
    """How many tokens answers have without END, `(...)`; all, where there is none."""
    return (written != end).long().cumprod(-1).sum(-1)


@torch.no_grad()
def measure_greedy(
    fleet: Fleet,
    task: AnswerTask,
    lengths: Sequence[int] | None = None,
    *,
    inputs: int = 256,
    seed: int = 0,
    most: int | None = None,
    weights: Tensor | None = None,
) -> Iterator[Measurement]:
    """Measure what every model of a fleet writes by itself.

    `exact_match` is the share of answers that are right as a whole with their END: what
    `measure_by_length` tells under teacher forcing, on the same inputs. `length_ratio` is the mean
    of how many tokens an answer has over how many it should have, of answers that should have any.

    Args:
        fleet: The models.
        task: What to measure them on.
        lengths: At which lengths (default: all that the task has).
        inputs: How many inputs per length.
        seed: Seed of the inputs.
        most: After so many tokens an answer is cut (default: half as many again as the longest
            answer at these lengths, as far as there are positions).
        weights: Other weights than the fleet's own, such as an average.

    Raises:
        InputError: A length is none of the task's, or answers of that size have no positions.
    """
    lengths = require_lengths(task, lengths)
    if most is None:
        longest = max(task.sizes(length)[1] for length in lengths)
        room = task.max_position - max(task.sizes(length)[0] for length in lengths) + 1
        most = max(longest, min(longest * 3 // 2, room))
    models = fleet.models(weights)
    for length in lengths:
        stream = torch.tensor(address(seed, "test", length), device=fleet.device)
        matches = [torch.zeros(0) for _ in models]
        ratios = [torch.zeros(0) for _ in models]
        for number, first in enumerate(range(0, inputs, BATCH)):
            key, count = at(stream, number), min(BATCH, inputs - first)
            prompts = task.prompts(key, length, count)
            answers = task.answers(prompts, length)
            wanted = written_sizes(answers, task.end)
            for index, model in enumerate(models):
                found = greedy(model, task, prompts, most)
                sizes = written_sizes(found, task.end)
                shared = min(most, answers.shape[-1])
                same = (found[:, :shared] == answers[:, :shared]).all(-1) & (sizes == wanted)
                matches[index] = torch.cat([matches[index], (same & (sizes < most)).double()])
                ratio = (sizes / wanted.clamp(min=1))[wanted > 0]
                ratios[index] = torch.cat([ratios[index], ratio.double()])
        for name, values in (("exact_match", matches), ("length_ratio", ratios)):
            means = torch.stack([one.mean() for one in values])
            if len(values[0]):
                yield Measurement(name, length, means, len(values[0]), exact=False)


Behind = Callable[[Tensor], Tensor]
"""The logits `(prompts, classes)` behind what is written so far."""


def _decoder(model: EncoderDecoder, task: AnswerTask, prompts: Tensor, begins: Tensor) -> Behind:
    mask = None
    if task.separator is not None:
        mask = torch.arange(prompts.shape[-1], device=prompts.device) < begins
    encoded, last = model.encode(Tokens(prompts, None, mask)), prompts.gather(-1, begins - 1)
    return lambda written: model.decode(encoded, Tokens(torch.cat([last, written], -1)))[:, -1]


def _reader(model: nn.Module, task: AnswerTask, prompts: Tensor, begins: Tensor) -> Behind:
    """Of a model that reads prompt and answer as one."""

    def behind(written: Tensor) -> Tensor:
        count = written.shape[-1]
        rows = functional.pad(prompts, (0, count), value=task.end)
        logits = model(
            rows.scatter(-1, begins + torch.arange(count, device=prompts.device), written)
        )
        last = (begins - 1 + count).unsqueeze(-1)
        found: Tensor = logits.gather(-2, last.expand(-1, -1, logits.shape[-1])).squeeze(-2)
        return found

    return behind
