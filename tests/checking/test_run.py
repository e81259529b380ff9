"""The check as a whole, on small models: what it finds, keeps, leaves out, and refuses."""

import math
import sys
from dataclasses import replace

import polars
import pytest
import torch
from checking.models import (
    ALL,
    TRAINED,
    KnownConfig,
    KnownForCausalLM,
    bloom,
    gpt2,
    mpt,
    text_of,
    tiny_llama,
)
from probing.models import bert

from lengthwise.checking import check, run
from lengthwise.checking.budget import Memory, parse_budget, predict_seconds
from lengthwise.checking.positions import Positions
from lengthwise.errors import InputError
from lengthwise.probing import observing

TEXT = text_of(4000)
SMALL = {"lengths": [32, 64, 128, 256], "text": TEXT, "documents": 4, "sequences": 2}
FEW = ("yarn-2", "window", "rescale", "log-n")


@pytest.mark.parametrize("family", ALL)
def test_every_architecture_is_measured_and_left_as_it_was(family, tmp_path):
    model = ALL[family]()
    ids = TEXT[:TRAINED].unsqueeze(0)
    with torch.inference_mode():
        before = model(ids).logits
    lengths = [32, 64] if family == "gpt2" else SMALL["lengths"]
    found = check(model, **SMALL | {"lengths": lengths})
    with torch.inference_mode():
        assert torch.equal(model(ids).logits, before)
    assert found.lengths == lengths
    assert found.positions.claimed == (None if family == "bloom" else TRAINED)
    assert found.positions.kind == {"gpt2": "learned", "bloom": "alibi"}.get(family, "rotary")
    assert bool(found.mechanism) == (family != "bloom")
    assert len(found.changed) == {"gpt2": 5, "bloom": 0}.get(family, 15)
    losses = found.frame.filter(measure="loss")
    assert losses["value"].is_finite().all()
    for name, lengths_of in found.changed.items():
        assert list(lengths_of) == lengths, name
    found.save(tmp_path)
    assert polars.read_parquet(tmp_path / "behaviour.parquet").equals(found.frame)
    assert len(found.verdict().splitlines()) == 3


def test_what_cannot_be_done_is_said_by_us_alone(capfd):
    found = check(bloom(), **SMALL)
    assert capfd.readouterr().err == ""
    assert any("Attention was not watched" in note for note in found.notes)


def test_watching_does_not_change_what_is_found():
    watched = check(tiny_llama(), remedies=(), **SMALL)
    alone = check(tiny_llama(), remedies=(), mechanism=False, **SMALL)
    for length in SMALL["lengths"]:
        assert torch.equal(watched.behaviours[length].loss, alone.behaviours[length].loss)
    assert not alone.mechanism
    assert alone.moved is None
    assert "not watched" in alone.verdict()


@torch.inference_mode()
def test_what_attention_does_is_the_probes_at_the_targets():
    model = tiny_llama()
    found = check(model, remedies=(), **SMALL)
    ids = torch.stack([TEXT[1000 * d - 64 : 1000 * d] for d in range(1, 5)])
    with observing(model, tuple(range(48, 64))) as observer:
        model(ids)
        entropy = observer.observations[1].weights[0].mean(0)
    mine = found.mechanism[64].estimates[1, "heads", "entropy"][0]
    torch.testing.assert_close(mine, entropy, rtol=1e-4, atol=1e-5)


def test_outputs_that_move_are_measured_from_the_trained_length():
    found = check(tiny_llama(), remedies=(), **SMALL)
    moved = found.moved
    assert moved.reference == TRAINED
    assert (moved.frame.filter(length=TRAINED)["distance"] == 0).all()
    before, now = found.mechanism[TRAINED], found.mechanism[256]
    ratio = (now.estimates[0, "heads", "std"][0] / before.estimates[0, "heads", "std"][0]).log()
    mine = moved.frame.filter(length=256, layer=0)["log_std_ratio"].to_torch()
    torch.testing.assert_close(mine.float(), ratio)


def test_what_acts_beyond_the_trained_length_is_not_run_up_to_it():
    found = check(tiny_llama(), remedies=FEW, **SMALL)
    for name in ("window", "rescale", "log-n"):
        assert found.changed[name][64] is found.behaviours[64]
        assert found.changed[name][128] is not found.behaviours[128]
    assert found.changed["yarn-2"][64] is not found.behaviours[64]


