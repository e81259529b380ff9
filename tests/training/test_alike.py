"""A fleet runs one code: models that differ in it, or draw from torch's generator, are refused."""

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.models import GPT, MinimalTransformer, SetReader
from lengthwise.models.blocks import Size
from lengthwise.remedies import Dropout
from lengthwise.tasks import SetComplement
from lengthwise.training import Fleet, Trainer


class Own(nn.Module):
    """A model with a setting; what it does with it is of no matter here."""

    def __init__(self, setting: Any = None, buffer: Tensor | None = None) -> None:
        super().__init__()
        self.setting = setting
        self.embedding = nn.Embedding(6, 6)
        if buffer is not None:
            self.register_buffer("kept", buffer)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.embedding(tokens)


def hooked(model: nn.Module) -> nn.Module:
    model.register_forward_hook(lambda module, given, output: 2 * output)
    return model


def frozen() -> nn.Module:
    model = Own()
    model.embedding.weight.requires_grad_(False)
    return model


def multiplied(by: float) -> Callable[[Tensor], Tensor]:
    return lambda values: values * by


def defaulted(by: float) -> Callable[[Tensor], Tensor]:
    return lambda values, by=by: values * by


def gpt(**settings: Any) -> GPT:
    return GPT(6, 5, Size(1, 2, 8), **settings)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (MinimalTransformer(6), MinimalTransformer(6, remedies=("constant",)), "remedies"),
        (
            MinimalTransformer(6, remedies=("constant",)),
            MinimalTransformer(6, remedies=("standardization",)),
            "Constant",
        ),
        (
            MinimalTransformer(6, remedies=("layernorm",)),
            MinimalTransformer(6, remedies=("layernorm:place=before",)),
            "place",
        ),
        (MinimalTransformer(6), MinimalTransformer(6, remedies=("standardization",)), "absent"),
        (gpt(), gpt(causal=False), "causal is False, expected True"),
        (gpt(remedies=("rotary",)), gpt(remedies=("alibi",)), "slopes"),
        (SetReader(3, 1, 2, width=4), SetReader(3, 1, 2, width=4, residual=True), "residual"),
        (nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Sequential(nn.Linear(2, 2), nn.Tanh()),
         "module '1' is Tanh, expected ReLU"),
        (nn.LayerNorm(3), nn.LayerNorm(3, eps=1e-3), "eps is 0.001, expected 1e-05"),
        (Own("relu"), Own("tanh"), "setting is 'tanh', expected 'relu'"),
        (Own(1), Own(True), "setting is True, expected 1"),
        (Own([1, [2]]), Own([1, [3]]), "setting is"),
        (Own({"a": torch.ones(2)}), Own({"a": torch.zeros(2)}), "setting is"),
        (Own(numpy.ones(2)), Own(numpy.zeros(2)), "setting is"),
        (Own(torch.ones(2)), Own(torch.ones(3)), "setting is"),
        (Own(multiplied(1.0)), Own(multiplied(2.0)), "setting is <function"),
        (Own(defaulted(1)), Own(defaulted(2)), "setting is <function"),
        (Own(functools.partial(functional.gelu, approximate="tanh")),
         Own(functools.partial(functional.gelu, approximate="none")), "setting is functools"),
        (Own(), hooked(Own()), "hook 0 of module ''"),
        (Own(buffer=torch.ones(2)), Own(buffer=torch.ones(3)), r"buffer 'kept' is \(\(3,\)"),
        (Own(buffer=torch.ones(2)), Own(buffer=torch.ones(2).int()), "buffer 'kept'"),
        (Own(buffer=torch.ones(2)), Own(), "buffer 'kept' is 'absent'"),
        (Own(), Own().double(), "parameter 'embedding.weight'"),
        (MinimalTransformer(6), MinimalTransformer(7), "parameter 'embedding.weight' is"),
        (Own(), Own().eval(), "training = False"),
        (Own(), frozen(), "embedding.weight = frozen"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("swapped", [False, True])
def test_models_that_differ_in_code_are_named(
    first: nn.Module, second: nn.Module, message: str, swapped: bool
) -> None:
    models = [copy.deepcopy(first), first, second]
    if swapped:
        with pytest.raises(InputError, match=r"models\[[012]\]") as caught:
            Fleet(models[::-1])
    else:
        with pytest.raises(InputError, match=rf"models\[2\].*{message}") as caught:
            Fleet(models)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "setting",
    [None, float("nan"), [1, {"a": (torch.ones(2), numpy.ones(2))}], multiplied(2.0),
     functools.partial(functional.gelu, approximate="tanh"), {1, 2}, torch.float32],
)  # fmt: skip
def test_equal_settings_make_a_fleet(setting: Any) -> None:
    assert Fleet([Own(setting), copy.deepcopy(Own(setting))]).size == 2


def test_plain_objects_are_compared_by_their_attributes() -> None:
    class Config:
        def __init__(self, width: int) -> None:
            self.width = width

    assert Fleet([Own(Config(1)), Own(Config(1))]).size == 2
    with pytest.raises(InputError, match="setting"):
        Fleet([Own(Config(1)), Own(Config(2))])


