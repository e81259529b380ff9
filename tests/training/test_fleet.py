"""Alone, in a fleet of 3 or of 300: the same numbers."""

import copy
from dataclasses import replace

import pytest
import torch
from small_tasks import Parity
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.measures import measure
from lengthwise.models import GPTModel, MinimalModel, MinimalTransformer, Model
from lengthwise.tasks import SetComplement
from lengthwise.training import Fleet, Hyperparameters, Trainer, build_fleet

TASK = SetComplement(8)

EVERY = [
    Hyperparameters(seed=1, learning_rate=1e-2, attention_dropout=0.2, warmup=10),
    Hyperparameters(seed=2, loss="soft", weight_decay=0.1, grad_clip=0.1),
    Hyperparameters(seed=2, trial=1, embed_dropout=0.1, beta1=0.8, beta2=0.95),
    Hyperparameters(seed=3, resid_dropout=0.3, final_lr_fraction=0.1, ema_powers=(0.7,)),
]


def build(own: Hyperparameters) -> nn.Module:
    shape = MinimalModel(extra_width=2, remedies=("layernorm",))
    return shape.build(TASK, own)


def make_trainer(every: list[Hyperparameters], dtype: torch.dtype, steps: int) -> Trainer:
    fleet = build_fleet(build, every, dtype=dtype)
    return Trainer(fleet, TASK, max_train_length=5, batch=8, steps=steps)


def train(every: list[Hyperparameters], dtype: torch.dtype, steps: int = 40) -> Trainer:
    trainer = make_trainer(every, dtype, steps)
    trainer.run()
    return trainer


def measures(trainer: Trainer) -> torch.Tensor:
    """Everything measured, raw and averaged: (models, numbers)."""
    assert trainer.average is not None
    weights = [None, *(trainer.average.weights_at(*at)["weights"] for at in trainer.average.grid())]
    found = [
        one.values
        for own in weights
        for one in measure(trainer.fleet, TASK, inputs=64, weights=own)
        # These are no continuous functions of the weights.
        if one.measure not in ("argmax_illegal", "accuracy", "exact_match")
    ]
    return torch.stack(found, dim=1)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-9)], ids=str
)
def test_alone_equals_in_a_fleet_of_any_size(dtype: torch.dtype, tolerance: float) -> None:
    others = [Hyperparameters(seed=100 + i, attention_dropout=0.1) for i in range(296)]
    crowd = measures(train([*EVERY[:2], *others, *EVERY[2:]], dtype))
    crowd = crowd[[0, 1, -2, -1]]
    three = measures(train(EVERY[:3], dtype))
    for index, own in enumerate(EVERY):
        alone = measures(train([own], dtype))[0]
        assert (alone - crowd[index]).abs().max() < tolerance
        if index < 3:
            assert (alone - three[index]).abs().max() < tolerance


@pytest.mark.parametrize("cut", [1, 7, 50])
def test_interrupted_equals_uninterrupted_bit_for_bit(cut: int) -> None:
    whole = train(EVERY, torch.float32, steps=60)
    first = make_trainer(EVERY, torch.float32, steps=60)
    for _ in range(cut):
        first.step()
    state = {name: tensor.clone() for name, tensor in first.state_dict().items()}
    second = make_trainer(EVERY, torch.float32, steps=60)
    second.load_state_dict(state)
    second.run()
    ends = whole.state_dict(), second.state_dict()
    assert ends[0].keys() == ends[1].keys()
    for name, tensor in ends[0].items():
        assert torch.equal(tensor, ends[1][name]), name


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_one_that_diverges_never_touches_its_neighbours(dropout: float) -> None:
    healthy = [replace(own, resid_dropout=dropout) for own in EVERY]
    sick = list(healthy)
    sick[1] = replace(healthy[1], learning_rate=1e30, grad_clip=0.0, warmup=0)
    expected, observed = (train(every, torch.float32, 40) for every in (healthy, sick))
    assert expected.diverged.tolist() == [-1] * 4
    diverged = observed.diverged.tolist()
    assert 0 < diverged[1] < 40
    assert [diverged[index] for index in (0, 2, 3)] == [-1] * 3
    others = [0, 2, 3]
    assert torch.equal(expected.fleet.weights[others], observed.fleet.weights[others])
    assert torch.equal(measures(expected)[others], measures(observed)[others])


def test_a_diverged_model_is_frozen() -> None:
    every = [Hyperparameters(learning_rate=1e30, grad_clip=0.0, warmup=0), Hyperparameters(seed=1)]
    trainer = make_trainer(every, torch.float32, 60)
    while trainer.diverged[0] < 0:
        trainer.step()
    frozen, step = trainer.fleet.weights[0].clone(), int(trainer.diverged[0])
    trainer.run()
    assert torch.equal(trainer.fleet.weights[0], frozen)
    assert trainer.diverged[0] == step, "the first step counts"


