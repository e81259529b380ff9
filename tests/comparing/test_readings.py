"""The rules on numbers that are made up, in both directions."""

import math
from pathlib import Path

import numpy as np
import polars
import pytest
from comparing.small import small_study
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.comparing import Study, read
from lengthwise.comparing.readings import Reading, chosen_rates, holm
from lengthwise.comparing.records import SCHEMA

BREAKS_AT_ONCE = (1.0, 0.0, 0.0, 0.0, 0.0)
HOLDS = (1.0, 1.0, 1.0, 1.0, 1.0)
NEVER_LEARNED = (0.2, 0.1, 0.0, 0.0, 0.0)


def records(study: Study, scores: object, jitter: float = 0.0) -> polars.DataFrame:
    """Records with `scores(entry, task, seed, rate)` as exact match, or None for no record."""
    rows = []
    noise = np.random.default_rng(0)
    for plan in study.plans:
        lengths = plan.recipe.test_lengths
        for entry in study.trainings():
            for (seed, rate), cell in study.cells(entry, plan).items():
                own = scores(entry.name, plan.name, seed, rate)  # type: ignore[operator]
                if own is None:
                    continue
                values = [max(0.0, value - jitter * noise.random()) for value in own]
                row = dict.fromkeys(SCHEMA, None) | {
                    "cell": cell, "cost": 1.0, "parameters": 100, "seconds": 1.0,
                    "weights": ["raw"] * len(lengths), "step": [plan.recipe.steps] * len(lengths),
                    "length": list(lengths), "measure": ["exact_match"] * len(lengths),
                    "value": values[: len(lengths)],
                }  # fmt: skip
                rows.append(row)
    return polars.DataFrame(rows, schema=SCHEMA)


def study_of(remedies: tuple[str, ...] = ("alibi",), seeds: int = 4) -> Study:
    return small_study(remedies, ("sort", "unique-copy"), seeds)


def verdicts(reading: Reading) -> list[list[str]]:
    return [[cell.verdict for cell in own] for own in reading.cells]


def test_what_helps_on_one_task_and_harms_on_another_is_told_apart() -> None:
    study = study_of()

    def scores(entry: str, task: str, seed: int, rate: float) -> tuple[float, ...]:
        return HOLDS if (entry == "alibi") == (task == "sort") else BREAKS_AT_ONCE

    found = read(study, records(study, scores, jitter=0.02))
    assert verdicts(found) == [["baseline", "helps"], ["baseline", "harms"]]
    rotary, alibi = found.entries
    assert rotary.reach is not None
    assert rotary.reach.mean == pytest.approx(alibi.reach.mean, rel=0.05)  # type: ignore[union-attr]
    assert alibi.ratio is not None
    assert alibi.ratio.p > 0.05, "over both tasks it is a draw"
    assert alibi.rank == (1, 2)


def test_reach_by_hand() -> None:
    study = study_of(("alibi",), seeds=3)

    def scores(entry: str, task: str, seed: int, rate: float) -> tuple[float, ...]:
        return HOLDS if entry == "alibi" and task == "sort" else BREAKS_AT_ONCE

    found = read(study, records(study, scores))
    lengths = study.plans[0].recipe.test_lengths
    first_break = math.log(lengths[0] * (lengths[1] / lengths[0]) ** 0.15 / lengths[0])
    assert found.cells[0][1].breaks == [None] * 3
    assert found.cells[0][1].reach.mean == pytest.approx(lengths[-1] / lengths[0])  # type: ignore[union-attr]
    expected = math.exp((math.log(lengths[-1] / lengths[0]) + first_break) / 2)
    assert found.entries[1].reach.mean == pytest.approx(expected)  # type: ignore[union-attr]
    ratio = found.entries[1].ratio
    assert ratio is not None
    assert ratio.estimate.mean == pytest.approx(expected / math.exp(first_break))


def test_seeds_that_scatter_stay_unclear() -> None:
    study = study_of(seeds=4)

    def scores(entry: str, task: str, seed: int, rate: float) -> tuple[float, ...]:
        return HOLDS if entry == "alibi" and seed % 2 else BREAKS_AT_ONCE

    found = read(study, records(study, scores))
    assert verdicts(found)[0] == ["baseline", "unclear"]


def test_what_is_sure_but_too_small_to_matter_stays_unclear() -> None:
    study = study_of(seeds=4)

    def scores(entry: str, task: str, seed: int, rate: float) -> tuple[float, ...]:
        return (1.0, 0.1 if entry == "alibi" else 0.0, 0.0, 0.0, 0.0)

    found = read(study, records(study, scores))
    assert found.cells[0][1].ratio.p < 0.05  # type: ignore[union-attr]
    assert verdicts(found)[0] == ["baseline", "unclear"]


