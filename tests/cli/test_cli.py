import subprocess
import sys
from pathlib import Path

import pytest

from lengthwise import __version__
from lengthwise.cli import COMMANDS, main


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lengthwise", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"lengthwise {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_teaches_with_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*name.split(), "--help"]) == 0
    out = capsys.readouterr().out
    assert f"Example: lengthwise {name} " in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "did you mean 'train'"),
        (["train", "set-complment"], "did you mean 'train set-complement'"),
        (["train", "set-complement", "--vocab", "1"], "vocab = 1: expected at least 2"),
        (["train", "set-complement", "--vocab", "x"], "--vocab"),
        (["train", "set-complement", "--train-length", "16"], "train_length = 16: expected less"),
        (["train", "set-complement", "--dropout-weights", "1"], "dropout_weights = 1.0: expected"),
        (["train", "set-complement", "--learning-rate", "0"], "learning_rate = 0.0: expected a po"),
        (["train", "set-complement", "--norm", "layrnorm"], "did you mean 'layernorm'"),
        (["train", "set-complement", "--attention", "sofmax"], "softmax"),
        (["train", "set-complement", "--seeds", "0"], "seeds = 0: expected at least 1"),
        (["train", "set-complement", "--steps", "0"], "steps = 0: expected at least 1"),
        (["train", "set-complement", "--device", "gpu"], "device = 'gpu'"),
        (["train", "set-complement", "--vocbb", "3"], "--vocab"),
        (["resume", "nowhere"], "run = 'nowhere': expected a run folder"),
        (["show", "nowhere"], "run = 'nowhere': expected a run folder"),
        (["show"], "PATH"),
        (["reproduce"], "names = '': expected a claim or a paper"),
        (["reproduce", "whats-mising"], "did you mean 'whats-missing'"),
        (["reproduce", "whats-missing", "--scale", "huge"], "--scale"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert captured.out == ""
    assert list(tmp_path.iterdir()) == [], "nothing is written"


def test_train_show_and_plot(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = run(
        "train", "set-complement", "--vocab", "6", "--train-length", "3", "--steps", "30",
        "--seeds", "2", "--learning-rate", "1e-3", "1e-2", "--test-inputs", "50", "--out", folder,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "run: 30/30" in result.stderr, "plain lines where the output is not a terminal"
    assert "\x1b" not in result.stdout + result.stderr
    again = run("train", "set-complement", "--out", folder)
    assert again.returncode == 2
    assert "--overwrite" in again.stderr
    shown = run("show", folder, "--plot", tmp_path / "tvd.png")
    assert shown.returncode == 0, shown.stderr
    assert "4 models" in shown.stdout
    assert "BEMA 0.5 0.2" in shown.stdout
    assert (tmp_path / "tvd.png").read_bytes().startswith(b"\x89PNG")
    assert run("show", folder, "--plot", tmp_path / "tvd.jpeg").returncode == 2


def test_reproduce_lists_its_claims(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    out = capsys.readouterr().out
    for name in ("dispersion", "averaging", "post-norm"):
        assert f"whats-missing/{name}" in out


def imported(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules, file=sys.stderr)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(result.stderr.split())


def test_importing_the_package_loads_torch_and_little_else() -> None:
    loaded = imported("import lengthwise")
    extras = {"transformers", "peft", "lightning", "ray", "optuna", "trl"}
    heavy = {"polars", "matplotlib", "rich", "tyro", "scipy", "pandas", "datasets"}
    assert not loaded & (extras | heavy)
    beyond_torch = {name for name in loaded - imported("import torch") if "." not in name}
    assert beyond_torch <= {"lengthwise"}
    after_use = imported("from lengthwise import BEMA, EMA")
    assert not after_use & (extras | heavy)


def test_help_does_not_wait_for_torch() -> None:
    code = "from lengthwise.cli import main; main(['--help'])"
    assert "torch" not in imported(code)
