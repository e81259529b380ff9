"""A model that carries averaged weights, and what is refused while it does."""

from typing import Any

import pytest
import torch
from torch import nn

from lengthwise.averaging import BEMA, EMA, AveragingError, require_live


@pytest.fixture
def model() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 3)


def snapshot(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def moved(average, model, steps=3):
    for _ in range(steps):
        for parameter in model.parameters():
            parameter.data += torch.randn_like(parameter)
        average.update()


def test_the_model_carries_the_average_and_gets_its_weights_back(model):
    average = BEMA(model)
    moved(average, model)
    live, expected = snapshot(model), average.weights()
    with average.applied():
        assert equal(snapshot(model), expected)
    assert equal(snapshot(model), live)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_any_exit_restores_the_live_weights(model, error):
    average = BEMA(model)
    moved(average, model)
    live = snapshot(model)
    with pytest.raises(error), average.applied():
        raise error
    assert equal(snapshot(model), live)
    require_live(model)


def test_what_evaluation_does_to_the_weights_is_undone(model):
    average = EMA(model)
    moved(average, model)
    live = snapshot(model)
    with average.applied():
        model.weight.data.zero_()
    assert equal(snapshot(model), live)


def test_contexts_nest(model):
    average = BEMA(model, [0.3, 0.7])
    moved(average, model)
    live = snapshot(model)
    outer, inner = average.weights(0.3, 0.2), average.weights(0.7, 0.1)
    with average.applied(0.3, 0.2):
        assert equal(average.weights(0.7, 0.1), inner), "reading inside sees the live weights"
        with average.applied(0.7, 0.1):
            assert equal(snapshot(model), inner)
        assert equal(snapshot(model), outer)
    assert equal(snapshot(model), live)


def test_contexts_of_two_averages_nest(model):
    ema, bema = EMA(model), BEMA(model)
    for _ in range(3):
        model.weight.data += 1
        ema.update()
        bema.update()
    live, expected = snapshot(model), bema.weights()
    with ema.applied(), bema.applied():
        assert equal(snapshot(model), expected)
    assert equal(snapshot(model), live)


def test_another_view_of_applied_weights_is_refused():
    flat = torch.zeros(2, 4)
    whole, part = EMA({"flat": flat}), BEMA({"row": flat[0]})
    whole.update()
    part.update()
    with whole.applied(), pytest.raises(AveragingError, match="different view"):
        part.weights()


def test_averaged_weights_are_not_live(model):
    average = EMA(model)
    moved(average, model)
    require_live(model)
    with average.applied():
        carriers: list[Any] = [model, torch.compile(model)]
        for carrier in (*carriers, {"view": model.weight[0]}, {"b": model.bias}):
            with pytest.raises(AveragingError, match=r"carries averaged weights"):
                require_live(carrier)
        require_live(nn.Linear(2, 2))
        with pytest.raises(AveragingError, match=r"carries averaged weights"):
            EMA(model)
    require_live(model)


def test_training_on_averaged_weights_is_refused(model):
    average = EMA(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    average.attach(optimizer)
    model(torch.ones(3)).sum().backward()
    optimizer.step()
    state = {name: tensor.clone() for name, tensor in average.state_dict().items()}
    with average.applied(), pytest.raises(AveragingError, match="carries averaged weights"):
        optimizer.step()
    assert equal(average.state_dict(), state)


@pytest.mark.parametrize(
    ("settings", "steps", "first"),
    [
        ({}, 0, 1),
        ({"update_every": 400}, 37, 400),
        ({"start_after": 5}, 5, 6),
        ({"schedule": "authors-online", "update_every": 4, "start_after": 5}, 6, 7),
    ],
)
def test_before_the_first_update_there_is_no_average(model, settings, steps, first):
    average = BEMA(model, **settings)
    moved(average, model, steps)
    assert not average.ready
    message = rf"no average yet: {steps} steps seen, the first update is at step {first}"
    with pytest.raises(AveragingError, match=message), average.applied():
        pass
    with pytest.raises(AveragingError, match=message):
        average.weights()
    moved(average, model, first - steps)
    assert average.ready


def test_tensors_without_elements_are_told_apart():
    empty = {"empty": torch.zeros(0, 3), "weight": torch.zeros(2)}
    average = BEMA(empty)
    average.update()
    with average.applied():
        average.weights()
        require_live({"another": torch.zeros(0)})
        with pytest.raises(AveragingError, match="weight carries"):
            require_live(empty)


def test_gradients_are_left_alone(model):
    average = EMA(model)
    model(torch.ones(3)).sum().backward()
    average.update()
    gradient = model.weight.grad.clone()
    with average.applied():
        assert model.weight.requires_grad
    assert torch.equal(model.weight.grad, gradient)
