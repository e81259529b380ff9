"""Runs that train GPTs on Othello: stopped and resumed, in half precision, compiled, averaged."""

import itertools
import shutil
from dataclasses import replace
from pathlib import Path

import polars
import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.measures import MEASURES
from lengthwise.models import GPTModel
from lengthwise.runs import Interrupted, Recipe, RunFolder, execute, load_model, recipe_for
from lengthwise.tasks import Othello
from lengthwise.training import Hyperparameters, Trainer

SMALL = recipe_for(
    Othello(4), GPTModel(layers=1, heads=4, width=16, remedies=("offset",)), max_train_length=6,
    batch=8, accumulate=2, steps=24, test_inputs=30,
)  # fmt: skip
OWN = Hyperparameters(
    embed_dropout=0.1, attention_dropout=0.1, resid_dropout=0.1, weight_decay=0.1, warmup=5
)


def make_run(path: Path) -> RunFolder:
    return RunFolder.create(path, SMALL, (OWN, replace(OWN, seed=1, loss="soft")), ["test"])


def content(folder: RunFolder) -> tuple[polars.DataFrame, bytes]:
    return folder.table(), folder.checkpoints()[-1].read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = make_run(tmp_path_factory.mktemp("othello") / "whole")
    execute(folder)
    return folder


class Killed(Exception):  # noqa: N818 - being killed is no error
    """Stands for whatever ends a process without giving it time to save."""


def killed() -> bool:
    raise Killed


@pytest.mark.parametrize("ending", ["stopped", "killed"])
@pytest.mark.parametrize("step", [1, 17])
def test_resumed_is_as_uninterrupted(
    whole: RunFolder, tmp_path: Path, step: int, ending: str
) -> None:
    folder = make_run(tmp_path / "broken")
    asked = itertools.count(1)

    def end() -> bool:
        return next(asked) == step and (killed() if ending == "killed" else True)

    with pytest.raises(Interrupted if ending == "stopped" else Killed):
        execute(folder, stop=end, checkpoint_seconds=0)
    assert folder.newest_step() == (step if ending == "stopped" else step - 1)
    execute(RunFolder.open(folder.path))
    table, weights = content(folder)
    expected_table, expected_weights = content(whole)
    assert weights == expected_weights
    assert table.equals(expected_table)


def test_the_recipe_is_what_the_folder_says(whole: RunFolder) -> None:
    assert RunFolder.open(whole.path).recipe == SMALL


def test_games_that_ended_are_not_counted_in_the_table(whole: RunFolder) -> None:
    table = whole.table()
    assert set(table["measure"]) == {*MEASURES, "exact_match"}
    assert not table["exact"].any()
    assert table["value"].is_finite().all()
    counted = dict(table.select("length", "inputs").unique().iter_rows())
    games = Othello(4, split="held-out")
    assert counted.keys() <= set(games.lengths)
    assert counted[1] == 30 > counted[max(counted)]
    assert [counted[length] for length in sorted(counted)] == sorted(counted.values())[::-1]


def test_every_pair_of_powers_comes_from_one_run(tmp_path: Path) -> None:
    ema_powers, bias_powers = (0.1, 0.5, 0.9), (0.0, 0.2, 0.4, 0.8)
    own = replace(OWN, ema_powers=ema_powers, bias_powers=bias_powers)
    folder = RunFolder.create(tmp_path / "run", SMALL, (own,), ["test"])
    execute(folder)
    table = folder.table().filter(measure="tvd", length=9)
    pairs = [tuple(row) for row in table.select("weights", "ema_power", "bias_power").rows()]
    expected = [
        ("raw", None, None),
        *(("ema", power, None) for power in ema_powers),
        *(("bema", *powers) for powers in itertools.product(ema_powers, bias_powers)),
    ]
    assert sorted(pairs, key=str) == sorted(expected, key=str)
    assert table["value"].n_unique() == len(expected), "no two are the same weights"


def test_training_is_on_training_games_and_measures_are_on_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    monkeypatch.setattr(
        "lengthwise.runs.recipe.measure",
        lambda fleet, task, *rest, **settings: asked.append(task) or iter(()),
    )
    trainer = SMALL.trainer([OWN])
    list(SMALL.measure(trainer.fleet))
    assert trainer.task == Othello(4, split="train")
    assert asked == [Othello(4, split="held-out")]


def losses(recipe: Recipe, *every: Hyperparameters) -> tuple[list[float], Trainer]:
    """The mean loss of all models at every step."""
    trainer = recipe.trainer(every)
    found = []
    for _ in range(recipe.steps):
        trainer.step()
        found.append(float(trainer.loss.mean()))
    return found, trainer


