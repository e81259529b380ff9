"""Remedies that go together, and the words in which others are refused."""

from pathlib import Path

import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.models import GPT, GPTModel, MinimalTransformer, SetReader
from lengthwise.models.blocks import Size
from lengthwise.registry import REMEDIES
from lengthwise.tasks import SetInput
from lengthwise.testing._readers import with_keys

SMALL = Size(2, 2, 16)

BIASED = '''
import torch
from lengthwise.remedies import Remedy, remedy

@remedy("biased")
class Biased(Remedy):
    """Falling scores, however the keys are read."""

    def scores(self, scores, read):
        return scores - torch.arange(scores.shape[-1]) * 0.5
'''

CENTRED = '''
from lengthwise.remedies import Remedy, remedy

@remedy("centred")
class Centred(Remedy):
    """Scores as far from their mean again: all of them have to be known."""

    def scores(self, scores, read):
        return scores * (1 + scores.amax(-1, keepdim=True) - scores.mean(-1, keepdim=True))
'''


def written(folder: Path, text: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def gpt(*remedies: str, **settings: object) -> GPT:
    return GPT(7, 9, SMALL, remedies=remedies, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("remedies", "message"),
    [
        (("rotary", "rotary"), "'rotary' and 'rotary': both replace the turning"),
        (("layernorm", "rmsnorm"), "'layernorm' and 'rmsnorm': both replace the norm after W_O"),
        (("adaptive", "nap"), "'adaptive' and 'nap': both replace the attention weights"),
        (("nap", "differential"), "'nap' and 'differential': both replace the attention weights"),
        (("entmax", "sparsemax"), "'entmax' and 'sparsemax': both replace the attention weights"),
        (("stick-breaking", "sink"), "'stick-breaking' and 'sink': both replace the attention"),
        (("differential", "differential-v2"), "remedies = .*: expected one at most that has sever"),
        (("differential-v2", "entmax"), "'differential-v2' and 'entmax': both replace the atten"),
        (("t2r", "sigmoid"), "'t2r' and 'sigmoid': both replace the attention weights"),
        (("t2r", "alibi"), "'t2r' and 'alibi': 't2r' leaves no place for what 'alibi' does"),
        (("fire", "t2r-norm"), "'t2r-norm' and 'fire': 't2r-norm' leaves no place"),
        (("t2r", "ssmax"), "'t2r' and 'ssmax': 't2r' leaves no place for what 'ssmax' does"),
        (("asentmax", "ssmax"), "'asentmax' and 'ssmax': 'asentmax' leaves no place"),
        (("ssmax", "scalable"), "'ssmax' and 'scalable': both replace the scale"),
        (("qk-norm", "qk-rmsnorm"), "both replace the length of queries and keys"),
        (("mte", "rmsnorm:place=before"), "both replace the norm before W_O"),
        (("reguformer",), "remedy = 'reguformer': expected another one: .* later tokens"),
        (("reguformer:select=topV",), "reguformer:select = 'topV'"),
        (("reguformer:factor=0",), "reguformer:factor = 0: expected at least 1"),
        (("t2r:features=0",), "t2r:features = 0: expected at least 1"),
        (("asentmax:start=one",), "asentmax:start = 'one'"),
        (("entmx",), "remedy = 'entmx': did you mean 'entmax'"),
        (("learned", "sinusoidal"), "'learned' and 'sinusoidal': both replace the vectors of"),
        (("offset", "learned"), "'offset' and 'learned': both replace the vectors of positions"),
        (("alibi", "fire"), "'(alibi|fire)' and '(fire|alibi)': both replace the bias by position"),
        (("scalable", "scalable"), "'scalable' and 'scalable': both replace the scale"),
        (("batchnorm",), "remedy = 'batchnorm': expected another one: .* later tokens"),
        (
            ("layernorm-per-head:place=after",),
            "layernorm-per-head:place = 'after': expected before",
        ),
        (("layernorm:place=under",), "layernorm:place = 'under'"),
        (("layernorm:plaice=before",), "option of layernorm = 'plaice': did you mean 'place'"),
        (("layernorm:before",), "option of layernorm = 'before': expected NAME=VALUE"),
        (("rotary:base=5",), "option of rotary = 'base=5': expected none: it has no options"),
        (("fire:hidden=many",), "fire:hidden = 'many'"),
        (("fire:hidden=0",), "fire:hidden = 0: expected at least 1"),
        (("lerned",), "remedy = 'lerned': did you mean 'learned'"),
        (("batch-norm",), "did you mean 'batchnorm'"),
        ((7,), "remedy = 7: expected a name or the path of a .py file"),
        (("nowhere.py",), "file = 'nowhere.py': expected a Python file"),
    ],
)
def test_what_does_not_go_together_is_named(remedies: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        gpt(*remedies)


@pytest.mark.parametrize(
    "name", [n for n in REMEDIES.listed() if REMEDIES.get(n).positional or REMEDIES.get(n).ordered]
)
def test_sets_have_no_positions(name: str) -> None:
    with pytest.raises(
        InputError, match=f"remedy = '{name}': expected one that needs no (pos|ord)"
    ):
        SetReader(3, 2, 4, width=16, heads=2, remedies=(name,))


@pytest.mark.parametrize("name", [n for n in REMEDIES.names() if REMEDIES.get(n).ordered])
def test_sets_have_no_order(name: str) -> None:
    with pytest.raises(InputError, match=f"remedy = '{name}': expected one that needs no order"):
        SetReader(3, 2, 4, width=16, heads=2, remedies=(name,))


def test_a_set_reader_has_no_place_for_a_remedy_of_the_whole_model(tmp_path: Path) -> None:
    text = BIASED.replace("def scores(self, scores, read)", "def embedded(self, hidden, ids)")
    path = written(
        tmp_path, text.replace("    def embedded", "    per_layer = False\n    def embedded")
    )
    with pytest.raises(InputError, match="remedy = 'biased': expected one with per_layer = True"):
        SetReader(3, 2, 4, width=16, remedies=(path,))


def test_several_tracks_are_for_remedies_that_read_them() -> None:
    gpt("learned", tracks=2)
    gpt("learned", "scalable", "selective", "stick-breaking", tracks=2)
    gpt("offset", tracks=2)
    for name in ("rotary", "alibi", "fire", "sinusoidal"):
        with pytest.raises(InputError, match=f"remedy = '{name}': expected one that reads 2 posi"):
            gpt(name, tracks=2)


def test_norms_before_and_after_go_together() -> None:
    model = gpt("layernorm:place=before", "rmsnorm")
    assert [one.place for one in model.blocks[0].attention.remedies] == ["before", "after"]


def test_remedies_act_in_their_order() -> None:
    torch.manual_seed(0)
    tokens = torch.randint(7, (3, 5))
    logits = []
    for remedies in (("differential", "layernorm:place=before"),
                     ("layernorm:place=before", "differential")):  # fmt: skip
        torch.manual_seed(1)
        logits.append(gpt("rotary", *remedies).double().eval()(tokens))
    assert (logits[0] - logits[1]).abs().max() > 1e-6


def test_a_place_in_the_chain_does_not_change_initial_weights_of_the_rest() -> None:
    states = []
    for remedies in (("rotary",), ("scalable", "rotary"), ("rotary", "differential")):
        torch.manual_seed(1)
        states.append(gpt(*remedies).state_dict())
    for name, tensor in states[0].items():
        assert all(torch.equal(tensor, state[name]) for state in states[1:])


def test_a_users_bias_is_not_skipped_in_a_set_reader(tmp_path: Path) -> None:
    path = written(tmp_path, BIASED)
    for heads in (1, 2):
        torch.manual_seed(0)
        model = SetReader(3, 2, 4, width=8, heads=heads, remedies=(path,)).double().eval()
        torch.manual_seed(0)
        plain = SetReader(3, 2, 4, width=8, heads=heads).double().eval()
        inputs = SetInput(torch.randn(5, 6, 3).double(), torch.randn(5, 2).double())
        expected = with_keys(model, inputs)
        torch.testing.assert_close(model(inputs), expected)
        torch.testing.assert_close(
            model.read(inputs.query, 6, lambda items=inputs.items: items.split(4, 1)).logits,
            expected,
        )
        assert (plain(inputs) - expected).abs().max() > 1e-4


def test_a_set_in_parts_shows_all_scores_at_once(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = SetReader(3, 2, 4, width=8, remedies=(written(tmp_path, CENTRED),)).double().eval()
    with torch.no_grad():
        model.attention.query.weight.mul_(20)
    inputs = SetInput(torch.randn(5, 9, 3).double(), torch.randn(5, 2).double())
    for size in (1, 4, 9):
        read = model.read(inputs.query, 9, lambda size=size: inputs.items.split(size, 1))
        torch.testing.assert_close(read.logits, with_keys(model, inputs))


def test_a_users_file_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    first = GPTModel(remedies=(written(tmp_path, CENTRED, "one.py"),))
    (tmp_path / "one.py").rename(tmp_path / "moved.py")
    (key,) = first.remedies
    assert key.startswith("one.py@")
    assert REMEDIES.get(key).name == "centred"
    other = GPTModel(remedies=(written(tmp_path, CENTRED + "\n# changed\n", "one.py"),))
    assert other.remedies != first.remedies


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "remedy = 'mine.py': expected a file with one class .* found none"),
        (BIASED + CENTRED, "remedy = 'mine.py': expected a file with one class .* found 2 of them"),
        ("1 / 0\n", "file = 'mine.py': ZeroDivisionError: division by zero"),
        ("def (\n", "file = 'mine.py': SyntaxError"),
        (BIASED.replace("def scores(self, scores, read)", "def ids(self, ids)"),
         "remedy = 'biased': expected per_layer = False, as it overrides ids"),
    ],
    ids=["none", "two", "fails", "syntax", "hook"],
)  # fmt: skip
def test_files_that_are_no_remedy(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gpt(written(tmp_path, text))


def test_a_remedy_of_ones_own_reads_every_token_in_the_minimal_transformer(tmp_path: Path) -> None:
    """It does not say that equal keys may be read once, so they are not."""
    torch.manual_seed(0)
    model = MinimalTransformer(7, 2, remedies=(written(tmp_path, CENTRED),)).eval()
    assert not model._same_everywhere()
    assert MinimalTransformer(7, 2, remedies=("scalable", "layernorm"))._same_everywhere()


def test_a_remedy_above_another_does_not_opt_into_its_fast_paths(tmp_path: Path) -> None:
    """Scalable softmax may read equal keys once; a class above it that looks at places may not."""
    file = tmp_path / "nearest.py"
    file.write_text("""
import torch
from lengthwise.remedies import remedy
from lengthwise.remedies.scalable import Scalable

@remedy("nearest")
class Nearest(Scalable):
    def scores(self, scores, read):
        return scores + torch.linspace(0, 1, scores.shape[-1])
""")
    model = MinimalTransformer(6, remedies=(str(file),))
    tokens = torch.tensor([[1, 2, 3, 1]])
    last = model(tokens)[:, -1]
    assert not torch.allclose(last, model(tokens[:, [2, 1, 0, 3]])[:, -1]), "order matters"