def test_two_seeds_are_never_sure() -> None:
    study = study_of(seeds=2)
    made = records(study, lambda entry, *_: HOLDS if entry == "alibi" else BREAKS_AT_ONCE)
    assert verdicts(read(study, made))[0] == ["baseline", "unclear"]


def test_a_model_that_did_not_learn_counts_as_one_and_is_counted() -> None:
    study = study_of(seeds=3)

    def scores(entry: str, task: str, seed: int, rate: float) -> tuple[float, ...]:
        return NEVER_LEARNED if entry == "alibi" else HOLDS

    found = read(study, records(study, scores))
    assert verdicts(found)[0] == ["baseline", "not learned"]
    assert found.entries[1].reach.mean == 1.0  # type: ignore[union-attr]
    assert found.entries[1].rank == (2, 2)


def test_a_task_that_nothing_learned_is_left_out_of_reach() -> None:
    study = study_of(seeds=3)
    made = records(study, lambda entry, task, *_: HOLDS if task == "sort" else NEVER_LEARNED)
    found = read(study, made)
    assert found.learned == [True, False]
    longest = study.plans[0].recipe.test_lengths
    assert found.entries[0].reach.mean == pytest.approx(longest[-1] / longest[0])  # type: ignore[union-attr]


def test_cells_that_are_not_there_are_said() -> None:
    study = study_of(seeds=3)
    made = records(study, lambda entry, *_: None if entry == "alibi" else HOLDS)
    found = read(study, made)
    assert verdicts(found)[0] == ["baseline", "not done"]
    assert found.entries[1].reach is None
    assert found.entries[1].rank is None
    assert read(study, records(study, lambda *_: None)).entries[0].reach is None


def test_a_task_that_is_half_done_is_left_out_of_reach() -> None:
    study = study_of(("alibi", "fire"), seeds=3)

    def scores(entry: str, task: str, seed: int, rate: float) -> tuple[float, ...] | None:
        return None if entry == "fire" and task == "sort" else HOLDS

    found = read(study, records(study, scores))
    assert found.counted == [False, True]
    assert found.learned == [True, True]
    assert all(one.reach is not None for one in found.entries)


def test_a_seed_without_all_its_rates_waits() -> None:
    study = study_of(seeds=3)

    def scores(entry: str, task: str, seed: int, rate: float) -> tuple[float, ...] | None:
        return None if seed == 2 and rate == study.rates[1] else HOLDS

    assert read(study, records(study, scores)).cells[0][0].seeds.tolist() == [0, 2]


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=2, max_size=6))
def test_a_seed_has_no_say_in_its_own_rate(table: list[list[float]]) -> None:
    scores = np.array(table)
    chosen = chosen_rates(scores)
    for seed in range(len(scores)):
        others = np.delete(scores, seed, 0).mean(0)
        assert others[chosen[seed]] == pytest.approx(others.max(), abs=1e-8)
        changed = scores.copy()
        changed[seed] = changed[seed][::-1]
        assert chosen_rates(changed)[seed] == chosen[seed]


def test_one_seed_alone_chooses_for_itself() -> None:
    assert chosen_rates(np.array([[0.1, 0.9]])).tolist() == [1]


def test_the_better_rate_in_range_is_read_even_if_it_breaks_earlier() -> None:
    study = study_of(seeds=3)

    def scores(entry: str, task: str, seed: int, rate: float) -> tuple[float, ...]:
        return (0.95, 0.95, 0.95, 0.95, 0.95) if rate == study.rates[0] else BREAKS_AT_ONCE

    cell = read(study, records(study, scores)).cells[0][0]
    assert cell.rates.tolist() == [1, 1, 1]
    assert None not in cell.breaks


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_by_its_definition(values: list[float]) -> None:
    corrected = holm(values)
    count = len(values)
    for own, found in zip(values, corrected, strict=True):
        smaller = sorted(value for value in values if value <= own)
        expected = max((count - place) * value for place, value in enumerate(smaller))
        assert found == pytest.approx(min(1.0, expected))


def test_the_same_numbers_whatever_the_order_of_records(tmp_path: Path) -> None:
    study = study_of(seeds=3)
    made = records(study, lambda entry, task, seed, rate: (1.0, rate, 0.1 * seed, 0.0, 0.0))
    one, other = (read(study, table) for table in (made, made.reverse()))
    assert [e.reach for e in one.entries] == [e.reach for e in other.entries]