def test_the_same_seed_means_the_same_data_and_weights() -> None:
    every = [Hyperparameters(seed=4), Hyperparameters(seed=4, learning_rate=1e-4)]
    trainer = make_trainer(every, torch.float32, 5)
    assert torch.equal(trainer.fleet.weights[0], trainer.fleet.weights[1])
    batch = trainer._batch(0)
    assert torch.equal(batch.inputs[0], batch.inputs[1])
    other = make_trainer([Hyperparameters(seed=4, trial=1)], torch.float32, 5)
    assert not torch.equal(other._batch(0).inputs[0], batch.inputs[0])


def test_a_model_taken_out_of_a_fleet_is_the_model_put_in() -> None:
    models = [MinimalTransformer(8, 2, resid_dropout=rate) for rate in (0.0, 0.5)]
    fleet = Fleet(models)
    tokens = torch.randint(8, (3, 5))
    for index, model in enumerate(models):
        taken = fleet.model(index)
        assert taken.state_dict().keys() == model.state_dict().keys()
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, taken.state_dict()[name]), name
        torch.testing.assert_close(taken(tokens), model.eval()(tokens))
        torch.testing.assert_close(fleet.predict(tokens)[index], model(tokens))


def test_any_module_makes_a_fleet() -> None:
    models = [nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)) for _ in range(3)]
    fleet = Fleet(models)
    inputs = torch.randn(3, 5, 3)
    outputs = fleet.forward(inputs)
    gradient = fleet.gradient(outputs.square().mean((1, 2)))
    for index, model in enumerate(models):
        loss = model(inputs[index]).square().mean()
        expected = torch.autograd.grad(loss, list(model.parameters()))
        torch.testing.assert_close(outputs[index], model(inputs[index]))
        torch.testing.assert_close(gradient[index], torch.cat([g.flatten() for g in expected]))


def test_a_state_of_another_run_is_refused() -> None:
    state = make_trainer(EVERY[:2], torch.float32, 5).state_dict()
    with pytest.raises(InputError, match="belongs to another run"):
        make_trainer(EVERY[:3], torch.float32, 5).load_state_dict(state)


DROPPED = Hyperparameters(
    seed=3, embed_dropout=0.2, attention_dropout=0.2, resid_dropout=0.3, ema_powers=()
)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(
    "shape",
    [
        MinimalModel(extra_width=1, remedies=("layernorm",)),
        GPTModel(layers=2, heads=2, width=8, remedies=("offset", "scalable")),
    ],
    ids=["minimal", "gpt"],
)
def test_a_model_taken_out_trains_on_as_inside(shape: Model, size: int) -> None:
    """With the same masks of dropout and the same offsets: from the same keys, at the same step."""
    every = [replace(DROPPED, seed=seed) for seed in range(size)]
    every[0] = replace(every[0], embed_dropout=0.0, attention_dropout=0.0)
    fleet = build_fleet(lambda own: shape.build(TASK, own), every, dtype=torch.float64)
    inside = Trainer(fleet, TASK, max_train_length=5, batch=8, steps=9)
    for _ in range(4):
        inside.step()
    for index in range(size):
        models = [fleet.model(index).train()]
        alone = Trainer(
            Fleet(models, every[index : index + 1]), TASK, max_train_length=5, batch=8, steps=9
        )
        state = alone.state_dict()
        for name, tensor in inside.state_dict().items():
            if name.startswith("optimizer"):
                state[name].copy_(tensor[index : index + 1])
        state["step"].fill_(4)
        alone.load_state_dict(state)
        expected = Trainer(copy.deepcopy(fleet), TASK, max_train_length=5, batch=8, steps=9)
        expected.load_state_dict({n: tensor.clone() for n, tensor in inside.state_dict().items()})
        expected.run()
        alone.run()
        torch.testing.assert_close(alone.fleet.weights[0], expected.fleet.weights[index])
        # By hand, as a plain module: the loss of the next step is the fleet's.
        plain = fleet.model(index).train()
        batch = inside._batch(4).at(index)
        loss = functional.cross_entropy(plain(batch.inputs).flatten(0, 1), batch.labels.flatten())
        once = Trainer(copy.deepcopy(fleet), TASK, max_train_length=5, batch=8, steps=9)
        once.load_state_dict({n: tensor.clone() for n, tensor in inside.state_dict().items()})
        once.step()
        torch.testing.assert_close(loss, once.loss[index].to(loss), rtol=1e-6, atol=1e-6)


