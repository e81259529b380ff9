"""GPT against Hugging Face's GPT-2 with the same weights, and what it promises besides."""

import math
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

from lengthwise.errors import InputError
from lengthwise.models import GPT
from lengthwise.models.gpt import SIZES, Size
from lengthwise.remedies.positions import ADDED
from lengthwise.training import Fleet, FleetAdamW, Hyperparameters

VOCAB, MOST = 13, 11
SITES = ("dropout_embedding", "dropout_weights", "dropout_output")


def shaken(model: GPT) -> GPT:
    """With weights that are all different from those of the start, biases and norms included."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model.double().eval()


@st.composite
def models(draw: st.DrawFn) -> GPT:
    torch.manual_seed(draw(st.integers(0, 1000)))
    heads = draw(st.sampled_from([1, 2, 3]))
    size = Size(draw(st.integers(1, 3)), heads, heads * draw(st.sampled_from([2, 4, 6])))
    return shaken(
        GPT(
            VOCAB,
            MOST,
            size,
            positions=draw(st.sampled_from(sorted(ADDED))),
            attention=draw(st.sampled_from(["softmax", "scalable"])),
            norm=draw(st.sampled_from(["none", "layernorm", "rmsnorm"])),
            norm_place=draw(st.sampled_from(["before", "after"])),
        )
    )


def some_tokens(batch: int = 5, length: int = MOST) -> Tensor:
    return torch.randint(VOCAB, (batch, length))


def as_gpt2(model: GPT, size: Size) -> GPT2LMHeadModel:
    """Hugging Face's GPT-2 of the same shape, with the weights of `model`."""
    config = GPT2Config(
        vocab_size=VOCAB, n_positions=MOST, n_embd=size.width, n_layer=size.layers,
        n_head=size.heads, activation_function="gelu", tie_word_embeddings=False,
    )  # fmt: skip
    ours = model.state_dict()
    theirs = {
        "transformer.wte.weight": ours["tokens.weight"],
        "transformer.wpe.weight": ours["positions.vectors"],
        "lm_head.weight": ours["unembedding.weight"],
    }
    norms = {"transformer.ln_f": "norm"}
    for layer in range(size.layers):
        their, our = f"transformer.h.{layer}", f"blocks.{layer}"
        norms |= {f"{their}.ln_1": f"{our}.attention_norm", f"{their}.ln_2": f"{our}.mlp_norm"}
        for their_name, our_names in {
            f"{their}.attn.c_attn": [f"{our}.attention.{n}" for n in ("query", "key", "value")],
            f"{their}.attn.c_proj": [f"{our}.attention.output"],
            f"{their}.mlp.c_fc": [f"{our}.mlp.0"],
            f"{their}.mlp.c_proj": [f"{our}.mlp.2"],
        }.items():
            # Theirs maps rows to columns, the other way round than a Linear.
            theirs[f"{their_name}.weight"] = torch.cat([ours[f"{n}.weight"] for n in our_names]).T
            theirs[f"{their_name}.bias"] = torch.cat([ours[f"{n}.bias"] for n in our_names])
    for their_name, our_name in norms.items():
        for kind in ("weight", "bias"):
            theirs[f"{their_name}.{kind}"] = ours[f"{our_name}.{kind}"]
    peer = GPT2LMHeadModel(config).double().eval()
    peer.load_state_dict(theirs)
    return peer


def test_the_original_has_the_parameters_of_the_paper() -> None:
    with torch.device("meta"):
        model = GPT(61, 59, SIZES["original"])
    assert sum(parameter.numel() for parameter in model.parameters()) == 25_312_768


@pytest.mark.parametrize("size", [Size(1, 1, 6), Size(2, 4, 16), Size(3, 2, 8)], ids=str)
def test_it_is_gpt2_with_an_unembedding_of_its_own(size: Size) -> None:
    torch.manual_seed(0)
    model = shaken(GPT(VOCAB, MOST, size))
    peer = as_gpt2(model, size)
    for length in (1, 4, MOST):
        tokens = some_tokens(length=length)
        torch.testing.assert_close(model(tokens), peer(tokens).logits, rtol=1e-5, atol=1e-5)


@settings(max_examples=60)
@given(models(), st.integers(1, MOST - 1))
def test_causality(model: GPT, cut: int) -> None:
    tokens = some_tokens()
    changed = tokens.clone()
    changed[:, cut:] = (tokens[:, cut:] + torch.randint(1, VOCAB, (5, MOST - cut))) % VOCAB
    logits, others = model(tokens), model(changed)
    torch.testing.assert_close(logits[:, :cut], others[:, :cut], rtol=0, atol=1e-11)
    assert (logits[:, cut:] != others[:, cut:]).any(-1).all(), "every token is read"


@pytest.mark.parametrize("name", ["small", "tiny"])
def test_at_the_start_every_token_is_about_as_likely(name: str) -> None:
    torch.manual_seed(1)
    model = GPT(61, 59, SIZES[name]).eval()
    tokens, drawn = torch.randint(61, (2, 8, 59))
    loss = functional.cross_entropy(model(tokens).flatten(0, 1), drawn.flatten())
    assert abs(loss.item() - math.log(61)) < 0.1


def test_initial_weights() -> None:
    torch.manual_seed(2)
    model = GPT(61, 59, SIZES["small"], norm="layernorm")
    norms = {id(p) for m in model.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()}
    for name, parameter in model.named_parameters():
        if parameter.ndim >= 2:
            error = 0.02 / parameter.numel() ** 0.5
            assert parameter.mean().abs() < 5 * error, name
            assert (parameter.std() - 0.02).abs() < 5 * error, name
        elif name.endswith("bias"):
            assert (parameter == 0).all(), name
        else:
            assert id(parameter) in norms, name
            assert (parameter == 1).all(), name


