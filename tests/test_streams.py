"""A few numbers of every random stream, and of six trainings.

A change here moves every committed result: runs, searches and pages would no longer come out as
they are kept. `tests/data/streams.json` holds numbers of the streams, `tests/data/drawn.json` a
name of what each task draws; `tests/data/trained.json` weights, losses and measures of the code
before recipes, models and remedies were rewritten.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from lengthwise.models import GPTModel, MinimalModel, Model, SetReaderModel
from lengthwise.randomness import address, at, below, bits, seeded, unit
from lengthwise.registry import TASKS
from lengthwise.remedies import Dropout
from lengthwise.runs import Recipe, default_hyperparameters, recipe_for
from lengthwise.runs.table import all_weights
from lengthwise.tasks import ArgmaxRetrieval, DictionaryLookup, Othello, SetComplement, Task
from lengthwise.training import Hyperparameters, build_fleet

DATA = Path(__file__).parent / "data"
STREAMS = json.loads((DATA / "streams.json").read_text())
DRAWN = json.loads((DATA / "drawn.json").read_text())
TRAINED = json.loads((DATA / "trained.json").read_text())
KEYS = torch.tensor([address(0, 0, "data"), address(1, 2, "data")])


def digest(*tensors: Tensor) -> str:
    """A short name of all bytes of whole numbers."""
    found = hashlib.sha256()
    for tensor in tensors:
        found.update(str(tuple(tensor.shape)).encode() + tensor.contiguous().numpy().tobytes())
    return found.hexdigest()[:16]


def numbers() -> dict[str, Any]:
    """Whole numbers and units, which every other stream is made of."""
    words = bits(at(KEYS, 5), 6)
    return {
        "address": KEYS.tolist(),
        "at": at(KEYS, 5).tolist(),
        "bits": words.tolist(),
        "bits from 1000": bits(KEYS, 3, first=1000).tolist(),
        "below 7": below(words, 7).tolist(),
        "below 1000000": below(words, 10**6).tolist(),
        "unit": unit(words).tolist(),
        "seeded": seeded_numbers(),
    }


def seeded_numbers() -> list[float]:
    with seeded(3, 1, "weights"):
        return torch.randn(4).tolist()


def masks() -> dict[str, Any]:
    """Which elements a dropout hides, at its first two steps."""
    with seeded(0, 0, "weights"):
        dropout = Dropout(0.4)
    return {
        "key": int(dropout.key),
        "kept": [(dropout(torch.ones(2, 12)) > 0).int().flatten().tolist() for _ in range(2)],
    }


def steps() -> dict[str, Any]:
    """Lengths of steps, and where sequences begin with the remedy "offset"."""
    task = SetComplement(17)
    recipe = recipe_for(
        task, GPTModel(layers=1, heads=1, width=8, remedies=("offset",)), batch=6, steps=9,
        min_train_length=11, max_train_length=15,
    )  # fmt: skip
    trainer = recipe.trainer([Hyperparameters(seed=3)])
    fleet = trainer.fleet
    key, step = fleet.buffers["remedies.0.key"], fleet.buffers["remedies.0.step"]
    return {
        "lengths": [trainer._batch(number).inputs.shape[-1] for number in range(20)],
        "data": [digest(trainer._batch(number).inputs) for number in range(3)],
        "offset key": key.tolist(),
        "offsets": below(bits(at(key[0], step[0] + 1), 6), 6).tolist(),
    }


def batches() -> dict[str, Any]:
    """One batch of every task, for two streams."""
    found: dict[str, Any] = {}
    for name in STREAMS["batches"]:
        task: Task = TASKS.get(name)()
        batch = task.draw(KEYS, 6, 4)
        leaves = tree_leaves(batch.inputs)
        whole = [leaf for leaf in leaves if not leaf.is_floating_point()]
        floats = [leaf for leaf in leaves if leaf.is_floating_point()]
        found[name] = {
            "labels": batch.labels.flatten()[:8].tolist(),
            "digest": digest(batch.labels, *whole),
            "floats": [leaf[1, 3].flatten()[:5].tolist() for leaf in floats],
        }
    return found


SHAPES: dict[str, tuple[Task, Model]] = {
    "minimal": (SetComplement(8), MinimalModel(extra_width=2)),
    "gpt": (Othello(4), GPTModel(layers=1, heads=2, width=8)),
    "set-reader": (ArgmaxRetrieval(), SetReaderModel(width=8)),
    "gpt with differential and fire": (
        Othello(4),
        GPTModel(layers=1, heads=2, width=8, remedies=("fire", "differential")),
    ),
}


def weights() -> dict[str, Any]:
    """Initial weights: a few of each parameter, those of remedies from streams of their own."""
    found: dict[str, Any] = {}
    for name, (task, shape) in SHAPES.items():

        def build(own: Hyperparameters, task: Task = task, shape: Model = shape) -> torch.nn.Module:
            return shape.build(task, own)

        fleet = build_fleet(build, [Hyperparameters(seed=5, trial=1)])
        found[name] = {
            parameter: [view[0].double().sum().item(), *view[0].flatten()[:2].tolist()]
            for parameter, view in fleet.views().items()
        }
        found[name] |= {
            buffer: tensor.tolist() for buffer, tensor in fleet.buffers.items() if "key" in buffer
        }
    return found


def drawn(name: str) -> str:
    """A short name of all whole numbers of a short, a middling and a longer batch of a task."""
    task: Task = TASKS.get(name)()
    lengths = [task.lengths[:100][place] for place in (0, 8, -1)]
    leaves = [leaf for n in lengths for leaf in tree_leaves(task.draw(KEYS, n, 9))]
    return digest(*(one for one in leaves if one is not None and not one.is_floating_point()))


@pytest.mark.parametrize("name", DRAWN)
def test_a_task_draws_what_it_did(name: str) -> None:
    assert drawn(name) == DRAWN[name]


@pytest.mark.parametrize("made", [numbers, masks, steps, batches, weights])
def test_a_stream_is_what_it_was(made: Any) -> None:
    observed = json.loads(json.dumps(made()))
    assert _close(observed, STREAMS[made.__name__]) == []


def _close(observed: Any, expected: Any, place: str = "") -> list[str]:
    """Where two JSON values differ: whole numbers exactly, floats to what libraries may round."""
    if isinstance(expected, dict):
        keys = [] if observed.keys() == expected.keys() else [f"{place}: {set(observed)}"]
        both = observed.keys() & expected.keys()
        return keys + [e for k in both for e in _close(observed[k], expected[k], f"{place}/{k}")]
    if isinstance(expected, list):
        if len(observed) != len(expected):
            return [f"{place}: {len(observed)} of {len(expected)}"]
        pairs = enumerate(zip(observed, expected, strict=True))
        return [e for i, (a, b) in pairs for e in _close(a, b, f"{place}[{i}]")]
    if isinstance(expected, float):
        near = observed == pytest.approx(expected, rel=1e-5, abs=1e-6)
        return [] if near else [f"{place}: {observed} != {expected}"]
    return [] if observed == expected else [f"{place}: {observed} != {expected}"]


def test_a_remedy_with_a_stream_of_its_own_leaves_the_rest_as_it_was() -> None:
    task = Othello(4)
    plain, remedied = (
        build_fleet(
            lambda own, names=names: GPTModel(layers=1, heads=2, width=8, remedies=names).build(
                task, own
            ),
            [Hyperparameters(seed=5, trial=1)],
        ).views()
        for names in ((), ("fire", "layernorm"))
    )
    assert remedied.keys() > plain.keys()
    for name, view in plain.items():
        assert torch.equal(view, remedied[name]), name


AVERAGED = {"ema_powers": (0.5, 0.7), "bias_powers": (0.2, 0.4)}
SETS = default_hyperparameters(ArgmaxRetrieval())
GAMES = default_hyperparameters(Othello())


def _set_complement(vocab: int, length: int, model: Model | None = None) -> Recipe:
    task = SetComplement(vocab)
    return recipe_for(task, model, max_train_length=length, steps=40, test_inputs=64)


def _sets(task: Task, model: Model) -> Recipe:
    return recipe_for(task, model, steps=20, test_lengths=(16, 64), test_inputs=64)


def _othello(*remedies: str, **settings: Any) -> Recipe:
    model = GPTModel(layers=2, heads=4, width=64, remedies=remedies)
    shared = {"max_train_length": 5, "steps": 10, "batch": 8, "test_inputs": 32}
    return recipe_for(Othello(4), model, **shared | settings)


CASES: dict[str, tuple[Recipe, Hyperparameters, int]] = {
    "sc-3": (
        _set_complement(16, 8, MinimalModel(remedies=("layernorm",))),
        Hyperparameters(**AVERAGED, weight_decay=0.1, final_lr_fraction=0.1),  # type: ignore[arg-type]
        3,
    ),
    "sc-drop": (
        _set_complement(8, 4),
        Hyperparameters(embed_dropout=0.1, attention_dropout=0.2, resid_dropout=0.1, loss="soft"),
        2,
    ),
    "am-1": (_sets(ArgmaxRetrieval(), SetReaderModel(width=32)), SETS, 1),
    "dl-3": (
        _sets(
            DictionaryLookup(),
            SetReaderModel(width=32, remedies=("standardization:place=before",)),
        ),
        replace(SETS, **AVERAGED),  # type: ignore[arg-type]
        3,
    ),
    "ot-2": (_othello("learned", accumulate=2), replace(GAMES, **AVERAGED), 2),  # type: ignore[arg-type]
    "ot-offset": (_othello("offset", "scalable"), GAMES, 2),
}


@pytest.mark.parametrize("name", CASES)
def test_trained_as_before(name: str) -> None:
    recipe, own, models = CASES[name]
    kept = TRAINED["cases"][name]
    trainer = recipe.trainer([replace(own, seed=seed) for seed in range(models)])
    # Processors round matrix products differently; another stream or rule would be far off.
    tolerance = {"rel": 1e-3, "abs": 1e-5}

    def picked(weights: Tensor) -> list[list[float]]:
        return [[*row[::step].tolist()] for row in weights.cpu() for step in [len(row) // 5]]

    assert picked(trainer.fleet.weights) == _near(kept["init"], {"rel": 1e-6, "abs": 1e-7})
    trainer.run()
    assert picked(trainer.fleet.weights) == _near(kept["weights"], tolerance)
    assert trainer.loss.tolist() == pytest.approx(kept["loss"], **tolerance)
    found = {}
    for one in all_weights(trainer):
        powers = [f"{own[0] if own else ''}" for own in (one.ema_powers, one.bias_powers)]
        for reading in recipe.measure(trainer.fleet, one.values):
            place = "-".join([one.kind, *powers])
            found[f"{place}/{reading.length}/{reading.measure}"] = reading.values.tolist()
    for key, values in kept["measures"].items():
        assert found[key] == pytest.approx(values, **tolerance), key


def _near(rows: list[list[float]], tolerance: dict[str, float]) -> list[Any]:
    return [pytest.approx(row, **tolerance) for row in rows]
