"""Alone, in a fleet of 3 or of 300: the same numbers."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from lengthwise.errors import InputError
from lengthwise.measures import measure_by_length
from lengthwise.models import MinimalTransformer
from lengthwise.tasks import SetComplement
from lengthwise.training import Fleet, Hyperparameters, Trainer, build_fleet

TASK = SetComplement(8)

MEMBERS = [
    Hyperparameters(seed=1, learning_rate=1e-2, dropout_weights=0.2, warmup=10),
    Hyperparameters(seed=2, loss="exact", weight_decay=0.1, clip=0.1),
    Hyperparameters(seed=2, trial=1, dropout_embedding=0.1, beta1=0.8, beta2=0.95),
    Hyperparameters(seed=3, dropout_output=0.3, final_rate=0.1, ema_powers=(0.7,)),
]


def build(member: Hyperparameters) -> nn.Module:
    return MinimalTransformer(
        8,
        2,
        norm="layernorm",
        dropout_embedding=member.dropout_embedding,
        dropout_weights=member.dropout_weights,
        dropout_output=member.dropout_output,
    )


def make_trainer(members: list[Hyperparameters], dtype: torch.dtype, steps: int) -> Trainer:
    fleet = build_fleet(build, members, dtype=dtype)
    return Trainer(fleet, TASK, members, train_length=5, batch=8, steps=steps)


def train(members: list[Hyperparameters], dtype: torch.dtype, steps: int = 200) -> Trainer:
    trainer = make_trainer(members, dtype, steps)
    for _ in range(steps):
        trainer.advance()
    return trainer


def measures(trainer: Trainer) -> torch.Tensor:
    """Everything measured, raw and averaged: (models, numbers)."""
    assert trainer.average is not None
    weights = [None, *(trainer.average.weights_at(*at)["weights"] for at in trainer.average.grid())]
    readings = [r for w in weights for r in measure_by_length(trainer.fleet, TASK, 64, 0, w)]
    return torch.stack([reading.values for reading in readings], dim=1)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-9)], ids=str
)
def test_alone_equals_in_a_fleet_of_any_size(dtype: torch.dtype, tolerance: float) -> None:
    others = [Hyperparameters(seed=100 + i, dropout_weights=0.1) for i in range(296)]
    crowd = measures(train([*MEMBERS[:2], *others, *MEMBERS[2:]], dtype))
    crowd = crowd[[0, 1, -2, -1]]
    three = measures(train(MEMBERS[:3], dtype))
    for index, member in enumerate(MEMBERS):
        alone = measures(train([member], dtype))[0]
        assert (alone - crowd[index]).abs().max() < tolerance
        if index < 3:
            assert (alone - three[index]).abs().max() < tolerance


@pytest.mark.parametrize("cut", [1, 7, 50])
def test_interrupted_equals_uninterrupted_bit_for_bit(cut: int) -> None:
    whole = train(MEMBERS, torch.float32, steps=60)
    first = make_trainer(MEMBERS, torch.float32, steps=60)
    for _ in range(cut):
        first.advance()
    state = {name: tensor.clone() for name, tensor in first.state_dict().items()}
    second = make_trainer(MEMBERS, torch.float32, steps=60)
    second.load_state_dict(state)
    while second.step < 60:
        second.advance()
    ends = whole.state_dict(), second.state_dict()
    assert ends[0].keys() == ends[1].keys()
    for name, tensor in ends[0].items():
        assert torch.equal(tensor, ends[1][name]), name


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_one_that_diverges_never_touches_its_neighbours(dropout: float) -> None:
    healthy = [replace(member, dropout_output=dropout) for member in MEMBERS]
    sick = list(healthy)
    sick[1] = replace(healthy[1], learning_rate=1e30, clip=0.0, warmup=0)
    expected, observed = (train(members, torch.float32, 40) for members in (healthy, sick))
    assert expected.diverged.tolist() == [-1] * 4
    diverged = observed.diverged.tolist()
    assert 0 < diverged[1] < 40
    assert [diverged[index] for index in (0, 2, 3)] == [-1] * 3
    others = [0, 2, 3]
    assert torch.equal(expected.fleet.weights[others], observed.fleet.weights[others])
    assert torch.equal(measures(expected)[others], measures(observed)[others])


def test_a_diverged_model_is_frozen() -> None:
    members = [Hyperparameters(learning_rate=1e30, clip=0.0, warmup=0), Hyperparameters(seed=1)]
    trainer = make_trainer(members, torch.float32, 60)
    while trainer.diverged[0] < 0:
        trainer.advance()
    frozen, step = trainer.fleet.weights[0].clone(), int(trainer.diverged[0])
    while trainer.step < 60:
        trainer.advance()
    assert torch.equal(trainer.fleet.weights[0], frozen)
    assert trainer.diverged[0] == step, "the first step counts"


def test_the_same_seed_means_the_same_data_and_weights() -> None:
    members = [Hyperparameters(seed=4), Hyperparameters(seed=4, learning_rate=1e-4)]
    trainer = make_trainer(members, torch.float32, 5)
    assert torch.equal(trainer.fleet.weights[0], trainer.fleet.weights[1])
    batch = trainer._batch(0)
    assert torch.equal(batch.inputs[0], batch.inputs[1])
    other = make_trainer([Hyperparameters(seed=4, trial=1)], torch.float32, 5)
    assert not torch.equal(other._batch(0).inputs[0], batch.inputs[0])


def test_a_model_taken_out_of_a_fleet_is_the_model_put_in() -> None:
    models = [MinimalTransformer(8, 2, dropout_output=rate) for rate in (0.0, 0.5)]
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


def test_models_of_another_shape_are_named() -> None:
    with pytest.raises(InputError, match=r"models\[1\]: parameter '.*' has shape .* expected"):
        Fleet([MinimalTransformer(8), MinimalTransformer(9)])


def test_a_state_of_another_run_is_refused() -> None:
    state = make_trainer(MEMBERS[:2], torch.float32, 5).state_dict()
    with pytest.raises(InputError, match="belongs to another run"):
        make_trainer(MEMBERS[:3], torch.float32, 5).load_state_dict(state)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate = 0.0: expected a positive number"),
        ({"learning_rate": float("nan")}, "learning_rate = nan"),
        ({"beta2": 1.0}, r"beta2 = 1.0: expected a rate in \[0, 1\)"),
        ({"dropout_weights": -0.1}, "dropout_weights = -0.1"),
        ({"weight_decay": -1.0}, "weight_decay"),
        ({"loss": "exakt"}, "did you mean 'exact'"),
    ],
)
def test_bad_hyperparameters_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Hyperparameters(**settings)  # type: ignore[arg-type]