@pytest.mark.parametrize("positions", sorted(ADDED))
def test_weight_decay_leaves_embeddings_and_positions_alone(positions: str) -> None:
    torch.manual_seed(3)
    fleet = Fleet([shaken(GPT(VOCAB, MOST, Size(2, 2, 8), positions=positions))])
    left_alone = {"tokens.weight"}
    if positions in ("learned", "offset"):
        left_alone.add("positions.vectors")
    assert fleet.undecayed == left_alone
    before = fleet.weights.clone()
    members = [Hyperparameters(weight_decay=0.5, learning_rate=0.1, warmup=0)]
    FleetAdamW(fleet, members, steps=10).step(0, torch.zeros(1), torch.zeros_like(before))
    for name, view in fleet.views().items():
        kept = 1.0 if name in left_alone or view.ndim == 2 else 1 - 0.1 * 0.5
        expected = fleet.views(before)[name] * kept
        torch.testing.assert_close(view, expected, rtol=1e-12, atol=0, msg=name)


def a_gradient(model: GPT, tokens: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor]:
    logits = model(tokens)
    loss = functional.cross_entropy(logits.flatten(0, 1), drawn.flatten())
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    return logits, torch.cat([gradient.flatten() for gradient in gradients])


def fleet_models(positions: str, dropout: float) -> Iterator[GPT]:
    for seed, rates in enumerate([(dropout, 0.0, 0.2), (0.0, dropout, dropout), (0.0, 0.0, 0.0)]):
        torch.manual_seed(seed)
        given_rates = dict(zip(SITES, rates if dropout else (0.0,) * 3, strict=True))
        yield GPT(VOCAB, MOST, Size(2, 2, 8), positions=positions, **given_rates).double()


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("positions", sorted(ADDED))
def test_alone_is_as_in_a_fleet(positions: str, dropout: float) -> None:
    alone = [shaken(model).train() for model in fleet_models(positions, dropout)]
    fleet = Fleet(alone)
    for _ in range(3):
        tokens, drawn = torch.randint(VOCAB, (2, 3, 4, 7))
        logits = fleet.forward(tokens)
        losses = functional.cross_entropy(
            logits.flatten(0, 2), drawn.flatten(), reduction="none"
        ).view(3, -1)
        gradient = fleet.gradient(losses.mean(1))
        for index, model in enumerate(alone):
            expected, own = a_gradient(model, tokens[index], drawn[index])
            torch.testing.assert_close(logits[index], expected, rtol=1e-9, atol=1e-9)
            torch.testing.assert_close(gradient[index], own, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("site", SITES)
def test_dropout_acts_in_training_only(site: str) -> None:
    torch.manual_seed(4)
    model = GPT(VOCAB, MOST, Size(1, 2, 8), **{site: 0.5})
    tokens = some_tokens()
    assert not torch.equal(model.train()(tokens), model(tokens)), "another step, another mask"
    assert torch.equal(model.eval()(tokens), model(tokens))
    plain = GPT(VOCAB, MOST, Size(1, 2, 8))
    plain.load_state_dict({n: t for n, t in model.state_dict().items() if "rate" not in n}, False)
    assert torch.equal(model(tokens), plain.eval()(tokens))


def test_what_the_mlp_adds_is_dropped_too() -> None:
    torch.manual_seed(5)
    model = GPT(VOCAB, MOST, Size(1, 2, 8), dropout_output=0.5)
    with torch.no_grad():
        model.blocks[0].attention.output.weight.zero_()
    tokens = some_tokens()
    assert not torch.equal(model.train()(tokens), model(tokens))


def test_a_remedy_and_its_baseline_start_out_equal() -> None:
    states = []
    for settings_ in ({}, {"norm": "layernorm", "attention": "scalable", "dropout_output": 0.3}):
        torch.manual_seed(6)
        states.append(GPT(VOCAB, MOST, Size(2, 2, 8), **settings_).state_dict())  # type: ignore[arg-type]
    for name, tensor in states[0].items():
        if not name.endswith("rate"):
            assert torch.equal(tensor, states[1][name]), name


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"vocab": 0}, "vocab = 0: expected at least 1"),
        ({"most": 0}, "most = 0: expected at least 1"),
        ({"size": Size(0, 1, 8)}, "layers = 0: expected at least 1"),
        ({"size": Size(1, 0, 8)}, "heads = 0: expected at least 1"),
        ({"size": Size(1, 3, 8)}, "width = 8: expected a multiple of 3"),
        ({"size": Size(1, 8, 8), "positions": "rotary"}, "width of a head = 1: expected even"),
        ({"size": Size(1, 1, 7), "positions": "sinusoidal"}, "width = 7: expected even"),
        ({"positions": "lerned"}, "did you mean 'learned'"),
        ({"attention": "sofmax"}, "did you mean 'softmax'"),
        ({"norm": "layrnorm"}, "did you mean 'layernorm'"),
        ({"norm_place": "under"}, "norm_place = 'under'"),
        ({"dropout_embedding": 1.0}, r"dropout_embedding = 1.0: expected a rate in \[0, 1\)"),
        ({"dropout_output": -0.1}, "dropout_output = -0.1"),
    ],
)
def test_bad_settings_are_named(settings_: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GPT(**{"vocab": VOCAB, "most": MOST, "size": Size(1, 1, 8), **settings_})  # type: ignore[arg-type]
