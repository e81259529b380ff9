import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search.small import small_space

from lengthwise.papers.whats_missing.search.space import set_complement_space
from lengthwise.search import Choice
from lengthwise.search.packing import MOST_MODEL_STEPS, MOST_MODELS, most_models, pack
from lengthwise.search.space import space_from_text
from lengthwise.search.table import read_content
from lengthwise.search.work import Work
from lengthwise.testing.executor import FAILING

MEASURES = ("tvd", "illegal_mass", "argmax_illegal", "kl", "displacement")

SPACE = small_space({"steps": Choice(12, 3000), "ema_powers": Choice((0.5,), (0.5, 0.9))})


def readings(content: bytes) -> dict[int, np.ndarray]:
    """What was measured, by trial: weights, lengths and measures."""
    table = read_content(content, ["trial", *MEASURES])
    return {
        number: np.stack([np.array(rows[name].to_list()) for name in MEASURES], -1)
        for (number,), rows in table.group_by("trial")
    }  # type: ignore[misc]


@settings(max_examples=8)
@given(st.integers(0, 5), st.integers(1, 150))
def test_every_trial_is_in_one_chunk_of_its_shape(seed: int, count: int) -> None:
    chunks = pack(SPACE, seed, range(count))
    assert sorted(number for chunk in chunks for number in chunk.trials) == list(range(count))
    for chunk in chunks:
        trials = [SPACE.trial(seed, number) for number in chunk.trials]
        assert len({trial.recipe for trial in trials}) == 1
        assert len({len(trial.hyperparameters.ema_powers) for trial in trials}) == 1
        assert len({trial.hyperparameters.attention_dropout > 0 for trial in trials}) == 1
        assert chunk.model_steps == sum(trial.recipe.steps for trial in trials)
        assert len(trials) <= most_models(trials[0])
    costs = [chunk.model_steps for chunk in chunks]
    assert costs == sorted(costs, reverse=True), "the longest come first"
    assert pack(SPACE, seed, range(count)) == chunks


def test_fleets_of_the_default_search_are_bounded_and_well_filled() -> None:
    chunks = pack(set_complement_space(), 0, range(2000))
    sizes = [len(chunk.trials) for chunk in chunks]
    assert max(sizes) <= MOST_MODELS["cpu"]
    assert max(chunk.model_steps for chunk in chunks) <= MOST_MODEL_STEPS
    assert np.average(sizes, weights=sizes) > 20, "the fleet of a typical trial"


def test_large_models_come_in_small_fleets() -> None:
    trial = small_space({"model.extra_width": 4000}).trial(0, 0)
    assert 1 <= most_models(trial) < 4


def test_the_result_does_not_depend_on_the_packing() -> None:
    # In float64, because rounding depends on the packing, and training makes it grow.
    space = small_space({"steps": 60, "precision": "float64"})
    work = Work(space, seed=4)
    chunk = max(pack(space, 4, range(60)), key=lambda chunk: len(chunk.trials))
    numbers = list(chunk.trials)
    assert len(numbers) >= 6
    packings = {
        "together": [numbers],
        "alone": [[number] for number in numbers[:3]],
        "mixed": [numbers[::-2], numbers[1::2]],
    }
    found: dict[str, dict[int, np.ndarray]] = {}
    for name, fleets in packings.items():
        found[name] = {}
        for fleet in fleets:
            found[name] |= readings(work.train(fleet))
    for name in ("alone", "mixed"):
        for number, values in found[name].items():
            np.testing.assert_allclose(values, found["together"][number], atol=1e-6)


def test_trials_with_and_without_dropout_by_place_may_share_a_fleet() -> None:
    space = small_space({"steps": 30, "precision": "float64"})
    work = Work(space, seed=4)
    trials = [space.trial(4, number) for number in range(40)]
    same = [t.number for t in trials if t.recipe == trials[0].recipe]
    assert len({space.trial(4, n).hyperparameters.attention_dropout > 0 for n in same}) == 2
    whole = readings(work.train(same))
    for number in (same[0], same[1], same[-1]):
        alone = readings(work.train([number]))
        np.testing.assert_allclose(alone[number], whole[number], atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_two_seeds_give_two_searches(seed: int) -> None:
    mine, other = (readings(Work(small_space(), s).train([0])) for s in (seed, seed + 1))
    assert not np.array_equal(mine[0], other[0])


PICKY = FAILING.replace(
    "    def build",
    """    def pack_key(self, hyperparameters):
        return hyperparameters.learning_rate > 0.01

    def build""",
)


def test_a_model_may_say_what_belongs_together() -> None:
    space = space_from_text("picky.py", PICKY)
    chunks = pack(space, 0, range(20))
    assert len(chunks) == 2
    for chunk in chunks:
        rates = [space.trial(0, number).hyperparameters.learning_rate for number in chunk.trials]
        assert len({rate > 0.01 for rate in rates}) == 1
