"""A damaged run.json: always one line with field and value, never another exception."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.models import GPTModel, MinimalModel, SetReaderModel
from lengthwise.runs import RunFolder, recipe_for
from lengthwise.tasks import DictionaryLookup, Othello, SetComplement
from lengthwise.training import Hyperparameters
from lengthwise.trust import trust

RECIPES = (
    recipe_for(SetComplement(6), MinimalModel(remedies=("layernorm:place=before",))),
    recipe_for(DictionaryLookup(), SetReaderModel(width=8), test_lengths=(16, 32), test_items=99),
    recipe_for(Othello(4), GPTModel(layers=1, heads=1, width=8)),
)


@pytest.fixture(scope="module")
def descriptions(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Whole descriptions, as `create` writes them."""
    found = []
    for number, recipe in enumerate(RECIPES):
        path = tmp_path_factory.mktemp("runs") / str(number)
        every = [Hyperparameters(seed=seed, ema_powers=(0.5, 0.7)) for seed in range(2)]
        RunFolder.create(path, recipe, every, ["lengthwise", "train"])
        found.append(json.loads((path / "run.json").read_text()))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


def open_as(folder: Path, text: str | bytes) -> RunFolder:
    """The folder with another run.json, with all that is read later on."""
    (folder / "run.json").write_bytes(text.encode() if isinstance(text, str) else text)
    run = RunFolder.open(folder)
    run.require_same_version()
    assert run.command
    return run


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places of a JSON value, as paths."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from places(value[index], (*path, index))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


WRONG = st.sampled_from(
    [
        None, True, "", "x", "a\0b", "text.py", "/tmp/a\0b.py", -1, 0, 1, 3.5, 2**63, 2**64,
        10**30, -(10**30), 1e308, float("nan"), float("inf"), [], {}, [None], {"name": None},
        [[]], {"": 0}, "set-complement", "gpt", "layernorm", ["layernorm", "rmsnorm"],
        ["rotary:base=x"], ["layernorm:place"], [{}], {"mine.py@00000000": "import this is wrong"},
        {"mine.py@00000000": "x = 1"}, {"x": "raise SystemExit"}, "\ud800",
    ]
)  # fmt: skip


def one_line(error: BaseException) -> str:
    text = str(error)
    assert len(text.splitlines()) == 1, text
    return text


@settings(max_examples=150)
@given(st.integers(0, len(RECIPES) - 1), st.data())
def test_any_damage_is_one_line(
    descriptions: list[Any], folder: Path, which: int, data: st.DataObject
) -> None:
    damaged = copy.deepcopy(descriptions[which])
    for _ in range(data.draw(st.integers(1, 2), "damages")):
        path = data.draw(st.sampled_from([p for p in places(damaged) if p]), "where")
        above, last = at(damaged, path[:-1]), path[-1]
        kind = data.draw(st.sampled_from(["wrong", "missing", "unknown"]), "how")
        if kind == "wrong":
            above[last] = data.draw(WRONG, "what")
        elif kind == "missing":
            del above[last]
        elif isinstance(above, dict):
            above[data.draw(st.sampled_from(["", "vocb", "x y", "a\0"]))] = above.pop(last)
        else:
            above.append(above[last])
    try:
        open_as(folder, json.dumps(damaged))
    except InputError as error:
        one_line(error)


@given(st.integers(0, 10**6), st.integers(0, 255))
def test_bytes_that_are_cut_or_changed(
    descriptions: list[Any], folder: Path, place: int, byte: int
) -> None:
    whole = json.dumps(descriptions[0]).encode()
    place %= len(whole)
    with pytest.raises(InputError, match=r"run\.json") as caught:
        open_as(folder, whole[:place])
    one_line(caught.value)
    try:
        open_as(folder, whole[:place] + bytes([byte]) + whole[place + 1 :])
    except InputError as error:
        one_line(error)


