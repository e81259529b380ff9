"""A traced training does what an ordinary one does, bit for bit, and only what can be traced is."""

import multiprocessing.synchronize
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lengthwise.models import GPT, EncoderDecoderModel, GPTModel, MinimalModel, SetReaderModel
from lengthwise.models.blocks import Size
from lengthwise.registry import REMEDIES, TASKS
from lengthwise.runs import Recipe, recipe_for
from lengthwise.training import Fleet, Hyperparameters, Trainer, build_fleet, traced
from lengthwise.training.traced import trace, traceable

NOT_HERE = ("randomized", "calibrated", "batchnorm", "reguformer")
"""One needs others that read positions, one another run, and two do not go with causal reading."""

PLAIN = [Hyperparameters(seed=seed) for seed in range(2)]

DROPPED = [
    Hyperparameters(seed=3, embed_dropout=0.1, attention_dropout=0.2),
    Hyperparameters(seed=4, resid_dropout=0.3, loss="soft"),
]


@pytest.fixture(autouse=True)
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trace after two passes, so that short trainings are."""
    monkeypatch.setattr(traced, "AFTER", 2)


def traces(trainer: Trainer) -> list[Any]:
    held = trainer.fleet._traces
    return [] if held is None else list(held._traces.values())


def assert_same_bits(
    recipe: Recipe, every: list[Hyperparameters], *, count: int | None = 1
) -> None:
    """Train as it is and traced; there must have been as many traces, and no difference."""
    ours, plain = recipe.trainer(every), recipe.trainer(every)
    plain.fleet._traces = None
    ours.run()
    plain.run()
    assert traces(ours)
    assert None not in traces(ours)
    assert count in (None, len(traces(ours)))
    expected = plain.state_dict()
    for name, tensor in ours.state_dict().items():
        assert torch.equal(tensor, expected[name]), name


def gpt(*remedies: str, task: str = "majority", **fields: Any) -> Recipe:
    model = GPTModel(layers=2, heads=2, width=16, remedies=remedies)
    made = Recipe(task=TASKS.get(task)(), model=model, max_train_length=5, batch=4, steps=6)
    return replace(made, **fields)


@pytest.mark.parametrize("remedy", [n for n in REMEDIES.listed() if n not in NOT_HERE])
def test_every_remedy(remedy: str) -> None:
    recipe = gpt(remedy)
    assert_same_bits(recipe, PLAIN)


@pytest.mark.parametrize("every", [PLAIN, DROPPED, DROPPED[1:]], ids=["plain", "dropped", "alone"])
@pytest.mark.parametrize("remedies", [(), ("layernorm",)])
@pytest.mark.parametrize("kind", [GPTModel(layers=1, heads=2, width=16), MinimalModel()])
def test_dropout(kind: Any, remedies: tuple[str, ...], every: list[Hyperparameters]) -> None:
    model = replace(kind, remedies=remedies)
    recipe = recipe_for("set-complement", model, batch=4, steps=8, max_train_length=6)
    assert_same_bits(recipe, every)


def test_randomized_positions_are_drawn_at_every_step() -> None:
    assert_same_bits(gpt("randomized", "sinusoidal", steps=9), PLAIN)


@pytest.mark.parametrize("task", ["argmax-retrieval", "dictionary-lookup"])
@pytest.mark.parametrize("remedies", [(), ("layernorm",), ("batchnorm",)])
def test_set_readers(task: str, remedies: tuple[str, ...]) -> None:
    model = SetReaderModel(width=8, remedies=remedies)
    recipe = recipe_for(task, model, batch=4, steps=30, min_train_length=5, max_train_length=6)
    assert_same_bits(recipe, PLAIN, count=2)


def test_encoder_decoder() -> None:
    model = EncoderDecoderModel(layers=1, heads=2, width=16)
    assert_same_bits(recipe_for("string-edits", model, batch=4, steps=6), PLAIN)


def test_parts_of_a_batch_and_places_that_are_asked() -> None:
    # What flip-flop asks for depends on the batch.
    assert_same_bits(gpt(task="flip-flop", accumulate=2, steps=9), PLAIN, count=None)
    assert_same_bits(gpt("rotary", task="unique-copy"), PLAIN)


def test_resumed_in_between() -> None:
    """A training that is loaded goes on as it is for a while, and then traced."""
    recipe = recipe_for("set-complement", batch=4, steps=9, max_train_length=6)
    whole = recipe.trainer(DROPPED)
    whole.run()
    begun = recipe.trainer(DROPPED)
    for _ in range(5):
        begun.step()
    resumed = recipe.trainer(DROPPED)
    resumed.load_state_dict({name: one.clone() for name, one in begun.state_dict().items()})
    resumed.run()
    assert traces(resumed)
    assert torch.equal(whole.fleet.weights, resumed.fleet.weights)


class Counting(nn.Module):
    """Depends on how often it was called, which a trace would not see."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        found: Tensor = self.layer(x) * self.calls
        return found


def test_modules_of_others_are_traced_if_they_say_so() -> None:
    assert traceable(GPT(4, 8, Size(1, 2, 8)))
    assert not traceable(nn.Sequential(nn.Linear(4, 4), Counting()))
    assert Fleet([Counting(), Counting()])._traces is None
    told = Counting()
    told.traceable = True  # type: ignore[assignment]
    assert traceable(told)


def test_what_asks_for_numbers_or_draws_is_not_traced() -> None:
    given = [torch.ones(3)]
    assert trace(lambda one: [one * 2], given) is not None
    assert trace(lambda one: [one * 2] if one.sum() > 0 else [one], given) is None
    assert trace(lambda one: [one + torch.rand(3)], given) is None


def test_a_trace_leaves_no_lock_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that ends would be said to have leaked it."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a trace makes a lock between processes")

    tqdm: Any = import_module("tqdm.std")  # where torch's own interpreter of graphs gets one
    monkeypatch.setattr(multiprocessing.synchronize.SemLock, "__init__", refuse)
    monkeypatch.delattr(tqdm.TqdmDefaultWriteLock, "mp_lock", raising=False)
    monkeypatch.delattr(tqdm.tqdm, "_lock", raising=False)
    assert trace(lambda one: [one * 2], [torch.ones(3)]) is not None


def test_a_trace_writes_where_the_function_does() -> None:
    """Into its inputs and what it made; what it makes of no input is made anew if written to."""

    def function(count: Tensor, x: Tensor) -> list[Tensor]:
        made = torch.zeros(3)
        seen = made.view(1, 3)
        seen.add_(x)
        count.add_(1)
        return [made * 2, torch.arange(3) + count]

    found = trace(function, [torch.zeros(()), torch.ones(3)])
    assert found is not None
    count = torch.zeros(())
    for step in range(1, 4):
        doubled, counted = found(count, torch.full((3,), float(step)))
        assert doubled.tolist() == [2.0 * step] * 3
        assert counted.tolist() == [step, step + 1, step + 2]
    assert count == 3


def test_many_lengths_are_not_all_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traced, "MOST", 2)
    recipe = gpt(min_train_length=2, max_train_length=7, steps=60)
    ours = recipe.trainer(PLAIN)
    ours.run()
    assert len(traces(ours)) == 2


def test_passes_that_are_not_on_a_processor_as_they_are() -> None:
    def build(own: Hyperparameters) -> nn.Module:
        return GPT(16, 16, Size(1, 2, 8))

    assert build_fleet(build, PLAIN)._traces is not None
    assert build_fleet(build, PLAIN, autocast=torch.bfloat16)._traces is None
    assert build_fleet(build, PLAIN, compiled=True)._traces is None
