"""What-ifs equal transformers' own or a slow reference, and leave no trace."""

import math
from contextlib import suppress

import pytest
import torch
import transformers
from checking.models import ALL, ROTARY, TRAINED, gpt2, mistral, mpt, neox, text_of, tiny_llama

from lengthwise.checking.what_ifs import Rescaling, Situation, all_what_ifs, choose, what_if
from lengthwise.checking.what_ifs.attention import Call, changed_attention
from lengthwise.errors import InputError

LONG = 150
SITUATION = Situation(TRAINED, LONG)


def logits(model, length=LONG):
    with torch.inference_mode():
        return model(text_of(length, 60, seed=5).unsqueeze(0), use_cache=False).logits


def situation(model):
    layers = range(model.config.num_hidden_layers)
    heads = model.config.num_attention_heads
    width = 32 // heads if not hasattr(model.config, "head_dim") else model.config.head_dim
    generator = torch.Generator().manual_seed(0)
    mean = {layer: torch.randn(heads, width, generator=generator) for layer in layers}
    factor = {layer: 1 + torch.rand(heads, generator=generator) for layer in layers}
    return Situation(TRAINED, LONG, Rescaling(mean, factor))


@pytest.mark.parametrize("factor", [2, 4, 8])
@pytest.mark.parametrize(("ours", "theirs"), [
    ("interpolation", "linear"), ("dynamic-ntk", "dynamic"), ("yarn", "yarn"),
])  # fmt: skip
@pytest.mark.parametrize("family", ROTARY)
def test_stretched_rotations_are_transformers_own_logit_for_logit(family, ours, theirs, factor):
    model = ROTARY[family]()
    parameters = {**model.config.rope_parameters, "rope_type": theirs, "factor": float(factor)}
    if theirs == "yarn":
        parameters["original_max_position_embeddings"] = TRAINED
    own = type(model)(type(model.config)(**{
        **model.config.to_dict(), "rope_parameters": parameters,
    })).eval()  # fmt: skip
    own.load_state_dict(model.state_dict())
    assert own.config.rope_parameters["rope_type"] == theirs
    plain = logits(model)
    with what_if(f"{ours}-{factor}").apply(model, SITUATION):
        found = logits(model)
    assert torch.equal(found, logits(own))
    assert not torch.equal(found, plain)


@pytest.mark.parametrize("name", all_what_ifs())
@pytest.mark.parametrize("family", ROTARY)
def test_a_model_is_as_before_also_after_an_error(family, name):
    model = ROTARY[family]()
    before = logits(model)
    hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()]
    modules = list(model.modules())
    with suppress(KeyboardInterrupt), what_if(name).apply(model, situation(model)):
        changed = logits(model)
        assert changed.isfinite().all()
        raise KeyboardInterrupt
    assert torch.equal(logits(model), before)
    assert [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()] == hooks
    assert list(model.modules()) == modules
    assert model.config._attn_implementation == "sdpa"
    if family != "mistral" or name not in ("window", "blockwise"):  # its own window is narrower
        assert not torch.allclose(changed, before, atol=1e-4)


@pytest.mark.parametrize("name", [n for n, one in all_what_ifs().items() if one.beyond])
def test_what_acts_beyond_the_trained_length_leaves_shorter_inputs_alone(name):
    model = tiny_llama()
    plain = logits(model, TRAINED)
    at = Situation(TRAINED, TRAINED, situation(model).rescaling)
    with what_if(name).apply(model, at):
        torch.testing.assert_close(logits(model, TRAINED), plain, rtol=1e-4, atol=1e-4)


def reference(name, call, own):
    """Attention with all scores at once, in float64."""
    groups = call.query.shape[1] // call.key.shape[1]
    query, key, value = call.query.double(), call.key.double(), call.value.double()
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    length = query.shape[2]
    scores = query @ key.transpose(2, 3) * call.scale
    i, j = torch.arange(length)[:, None], torch.arange(length)[None, :]
    seen = (j <= i) if call.mask is None else call.mask.clone()
    if name == "window":
        seen = seen & ((i - j < TRAINED - 4) | (j < 4))
    if name == "blockwise":
        seen = seen & (j // (TRAINED // 2) >= i // (TRAINED // 2) - 1)
    if name == "log-n":
        scores = scores * torch.tensor([
            max(1.0, math.log(n) / math.log(TRAINED)) for n in range(1, length + 1)
        ])[:, None]  # fmt: skip
    scores = scores.masked_fill(~seen, -torch.inf)
    weights = scores.softmax(-1)
    if name == "adaptive-temperature":
        entropy = -(weights * weights.clamp(min=1e-300).log()).sum(-1, keepdim=True)
        p = -0.037 * entropy**4 + 0.481 * entropy**3 - 2.3 * entropy**2 + 4.917 * entropy - 1.791
        weights = (scores * torch.where(entropy > 0.5, p.clamp(min=1), 1.0)).softmax(-1)
    output = (weights @ value).transpose(1, 2)
    if name == "rescale":
        mean, factor = (part[call.layer].double() for part in (own.mean, own.factor))
        output[:, TRAINED:] = mean + (output[:, TRAINED:] - mean) * factor[:, None]
    return output


@pytest.mark.parametrize("family", ["llama", "mistral", "gpt2"])
@pytest.mark.parametrize("name", [
    "window", "blockwise", "log-n", "adaptive-temperature", "rescale",
])  # fmt: skip
def test_attention_is_what_a_slow_reference_gives(name, family):
    model = gpt2_with_positions(LONG) if family == "gpt2" else ALL[family]()
    where = situation(model)

    def slow(call: Call):
        return reference(name, call, where.rescaling).to(call.query.dtype)

    with changed_attention(model, slow):
        expected = logits(model)
    with what_if(name).apply(model, where):
        found = logits(model)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


def gpt2_with_positions(count):
    config = transformers.GPT2Config(vocab_size=60, n_embd=32, n_layer=2, n_head=4,
                                     n_positions=count)  # fmt: skip
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(config).eval()


@pytest.mark.parametrize(("make", "name", "reason"), [
    (gpt2, "yarn-4", "it has no rotary positions"),
    (gpt2, "rotary-off", "it has no rotary positions"),
    (mpt, "window", "cannot be instrumented"),
    (mpt, "interpolation-2", "it has no rotary positions"),
    (lambda: tiny_llama(rope_parameters={
        "rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0,
    }), "yarn-2", "its rotary positions are scaled already"),
    (tiny_llama, "yarm-4", "did you mean 'yarn-4'"),
    (tiny_llama, "yarn-1", "known: "),
])  # fmt: skip
def test_what_a_model_cannot_take_is_refused_by_name(make, name, reason):
    with pytest.raises(InputError, match=f"remedies = '{name}': .*{reason}") as caught:
        choose(make(), [name])
    assert "\n" not in str(caught.value)


def test_left_out_with_a_note_where_nothing_is_named():
    chosen, notes = choose(gpt2(), None)
    assert {one.name for one in chosen} == {
        "window", "blockwise", "log-n", "adaptive-temperature", "rescale",
    }  # fmt: skip
    assert len(notes) == 10
    assert choose(mpt(), None)[0] == []
    assert not choose(neox(), None)[1]
    assert not choose(mistral(), None)[1]


def test_any_factor_can_be_named():
    assert what_if("yarn-3").setting(100)["rope_parameters"] == {
        "rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": 100,
    }  # fmt: skip
