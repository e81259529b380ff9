"""T2R: one state that is carried along, and a softmax run that is converted."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.models import GPT, Attention, GPTModel
from lengthwise.models.blocks import Size
from lengthwise.remedies import Keys
from lengthwise.runs import Recipe, RunFolder, execute, recipe_for
from lengthwise.runs.models import load_trainer
from lengthwise.tasks import SetComplement
from lengthwise.testing._shared import shaken
from lengthwise.testing.remedy import calls
from lengthwise.training import Hyperparameters

HEADS, WIDTH, LENGTH, VOCAB = 2, 12, 9, 5


def recurrent(attention: Attention, x: Tensor) -> Tensor:
    """One token after the other, with a matrix and a vector as all memory."""
    one = attention.remedies[0]
    width = WIDTH // HEADS
    mixed = torch.zeros(len(x), WIDTH).double()
    for head in range(HEADS):
        part = slice(head * width, (head + 1) * width)
        features = one.weight.shape[1]
        state, total = torch.zeros(features, width).double(), torch.zeros(features).double()
        for place, token in enumerate(x):
            query = attention.query(token)[part] / width**0.5
            key, value = attention.key(token)[part], attention.value(token)[part]
            query, key = (
                (one.weight[head] @ row + one.shift[head, 0]).clamp(min=0.0) for row in (query, key)
            )
            state, total = state + torch.outer(key, value), total + key
            mixed[place, part] = query @ state
            if one.name == "t2r":
                mixed[place, part] /= max(float(query @ total), 0.01)
    if one.name == "t2r-norm":
        rows = mixed.unflatten(-1, (HEADS, width))
        normed = functional.layer_norm(rows, (width,)).flatten(-2)
        mixed = normed * one.norm.weight + one.norm.bias
    return attention.output(mixed)


@pytest.mark.parametrize("name", ["t2r", "t2r-norm"])
@pytest.mark.parametrize("size", [0.3, 0.003])  # with small weights the floor is reached
@torch.no_grad()
def test_the_recurrent_form_is_the_quadratic_one(name: str, size: float) -> None:
    torch.manual_seed(0)
    model = GPT(VOCAB, LENGTH, Size(2, HEADS, WIDTH), remedies=(f"{name}:features=5",)).double()
    for parameter in model.parameters():
        parameter.mul_(size)
    shaken(model, size)
    tokens = torch.randint(VOCAB, (1, LENGTH))
    for attention, x, context, read in calls(model.eval(), tokens):
        ours = attention(x, context, read)[0]
        torch.testing.assert_close(ours, recurrent(attention, x[0]), rtol=1e-8, atol=1e-10)


def test_a_query_without_features_reads_nothing() -> None:
    torch.manual_seed(0)
    attention = GPT(VOCAB, LENGTH, Size(1, HEADS, WIDTH), remedies=("t2r",)).blocks[0].attention
    with torch.no_grad():
        attention.remedies[0].shift.fill_(-100.0)
    x = torch.randn(4, WIDTH)
    read = Keys(torch.zeros(4, 4))
    weights = attention.weights(attention.products(x, x, read), read)
    assert (weights == 0).all()
    assert not attention.stochastic


def test_a_softmax_run_is_converted(tmp_path: Path) -> None:
    softmax = recipe_for(
        SetComplement(5), GPTModel(layers=1, heads=2, width=8, remedies=("rotary",)),
        max_train_length=3, steps=3, batch=4, test_inputs=8,
    )  # fmt: skip
    seeds = [Hyperparameters(seed=1), Hyperparameters(seed=2)]
    source = RunFolder.create(tmp_path / "softmax", softmax, seeds, [])
    execute(source)
    trained = load_trainer(source).fleet.views()
    model = replace(softmax.model, remedies=("rotary", "t2r:features=6"))  # type: ignore[type-var]
    recipe: Recipe = replace(softmax, model=model, start_from=str(source.path))
    begun = recipe.trainer(seeds).fleet.views()
    fresh = replace(recipe, start_from=None).trainer(seeds).fleet.views()
    for name, weights in begun.items():
        taken = trained.get(name)
        assert torch.equal(weights, fresh[name] if taken is None else taken), name
    assert sorted(set(begun) - set(trained)) == [
        "blocks.0.attention.remedies.1.shift", "blocks.0.attention.remedies.1.weight",
    ]  # fmt: skip
    execute(RunFolder.create(tmp_path / "linear", recipe, seeds, []))
