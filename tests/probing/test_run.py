"""The probe as a whole, on small models: what it finds, keeps, and refuses."""

import polars
import pytest
import torch
import transformers
from probing.models import FAMILIES, VOCABULARY, gpt2, llama, sharp
from probing.prediction import predicted

from lengthwise.errors import InputError
from lengthwise.probing import probe, run
from lengthwise.probing.models import positions_of
from lengthwise.probing.weights import MEASURES

SMALL = {"lengths": [8, 16, 32], "sequences": 12}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_measure_of_every_head_at_every_length(family, tmp_path):
    table = probe(FAMILIES[family][0](), **SMALL)
    assert table.logit_difference == 0
    layers = table.frame["layer"].n_unique()
    heads = table.frame.filter(place="heads")
    outputs = ("std", "std_component", "global_mean", "global_variance", "mean_drift")
    assert set(heads["measure"]) == {*MEASURES, *outputs}
    assert len(heads) == 3 * layers * 4 * 10
    projected = table.frame.filter(place="projected")
    assert set(projected["measure"]) == set(outputs)
    assert len(projected) == 3 * layers * 5
    assert projected["head"].null_count() == len(projected)
    assert heads["value"].is_finite().all()
    # The effective number of tokens lies between one and all of them.
    effective = heads.filter(measure="effective_tokens")
    possible = polars.col("value").is_between(0.999, polars.col("length") + 0.001)
    assert effective.filter(~possible).is_empty()
    table.save(tmp_path)
    assert polars.read_parquet(tmp_path / "table.parquet").equals(table.frame)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"table.csv", "slopes.csv", "std.png", "effective_tokens.png", "slopes.png"} <= names
    assert "goes like N^" in (tmp_path / "verdict.txt").read_text()


def test_the_variance_of_independent_tokens_is_the_one_that_theory_predicts():
    model = llama(num_hidden_layers=1, max_position_embeddings=1024)
    lengths = [256, 768]
    table = probe(model, lengths=lengths, sequences=600, positions="off", seed=3)
    token = run.Source(run.Vocabulary.of(model, None), "random", "fixed", 3).fixed_query
    mean, rate = predicted(model, token, torch.ones(VOCABULARY))
    for length in lengths:
        at_length = table.frame.filter(length=length, place="heads")
        measured = at_length.filter(measure="std")["value"].to_numpy() ** 2
        assert measured == pytest.approx((rate.mean(-1) / length).numpy(), rel=0.12)
        component = at_length.filter(measure="std_component")["value"].to_numpy() ** 2
        assert component == pytest.approx((rate[:, 0] / length).numpy(), rel=0.15)
    limit = table.frame.filter(length=768, place="heads", measure="global_variance")["value"]
    # The global variance does not vanish: it tends to that of the limits over features.
    assert limit.to_numpy() == pytest.approx(mean.var(-1, correction=0).numpy(), rel=0.25)


def test_the_altered_model_says_so_everywhere():
    table = probe(llama(), positions="off", **SMALL)
    assert "altered model" in table.label
    assert "altered model" in table.verdict()
    assert "altered model" in table.plot("std").axes[0].get_title(loc="left")
    assert "altered" not in probe(llama(), **SMALL).verdict()


def test_batches_do_not_change_what_is_found(monkeypatch):
    whole = probe(gpt2(), **SMALL).frame
    monkeypatch.setattr(run, "BATCH_TOKENS", 40)
    parts = probe(gpt2(), **SMALL).frame
    assert whole.drop("value", "low", "high").equals(parts.drop("value", "low", "high"))
    torch.testing.assert_close(
        whole["value"].to_torch(), parts["value"].to_torch(), rtol=1e-4, atol=1e-5
    )


def test_some_layers_are_found_as_among_all():
    everything, some = probe(llama(), **SMALL), probe(llama(), layers=[1], **SMALL)
    assert some.frame.equals(everything.frame.filter(layer=1))


class StoppedByUser(KeyboardInterrupt):
    pass


def stop_at(length):
    def report(progress):
        if progress.length == length:
            raise StoppedByUser

    return report