def test_what_ifs_are_tried_at_some_lengths_only():
    found = check(tiny_llama(), remedies=FEW, remedies_at=[32, 256], **SMALL)
    assert list(found.changed["yarn-2"]) == [32, 256]
    for name in ("window", "rescale", "log-n"):  # up to 64 they are the plain model
        assert list(found.changed[name]) == [32, 64, 256]
    assert [found.tried_at(length) for length in found.lengths] == [["yarn-2"], [], [], list(FEW)]
    whole = check(tiny_llama(), remedies=FEW, **SMALL)
    for name in FEW:
        assert torch.equal(found.changed[name][256].loss, whole.changed[name][256].loss)


def test_the_verdict_is_about_the_longest_length_where_a_what_if_was_tried():
    found = check(tiny_llama(), remedies=("yarn-2", "window"), **SMALL)
    better = replace(found.behaviours[256], loss=found.behaviours[256].loss - 1)
    changed = {"yarn-2": {32: found.changed["yarn-2"][32]}, "window": {32: found.behaviours[32]}}
    changed["window"][256] = better
    said = replace(found, changed=changed).verdict().splitlines()[2]
    assert "of 1 what-if tried at 256 tokens, is window" in said
    assert "changes the loss there by -1" in said
    one = replace(found, changed=changed).loss_against_plain("window", 256)
    assert one.mean == pytest.approx(-1)


class StoppedByUser(KeyboardInterrupt):
    pass


def stop_at(name):
    def report(progress):
        if progress.name == name:
            raise StoppedByUser

    return report


@pytest.mark.parametrize("where", ["plain, length 128", "window, length 256"])
def test_a_stopped_check_goes_on_and_finds_the_same(where, tmp_path, monkeypatch):
    model = tiny_llama()
    with pytest.raises(StoppedByUser):
        check(model, remedies=FEW, out=tmp_path / "a", report=stop_at(where), **SMALL)
    kept = {str(path.relative_to(tmp_path / "a")) for path in (tmp_path / "a").rglob("*.safe*")}
    measured = []
    own = run.measure
    monkeypatch.setattr(run, "measure", lambda *given: measured.append(given[2]) or own(*given))
    resumed = check(model, remedies=FEW, out=tmp_path / "a", **SMALL)
    whole = 4 + 4 + 3 * 2
    done = len([name for name in kept if "mechanism" not in name])
    assert len(measured) == whole - done
    fresh = check(model, remedies=FEW, **SMALL).frame.filter(polars.col("measure") != "seconds")
    assert resumed.frame.filter(polars.col("measure") != "seconds").equals(fresh)


def test_a_folder_is_not_shared_by_different_checks(tmp_path):
    model = tiny_llama()
    check(model, remedies=(), out=tmp_path / "a", **SMALL)
    with pytest.raises(InputError, match="holds a check with another seed"):
        check(model, remedies=(), out=tmp_path / "a", seed=1, **SMALL)
    longer = SMALL | {"lengths": [32, 64, 128, 256, 300]}
    assert check(model, remedies=(), out=tmp_path / "a", **longer).lengths[-1] == 300
    (tmp_path / "b").mkdir()
    (tmp_path / "b/thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="expected the folder of a check, or one that does not"):
        check(model, remedies=(), out=tmp_path / "b", **SMALL)
    (tmp_path / "a/lengths/plain/0000064.safetensors").write_bytes(b"half")
    with pytest.raises(InputError, match="is damaged"):
        check(model, remedies=(), out=tmp_path / "a", **SMALL)


def test_a_budget_leaves_out_what_does_not_fit_and_a_second_run_goes_on(tmp_path):
    model, said = tiny_llama(), []
    found = check(
        model, remedies=("yarn-2",), budget=1e-6, out=tmp_path / "a", say=said.append, **SMALL
    )
    assert found.lengths == [32, 64]  # they are measured to predict the others
    assert len(found.dropped) == 4
    assert any(line.startswith("length 128: about") and "GB" in line for line in said)
    assert any("left out: length 256: needs about" in line for line in said)
    assert any("with yarn-2" in line for line in said)
    whole = check(model, remedies=("yarn-2",), out=tmp_path / "a", **SMALL)
    assert not whole.dropped
    assert whole.lengths == SMALL["lengths"]


def test_memory_that_is_not_there_is_said_before(monkeypatch):
    monkeypatch.setattr(Memory, "predict", lambda self, length: 1e15 if length > 64 else 1.0)
    monkeypatch.setattr(Memory, "note", lambda self, length: None)
    found = check(tiny_llama(), remedies=(), **SMALL)
    assert found.lengths == [32, 64]
    assert "needs about 1000000.0 GB" in found.dropped[0]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory was taken")
def test_memory_is_measured_also_after_something_larger_was_freed():
    torch.ones(60_000_000).add_(1)
    memory = Memory(torch.device("cpu"))
    for _ in range(2):
        memory.begin()
        torch.ones(20_000_000).add_(1)
        memory.note(2048)
        assert memory.predict(2048) == pytest.approx(80e6, rel=0.1)


def test_memory_grows_with_tokens_and_with_pairs_of_them():
    memory = Memory(torch.device("cpu"))
    memory.free = 1e12
    memory._needed = {256: 2048 * 1e4 + 2048 * 256 * 8, 512: 2048 * 1e4 + 2048 * 512 * 8}
    assert memory.predict(8192) == pytest.approx(8192 * 1e4 + 8192**2 * 8, rel=1e-6)


def test_few_short_documents_are_not_taken_for_a_full_batch():
    memory = Memory(torch.device("cpu"), sequences=4)
    memory.free = 1e12
    memory._needed = {256: 4 * 256 * 1e4, 512: 4 * 512 * 1e4}  # bytes per token, none per pair
    assert memory.predict(16384) == pytest.approx(16384 * 1e4, rel=1e-6)


def test_times_are_predicted_from_the_two_shortest():
    known = {n: 3.0 * (n + 1e-3 * n**2) for n in (256, 512)}
    assert predict_seconds(known, 4096, 1e-3) == pytest.approx(3 * (4096 + 1e-3 * 4096**2))
    steeper = {n: 3.0 * (n + 2e-3 * n**2) for n in (256, 512)}
    assert predict_seconds(steeper, 4096, 1e-3) == pytest.approx(3 * (4096 + 2e-3 * 4096**2))
    noisy = {256: 1.2, 512: 1.9}  # the longer was faster per token: pairs still cost something
    assert predict_seconds(noisy, 8192, 1e-4) > 1.9 * 16


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("20m", 1200), ("1.5h", 5400)])
def test_budgets(text, seconds):
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "20", "m", "-3m", "0m", "1d"])
def test_no_budgets(text):
    with pytest.raises(InputError, match="budget = "):
        parse_budget(text)


