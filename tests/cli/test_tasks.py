"""`lengthwise tasks`: the list, examples of one in words, and a user's file checked."""

from pathlib import Path

import pytest
import torch

from lengthwise.cli import main
from lengthwise.families import FAMILIES, OTHERS, by_family
from lengthwise.measures import baselines
from lengthwise.randomness import address
from lengthwise.registry import TASKS
from lengthwise.report.tasks import example_lines
from lengthwise.tasks import AnswerTask, SetComplement, Task, TokenTask

SOUND = '''
from dataclasses import dataclass
import torch
from lengthwise.errors import require
from lengthwise.randomness import at, below, bits
from lengthwise.tasks import Batch, TokenTask, task

@task("last-bit")
@dataclass(frozen=True)
class LastBit(TokenTask):
    """The last bit again."""

    classes = 2
    lengths = range(1, 9)
    token_names = ("no", "yes")
    twice: bool = False

    def draw(self, key, length, count):
        require(length in self.lengths, "length", length, "one of 1..8")
        streams = at(key.unsqueeze(-1), torch.arange(count, device=key.device))
        tokens = below(bits(streams, length), 2)
        return Batch(tokens, tokens[..., -1])

    def targets(self, inputs):
        return torch.nn.functional.one_hot(inputs[..., -1], 2).float()
'''
BROKEN = SOUND.replace("Batch(tokens, tokens[..., -1])", "Batch(tokens, tokens[..., 0])")


def written(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_list_has_every_task_in_its_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks"]) == 0
    out = capsys.readouterr().out
    names = {line.split()[0] for line in out.splitlines() if line.startswith("  ")}
    assert names == set(TASKS.listed())
    for family, (about, _) in FAMILIES.items():
        assert f"{family}: {about}\n" in out


def test_every_task_of_the_package_has_a_family() -> None:
    found = by_family()
    assert OTHERS not in found
    assert set(found) == set(FAMILIES)
    listed = [one.name for own in found.values() for one in own]
    assert sorted(listed) == sorted(TASKS.listed())
    modules = {one.module.rpartition(".")[2] for one in TASKS.listed().values()}
    assert {file for _, files in FAMILIES.values() for file in files} == modules


def test_examples_in_words_with_baselines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "set-complement", "--vocab", "4", "--length", "3"]) == 0
    out = capsys.readouterr().out
    task = SetComplement(4)
    inputs, labels = task.draw(torch.tensor(address(0, "example", 3)), 3, 2)
    for row, answer in zip(inputs.tolist(), labels.tolist(), strict=True):
        assert f"  input   {row[0]:>5} {row[1]:>3} {row[2]}\n" in out
        assert f"  answer  {answer[0]:>5} {answer[1]:>3} {answer[2]}\n" in out
        left = [[str(n) for n in range(4) if n not in row[: k + 1]] for k in range(3)]
        assert f"  target  {'|'.join(left[0])} {'|'.join(left[1])} {left[2][0]}\n" in out
    assert "lengths: 1..3 tokens; shown: 3" in out
    assert "arXiv 2510.08341" in out
    (tvd,) = [one for one in baselines(task, [3]) if one.measure == "tvd"]
    assert tvd.exact
    assert "│ tvd         │  0.750 │       0.750 │" in out
    assert "\nexact\n" in out
    assert "different inputs of length 3: 24" in out


@pytest.mark.parametrize("name", sorted(TASKS.listed()))
def test_examples_of_every_task(name: str) -> None:
    """What is shown is what is drawn: answers stand under the places that ask for them."""
    task: Task = TASKS.get(name)()
    length = min(max(8, task.lengths[0]), task.lengths[-1])
    lines = example_lines(task, length, 1)
    assert lines
    assert all(len(line) <= 100 for line in lines)
    assert any("answer" in line for line in lines)
    if not isinstance(task, TokenTask):
        return
    words = " ".join(line.removeprefix("input") for line in lines if line.startswith("input"))
    inputs = task.draw(torch.tensor(address(0, "example", length)), length, 1).inputs
    tokens = (inputs if isinstance(inputs, torch.Tensor) else inputs.tokens)[0].tolist()
    expected = [task.token_names[token] for token in tokens]
    assert [word.strip("()") or word for word in words.split()] == [
        one.strip("()") or one for one in expected
    ]
    if isinstance(task, AnswerTask):
        answer = " ".join(line.removeprefix("answer") for line in lines if "answer" in line)
        assert answer.split()[-1] == task.token_names[task.end]


def test_a_users_file_is_shown_with_its_own_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, SOUND)
    assert main(["tasks", path, "--length", "3", "--examples", "1", "--twice"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("last-bit\n\nThe last bit again.")
    (shown,) = [line.split()[1:] for line in out.splitlines() if line.startswith("  input")]
    assert len(shown) == 3
    assert f"  answer  {shown[-1]}\n" in out
    assert set(shown) <= {"no", "yes"}


def test_a_sound_file_holds_in_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tasks", written(tmp_path, SOUND), "--check"]) == 0
    out = capsys.readouterr().out
    assert "holds   labels and targets agree\n" in out
    assert "-       every prefix is an input: prefixes are no inputs" in out
    assert out.endswith("all hold\n")


def test_a_broken_file_is_told_what_breaks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tasks", written(tmp_path, BROKEN), "--check"]) == 1
    out = capsys.readouterr().out
    broken = [line for line in out.splitlines() if line.startswith("BREAKS")]
    assert any("every length is labelled truly: length 2: an answer" in line for line in broken)
    assert out.endswith(f"\n{len(broken)} broken\n")


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--help"]) == 0
    assert "Example: lengthwise tasks my_task.py --check" in capsys.readouterr().out
    assert main(["tasks", "addition", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--operands" in out
    assert "--length" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dick-k"], "task = 'dick-k': did you mean 'dyck-k'?"),
        (["nowhere.py"], "file = 'nowhere.py': expected a Python file"),
        (["--check"], "task = '--check': expected the name or file of a task first"),
        (["dyck-1", "--length", "0"], "length = 0: expected one of 1..150"),
        (["dyck-1", "--length", "151"], "length = 151: expected one of 1..150"),
        (["dyck-1", "--examples", "0"], "examples = 0: expected 1..100"),
        (["dyck-k", "--k", "0"], "k = 0: expected a number of kinds"),
        (["dyck-1", "--depth", "2"], "--depth"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tasks", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
