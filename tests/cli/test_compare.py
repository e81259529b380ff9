"""`lengthwise compare`: what people type, and what they get."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars
import pytest
from comparing.small import TINY, own_remedy

import lengthwise.comparing.built_in as built_in
from lengthwise.cli import main
from lengthwise.comparing import StudyFolder


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(built_in.SCALES, "quick", TINY)


def compare(*words: str) -> int:
    return main(["compare", "--scale", "quick", "--workers", "1", *words])


@pytest.mark.usefixtures("tiny")
def test_from_start_to_page_and_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "study"
    assert compare("--out", str(out)) == 0
    told = capsys.readouterr()
    assert "3 remedies x 1 tasks x 2 learning rates x 1 seeds: 4 models, 0 of them" in told.out
    assert "4 to train: about " in told.out
    assert "majority: nothing has learned it, so nothing is ranked there" in told.out
    assert f"page: {out / 'page.html'}" in told.out
    assert "4/4 models" in told.err
    more = ["--remedies", "alibi", "fox+layernorm", "--tasks", "majority", "parity"]
    assert compare(*more, "--seeds", "2", "--out", str(out)) == 0
    assert "24 models, 4 of them are there" in capsys.readouterr().out
    names = [entry.name for entry in StudyFolder.open(out).study.entries]
    assert names == ["rotary", "alibi", "ema", "fox+layernorm"]
    assert main(["compare", "--page-only", "--out", str(out)]) == 0
    assert main(["compare", "--verify", "2", "--out", str(out)]) == 0
    assert capsys.readouterr().out.count("same   ") == 2


@pytest.mark.usefixtures("tiny")
def test_a_friends_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    assert compare("--out", str(mine)) == 0
    assert compare("--remedies", str(own_remedy(tmp_path)), "--out", str(theirs)) == 0
    assert main(["compare", "--add", str(theirs), "--out", str(mine)]) == 0
    assert "2 records added" in capsys.readouterr().out
    assert "mine" in polars.read_csv(mine / "reach.csv")["remedy"].to_list()


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--remedies", "alibbi"], "did you mean 'alibi'"),
        (["--tasks", "sorrt"], "did you mean 'sort'"),
        (["--tasks", "hidden-factors"], "answers are classes"),
        (["--tasks", "argmax-retrieval"], "reads those of a TokenTask"),
        (["--model", "gtp"], "did you mean 'gpt'"),
        (["--seeds", "0"], "seeds = 0: expected 1.."),
        (["--page-only"], "page_only = .*a study that was begun"),
        (["--verify", "1"], "a study with records"),
        (["--add", "nowhere"], "a study folder"),
        (["--baseline", "nothing-such"], "remedy = 'nothing-such'"),
        (["--ray", "nowhere"], "host:port, auto or local"),
        (["--workers", "0"], "workers = 0: expected at least 1"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["compare", "--scale", "quick", "--out", str(tmp_path / "x"), *words]) == 2
    told = capsys.readouterr().err
    assert len(told.strip().splitlines()) == 1
    assert pytest.importorskip("re").search(message, told), told


BREAKS = '''
"""Looks at later tokens."""
from torch import Tensor
from lengthwise.remedies import Remedy, remedy

@remedy("peeking")
class Peeking(Remedy):
    """The mean over all tokens is added."""

    def output(self, output: Tensor) -> Tensor:
        """Of later ones, too."""
        return output + output.mean(-2, keepdim=True)
'''


@pytest.mark.usefixtures("tiny")
def test_a_remedy_that_fails_conformance_is_refused_before_anything_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "peeking.py"
    path.write_text(BREAKS)
    assert compare("--remedies", str(path), "--out", str(tmp_path / "study")) == 2
    told = capsys.readouterr().err
    assert "remedies = 'peeking.py': expected one that passes" in told
    assert len(told.strip().splitlines()) == 1
    assert not (tmp_path / "study").exists()


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--help"]) == 0
    told = capsys.readouterr().out
    assert "Example: lengthwise compare --scale quick" in told
    assert "--remedies" in told


def limited() -> None:
    """No file may grow beyond a few kilobytes, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def test_a_full_disk_is_one_line_and_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    out = tmp_path / "study"
    command = [
        sys.executable, "-m", "lengthwise", "compare", "--scale", "quick", "--remedies", "alibi",
        "--tasks", "flip-flop", "--out", str(out),
    ]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while process.poll() is None and not (out / "log.txt").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    told, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "stopped; the models done are kept; resume with: " in told
    assert "Traceback" not in errors
    kept = len(StudyFolder.open(out).records())
    full = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited)
    assert full.returncode == 2
    assert "File too large" in full.stderr.strip().splitlines()[-1]
    assert "Traceback" not in full.stderr
    assert len(StudyFolder.open(out).records()) == kept, "and nothing that was there is lost"
