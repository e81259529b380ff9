"""What is summed up part by part against whole sets held in memory."""

import subprocess
import sys

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from lengthwise.measures import measure_sets, sets
from lengthwise.measures.attended import Moments
from lengthwise.models import SetReader
from lengthwise.randomness import address, at
from lengthwise.remedies import Keys
from lengthwise.tasks import ArgmaxRetrieval, DictionaryLookup, SetTask


@given(st.integers(1, 3), st.lists(st.integers(1, 20), min_size=1, max_size=5), st.integers(0, 99))
def test_moments_are_those_of_all_samples_at_once(
    models: int, batches: list[int], seed: int
) -> None:
    torch.manual_seed(seed)
    moments, samples = Moments(models, 5), [[] for _ in range(models)]
    for batch in batches:
        for model in range(models):
            output = torch.randn(batch, 5) * (model + 1) + torch.arange(5)
            moments.add(model, output)
            samples[model].append(output.double().numpy())
    for model, own in enumerate(map(numpy.concatenate, samples)):
        expected = {
            "feature_variance": own.var(axis=0).mean(),
            "global_mean": own.mean(),
            "global_variance": own.var(),
            "sample_variance": own.var(axis=1).mean(),
        }
        found = {name: float(values[model]) for name, values in moments.readings().items()}
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def readers(task: SetTask, count: int = 2, **settings: object) -> list[SetReader]:
    made = []
    for seed in range(count):
        torch.manual_seed(seed)
        reader = SetReader(task.item_width, task.query_width, task.classes, width=16, **settings)  # type: ignore[arg-type]
        made.append(reader.double())
    return made


