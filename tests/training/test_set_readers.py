"""Fleets of set readers, whose sets change their size from step to step."""

import pytest
import torch
from torch import nn

from lengthwise.errors import InputError
from lengthwise.models import SetReader
from lengthwise.tasks import ArgmaxRetrieval, DictionaryLookup, SetInput, SetTask
from lengthwise.training import Hyperparameters, Trainer, build_fleet

EVERY = [
    Hyperparameters(seed=1, learning_rate=1e-2, warmup=10),
    Hyperparameters(seed=2, loss="soft", weight_decay=0.1, grad_clip=0.1),
    Hyperparameters(seed=2, trial=1, resid_dropout=0.1, beta2=0.95, ema_powers=(0.7,)),
]
DROPPING = Hyperparameters(seed=3, attention_dropout=0.2)

SHORTEST, LONGEST = 3, 7

MODELS = {
    "plain": (ArgmaxRetrieval(4), {}),
    "layernorm": (ArgmaxRetrieval(4), {"remedies": ("layernorm", "scalable")}),
    "heads": (
        DictionaryLookup(4),
        {"remedies": ("layernorm-per-head",), "heads": 2, "residual": True},
    ),
    "batchnorm": (ArgmaxRetrieval(4), {"remedies": ("batchnorm",)}),
}


def make_trainer(
    name: str,
    every: list[Hyperparameters],
    dtype: torch.dtype = torch.float32,
    steps: int = 20,
) -> Trainer:
    task, settings = MODELS[name]

    def build(own: Hyperparameters) -> nn.Module:
        return SetReader(
            task.item_width, task.query_width, task.classes, width=16,
            attention_dropout=own.attention_dropout, resid_dropout=own.resid_dropout,
            **settings,
        )  # fmt: skip

    fleet = build_fleet(build, every, dtype=dtype)
    return Trainer(
        fleet, task, max_train_length=LONGEST, min_train_length=SHORTEST, batch=8, steps=steps
    )


def train(name: str, every: list[Hyperparameters], dtype: torch.dtype) -> Trainer:
    trainer = make_trainer(name, every, dtype)
    trainer.run()
    return trainer


def some_questions(task: SetTask, dtype: torch.dtype) -> SetInput:
    items, query = task.draw(torch.tensor(9), 12, 20).inputs
    return SetInput(items.to(dtype), query.to(dtype))


def answers(trainer: Trainer) -> torch.Tensor:
    """What all models say of longer sets, raw and averaged: (models, numbers)."""
    assert isinstance(trainer.task, SetTask)
    assert trainer.average is not None
    question = some_questions(trainer.task, trainer.fleet.weights.dtype)
    averaged = trainer.average.weights_at(0, 0)["weights"]
    logits = [trainer.fleet.predict(question, weights) for weights in (None, averaged)]
    return torch.stack(logits, 1).flatten(1)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-9)], ids=str
)
def test_alone_equals_in_a_fleet(name: str, dtype: torch.dtype, tolerance: float) -> None:
    others = [Hyperparameters(seed=100 + i) for i in range(4)]
    crowd = answers(train(name, [EVERY[0], *others, DROPPING, *EVERY[1:]], dtype))
    crowd = crowd[[0, -2, -1, -3]]
    for index, own in enumerate((*EVERY, DROPPING)):
        alone = answers(train(name, [own], dtype))[0]
        assert (alone - crowd[index]).abs().max() < tolerance, index
    assert (crowd[0] - crowd[1]).abs().max() > 0.01, "the every differ"


@pytest.mark.parametrize("name", ["plain", "batchnorm"])
@pytest.mark.parametrize("cut", [1, 17])
def test_interrupted_equals_uninterrupted_bit_for_bit(name: str, cut: int) -> None:
    every = [*EVERY, DROPPING]
    whole = train(name, every, torch.float32)
    first, second = make_trainer(name, every), make_trainer(name, every)
    for _ in range(cut):
        first.step()
    second.load_state_dict({n: tensor.clone() for n, tensor in first.state_dict().items()})
    second.run()
    ends = whole.state_dict(), second.state_dict()
    assert ends[0].keys() == ends[1].keys()
    for key, tensor in ends[0].items():
        assert torch.equal(tensor, ends[1][key]), key


def test_a_model_of_its_own_says_what_the_fleet_says() -> None:
    for name in MODELS:
        trainer = train(name, EVERY, torch.float64)
        assert isinstance(trainer.task, SetTask)
        question = some_questions(trainer.task, torch.float64)
        together = trainer.fleet.predict(question)
        for index in range(len(EVERY)):
            alone = trainer.fleet.model(index)(question)
            torch.testing.assert_close(alone, together[index])


def sizes(trainer: Trainer, steps: range) -> list[int]:
    """How many items the sets of each step have; all models of a fleet read one tensor."""
    found = []
    for step in steps:
        inputs = trainer._batch(step).inputs
        assert isinstance(inputs, SetInput)
        assert inputs.items.shape[:2] == (trainer.fleet.size, trainer.batch)
        found.append(inputs.items.shape[2])
    return found


def test_every_size_occurs_about_equally_often() -> None:
    found = sizes(make_trainer("plain", EVERY), range(400))
    counts = [found.count(size) for size in range(SHORTEST, LONGEST + 1)]
    assert sum(counts) == 400, "no other size occurs"
    assert min(counts) > 50


def test_sizes_depend_on_the_step_alone() -> None:
    expected = sizes(make_trainer("plain", EVERY), range(30))
    other = make_trainer("plain", [Hyperparameters(seed=77)])
    assert sizes(other, range(30)) == expected
    assert sizes(other, range(20, 30)) == expected[20:], "wherever one begins"


def test_the_same_seed_means_the_same_data_and_weights() -> None:
    every = [Hyperparameters(seed=4), Hyperparameters(seed=4, learning_rate=1e-4)]
    trainer = make_trainer("layernorm", every)
    assert torch.equal(trainer.fleet.weights[0], trainer.fleet.weights[1])
    inputs = trainer._batch(0).inputs
    assert isinstance(inputs, SetInput)
    assert all(torch.equal(tensor[0], tensor[1]) for tensor in inputs)
    other = make_trainer("layernorm", [Hyperparameters(seed=5)])._batch(0).inputs
    assert isinstance(other, SetInput)
    assert not torch.equal(other.items[0], inputs.items[0])


@pytest.mark.parametrize("shortest", [0, 8, -1])
def test_the_shortest_input_is_no_longer_than_the_longest(shortest: int) -> None:
    task = ArgmaxRetrieval()
    fleet = build_fleet(lambda _: SetReader(11, 1, 10, width=4), EVERY)
    with pytest.raises(InputError, match=rf"min_train_length = {shortest}: expected one of 1\.\.7"):
        Trainer(fleet, task, max_train_length=7, min_train_length=shortest, batch=2, steps=1)
