"""What a user meets first: the names of the package, and help that does not wait for torch."""

import importlib
import subprocess
import sys

import pytest

import lengthwise

SUBPACKAGES = {
    "averaging", "checking", "claims", "measures", "models", "othello", "papers", "probing",
    "remedies", "report", "runs", "search", "tasks", "testing", "theory", "training",
}  # fmt: skip
NAMES = {
    "BEMA", "EMA", "Fleet", "Hyperparameters", "Model", "Recipe", "Remedy", "Space", "Task",
    "Trainer", "build_fleet", "certify", "check", "load_model", "measure", "model", "probe",
    "recipe_for", "remedy", "reproduce", "save_model", "task",
}  # fmt: skip


def test_tab_finds_the_subpackages_and_the_names_people_need() -> None:
    assert {name for name in dir(lengthwise) if not name.startswith("_")} == SUBPACKAGES | NAMES


@pytest.mark.parametrize("name", sorted(SUBPACKAGES))
def test_every_subpackage_is_reached_by_its_name(name: str) -> None:
    assert getattr(lengthwise, name) is importlib.import_module(f"lengthwise.{name}")


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_name_resolves_and_explains_itself(name: str) -> None:
    assert getattr(lengthwise, name).__doc__ or name in ("model", "remedy", "task")
    assert name in lengthwise.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'fleet'"):
        lengthwise.fleet  # noqa: B018


def modules_after(code: str) -> tuple[set[str], str]:
    """What a new process has imported after `code`, and what it printed."""
    code = f"import sys\n{code}\nprint('modules:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    printed, _, modules = done.stdout.rpartition("modules: ")
    return set(modules.split()), printed + done.stderr


HEAVY = {
    "torch", "transformers", "peft", "lightning", "ray", "optuna", "trl", "polars", "matplotlib",
    "scipy", "pandas", "datasets", "numba",
}  # fmt: skip


def test_importing_the_package_imports_nothing_else() -> None:
    loaded, _ = modules_after("import lengthwise")
    assert not loaded & (HEAVY | {"numpy", "rich", "tyro"})


def test_averages_need_little_beside_torch() -> None:
    loaded, _ = modules_after("from lengthwise import BEMA, EMA")
    assert not loaded & (HEAVY - {"torch"} | {"rich", "tyro"})


WITHOUT_TORCH = {
    "--help": "lengthwise COMMAND",
    "--version": lengthwise.__version__,
    "trian": "did you mean 'train'",
    "train": "set-complement",
    "train --help": "layernorm-per-head",
    "train set-complment": "did you mean 'set-complement'",
    "tasks": "Chomsky hierarchy",
    "tasks --help": "Example: lengthwise tasks dyck-k",
    "tasks dick-k": "did you mean 'dyck-k'",
    "search --help": "search run",
    "search set-complement --help": "--trials",
    "search run --help": "--trials",
    "probe --help": "Example: lengthwise probe",
    "check --help": "Example: lengthwise check",
    "average --help": "Example: lengthwise average",
    "certify --help": "Example: lengthwise certify",
    "othello --help": "othello generate",
    "othello generate --help": "Example: lengthwise othello generate",
    "othello show --help": "Example: lengthwise othello show",
    "reproduce --help": "Example: lengthwise reproduce",
    "report --help": "Example: lengthwise report",
    "show --help": "Example: lengthwise show",
    "resume --help": "Example: lengthwise resume",
    "remedies --help": "Example: lengthwise remedies my_remedy.py --check",
    "remedies alibbi": "did you mean 'alibi'",
    "othello show f5d6c3": "white to move",
}
"""Commands, and something that each says."""


def test_help_and_slips_do_not_wait_for_torch() -> None:
    """All in one process: what the first ones import, the later ones would have, too."""
    calls = "".join(
        f"print('##', {command!r})\nmain({command.split()})\nprint(*HEAVY & {{*sys.modules}})\n"
        for command in WITHOUT_TORCH
    )
    head = "from lengthwise.cli import main\nsys.stderr = sys.stdout\n"
    _, printed = modules_after(f"{head}HEAVY = {HEAVY}\n{calls}")
    parts = printed.split("## ")[1:]
    for part, (command, said) in zip(parts, WITHOUT_TORCH.items(), strict=True):
        *lines, loaded = part.rstrip("\n").split("\n")
        assert lines[0] == command
        assert said in part
        # A board is drawn with what plays games.
        assert not set(loaded.split()) & ({"torch"} if "f5" in command else HEAVY), command