def test_modules_that_only_a_list_holds_are_refused() -> None:
    with pytest.raises(InputError, match=r"models\[1\]: setting is \[Linear"):
        Fleet([Own([nn.Linear(2, 2)]) for _ in range(2)])


def test_rates_of_dropout_may_differ() -> None:
    rates = (0.0, 0.5)
    fleet = Fleet([nn.Sequential(nn.Embedding(6, 6), Dropout(rate)) for rate in rates])
    outputs = fleet.forward(torch.arange(6).expand(2, 6))
    assert (outputs[0] != 0).all()
    assert (outputs[1] == 0).any()


class Drawing(nn.Module):
    """Draws in its forward pass, by a function that no attribute shows."""

    def __init__(self, draw: Callable[["Drawing", Tensor], Tensor]) -> None:
        super().__init__()
        self.draw = draw
        self.embedding = nn.Embedding(6, 6)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.draw(self, self.embedding(tokens))


IN_TRAINING = {
    "F.dropout": lambda module, hidden: functional.dropout(hidden, 0.1, module.training),
}
ALWAYS = {
    "F.dropout always": lambda module, hidden: functional.dropout(hidden, 0.1),
    "torch.rand": lambda module, hidden: hidden + torch.rand(hidden.shape),
    "torch.randn_like": lambda module, hidden: hidden + torch.randn_like(hidden),
    "bernoulli": lambda module, hidden: hidden * torch.full_like(hidden, 0.5).bernoulli(),
}
INSTEAD = r"use lengthwise\.remedies\.Dropout"


@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("name", [*IN_TRAINING, *ALWAYS])
def test_what_draws_from_torchs_generator_is_refused(name: str, models: int) -> None:
    draw = {**IN_TRAINING, **ALWAYS}[name]
    fleet = Fleet([Drawing(draw) for _ in range(models)])
    trainer = Trainer(fleet, SetComplement(6), max_train_length=3, batch=2, steps=1)
    before = fleet.weights.clone()
    with pytest.raises(InputError, match=rf"forward pass draws.*{INSTEAD}"):
        trainer.run()
    assert torch.equal(fleet.weights, before)
    tokens = torch.zeros(1, 3, dtype=torch.int64)
    if name in IN_TRAINING:
        assert fleet.predict(tokens).shape == (models, 1, 3, 6)
    else:
        with pytest.raises(InputError, match=rf"forward pass draws.*{INSTEAD}"):
            fleet.predict(tokens)


@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)), r"\.1 = Dropout\(0.1\)"),
        (lambda: nn.Dropout(), r" = Dropout\(0.5\)"),
        (lambda: nn.Sequential(nn.AlphaDropout(0.1)), r"\.0 = AlphaDropout"),
        (lambda: nn.Sequential(nn.Dropout2d(0.1)), r"\.0 = Dropout2d"),
        (lambda: nn.MultiheadAttention(4, 2, dropout=0.1), r"MultiheadAttention\(0.1\)"),
        (lambda: nn.TransformerEncoderLayer(4, 2, 8), r"self_attn = MultiheadAttention\(0.1\)"),
        (lambda: nn.LSTM(2, 2, 2, dropout=0.1), r"LSTM\(0.1\)"),
        (lambda: nn.Sequential(nn.RReLU()), r"\.0 = RReLU"),
    ],
)
def test_torchs_own_dropouts_are_refused_by_name(
    build: Callable[[], nn.Module], name: str, models: int
) -> None:
    with pytest.raises(InputError, match=rf"models\[0\].*{name}.*{INSTEAD}") as caught:
        Fleet([build() for _ in range(models)])
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("models", [1, 2])
def test_a_dropout_of_zero_is_none(models: int) -> None:
    fleet = Fleet([nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.0)) for _ in range(models)])
    assert fleet.forward(torch.ones(models, 1, 2)).shape == (models, 1, 2)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_torchs_own_recurrence_is_refused_where_vmap_would_have_to_follow(
    kind: type[nn.Module],
) -> None:
    with pytest.raises(InputError, match=rf"models\[0\]\.0 = {kind.__name__}: expected a loop"):
        Fleet([nn.Sequential(kind(2, 2)) for _ in range(2)])
    assert Fleet([nn.Sequential(kind(2, 2))]).size == 1


@pytest.mark.parametrize("models", [1, 2])
def test_a_parameter_that_nothing_depends_on_is_named(models: int) -> None:
    class Unused(Own):
        def __init__(self) -> None:
            super().__init__()
            self.idle = nn.Linear(2, 2)

    fleet = Fleet([Unused() for _ in range(models)])
    outputs = fleet.forward(torch.zeros(models, 1, dtype=torch.int64))
    with pytest.raises(InputError, match=r"parameter = 'idle\.weight': expected one that"):
        fleet.gradient(outputs.sum((1, 2)))


def test_other_errors_of_a_forward_pass_are_theirs() -> None:
    fleet = Fleet([nn.Linear(2, 2)])
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        fleet.predict(torch.ones(1, 3))
