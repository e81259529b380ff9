"""The command line as a whole: help, version, and a run from training to its plot."""

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


def test_train_show_and_plot(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = run(
        "train", "set-complement", "--vocab", "6", "--max-train-length", "3", "--steps", "30",
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