def test_a_stopped_probe_goes_on_and_finds_the_same(tmp_path, monkeypatch):
    model = llama()
    with pytest.raises(StoppedByUser):
        probe(model, out=tmp_path / "probe", report=stop_at(32), **SMALL)
    kept = {path.name for path in (tmp_path / "probe/lengths").iterdir()}
    assert kept == {"0000008.safetensors", "0000016.safetensors"}
    drawn = []
    monkeypatch.setattr(
        run, "_observe", lambda *given, observe=run._observe: drawn.append(1) or observe(*given)
    )
    resumed = probe(model, out=tmp_path / "probe", **SMALL)
    assert len(drawn) == 1  # one batch, of the length that was missing
    assert resumed.frame.equals(probe(model, **SMALL).frame)


def test_a_folder_is_not_shared_by_different_probes(tmp_path):
    model = llama()
    probe(model, out=tmp_path / "a", **SMALL)
    with pytest.raises(InputError, match="holds a probe with another seed"):
        probe(model, out=tmp_path / "a", seed=1, **SMALL)
    with torch.no_grad():
        model.model.layers[0].self_attn.q_proj.weight[0, 0] += 1  # trained further
    with pytest.raises(InputError, match="holds a probe with another weights"):
        probe(model, out=tmp_path / "a", **SMALL)
    (tmp_path / "b").mkdir()
    (tmp_path / "b/thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="expected the folder of a probe, or one that does not"):
        probe(model, out=tmp_path / "b", **SMALL)
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["thesis.tex"]
    (tmp_path / "a/probe.json").write_text("{}")
    with pytest.raises(InputError, match="is damaged"):
        probe(model, out=tmp_path / "a", **SMALL)


def test_a_model_in_training_mode_is_probed_without_dropout_and_left_in_it():
    model = gpt2()
    quiet = probe(model, **SMALL).frame
    model.train()
    assert probe(model, **SMALL).frame.equals(quiet)
    assert model.training


def test_a_model_whose_attention_is_not_sdpas_is_caught():
    """A model may put its own function in the place of sdpa: then the logits would change."""
    from transformers.models.llama import modeling_llama

    functions = modeling_llama.ALL_ATTENTION_FUNCTIONS
    own = functions["sdpa"]

    def doubled(*given, **options):
        output, weights = own(*given, **options)
        return 2 * output, weights

    functions["sdpa"] = doubled
    try:
        with pytest.raises(InputError, match="its logits change by"):
            probe(llama(), **SMALL)
    finally:
        del functions["sdpa"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lengths": [32, 16]}, r"lengths = \[32, 16\]: expected numbers of tokens in ascending"),
        ({"lengths": []}, "lengths = "),
        ({"lengths": [16, 512]}, "lengths = 512: expected at most 256, the number of positions"),
        ({"sequences": 1}, "sequences = 1: expected at least 2"),
        ({"layers": [0, 3]}, r"layers = \[0, 3\]: expected layers between 0 and 2"),
        ({"layers": []}, "layers = "),
        ({"component": 8}, "component = 8: expected between 0 and 7"),
        ({"top": 0}, "top = 0"),
        ({"queries": -1}, "queries = -1: expected 'last', 'all' or a number"),
        ({"input": "text"}, "text = None: expected a file of text"),
        ({"input": "text", "text": "x.txt"}, "text = 'x.txt': expected a tokenizer"),
        ({"input": "noise"}, "input = 'noise'"),
        ({"query": "any"}, "query = 'any'"),
        ({"positions": "of"}, "did you mean 'off'"),
    ],
)
def test_bad_input_is_one_line(options, message):
    with pytest.raises(InputError, match=message) as caught:
        probe(llama(), **SMALL | options)
    assert "\n" not in str(caught.value)


def test_a_model_that_sdpa_cannot_run_says_why():
    config = transformers.Gemma2Config(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, head_dim=8,
    )  # fmt: skip
    with pytest.raises(InputError, match=r"does not support .* supported are") as caught:
        probe(transformers.Gemma2ForCausalLM(config), **SMALL)
    assert "\n" not in str(caught.value)


def test_a_slope_needs_two_lengths():
    table = probe(gpt2(), lengths=[8], sequences=4)
    with pytest.raises(InputError, match="at least two"):
        table.slopes()
    assert "one length only" in table.verdict()


def test_positions_that_are_counted_from_after_the_padding():
    config = transformers.RobertaConfig(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=34,
    )  # fmt: skip
    model = sharp(transformers.RobertaModel(config))
    assert positions_of(model) == 32
    with pytest.raises(InputError, match="at most 32"):
        probe(model, lengths=[8, 33], sequences=4)
