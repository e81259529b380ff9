"""Parts by name, by the path of a user's file, and by what is in that file."""

from pathlib import Path

import pytest

from lengthwise.errors import InputError
from lengthwise.registry import (
    MODELS,
    REMEDIES,
    TASKS,
    Registry,
    files_of,
    load_file,
    load_files,
    load_text,
)
from lengthwise.tasks import SetComplement

REMEDY = """
from lengthwise.remedies import Remedy, remedy

@remedy("mine")
class Mine(Remedy):
    pass
"""


@pytest.mark.parametrize("registry", [TASKS, MODELS, REMEDIES], ids=lambda r: r.kind)
def test_files_say_what_importing_gives(registry: Registry) -> None:
    assert len(registry.names()) >= 3
    for name, listed in registry.listed().items():
        cls = registry.get(name)
        assert (cls.name, cls.__module__, cls.__name__) == (name, listed.module, listed.kind)
        assert (cls.__doc__ or "").split("\n")[0] == listed.summary != ""
        assert registry.key_of(cls) == name


@pytest.mark.parametrize(
    ("registry", "name", "message"),
    [
        (TASKS, "set-complment", "task = 'set-complment': did you mean 'set-complement'.*known:"),
        (REMEDIES, "Rotary", "remedy = 'Rotary': did you mean 'rotary'"),
        (MODELS, "", "model = '': known: encoder-decoder"),
        (MODELS, None, "model = None: expected a name or the path of a .py file"),
        (TASKS, "no/such.py", "file = 'no/such.py': expected a Python file"),
        (TASKS, "a\0b.py", "expected a Python file"),
        (TASKS, "mine.py@12345678", "task = 'mine.py@12345678'"),
    ],
)
def test_what_is_not_known_is_one_line(registry: Registry, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        registry.get(name)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "file = 'mine.py': SyntaxError"),
        ("import no_such_module", "file = 'mine.py': ModuleNotFoundError"),
        ("1 / 0", "file = 'mine.py': ZeroDivisionError"),
        ("raise SystemExit(3)", "file = 'mine.py': SystemExit"),
        ("raise ValueError('one\\ntwo')", "file = 'mine.py': ValueError: one"),
        ("x = 1", r"remedy = 'mine.py': expected a file with one class under @remedy.*found none"),
        (f"{REMEDY}\nOther = remedy('other')(type('Other', (Remedy,), {{}}))", "found 2 of them"),
        ("from lengthwise.remedies.rotary import Rotary", "found none"),
        ("from lengthwise.errors import InputError\nraise InputError('x = 1: expected 2')",
         "mine.py: x = 1: expected 2"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        REMEDIES.get(str(path))
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_is_known_by_its_text(tmp_path: Path) -> None:
    first, second = tmp_path / "mine.py", tmp_path / "below" / "mine.py"
    second.parent.mkdir()
    for path in (first, second):
        path.write_text(REMEDY)
    cls = REMEDIES.get(str(first))
    assert REMEDIES.get(str(second)) is cls, "where it lies is of no matter"
    key = REMEDIES.key(str(first))
    assert key.startswith("mine.py@")
    assert (REMEDIES.get(key), REMEDIES.key_of(cls), REMEDIES.key(key)) == (cls, key, key)
    second.write_text(REMEDY + "\n")
    assert REMEDIES.get(str(second)) is not cls
    first.unlink()
    assert REMEDIES.get(key) is cls, "the file is needed no more"
    assert files_of([key, "rotary"]) == {key: REMEDY}
    assert "mine" not in REMEDIES.names(), "a file takes no name of the package"


def test_two_files_of_one_text_and_other_names(tmp_path: Path) -> None:
    """Each keeps a class of its own, so that both can be found again by their keys."""
    text = REMEDY + "# twice\n"
    one, other = load_text("one.py", text), load_text("other.py", text)
    assert one.key != other.key
    for file in (one, other):
        assert REMEDIES.key_of(REMEDIES.get(file.key)) == file.key


def test_texts_travel() -> None:
    file = load_text("travels.py", REMEDY + "# travels\n")
    load_files({file.key: file.text})
    with pytest.raises(InputError, match="its text is damaged"):
        load_files({file.key: file.text + "\n"})


def test_a_file_with_a_name_of_the_package(tmp_path: Path) -> None:
    path = tmp_path / "rotary.py"
    path.write_text(REMEDY.replace('"mine"', '"rotary"'))
    own = REMEDIES.get(str(path))
    assert REMEDIES.get("rotary") is not own
    assert REMEDIES.key_of(own).startswith("rotary.py@")


def test_what_is_defined_elsewhere_cannot_be_kept() -> None:
    class Mine(SetComplement):
        name = "mine"

    with pytest.raises(InputError, match="task = 'mine': cannot be kept"):
        TASKS.key_of(Mine)
    with pytest.raises(InputError, match="task = 'set-complement': cannot be kept"):
        TASKS.key_of(type("Same", (SetComplement,), {}))
    with pytest.raises(InputError, match="expected a name that is not taken"):
        TASKS.register("othello")(type("Othello", (SetComplement,), {}))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(InputError, match="expected a Python file"):
        load_file(tmp_path / "folder.py")
