"""`lengthwise remedies`: the list, one remedy in words and pictures, and a user's file checked."""

import sys
from pathlib import Path

import pytest
import torch

from lengthwise.cli import main
from lengthwise.measures.profile import LENGTHS, TRAINED, profile
from lengthwise.models import GPT
from lengthwise.models.gpt import SIZES
from lengthwise.registry import REMEDIES
from lengthwise.remedies._catalogue import KINDS, catalogue, describe, with_what_it_needs

SOUND = '''
from lengthwise.remedies import Remedy, remedy

@remedy("sound")
class Sound(Remedy):
    """Weights that are squared (arXiv 1234.56789).

    By half as much beyond the training length.
    """

    def __init__(self, shape, *, power: float = 2.0):
        super().__init__(shape)
        self.power = power

    def scores(self, scores, read):
        return scores * self.power
'''

BROKEN = SOUND.replace("scores * self.power", "scores - scores.mean(-2, keepdim=True)")


def written(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_list_has_every_remedy_with_hook_source_and_cost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["remedies"]) == 0
    out = capsys.readouterr().out
    lines = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    assert set(REMEDIES.listed()) <= set(lines)
    assert "bias" in lines["alibi"]
    assert "2108.12409" in lines["alibi"]
    assert lines["alibi"].split()[3] == "0"
    assert all(f"\n{kind}: " in out for kind in KINDS)


@pytest.mark.parametrize("name", REMEDIES.names())
def test_parameters_are_those_that_the_small_gpt_gets(name: str) -> None:
    def count(*remedies: str) -> int:
        model = GPT(7, 64, SIZES["small"], causal=False, remedies=remedies)
        return sum(parameter.numel() for parameter in model.parameters())

    entry = describe(name)
    assert entry.parameters == count(*with_what_it_needs(name)) - count()
    assert entry.summary
    assert entry.kind in KINDS


def test_every_remedy_is_of_one_kind() -> None:
    listed = [entry.name for entries in catalogue().values() for entry in entries]
    assert sorted(listed) == sorted(REMEDIES.listed())


def test_one_remedy_in_words_and_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["remedies", "fire:hidden=8"]) == 0
    out = capsys.readouterr().out
    for said in (
        "fire: biases, arXiv 2310.04418",
        "psi(x) = log(c x + 1)",
        "acts on: bias",
        "replaces: the bias by position",
        "needs position ids",
        "option hidden: int = 32",
        "parameters in the small GPT: 54",
        "Mean weight of a key so many places back",
        "largest weight: #",
    ):
        assert said in out


def test_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "alibi.png"
    assert main(["remedies", "alibi", "--out", str(out)]) == 0
    assert f"picture: {out}" in capsys.readouterr().out
    assert out.stat().st_size > 5_000


def test_pictures_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = REMEDIES.listed()
    few = {name: listed[name] for name in ("alibi", "none", "layernorm")}
    monkeypatch.setattr(REMEDIES, "listed", lambda: few)
    assert main(["remedies", "--pictures", str(tmp_path / "all")]) == 0
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert names == {"alibi.svg", "none.svg", "layernorm.svg", "all.svg"}


def test_a_sound_file_holds_in_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["remedies", written(tmp_path, SOUND), "--check"]) == 0
    out = capsys.readouterr().out
    assert "holds   no token depends on later ones\n" in out
    assert "-       equal keys may be read once: does not say" in out
    assert out.endswith("all hold\n")
    assert main(["remedies", written(tmp_path, SOUND)]) == 0
    assert "sound: scores and weights, arXiv 1234.56789" in capsys.readouterr().out


def test_a_broken_file_is_told_what_breaks_and_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["remedies", written(tmp_path, BROKEN), "--check"]) == 1
    broken = [line for line in capsys.readouterr().out.splitlines() if line.startswith("BREAKS")]
    assert any(
        line.startswith("BREAKS  no token depends on later ones: training = True, logits before")
        for line in broken
    )
    assert any("a hidden key changes nothing: causal = True" in line for line in broken)
    assert all(len(line) < 220 for line in broken)


def test_a_check_without_pytest_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "lengthwise.testing.check", None)
    assert main(["remedies", "alibi", "--check"]) == 2
    err = capsys.readouterr().err
    assert "check = True: expected pytest to be installed" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["alibbi"], "remedy = 'alibbi': did you mean 'alibi'?"),
        (["alibi:slope=2"], "option of alibi = 'slope=2': expected none"),
        (["nowhere.py"], "file = 'nowhere.py': expected a Python file"),
        (["--check"], "check = 'True': expected a remedy first"),
        (["--out", "x.svg"], "out = 'x.svg': expected a remedy first"),
        (["alibi", "--pictures", "all"], "pictures = 'all': expected no name beside it"),
        (["alibi", "--out", "x.txt"], "figure = 'x.txt': expected a name ending in"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["remedies", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("check", [[], ["--check"]])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "remedy = 'mine.py': expected a file with one class under @remedy"),
        ("x = \n", "file = 'mine.py': SyntaxError"),
        (SOUND.replace("def scores(self, scores, read)", "def ids(self, scores)"),
         "remedy = 'sound': expected per_layer = False, as it overrides ids"),
    ],
    ids=["none", "syntax", "hook"],
)  # fmt: skip
def test_a_file_that_is_no_remedy_is_one_line(
    text: str, message: str, check: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["remedies", written(tmp_path, text), *check]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_the_profile_of_plain_attention_is_what_theory_says() -> None:
    """Weights are even; one key that is 6 ahead of N(0, 1) has e^6 / (e^6 + (n - 1) e^(1/2))."""
    found = profile("none")
    torch.testing.assert_close(found.by_distance, torch.full((4, TRAINED), 1 / TRAINED))
    ahead = torch.tensor(6.0).exp()
    for length, largest, deviation in zip(LENGTHS, found.largest, found.deviation, strict=True):
        expected = ahead / (ahead + (length - 1) * torch.tensor(0.5).exp())
        assert largest == pytest.approx(float(expected), abs=0.05)
        # E[w^2] / E[w]^2 = e: the sum of squared weights tends to e / n.
        assert deviation == pytest.approx((2.718 / length) ** 0.5, rel=0.25)


def test_the_profile_of_alibi_falls_with_its_slopes() -> None:
    falls = profile("alibi").by_distance
    for head, slope in enumerate((2**-2, 2**-4, 2**-6, 2**-8)):
        ratio = (falls[head, 30] / falls[head, 10]).log() / 20
        assert float(ratio) == pytest.approx(-slope, rel=0.1)