@pytest.mark.parametrize(("model", "changes", "message"), [
    (bert, {}, "model = 'BertModel': is no causal language model"),
    (gpt2, {}, "lengths = 256: expected at most 64, the learned positions that GPT2LMHead"),
    (tiny_llama, {"text": None}, "text = None: expected a file of text"),
    (tiny_llama, {"text": "shakespeare"}, "expected a tokenizer beside the model"),
    (tiny_llama, {"text": TEXT[:1000]}, "text = '1000 tokens': expected at least 1024 tokens"),
    (tiny_llama, {"lengths": [64, 32]}, "lengths = .*ascending order"),
    (tiny_llama, {"lengths": []}, "lengths = .*ascending order"),
    (tiny_llama, {"lengths": [8, 64]}, "lengths = 8: expected at least 32"),
    (tiny_llama, {"documents": 1}, "documents = 1: expected at least 2"),
    (tiny_llama, {"sequences": 1}, "sequences = 1: expected at least 2"),
    (tiny_llama, {"remedies_at": [32, 100]}, "remedies_at = 100: expected one of the lengths"),
    (tiny_llama, {"remedies": ("yarn",)}, "remedies = 'yarn': did you mean"),
    (tiny_llama, {"remedies": ("rescale",), "mechanism": False}, "remedies = 'rescale': expected"),
    (bloom, {"remedies": ("window",)}, "remedies = 'window': BloomForCausalLM cannot take it"),
    (mpt, {}, "lengths = 256: expected at most 64, the alibi positions that MptForCausalLM has"),
])  # fmt: skip
def test_bad_input_is_one_line(model, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        check(model(), **SMALL | changes)
    assert "\n" not in str(caught.value)


def test_a_length_that_overflows_is_named_and_shorter_ones_are_kept(tmp_path):
    model = tiny_llama().to(torch.float16)
    model.model.layers[1].mlp.up_proj.register_forward_hook(
        lambda _, __, output: output * (60_000 if output.shape[1] >= 128 else 1)
    )
    message = "dtype = 'float16': .* at length 128, first in model.layers.1.mlp.up_proj"
    with pytest.raises(InputError, match=message):
        check(model, remedies=(), out=tmp_path / "a", **SMALL)
    kept = check(model, remedies=(), out=tmp_path / "a", **SMALL | {"lengths": [32, 64]})
    assert math.isfinite(float(kept.behaviours[64].loss.mean()))
    assert kept.settings.dtype == "float16"


def test_how_far_positions_reach():
    assert Positions.of(gpt2()) == Positions("learned", TRAINED, TRAINED)
    assert Positions.of(tiny_llama()) == Positions("rotary", TRAINED)
    assert Positions.of(bloom()).limit is None
    assert Positions.of(KnownForCausalLM(KnownConfig())) == Positions("none", None)