def test_lengths_of_a_band() -> None:
    """Every step draws its length from 11..15, and no other occurs."""
    task = SetComplement(17)
    fleet = build_fleet(lambda own: MinimalModel(extra_width=1).build(task, own), EVERY[:2])
    trainer = Trainer(fleet, task, min_train_length=11, max_train_length=15, batch=2, steps=200)
    lengths = [trainer._batch(step).inputs.shape[-1] for step in range(200)]
    counts = [lengths.count(length) for length in range(11, 16)]
    assert sum(counts) == 200
    assert min(counts) > 20
    trainer.step()
    assert trainer.loss.isfinite().all()
    other = Trainer(fleet, task, min_train_length=11, max_train_length=15, batch=2, steps=9)
    assert [other._batch(step).inputs.shape[-1] for step in range(50)] == lengths[:50]


@pytest.mark.parametrize("loss", ["sampled", "soft"])
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(
    "shape", [GPTModel(layers=1, heads=1, width=8), MinimalModel(extra_width=4)], ids=["gpt", "min"]
)
def test_a_task_that_asks_once_trains_on_the_last_place(shape: Model, size: int, loss: str) -> None:
    task = Parity()
    every = [Hyperparameters(seed=seed, loss=loss) for seed in range(size)]  # type: ignore[arg-type]
    fleet = build_fleet(lambda own: shape.build(task, own), every, dtype=torch.float64)
    models = fleet.models()
    trainer = Trainer(fleet, task, min_train_length=3, max_train_length=5, batch=6, steps=3)
    batch = trainer._batch(0)
    assert batch.labels.shape == (size, 6)
    trainer.step()
    for index, model in enumerate(models):
        logits = model(batch.inputs[index])[:, -1]
        expected = functional.cross_entropy(logits, batch.labels[index])
        torch.testing.assert_close(trainer.loss[index].double(), expected, rtol=1e-6, atol=1e-6)
    trainer.run()
    assert trainer.loss.isfinite().all()


def test_hyperparameters_are_one_for_each_model() -> None:
    with pytest.raises(InputError, match="hyperparameters = 1: expected 2, one for each model"):
        Fleet([MinimalTransformer(8), MinimalTransformer(8)], [Hyperparameters()])
    with pytest.raises(InputError, match=r"models = .*expected at least one"):
        Fleet([])
    with pytest.raises(InputError, match=r"ema_powers = .*expected as many for every model"):
        make_trainer([Hyperparameters(), Hyperparameters(ema_powers=())], torch.float32, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate = 0.0: expected a positive number"),
        ({"learning_rate": float("nan")}, "learning_rate = nan"),
        ({"beta2": 1.0}, r"beta2 = 1.0: expected a rate in \[0, 1\)"),
        ({"attention_dropout": -0.1}, "attention_dropout = -0.1"),
        ({"weight_decay": -1.0}, "weight_decay"),
        ({"loss": "sofd"}, "did you mean 'soft'"),
        ({"seed": 2**63}, "seed = 9223372036854775808: expected a whole number of at most 64"),
        ({"warmup": -1}, "warmup = -1"),
        ({"final_lr_fraction": 1.1}, "final_lr_fraction = 1.1"),
        ({"grad_clip": float("inf")}, "grad_clip = inf"),
    ],
)
def test_bad_hyperparameters_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Hyperparameters(**settings)  # type: ignore[arg-type]


class Tied(nn.Module):
    """A linear layer whose weights serve twice, under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x).tanh())


@pytest.mark.parametrize("size", [1, 3])
def test_weights_with_two_names_stay_one(size: int) -> None:
    models = [Tied().double() for _ in range(size)]
    fleet, x = Fleet(models), torch.randn(4, 3, dtype=torch.float64)
    assert "second.weight" not in fleet.shapes
    fleet.weights.mul_(2)  # training moves the fleet's weights, not the template's
    with torch.no_grad():
        for model in models:
            for weights in model.parameters():
                weights.mul_(2)
    expected = torch.stack([model(x) for model in models])
    torch.testing.assert_close(fleet.predict(x), expected)
    taken = fleet.model(0)
    torch.testing.assert_close(taken(x), expected[0])
    assert taken.second.weight is taken.first.weight
    loss = fleet.forward(x, shared_inputs=True).square().flatten(1).sum(1)
    found = fleet.views(fleet.gradient(loss))
    for index, model in enumerate(models):
        model.zero_grad()
        model(x).square().sum().backward()
        torch.testing.assert_close(found["first.weight"][index], model.first.weight.grad)
