"""GPT against Hugging Face's GPT-2 with the same weights, and what it promises besides."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

from lengthwise.errors import InputError
from lengthwise.models import GPT, Attention, GPTModel
from lengthwise.models.blocks import Size
from lengthwise.models.gpt import SIZES
from lengthwise.registry import REMEDIES
from lengthwise.runs import recipe_for
from lengthwise.tasks import Othello, SetComplement, Tokens
from lengthwise.testing import _shared
from lengthwise.training import Fleet, FleetAdamW, Hyperparameters

VOCAB, MOST = 13, 11
SITES = _shared.SITES
POSITIONAL = [
    name
    for name in REMEDIES.listed()
    if REMEDIES.get(name).positional and not REMEDIES.get(name).from_run
]


def shaken(model: GPT) -> GPT:
    return _shared.shaken(model.double()).eval()


@st.composite
def models(draw: st.DrawFn) -> GPT:
    torch.manual_seed(draw(st.integers(0, 1000)))
    heads = draw(st.sampled_from([1, 2, 3]))
    size = Size(draw(st.integers(1, 3)), heads, heads * draw(st.sampled_from([2, 4, 6])))
    fit = [name for name in POSITIONAL if heads > 1 or name != "nape"]
    fit = [name for name in fit if size.width > 2 * heads or name != "dynamic-ntk"]
    positions = draw(st.sampled_from(["none", *fit]))
    norm = draw(st.sampled_from(["none", "layernorm", "rmsnorm:place=before"]))
    return shaken(
        GPT(
            VOCAB,
            MOST,
            size,
            layout=draw(st.sampled_from(["pre", "post", "sandwich"])),
            norm=draw(st.sampled_from(["layernorm", "rmsnorm"])),
            mlp=draw(st.sampled_from(["gelu", "gated"])),
            remedies=(positions, draw(st.sampled_from(["none", "scalable"])), norm),
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
        "transformer.wpe.weight": ours["remedies.0.vectors"],
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
    tokens, labels = torch.randint(61, (2, 8, 59))
    loss = functional.cross_entropy(model(tokens).flatten(0, 1), labels.flatten())
    assert abs(loss.item() - math.log(61)) < 0.1


def test_initial_weights() -> None:
    torch.manual_seed(2)
    model = GPT(61, 59, SIZES["small"], remedies=("learned", "layernorm"))
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


@pytest.mark.parametrize("positions", ["none", "learned", "offset", "rotary", "fire"])
def test_weight_decay_leaves_embeddings_and_positions_alone(positions: str) -> None:
    torch.manual_seed(3)
    fleet = Fleet(
        [shaken(GPT(VOCAB, MOST, Size(2, 2, 8), remedies=(positions,)))],
        [Hyperparameters(weight_decay=0.5, learning_rate=0.1, warmup=0)],
    )
    left_alone = {"tokens.weight"} | {n for n in fleet.shapes if n.startswith("remedies.")}
    assert ("remedies.0.vectors" in left_alone) == (positions in ("learned", "offset"))
    assert fleet.no_weight_decay == left_alone
    before = fleet.weights.clone()
    FleetAdamW(fleet, steps=10).step(0, torch.zeros(1), torch.zeros_like(before))
    for name, view in fleet.views().items():
        kept = 1.0 if name in left_alone or view.ndim <= 2 else 1 - 0.1 * 0.5
        expected = fleet.views(before)[name] * kept
        torch.testing.assert_close(view, expected, rtol=1e-12, atol=0, msg=name)


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
    model = GPT(VOCAB, MOST, Size(1, 2, 8), resid_dropout=0.5)
    with torch.no_grad():
        model.blocks[0].attention.output.weight.zero_()
    tokens = some_tokens()
    assert not torch.equal(model.train()(tokens), model(tokens))


def test_a_remedy_and_its_baseline_start_out_equal() -> None:
    states = []
    for settings_ in ({}, {"remedies": ("learned", "scalable", "layernorm"), "resid_dropout": 0.3}):
        torch.manual_seed(6)
        states.append(GPT(VOCAB, MOST, Size(2, 2, 8), **settings_).state_dict())  # type: ignore[arg-type]
    for name, tensor in states[0].items():
        if not name.endswith("rate"):
            assert torch.equal(tensor, states[1][name]), name


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"vocab": 0}, "vocab = 0: expected at least 1"),
        ({"max_length": 0}, "max_length = 0: expected at least 1"),
        ({"size": Size(0, 1, 8)}, "layers = 0: expected at least 1"),
        ({"size": Size(1, 0, 8)}, "heads = 0: expected at least 1"),
        ({"size": Size(1, 3, 8)}, "width = 8: expected a multiple of 3"),
        ({"size": Size(1, 8, 8), "remedies": ("rotary",)}, "width of a head = 1: expected even"),
        ({"size": Size(1, 1, 7), "remedies": ("sinusoidal",)}, "width = 7: expected even"),
        ({"remedies": ("lerned",)}, "did you mean 'learned'"),
        ({"layout": "per"}, "layout = 'per': did you mean 'pre'"),
        ({"norm": "layrnorm"}, "norm = 'layrnorm': did you mean 'layernorm'"),
        ({"mlp": "gate"}, "mlp = 'gate': did you mean 'gated'"),
        ({"size": Size(1, 2, 6), "remedies": ("differential",)}, "key_width = 6: expected a mult"),
        ({"embed_dropout": 1.0}, r"embed_dropout = 1.0: expected a rate in \[0, 1\)"),
        ({"attention_dropout": 1.0}, r"attention_dropout = 1.0: expected a rate in \[0, 1\)"),
        ({"resid_dropout": -0.1}, "resid_dropout = -0.1"),
    ],
)
def test_bad_settings_are_named(settings_: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GPT(**{"vocab": VOCAB, "max_length": MOST, "size": Size(1, 1, 8), **settings_})  # type: ignore[arg-type]


def reference(model: GPT, tokens: Tensor, *, layout: str, norm: str, mlp: str) -> Tensor:
    """A GPT with learned positions, written down sentence by sentence: one sequence, one head."""

    def normed(x: Tensor, by: nn.Module) -> Tensor:
        if norm == "rmsnorm":
            return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * by.weight
        centred = x - x.mean(-1, keepdim=True)
        return (
            centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * by.weight + by.bias
        )

    def linear(x: Tensor, by: nn.Linear) -> Tensor:
        return x @ by.weight.T + by.bias

    def attention(x: Tensor, by: Attention) -> Tensor:
        heads = []
        width = x.shape[-1] // by.heads
        queries, keys, values = (linear(x, one) for one in (by.query, by.key, by.value))
        for head in range(by.heads):
            part = slice(head * width, (head + 1) * width)
            rows = []
            for place in range(len(x)):
                seen = slice(None) if not model.causal else slice(place + 1)
                scores = keys[seen, part] @ queries[place, part] / math.sqrt(width)
                rows.append(scores.softmax(0) @ values[seen, part])
            heads.append(torch.stack(rows))
        return linear(torch.cat(heads, -1), by.output)

    def gelu(x: Tensor) -> Tensor:
        return x * (1 + torch.erf(x / math.sqrt(2))) / 2

    def feed(x: Tensor, by: nn.Module) -> Tensor:
        if mlp == "gelu":
            return linear(gelu(linear(x, by[0])), by[2])
        return linear(gelu(linear(x, by.gate)) * linear(x, by.up), by.down)

    x = model.tokens.weight[tokens] + model.remedies[0].vectors[: len(tokens)]
    for block in model.blocks:
        if layout == "post":
            x = normed(x + attention(x, block.attention), block.attention_norm)
            x = normed(x + feed(x, block.mlp), block.mlp_norm)
            continue
        added = attention(normed(x, block.attention_norm), block.attention)
        x = x + (normed(added, block.attention_second) if layout == "sandwich" else added)
        added = feed(normed(x, block.mlp_norm), block.mlp)
        x = x + (normed(added, block.mlp_second) if layout == "sandwich" else added)
    return (x if layout == "post" else normed(x, model.norm)) @ model.unembedding.weight.T


@pytest.mark.parametrize("layout", ["pre", "post", "sandwich"])
@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize("mlp", ["gelu", "gated"])
@pytest.mark.parametrize("causal", [True, False])
def test_layouts_norms_and_mlps(layout: str, norm: str, mlp: str, causal: bool) -> None:
    torch.manual_seed(7)
    kinds = {"layout": layout, "norm": norm, "mlp": mlp}
    model = shaken(GPT(VOCAB, MOST, Size(2, 2, 8), causal=causal, **kinds))  # type: ignore[arg-type]
    tokens = some_tokens(2, 6)
    expected = torch.stack([reference(model, row, **kinds) for row in tokens])
    torch.testing.assert_close(model(tokens), expected, rtol=1e-9, atol=1e-9)


def test_a_gated_mlp_has_as_many_weights() -> None:
    sizes = []
    for mlp in ("gelu", "gated"):
        block = GPT(VOCAB, MOST, Size(1, 2, 96), mlp=mlp).blocks[0]  # type: ignore[arg-type]
        matrices = (p for p in block.mlp.parameters() if p.ndim == 2)
        sizes.append(sum(matrix.numel() for matrix in matrices))
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("remedies", [("learned",), ("rotary", "scalable"), ("alibi",), ("fire",)])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_one_kernel_is_the_explicit_form(
    remedies: tuple[str, ...], causal: bool, padded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no remedy touches scores or weights, torch's own attention is used."""
    torch.manual_seed(8)
    model = shaken(GPT(VOCAB, MOST, Size(2, 2, 8), causal=causal, remedies=remedies)).float()
    tokens = some_tokens()
    mask = torch.ones_like(tokens, dtype=torch.bool)
    mask[::2, -3:] = False
    inputs = Tokens(tokens, None, mask if padded else None)
    called = []
    kernel = functional.scaled_dot_product_attention

    def counted(*given: object, **settings: object) -> Tensor:
        called.append(settings["is_causal"])
        return kernel(*given, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(functional, "scaled_dot_product_attention", counted)
    ours = model(inputs)
    assert len(called) == 2
    for module in model.modules():
        if isinstance(module, Attention):
            module.vmapped = True
    torch.testing.assert_close(ours, model(inputs), rtol=1e-6, atol=2e-6)
    assert len(called) == 2, "a fleet on a CPU goes the explicit way"
    plain = causal and not padded and remedies[0] not in ("alibi", "fire")
    assert called == [plain] * 2, "and no mask is made where a flag will do"


@pytest.mark.parametrize("remedy", ["adaptive", "constant", "differential", "nap"])
def test_remedies_of_scores_and_weights_need_the_explicit_form(
    remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*given: object, **settings: object) -> Tensor:
        raise AssertionError("torch's kernel knows nothing of remedies")

    monkeypatch.setattr(functional, "scaled_dot_product_attention", refused)
    GPT(VOCAB, MOST, Size(1, 2, 8), remedies=(remedy,))(some_tokens())


@pytest.mark.parametrize("positions", POSITIONAL)
def test_position_ids_are_read(positions: str) -> None:
    torch.manual_seed(9)
    model = shaken(GPT(VOCAB, 60, Size(2, 2, 8), remedies=(positions,)))
    tokens = some_tokens(length=6)
    places = torch.arange(6).expand(5, 6)
    torch.testing.assert_close(model(Tokens(tokens, places)), model(tokens))
    for other in (places * 5, torch.tensor([[3, 0, 9, 1, 20, 4]] * 5)):
        assert (model(Tokens(tokens, other)) - model(tokens)).abs().max() > 1e-4
    # Every sequence by its own ids.
    mixed = torch.stack([places[0], places[0] * 5])
    logits = model(Tokens(tokens[:2], mixed))
    for row in range(2):
        alone = model(Tokens(tokens[row : row + 1], mixed[row : row + 1]))
        torch.testing.assert_close(logits[row : row + 1], alone, rtol=1e-9, atol=1e-9)
    if positions in ("rotary", "alibi"):
        shifted = model(Tokens(tokens, places + 40))
        torch.testing.assert_close(shifted, model(tokens), rtol=1e-4, atol=1e-4)


def test_several_tracks_of_positions() -> None:
    torch.manual_seed(10)
    model = shaken(GPT(VOCAB, MOST, Size(2, 2, 8), remedies=("learned", "scalable"), tracks=3))
    assert model.remedies[0].vectors.shape == (3, MOST, 8)
    tokens, ids = some_tokens(length=6), torch.randint(MOST, (5, 6, 3))
    logits = model(Tokens(tokens, ids))
    for track in range(3):
        changed = ids.clone()
        changed[:, 2, track] = (ids[:, 2, track] + 1) % MOST
        others = model(Tokens(tokens, changed))
        torch.testing.assert_close(logits[:, :2], others[:, :2], rtol=0, atol=1e-12)
        assert (logits[:, 2:] != others[:, 2:]).any(-1).all()
    swapped = model(Tokens(tokens, ids.flip(-1)))
    assert (logits - swapped).abs().max() > 1e-3, "every track has its own table"


@pytest.mark.parametrize("task", [SetComplement(8), Othello(4)], ids=repr)
@pytest.mark.parametrize("model", ["gpt", "minimal"])
def test_any_token_task_learns_on_any_token_model(
    task: SetComplement | Othello, model: str
) -> None:
    shape = GPTModel(layers=1, heads=2, width=16) if model == "gpt" else model
    recipe = recipe_for(
        task, shape, max_train_length=5, batch=32, steps=60, test_lengths=(3, 7), test_inputs=64,
        precision="float32", compiled="no",
    )  # fmt: skip
    trainer = recipe.trainer([Hyperparameters(learning_rate=1e-2, warmup=0)])

    def divergence() -> dict[int, Tensor]:
        found = recipe.measure(trainer.fleet)
        return {one.length: one.values for one in found if one.measure == "kl"}

    before = divergence()
    trainer.run()
    after = divergence()
    assert set(before) == set(after) == {3, 7}
    assert (after[3] < 0.8 * before[3]).all()
