"""Losses are transformers' own, whatever the size of the chunks."""

import pytest
import torch
import transformers
from checking.models import ALL, Known, KnownConfig, made, text_of, tiny_llama
from probing.models import VOCABULARY

from lengthwise.checking import scoring
from lengthwise.checking.scoring import score
from lengthwise.errors import InputError

LENGTH = 40


def granite():
    """A head that divides its logits: a product with the embedding alone would be wrong."""
    config = transformers.GraniteConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=2, logits_scaling=3.0,
    )  # fmt: skip
    return made(transformers.GraniteForCausalLM, config)


@pytest.mark.parametrize("make", [*ALL.values(), granite], ids=[*ALL, "granite"])
@torch.inference_mode()
def test_loss_is_transformers_own(make):
    model, ids = make(), text_of(LENGTH).unsqueeze(0)
    found = score(model, ids, torch.arange(1, LENGTH))
    assert float(found.loss.mean()) == pytest.approx(float(model(ids, labels=ids).loss), abs=1e-5)
    logits = model(ids).logits[0, :-1]
    best = logits.argmax(-1) == ids[0, 1:]
    assert torch.equal(found.hit[0].bool(), best)
    order = logits.sort(-1, descending=True).indices
    ranks = (order == ids[0, 1:, None]).int().argmax(-1)
    assert torch.equal(found.rank[0], ranks)


@torch.inference_mode()
def test_chunks_do_not_change_what_is_found_and_the_body_runs_once(monkeypatch):
    model, ids = tiny_llama(), text_of(3 * LENGTH).view(3, LENGTH)
    targets = torch.tensor([1, 5, 6, 17, 38, 39])
    whole = score(model, ids, targets)
    monkeypatch.setattr(scoring, "CHUNK_TOKENS", 6)
    bodies, done = [], []
    model.model.layers[0].register_forward_hook(lambda *_: bodies.append(1))
    parts = score(model, ids, targets, lambda: done.append(len(bodies)))
    assert torch.equal(parts.rank, whole.rank)
    torch.testing.assert_close(parts.loss, whole.loss, rtol=1e-5, atol=1e-5)
    assert len(bodies) == 1
    assert done == [1]


@torch.inference_mode()
def test_logits_are_never_made_for_all_positions():
    model, seen = tiny_llama(), []
    model.lm_head.register_forward_hook(lambda _, __, result: seen.append(result.shape[1]))
    score(model, text_of(300).unsqueeze(0), torch.arange(1, 300))
    assert max(seen) == scoring.CHUNK_TOKENS
    assert sum(seen) == 299


def test_the_model_is_as_before_also_after_an_error():
    model, ids = tiny_llama(), text_of(LENGTH).unsqueeze(0)

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), torch.inference_mode():
        score(model, ids, torch.arange(1, 4), stop)
    assert "forward" not in vars(model.model)


@torch.inference_mode()
def test_a_class_of_ones_own_that_gives_all_logits():
    model = Known(KnownConfig())
    ids = torch.tensor([[3, 4, 5, 9, 3, 4, 5, 9]])
    assert score(model, ids, torch.tensor([3, 6, 7])).hit.tolist() == [[0.0, 1.0, 1.0]]


@torch.inference_mode()
def test_half_precision_that_overflows_is_named_with_where():
    model = tiny_llama().to(torch.float16)
    model.model.layers[1].mlp.up_proj.weight.mul_(1e5)
    message = "dtype = 'float16': .* at length 40, first in model.layers.1.mlp.up_proj; .*bfloat16"
    with pytest.raises(InputError, match=message) as caught:
        score(model, text_of(LENGTH).unsqueeze(0), torch.arange(1, LENGTH))
    assert "\n" not in str(caught.value)
