"""Models that read series: an iTransformer and a siamese encoder."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.models import InvertedModel, InvertedTransformer, SiameseModel
from lengthwise.randomness import seeded
from lengthwise.runs import recipe_for
from lengthwise.tasks import HiddenFactors, SameWell, Series
from lengthwise.training import Hyperparameters

SMALL = {"layers": 2, "heads": 2, "width": 8}


def inverted(**settings: object) -> InvertedTransformer:
    with seeded(1):
        return InvertedTransformer(6, 3, **SMALL, **settings).double().eval()  # type: ignore[arg-type]


def series(count: int = 5) -> Series:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(4, count, 6, generator=generator, dtype=torch.float64)
    return Series(values, torch.zeros(4, count, dtype=torch.int64))


def reference(model: InvertedTransformer, values: Tensor) -> Tensor:
    """The paper's encoder in plain torch: PyTorch's own post-norm layers with our weights."""
    mean, deviation = values.mean(-1, keepdim=True), values.var(-1, correction=0, keepdim=True)
    deviation = (deviation + 1e-5).sqrt()
    hidden = model.embedding((values - mean) / deviation)
    for block in model.blocks:
        layer = nn.TransformerEncoderLayer(
            8, 2, 32, dropout=0.0, activation="gelu", batch_first=True, dtype=torch.float64
        )
        attention = block.attention
        parts = (attention.query, attention.key, attention.value)
        with torch.no_grad():
            layer.self_attn.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
            layer.self_attn.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
            layer.self_attn.out_proj.weight.copy_(attention.output.weight)
            layer.self_attn.out_proj.bias.copy_(attention.output.bias)
            for ours, theirs in (
                (block.mlp[0], layer.linear1), (block.mlp[2], layer.linear2),
                (block.attention_norm, layer.norm1), (block.mlp_norm, layer.norm2),
            ):  # fmt: skip
                theirs.load_state_dict(ours.state_dict())
        hidden = layer.train()(hidden)
    last = functional.layer_norm(hidden, (8,), model.norm.weight, model.norm.bias)
    return model.projection(last) * deviation + mean


def test_it_is_the_papers_encoder() -> None:
    model, given = inverted(), series()
    torch.testing.assert_close(model(given), reference(model, given.values))


def test_series_have_no_order_and_no_scale() -> None:
    model, given = inverted(), series()
    order = torch.tensor([3, 1, 4, 0, 2])
    turned = Series(given.values[:, order], given.variates)
    torch.testing.assert_close(model(turned), model(given)[:, order])
    # Each series has a level and a scale of its own, but for the 1e-5.
    scale = torch.tensor([1.0, 2.0, 5.0, 10.0, 3.0]).double()[:, None]
    moved = Series(given.values * scale + 7.0, given.variates)
    torch.testing.assert_close(model(moved), model(given) * scale + 7.0, rtol=1e-3, atol=1e-3)


def test_alone_reads_nothing_of_the_others() -> None:
    given = series()
    changed = Series(given.values.clone(), given.variates)
    changed.values[:, 1:] += torch.randn(4, 4, 6, dtype=torch.float64)
    alone, mixed = inverted(alone=True), inverted()
    torch.testing.assert_close(alone(changed)[:, 0], alone(given)[:, 0])
    assert not torch.allclose(mixed(changed)[:, 0], mixed(given)[:, 0])
    only = Series(given.values[:, :1], given.variates[:, :1])
    torch.testing.assert_close(alone(given)[:, :1], alone(only))
    torch.testing.assert_close(mixed(only), alone(only), msg="one series is alone anyway")


@pytest.mark.parametrize("name", ["rotary", "learned", "sinusoidal"])
def test_positions_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="positions"):
        inverted(remedies=(name,))


def test_two_series_are_compared_without_an_order() -> None:
    task = SameWell()
    with seeded(1):
        model = SiameseModel(**SMALL).build(task, Hyperparameters()).double().eval()
    pairs = task.draw(torch.tensor(1), 20, 6).inputs.double()
    torch.testing.assert_close(model(pairs.flip(1)), model(pairs))
    alike = model.encoded(pairs[:, :1]).squeeze(1)
    torch.testing.assert_close(alike, model.encoded(pairs)[:, 0], msg="each for itself")


@pytest.mark.parametrize("task", [HiddenFactors(window=24, horizon=4), SameWell(wells=2)])
def test_they_learn(task: HiddenFactors | SameWell) -> None:
    """More than what can be had without reading."""
    from lengthwise.measures import baselines

    length = 8 if task.numbers else 40
    recipe = recipe_for(
        task, max_train_length=length, steps=150, test_lengths=(length,), test_inputs=200
    )
    trainer = recipe.trainer([Hyperparameters(learning_rate=3e-3, ema_powers=(), bias_powers=())])
    trainer.run()
    measure = "excess_mse" if task.numbers else "tvd"
    (found,) = (
        float(one.values) for one in recipe.measure(trainer.fleet) if one.measure == measure
    )
    (guess,) = (one.length_only for one in baselines(task, [length]) if one.measure == measure)
    assert found < 0.8 * guess


def test_a_model_of_tokens_is_refused() -> None:
    with pytest.raises(InputError, match="model = 'gpt': expected one that can read"):
        recipe_for(HiddenFactors(), "gpt")
    with pytest.raises(InputError, match="model = 'inverted': expected one that can read"):
        recipe_for(SameWell(), InvertedModel())