def changed(whole: Any, path: str, value: Any) -> str:
    whole = copy.deepcopy(whole)
    *above, last = path.split("/")
    at(whole, tuple(int(step) if step.isdigit() else step for step in above))[last] = value
    return json.dumps(whole)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("recipe/steps", "many", "steps = 'many': expected int, got str"),
        ("recipe/steps", 2.5, r"steps = 2\.5: expected int"),
        ("recipe/batch", 0, "batch = 0: expected at least 1"),
        ("recipe/stepz", 1, "field of a recipe = 'stepz': did you mean 'steps'"),
        ("recipe/task", 3, "task = 3: expected object, got int"),
        ("recipe/task/name", "set-complment", "task = 'set-complment': did you mean 'set-comple"),
        ("recipe/task/name", None, "task = None: expected a name"),
        ("recipe/task/name", "a\0b.py", "task = 'a.x00b.py': expected a name, or the key of one"),
        ("recipe/model/name", "a.py", "model = 'a.py': expected a name, or the key of one of"),
        ("recipe/model/remedies", ["a.py"], "remedy = 'a.py': expected a name, or the key of one"),
        ("recipe/test_remedies", ["a.py:x=1"], "remedy = 'a.py': expected a name, or the key of"),
        ("recipe/task/vocab", [6], r"task.vocab = \[6\]: expected int, got array"),
        ("recipe/task/vocab", 10**30, "vocab"),
        ("recipe/task/vocb", 6, "field of task 'set-complement' = 'vocb': did you mean 'vocab'"),
        ("recipe/model/remedies", ["layernom"], "remedy = 'layernom': did you mean 'layernorm'"),
        ("recipe/model/remedies", "layernorm", "model.remedies = 'layernorm': expected array"),
        ("recipe/model/remedies", [1], r"model.remedies\[0\] = 1: expected str, got int"),
        ("recipe/model/extra_width", 10**30, "extra_width"),
        ("recipe/max_train_length", 10**30, "max_train_length = 1000000000000000000000000000000"),
        ("recipe/test_lengths", [2, 99], "test_lengths = 99: expected one of 1..5"),
        ("recipe/device", "cpu\0", "device = "),
        ("recipe/device", "nowhere", "device = 'nowhere'"),
        ("recipe/files", {"a.py@12345678": "x = 1"}, "file = 'a.py@12345678': its text is damaged"),
        ("recipe/files", {"a.py@0": "1 / 0"}, "file = 'a.py': ZeroDivisionError"),
        ("recipe/files", {"a.py@0": "raise SystemExit"}, "file = 'a.py': SystemExit"),
        ("recipe/files", {"a.py@0": "stranger = 1"}, "file = 'a.py@0': code that came along and"),
        ("hyperparameters", [], r"hyperparameters = \[\]: expected at least one"),
        ("hyperparameters", None, "hyperparameters = None: expected array"),
        ("hyperparameters/1/seed", "1", r"hyperparameters\[1\].seed = '1': expected int"),
        ("hyperparameters/1/seed", 10**30, "seed = 1000000000000000000000000000000: expected"),
        ("hyperparameters/0/trial", -(10**30), "trial = -1000000000000000000000000000000"),
        ("hyperparameters/0/ema_powers", [0.5, "x"], r"hyperparameters\[0\].ema_powers\[1\] = 'x'"),
        ("hyperparameters/0/beta1", 1.0, r"beta1 = 1\.0: expected a rate in"),
        ("hyperparameters/0/sed", 1, "hyper-parameter = 'sed': did you mean 'seed'"),
        ("version", 3, "version = 3: expected object"),
        ("command", "train", "command = 'train': expected array"),
        ("format", 1, r"format of .*run\.json = 1: expected 2: another version of lengthwise"),
        ("format", "two", r"format of .*run\.json = 'two': expected 2"),
        ("format", [[[[[]]]]], r"format of .*run\.json = "),
    ],
)
def test_field_and_value_are_named(
    descriptions: list[Any], folder: Path, path: str, value: Any, message: str
) -> None:
    for trusted in ("x = 1", "1 / 0", "raise SystemExit"):
        trust(trusted)
    with pytest.raises(InputError, match=message) as caught:
        open_as(folder, changed(descriptions[0], path, value))
    assert str(folder / "run.json") in one_line(caught.value)


@pytest.mark.parametrize("missing", ["format", "version", "command", "recipe", "hyperparameters"])
def test_what_is_missing_is_named(descriptions: list[Any], folder: Path, missing: str) -> None:
    whole = {name: value for name, value in descriptions[0].items() if name != missing}
    with pytest.raises(InputError, match=rf"run\.json: {missing} is missing") as caught:
        open_as(folder, json.dumps(whole))
    one_line(caught.value)


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"null", b"\x00\x01", b"\xff\xfe", b'{"format": NaN}', b'{"format": 2}',
     b"[" * 100_000, b'{"format":' * 100_000, b'{"format": 1e400}', b'{"format": "\\ud800"}'],
)  # fmt: skip
def test_no_json_of_a_run(folder: Path, text: bytes) -> None:
    with pytest.raises(InputError, match=r"run\.json") as caught:
        open_as(folder, text)
    one_line(caught.value)


@pytest.mark.parametrize("path", ["a\0b", "", "/dev/null", "x" * 5000])
def test_a_path_that_is_no_folder(path: str) -> None:
    with pytest.raises(InputError, match=r"run = .*: expected a run folder") as caught:
        RunFolder.open(Path(path))
    one_line(caught.value)
    if path:
        with pytest.raises(InputError, match="out = "):
            RunFolder.create(Path(path), RECIPES[0], [Hyperparameters()], [])