def whole_sets(
    model: SetReader, task: SetTask, length: int, batches: list[int], seed: int
) -> dict[str, float]:
    """Every measure of one model, from keys, values and weights that are formed in full."""
    stream = torch.tensor(address(seed, "test", length))
    rows: dict[str, list[Tensor]] = {}
    for number, count in enumerate(batches):
        read, answer = task.draw(at(stream, number), length, count)
        item = task.draw_lookups(at(stream, number), length, count).item
        items = model.item_lift(functional.gelu(model.item_encoder(read.items.double())))
        query = model.query_lift(functional.gelu(model.query_encoder(read.query.double())))
        keys = Keys(torch.zeros(1, length).double(), counted=torch.tensor(float(length)))
        attention, x = model.attention, query.unsqueeze(1)
        products = attention.scaled(attention.products(x, items, keys), keys)
        weights = attention.weights(attention.scores(products, keys), keys).squeeze(2)
        values = attention.value(items).unflatten(-1, (attention.heads, -1))
        attended = attention.finish(torch.einsum("bhi,bihv->bhv", weights, values))
        before, after, output = attended.before_norm, attended.after_norm, attended.output
        ordered = weights.sort(-1, descending=True).values
        found = {
            "accuracy": model.answer(output).argmax(-1) == answer,
            "entropy": -(weights * weights.log()).sum(-1),
            "largest_weight": ordered[..., 0],
            "right_weight": weights[torch.arange(count), :, item],
            "before": before,
            "after": after,
        }
        found |= {f"weight_{k + 1:02d}": ordered[..., k] for k in range(min(16, length))}
        for name, values in found.items():
            rows.setdefault(name, []).append(values.double())
    readings = {}
    for name, pieces in rows.items():
        all_rows = torch.cat(pieces)
        if name in ("before", "after"):
            readings[f"feature_variance_{name}"] = all_rows.var(0, unbiased=False).mean()
            readings[f"global_mean_{name}"] = all_rows.mean()
            readings[f"global_variance_{name}"] = all_rows.var(unbiased=False)
            readings[f"sample_variance_{name}"] = all_rows.var(1, unbiased=False).mean()
        else:
            readings[name] = all_rows.mean()
    return {name: float(value) for name, value in readings.items()}


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        (ArgmaxRetrieval(), {}),
        (ArgmaxRetrieval(3), {"heads": 2, "remedies": ("layernorm:place=before", "adaptive")}),
        (DictionaryLookup(), {"remedies": ("layernorm", "scalable")}),
        (
            DictionaryLookup(keys="symbols", symbols=50),
            {"remedies": ("standardization", "adaptive")},
        ),
        (ArgmaxRetrieval(3), {"heads": 2, "remedies": ("constant",)}),
        (ArgmaxRetrieval(3), {"heads": 2, "remedies": ("differential",)}),
    ],
    ids=str,
)
@pytest.mark.parametrize("held", [True, False], ids=["held", "drawn again"])
@torch.no_grad()
def test_measures_are_those_of_whole_sets(
    task: SetTask,
    settings: dict[str, object],
    held: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models = readers(task, **settings)
    monkeypatch.setattr(sets, "BATCH", 10)
    monkeypatch.setattr(sets, "CHUNK_FEATURES", 10 * 16 * 7)  # seven items at once
    if not held:
        draw_again = 10 * 50 * task.item_width - 1  # just too few numbers for the longest sets
        monkeypatch.setattr(sets, "HELD_NUMBERS", draw_again)
    inputs = {1: 4, 9: 10, 50: 27 if held else 18}
    batches = {1: [4], 9: [10], 50: [10, 10, 7] if held else [9, 9]}
    readings = list(measure_sets(models, task, inputs, seed=3))
    for length, count in inputs.items():
        own = {reading.measure: reading for reading in readings if reading.length == length}
        assert all(reading.inputs == count and not reading.exact for reading in own.values())
        for index, model in enumerate(models):
            expected = whole_sets(model, task, length, batches[length], seed=3)
            if not model.attention.stochastic:  # weights that are no probabilities have no entropy
                kept = ("accuracy", "mean", "variance")
                expected = {n: v for n, v in expected.items() if any(k in n for k in kept)}
            found = {name: float(reading.values[index]) for name, reading in own.items()}
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_the_size_of_the_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    task = ArgmaxRetrieval()
    models = readers(task)
    expected = list(measure_sets(models, task, {40: 30}, seed=0))
    monkeypatch.setattr(sets, "CHUNK_FEATURES", 1)  # one item at once
    for one, other in zip(expected, measure_sets(models, task, {40: 30}, 0), strict=True):
        torch.testing.assert_close(one.values, other.values, rtol=1e-9, atol=1e-12)


def test_models_do_not_touch_each_other_and_the_seed_chooses_the_sets() -> None:
    task = DictionaryLookup()
    models = readers(task)
    together = list(measure_sets(models, task, {16: 20}, seed=0))
    alone = list(measure_sets(models[1:], task, {16: 20}, seed=0))
    for one, other in zip(together, alone, strict=True):
        assert one.values[1] == other.values[0]
    again = list(measure_sets(models, task, {16: 20}, seed=1))
    pairs = zip(together, again, strict=True)
    assert any((one.values != other.values).any() for one, other in pairs)


MEMORY = """
import resource, torch
from lengthwise.measures import measure_sets
from lengthwise.models import SetReader
from lengthwise.tasks import ArgmaxRetrieval

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MB

torch.set_num_threads(1)
task = ArgmaxRetrieval()
model = SetReader(task.item_width, task.query_width, task.classes)
list(measure_sets([model], task, {16: 2}, 0))
start = peak()
list(measure_sets([model], task, {2**20: 1}, 0))
one_long_set = peak()
list(measure_sets([model], task, {2**14: 256}, 0))
print(one_long_set - start, peak() - start)
"""


def test_memory_stays_bounded_at_any_number_of_items() -> None:
    command = [sys.executable, "-c", MEMORY]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    one_long_set, many_sets = map(float, result.stdout.split())
    # Hidden features before and after GELU, held at once, would be 1074 MB and 4295 MB.
    assert one_long_set < 1000
    assert many_sets < 1000


@pytest.mark.parametrize("name", ["sigmoid", "off-by-one", "sink", "differential-v2", "nap"])
def test_weights_that_are_no_probabilities_have_no_entropy(name: str) -> None:
    task = ArgmaxRetrieval()
    models = readers(task, remedies=(name,))
    found = {reading.measure for reading in measure_sets(models, task, {5: 4}, seed=0)}
    assert "accuracy" in found
    assert not {one for one in found if "entropy" in one or "weight" in one}
    plain = {one.measure for one in measure_sets(readers(task), task, {5: 4}, seed=0)}
    assert {"entropy", "largest_weight", "right_weight"} <= plain