def test_half_precision_keeps_weights_whole_and_learns() -> None:
    recipe = replace(SMALL, accumulate=1, batch=32, steps=60, precision="bfloat16")
    own = replace(OWN, learning_rate=1e-2)
    half, trainer = losses(recipe, own)
    full, _ = losses(replace(recipe, precision="float32"), own)
    assert torch.bfloat16 not in {tensor.dtype for tensor in trainer.state_dict().values()}
    assert trainer.fleet.weights.dtype == torch.float32
    assert trainer.loss.dtype == torch.float32
    assert sum(half[-10:]) / 10 < half[0] - 0.3
    differences = [abs(one - other) for one, other in zip(half[:10], full[:10], strict=True)]
    assert 0 < max(differences) < 0.05, "half precision was used, and is near enough"
    prediction = trainer.fleet.predict(torch.zeros(1, 3, dtype=torch.int64))
    assert prediction.dtype == torch.float32
    assert not torch.equal(prediction, prediction.bfloat16().float()), "measures are in float32"


def test_auto_is_plain_on_a_processor() -> None:
    recipe = replace(SMALL, steps=5)
    plain, _ = losses(replace(recipe, precision="float32", compiled="no"), OWN)
    assert losses(recipe, OWN)[0] == plain


@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs a C++ compiler")
@pytest.mark.slow
@pytest.mark.parametrize("models", [1, 2])
def test_compiled_is_as_plain(models: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A cache of its own: a test that is killed must not leave half a library to the next one.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    recipe = replace(SMALL, steps=12)
    every = [replace(OWN, seed=seed) for seed in range(models)]
    plain, trainer = losses(recipe, *every)
    compiled, other = losses(replace(recipe, compiled="yes"), *every)
    assert compiled == pytest.approx(plain, abs=1e-4)
    ends = trainer.state_dict(), other.state_dict()
    for name, tensor in ends[0].items():
        torch.testing.assert_close(tensor, ends[1][name], rtol=1e-3, atol=1e-3, msg=name)


def test_a_small_model_clearly_beats_a_uniform_guess_over_empty_squares() -> None:
    recipe = recipe_for(
        Othello(6), GPTModel(layers=2, heads=4, width=64), max_train_length=11, batch=64,
        steps=400, test_inputs=300, precision="float32",
    )  # fmt: skip
    own = Hyperparameters(
        learning_rate=5e-3, warmup=50, beta2=0.95, weight_decay=0.1, ema_powers=(), bias_powers=()
    )
    _, trainer = losses(recipe, own)
    found = {(m.measure, m.length): float(m.values) for m in recipe.measure(trainer.fleet)}
    games = Othello(6, split="held-out")
    targets = games.targets(games.draw(torch.tensor(0), recipe.max_train_length, 2000).inputs)
    legal = (targets > 0).sum(-1).double()
    for length in range(1, recipe.max_train_length + 1):
        # Legal squares are empty ones, so such a guess is off by what it gives to the others.
        guess = float((1 - legal[:, length - 1] / (32 - length)).mean())
        for measure in ("tvd", "illegal_mass"):
            assert found[measure, length] < 0.9 * guess, (measure, length)
    early = range(1, 9)
    mean = sum(found["illegal_mass", length] for length in early) / len(early)
    assert mean < 0.6 * float((1 - legal[:, :8] / (32 - torch.arange(1, 9))).mean())


def test_compiling_needs_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    recipe = replace(SMALL, compiled="yes")
    with pytest.raises(InputError, match=r"compiled = 'yes': .* C\+\+ compiler"):
        recipe.trainer([OWN])
    replace(SMALL, compiled="auto").trainer([OWN])


def test_a_run_of_another_device_can_be_read_here(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", replace(SMALL, steps=2), [OWN], ["test"])
    execute(folder)
    description = folder.path / "run.json"
    elsewhere = "xpu" if torch.cuda.is_available() else "cuda"
    text = description.read_text(encoding="utf-8")
    description.write_text(text.replace('"device": "cpu"', f'"device": "{elsewhere}"'))
    moved = RunFolder.open(folder.path)
    assert moved.recipe.device == elsewhere
    assert len(moved.table()) == len(folder.table())
    assert next(load_model(folder.path).parameters()).device.type == "cpu"
    with pytest.raises(InputError, match=f"device = '{elsewhere}': expected one that torch has"):
        RunFolder.create(tmp_path / "new", moved.recipe, [OWN], ["test"])
    assert not (tmp_path / "new").exists()
