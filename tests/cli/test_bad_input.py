"""Bad input gets one line and exit code 2, and nothing is written."""

from pathlib import Path

import pytest

from lengthwise.cli import main

FILES = {
    "broken.py": "def f(:\n",
    "fails.py": "raise RuntimeError('two\\nlines')\n",
    "exits.py": "raise SystemExit(3)\n",
    "empty.py": "",
    "two.py": """
from lengthwise.remedies import Remedy, remedy

@remedy("one")
class One(Remedy): pass

@remedy("other")
class Other(Remedy): pass
""",
    "unread.py": """
from dataclasses import dataclass
from lengthwise.models import Model, model
from lengthwise.tasks import SetTask
from torch import nn

@model("sets-only")
@dataclass(frozen=True, kw_only=True)
class SetsOnly(Model):
    reads = SetTask
    def build(self, task, hyperparameters, max_train_length=None):
        return nn.Identity()
""",
    "shares.py": """
from dataclasses import dataclass
from lengthwise.models import Model, model
from torch import nn

@model("with-steps")
@dataclass(frozen=True, kw_only=True)
class WithSteps(Model):
    steps: int = 3
    def build(self, task, hyperparameters, max_train_length=None):
        return nn.Identity()
""",
    "plain.py": """
from dataclasses import dataclass
from lengthwise.models import Model, model
from lengthwise.remedies import Dropout
from torch import nn

@model("plain")
@dataclass(frozen=True, kw_only=True)
class Plain(Model):
    def build(self, task, hyperparameters, max_train_length=None):
        return nn.Sequential(nn.Embedding(16, 16), Dropout(hyperparameters.embed_dropout))
""",
    "latin.py": "é",
}
TRAIN = "train set-complement"
HUGE = "9" * 30
NUL = "expected words without the character NUL"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("trian", "did you mean 'train'"),
        ("train set-complment", "task = 'set-complment': did you mean 'set-complement'"),
        ("train othelo", "did you mean 'othello'"),
        ("train --seeds 2", "task = '--seeds': expected the name or file of a task first"),
        ("train ", "task = '': "),
        (f"{TRAIN} more", "more"),
        (f"{TRAIN} --model gtp", "model = 'gtp': did you mean 'gpt'"),
        (f"{TRAIN} --model", "--model"),
        (f"{TRAIN} --model set-reader", "expected one that can read the inputs of 'set-complement"),
        ("train argmax-retrieval --model gpt", "expected one that can read the inputs of 'argmax"),
        (f"{TRAIN} --remedies layrnorm", "remedy = 'layrnorm': did you mean 'layernorm'"),
        (f"{TRAIN} --remedies layernorm:plac=after", "did you mean 'place'"),
        (f"{TRAIN} --remedies layernorm:place=under", "layernorm:place = 'under'"),
        (f"{TRAIN} --remedies alibi:slope=1", "expected none: it has no options"),
        (f"{TRAIN} --remedies layernorm rmsnorm", "'layernorm' and 'rmsnorm': both replace"),
        (f"{TRAIN} --remedies nap adaptive", "'nap' and 'adaptive': both replace"),
        (f"{TRAIN} --remedies batchnorm --model gpt", "remedy = 'batchnorm': expected another"),
        ("train argmax-retrieval --remedies alibi", "expected one that needs no positions"),
        ("train argmax-retrieval --remedies learned", "expected one that needs no positions"),
        (f"{TRAIN} --remedies layernorm-per-head:place=after", "layernorm-per-head:place"),
        (
            f"{TRAIN} --test-remedies layernorm",
            "test_remedies = ['layernorm']: expected remedies w",
        ),
        (f"{TRAIN} --vocab 1", "vocab = 1: expected at least 2"),
        (f"{TRAIN} --vocab x", "--vocab"),
        (f"{TRAIN} --vocbb 3", "--vocab"),
        (f"{TRAIN} --vocab {HUGE}", f"= {HUGE}: expected"),
        (f"{TRAIN} --vocab {1 << 62}", "too many to measure all"),
        (f"{TRAIN} --vocab {1 << 62} --test-lengths 9", "cannot be built"),
        (f"{TRAIN} --ema-powers nan", "ema_power"),
        (f"{TRAIN} --bias-powers -1", "bias_power"),
        (f"{TRAIN} --steps {HUGE}", f"steps = {HUGE}: expected a whole number of at most 64 bits"),
        (f"{TRAIN} --batch {HUGE}", f"batch = {HUGE}: expected a whole number of at most 64 bits"),
        (f"{TRAIN} --test-seed -{HUGE}", "expected a whole number of at most 64 bits"),
        (f"{TRAIN} --test-lengths {HUGE}", "test_lengths"),
        (f"{TRAIN} --seeds {HUGE}", "seeds = "),
        (f"{TRAIN} --first-seed {HUGE}", "seed = "),
        (f"{TRAIN} --warmup {HUGE}", "warmup = "),
        (f"{TRAIN} --extra-width {HUGE}", "extra_width = "),
        (f"{TRAIN} --max-train-length 16", "max_train_length = 16: expected one of 1..15"),
        (f"{TRAIN} --min-train-length 9", "min_train_length = 9: expected at most"),
        (f"{TRAIN} --test-lengths 0", "test_lengths = 0: expected"),
        (f"{TRAIN} --attention-dropout 1", "attention_dropout = 1.0: expected"),
        (f"{TRAIN} --learning-rate 0", "learning_rate = 0.0: expected a positive number"),
        (f"{TRAIN} --learning-rate", "learning_rate = '': expected at least one value"),
        (f"{TRAIN} --learning-rate nan", "learning_rate = nan: expected a positive number"),
        (f"{TRAIN} --loss exact", "--loss"),
        (f"{TRAIN} --seeds 0", "seeds = 0: expected 1.."),
        (f"{TRAIN} --steps 0", "steps = 0: expected at least 1"),
        (f"{TRAIN} --device gpu", "device = 'gpu'"),
        (f"{TRAIN} --precision half", "--precision"),
        (f"{TRAIN} --start-from nowhere", "expected a run folder"),
        (f"{TRAIN} --start-from a\0b", NUL),
        (f"{TRAIN} --checkpoint-seconds x", "--checkpoint-seconds"),
        (f"{TRAIN} --out a\0b", NUL),
        (f"{TRAIN} --out /proc/none", "out = '/proc/none': cannot be made"),
        (f"{TRAIN} --out there", "--overwrite"),
        (f"{TRAIN} --out there --overwrite", "there"),
        (f"{TRAIN} --out file", "file"),
        ("train a\0b.py", NUL),
        ("train nowhere.py", "file = 'nowhere.py': expected a Python file (No such file"),
        ("train there.py", "file = 'there.py': expected a Python file"),
        ("train broken.py", "file = 'broken.py': SyntaxError"),
        ("train fails.py", "file = 'fails.py': RuntimeError: two"),
        ("train exits.py", "file = 'exits.py': SystemExit: 3"),
        ("train latin.py", "file = 'latin.py': expected a Python file"),
        ("train empty.py", "task = 'empty.py': expected a file with one class under @task"),
        (
            "train two.py",
            "task = 'two.py': expected a file with one class under @task",
        ),
        (f"{TRAIN} --remedies two.py", "remedy = 'two.py': expected a file with one class under"),
        (f"{TRAIN} --remedies empty.py", "remedy = 'empty.py': expected a file with one class"),
        (f"{TRAIN} --remedies broken.py", "file = 'broken.py': SyntaxError"),
        (f"{TRAIN} --remedies a\0b.py", NUL),
        (f"{TRAIN} --model empty.py", "model = 'empty.py': expected a file with one class under"),
        (f"{TRAIN} --model nowhere.py", "file = 'nowhere.py': expected a Python file"),
        (f"{TRAIN} --model unread.py", "model = 'sets-only': expected one that can read"),
        (
            f"{TRAIN} --model plain.py --embed-dropout 0.1 --resid-dropout 0 0.1",
            "resid_dropout = 0.1: expected 0, as model 'plain' makes no use of it",
        ),
        (f"{TRAIN} --model shares.py", "steps: expected another name, as WithSteps has"),
        ("train argmax-retrieval --classes 1", "classes = 1: expected at least 2"),
        ("train argmax-retrieval --test-lengths 0", "test_lengths = 0: expected"),
        ("train argmax-retrieval --extra-width 1", "--extra-width"),
        ("train argmax-retrieval --min-train-length 20", "min_train_length = 20: expected at most"),
        ("train dictionary-lookup --key-width 1", "key_width = 1: expected at least 4"),
        ("train othello --board 5", "board = 5: expected a size out of 4, 6, 8"),
        ("train othello --max-train-length 60", "max_train_length = 60: expected one of 1..59"),
        ("train othello --batch 10 --accumulate 3", "accumulate = 3: expected a divisor of batch"),
        ("train othello --heads 3", "width = 128: expected a multiple of 3"),
        (
            "train othello --heads 1 --width 3 --remedies rotary",
            "head = 3: expected even",
        ),
        ("train othello --layers 0", "layers = 0: expected at least 1"),
        ("resume nowhere", "run = 'nowhere': expected a run folder"),
        ("resume a\0b", NUL),
        ("show nowhere", "run = 'nowhere': expected a run folder"),
        ("show a\0b", NUL),
        ("show", "PATH"),
        ("certify a\0b", NUL),
        ("reproduce", "names = '': expected a claim or a paper"),
        ("reproduce whats-mising", "did you mean 'whats-missing'"),
        ("reproduce whats-missing --scale huge", "--scale"),
        ("reproduce nowhere.py", "file = 'nowhere.py': expected a Python file"),
        ("reproduce a\0b.py", NUL),
        ("reproduce broken.py", "file = 'broken.py': SyntaxError"),
        ("reproduce exits.py", "file = 'exits.py': SystemExit: 3"),
        ("reproduce fails.py", "file = 'fails.py': RuntimeError: two"),
        ("reproduce empty.py", "claim = 'empty.py': expected a file that defines a Claim"),
        ("reproduce whats-missing/post-norm --out a\0b", NUL),
        ("report", "results = '': expected folders"),
        ("report nowhere", "expected folders called quick, laptop or paper"),
        ("report a\0b/x/quick", NUL),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(
    arguments: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="latin-1")
    Path("there").mkdir()
    Path("there/notes.txt").touch()
    Path("there.py").mkdir()
    Path("file").touch()
    before = sorted(tmp_path.rglob("*"))
    assert main(arguments.split(" ")) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert "Traceback" not in captured.err
    assert captured.out == ""
    assert sorted(tmp_path.rglob("*")) == before, "nothing is written"


@pytest.mark.parametrize("batch", [1 << 45, 1 << 60])
def test_what_no_memory_can_hold_gets_one_line(
    batch: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    assert main([*TRAIN.split(), "--batch", str(batch), "--out", str(out)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].startswith("lengthwise: too large for this machine: ")
    assert len(lines) == 2, "how far it came, and why no further"
    assert not out.exists()
