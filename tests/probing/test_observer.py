"""What is observed equals what eager attention gives, and the model does not notice."""

import contextlib

import pytest
import torch
import transformers
from probing.models import FAMILIES, VOCABULARY, gpt2, llama
from probing.test_weights import written_out

from lengthwise.errors import InputError
from lengthwise.probing.observer import (
    Enough,
    attention_of,
    observing,
    without_rotary_positions,
)

LENGTH, BATCH, TOP = 20, 3, 5


def eager(model, projection, inputs):
    """Attention weights, heads and projected outputs by layer, from eager attention."""
    heads, projected = [], []

    def note(_, arguments, result):
        heads.append(arguments[0])
        projected.append(result)

    with contextlib.ExitStack() as stack:
        stack.enter_context(attention_of(model, "eager"))
        for name, module in model.named_modules():
            if name.endswith(projection):
                stack.callback(module.register_forward_hook(note).remove)
        attentions = model(**inputs, output_attentions=True).attentions
    return attentions, heads, projected


def inputs_of(padding):
    ids = torch.randint(VOCABULARY, (BATCH, LENGTH), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(BATCH, LENGTH, dtype=torch.long)
    if padding == "left":
        mask[1, :6] = 0
    if padding == "right":
        mask[1, -6:] = 0
    return {"input_ids": ids} | ({"attention_mask": mask} if padding else {})


@pytest.mark.parametrize("padding", [None, "left", "right"])
@pytest.mark.parametrize("queries", ["last", 4, "all", (3, 17)])
@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_equal_to_eager_attention(family, queries, padding):
    make, projection = FAMILIES[family]
    model, inputs = make(), inputs_of(padding)
    with observing(model, queries, top=TOP) as observer:
        model(**inputs)
        observed = observer.observations
    attentions, heads, projected = eager(model, projection, inputs)
    assert list(observed) == list(range(len(attentions)))
    positions = {"last": [19], 4: [4, 9, 14, 19], "all": list(range(20)), (3, 17): [3, 17]}[queries]
    for layer, observation in observed.items():
        for row in range(BATCH):
            # A causal query that is itself padding on the left sees nothing: it does not count.
            blind = 6 if (padding, row) == ("left", 1) and family != "bert" else 0
            chosen = [position for position in positions if position >= blind]
            measures = written_out(attentions[layer][row : row + 1, :, chosen], TOP)
            close(observation.weights[:, row], measures[:, 0].mean(-1))
            of_heads = heads[layer][row, chosen].unflatten(-1, (4, -1))
            for output, expected in (
                (observation.heads, of_heads),
                (observation.projected, projected[layer][row, chosen].unsqueeze(1)),
            ):
                close(output.mean[row], expected.mean(0))
                close(output.variance[row], expected.var(0, correction=0))


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_the_model_gives_the_same_and_is_left_as_it_was(family):
    model, inputs = FAMILIES[family][0](), inputs_of("left")
    hooks = [len(module._forward_hooks) for module in model.modules()]
    unwatched = model(**inputs)[0]
    with observing(model, "all"):
        assert torch.equal(model(**inputs)[0], unwatched)
    assert model.config._attn_implementation == "sdpa"
    assert [len(module._forward_hooks) for module in model.modules()] == hooks
    assert torch.equal(model(**inputs)[0], unwatched)


def test_the_attention_implementation_comes_back_after_an_error():
    model = llama()
    model.set_attn_implementation("eager")
    with pytest.raises(RuntimeError, match="on purpose"), observing(model):
        raise RuntimeError("on purpose")
    assert model.config._attn_implementation == "eager"


@torch.no_grad()
def test_stops_after_the_last_layer_that_is_wanted():
    model, inputs = llama(), inputs_of(None)
    calls = []
    model.model.layers[1].mlp.register_forward_hook(lambda *_: calls.append(1))
    with observing(model, layers=[0, 1], stop_early=True) as observer:
        with pytest.raises(Enough):
            model(**inputs)
        assert list(observer.observations) == [0, 1]
        assert observer.observations[1].projected is not None
    assert not calls


@torch.no_grad()
def test_without_rotary_positions_the_order_of_the_other_tokens_does_not_matter():
    model = llama()
    ids = torch.arange(1, 13)[None]
    shuffled = torch.cat((ids[:, :-1][:, torch.randperm(11)], ids[:, -1:]), 1)

    def first_layer(ids):
        with observing(model, layers=[0]) as observer:
            model(ids)
            return observer.observations[0].heads.mean

    with without_rotary_positions(model):
        torch.testing.assert_close(first_layer(ids), first_layer(shuffled))
    assert not torch.allclose(first_layer(ids), first_layer(shuffled))


@torch.no_grad()
def test_bfloat16_is_measured_in_float32():
    model, inputs = llama().bfloat16(), inputs_of(None)
    with observing(model, "all") as observer:
        model(**inputs)
        observed = observer.observations[0]
    assert observed.weights.dtype == observed.heads.mean.dtype == torch.float32
    attentions, _, _ = eager(model, "self_attn.o_proj", inputs)
    expected = written_out(attentions[0].float(), 8).mean(-1)
    torch.testing.assert_close(observed.weights, expected, rtol=0.02, atol=0.02)


@torch.no_grad()
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_linear_maps_with_quantised_weights_are_found():
    inputs = inputs_of(None)
    model = torch.ao.quantization.quantize_dynamic(llama(), {torch.nn.Linear}, torch.qint8)
    with observing(model) as observer:
        model(**inputs)
        assert all(one.projected is not None for one in observer.observations.values())


@torch.no_grad()
def test_the_projection_of_a_model_with_adapters_includes_the_adapter():
    peft = pytest.importorskip("peft")
    model, inputs = llama(), inputs_of(None)
    adapted = peft.get_peft_model(
        model, peft.LoraConfig(target_modules=["o_proj"], init_lora_weights=False)
    ).eval()
    with observing(adapted.base_model.model) as observer:
        adapted(**inputs)
        observed = observer.observations
    _, _, projected = eager(model, "self_attn.o_proj", inputs)
    for layer, one in observed.items():
        close(one.projected.mean[:, 0], projected[layer][:, -1])


def test_models_that_cannot_be_watched_say_why_and_what_can():
    small = {"vocab_size": 20, "d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2}
    cases = {
        "an encoder and a decoder": transformers.T5ForConditionalGeneration(
            transformers.T5Config(**small)
        ),
        "does not go through transformers' AttentionInterface": transformers.XLNetLMHeadModel(
            transformers.XLNetConfig(vocab_size=20, d_model=8, n_layer=1, n_head=2, d_inner=8)
        ),
    }
    for reason, model in cases.items():
        with pytest.raises(InputError, match=reason) as caught, observing(model):
            pass
        assert "supported are" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_bad_queries_and_positions():
    with pytest.raises(InputError, match="queries = 0"), observing(llama(), 0):
        pass
    has_not = pytest.raises(InputError, match="which GPT2LMHeadModel has not")
    with has_not, without_rotary_positions(gpt2()):
        pass


def test_a_module_that_gives_no_cosines_and_sines_is_not_taken_for_rotary_positions():
    class OldRotaryEmbedding(torch.nn.Module):
        def forward(self, query, key):
            return query, key

    model = torch.nn.Sequential(OldRotaryEmbedding())
    refused = pytest.raises(InputError, match="which Sequential has not")
    with refused, without_rotary_positions(model):
        model[0](torch.randn(3, 4), torch.randn(3, 4))
