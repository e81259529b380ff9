"""Baselines are those of the best predictor that does not read: found by trying all of them."""

import itertools

import numpy
import pytest
import torch
from scipy import stats
from small_tasks import OnesFirst, PlacesParity, RunningMean
from torch import Tensor

from lengthwise.measures import Baseline, baselines
from lengthwise.measures.baselines import baseline_of
from lengthwise.registry import TASKS
from lengthwise.tasks import AnswerTask, ArgmaxRetrieval, SetComplement, Task


def found(task: Task, length: int) -> dict[str, Baseline]:
    return {one.measure: one for one in baselines(task, [length])}


class Listed(OnesFirst):
    """As `OnesFirst`, and all of its inputs are known."""

    def enumerate_inputs(self, length: int, limit: int) -> Tensor | None:
        words = torch.tensor(list(itertools.product(range(2), repeat=length)))
        prompts = torch.nn.functional.pad(words, (0, 1), value=2)
        return torch.cat([prompts, self.answers(prompts, length)[:, :-1]], 1)


def rows(task: AnswerTask, length: int) -> list[list[int]]:
    """The answer to every input."""
    inputs = task.enumerate_inputs(length, 1 << 10)
    prompts = inputs[:, : length + 1]
    whole = task.answers(prompts, length).tolist()
    return [[1] * row.count(1) + [task.end] for row in whole]


def test_every_fixed_answer_is_tried() -> None:
    """Against all answers there are, in plain Python."""
    task, length = Listed(), 3
    answers, got = rows(task, length), found(task, length)
    fixed = list(itertools.product(range(4), repeat=length + 1))
    whole = max(sum(list(one[: len(a)]) == a for a in answers) for one in fixed) / len(answers)
    right = max(sum(x == y for a in answers for x, y in zip(one, a, strict=False)) for one in fixed)
    asked = sum(map(len, answers))
    assert all(one.exact and one.inputs == 8 for one in got.values())
    assert got["exact_match"].length_only == pytest.approx(whole)
    assert got["accuracy"].length_only == pytest.approx(right / asked)
    assert got["tvd"].length_only == pytest.approx(1 - right / asked)
    assert got["exact_match"].chance == pytest.approx(sum(0.25 ** len(a) for a in answers) / 8)
    given = sum((1 / 3) ** (len(a) - 1) for a in answers) / 8
    assert got["exact_match_length_given"].chance == pytest.approx(given)
    assert got["exact_match_length_given"].length_only == 1.0, "it is ones, and END is not asked"


def test_of_few_inputs_they_are_exact_and_of_many_an_estimate_near_it() -> None:
    exact, drawn = found(Listed(), 5), found(OnesFirst(), 5)
    assert not any(one.exact for one in drawn.values())
    for name, one in drawn.items():
        assert one.chance == pytest.approx(exact[name].chance, abs=0.05)
        assert one.length_only == pytest.approx(exact[name].length_only, abs=0.05)


def test_prefixes_are_measured_at_their_own_place() -> None:
    """In set complement no token is likelier than another, whatever the length."""
    for one in baselines(SetComplement(9), [1, 4, 8]):
        if one.measure == "accuracy":
            assert one.chance == pytest.approx((9 - one.length) / 9)
            assert one.chance <= one.length_only < one.chance + 0.06
        if one.measure == "tvd":
            assert one.chance == pytest.approx(one.length / 9)
            assert one.length_only == pytest.approx(one.chance, abs=0.01)
    # One token for all answers is the best: it is right if it is none of the first 4. Which one is
    # chosen at a place depends on the draw, so that the best is not quite reached.
    at_4 = found(SetComplement(9), 4)["exact_match"]
    assert at_4.chance == pytest.approx(8 * 7 * 6 * 5 / 9**4)
    assert 0.4 < at_4.length_only < 5 / 9 + 0.05


def test_numbers_are_guessed_by_their_mean() -> None:
    """Of tokens 0..4 the mean is 2 and its variance 2 / n, in both outputs."""
    for length in (1, 7):
        got = found(RunningMean(), length)
        assert got["excess_mse"].length_only == pytest.approx(2 / length, rel=0.1)
        assert got["mse"].length_only - got["excess_mse"].length_only == pytest.approx(1 / 12)


def test_bucket_sort_needs_no_reading() -> None:
    """0.774 at 41 symbols, 0.935 at 500 and 0.897 on the mean (arXiv 2207.02098 reports 0.919)."""
    task = TASKS.get("bucket-sort")()
    lengths = [41, 60, 100, 150, 200, 300, 400, 500]
    got = {one.length: one for one in baselines(task, lengths) if one.measure == "accuracy"}
    for length, one in got.items():
        place = numpy.arange(length)[:, None]
        # The symbol at a place is at most c if more symbols than the place are.
        at_most = stats.binom.sf(place, length, numpy.arange(6) / 5)
        best = (at_most[:, 1:] - at_most[:, :-1]).max(1).mean()
        assert one.length_only == pytest.approx(best, abs=0.005)
        assert one.chance == pytest.approx(0.2)
    values = [got[length].length_only for length in lengths]
    mean = float(numpy.trapezoid(values, lengths)) / (lengths[-1] - lengths[0])
    assert values[0] == pytest.approx(0.774, abs=0.015)
    assert values[-1] == pytest.approx(0.935, abs=0.015)
    assert mean == pytest.approx(0.897, abs=0.015)


def test_a_task_may_know_its_rates() -> None:
    got = found(ArgmaxRetrieval(classes=4), 1 << 20)
    assert got["accuracy"].chance == got["accuracy"].length_only == 0.25
    assert got["kl"].length_only == pytest.approx(torch.tensor(4.0).log().item())
    drawn = task_without_rates()
    for name, one in got.items():
        assert drawn[name].length_only == pytest.approx(one.length_only, abs=0.05)


def task_without_rates() -> dict[str, Baseline]:
    class Unknown(ArgmaxRetrieval):
        def answer_rates(self, length: int) -> None:  # type: ignore[override]
            return None

    return found(Unknown(classes=4), 5)


def test_places_without_a_question_do_not_count() -> None:
    got = found(PlacesParity(), 6)
    assert got["accuracy"].chance == 0.5
    assert got["exact_match"].chance == 0.25
    assert got["exact_match"].length_only == pytest.approx(0.25, abs=0.05)


def test_they_repeat() -> None:
    assert list(baselines(OnesFirst(), [4])) == list(baselines(OnesFirst(), [4]))
    assert list(baselines(OnesFirst(), [4])) != list(baselines(OnesFirst(), [4], seed=1))


NEAREST = {
    "accuracy": "accuracy",
    "accuracy_scalable": "accuracy",
    "exact_match_length_given_scalable": "exact_match_length_given",
    "exact_match_scalable": "exact_match",
    "entropy": None,
}


@pytest.mark.parametrize("name", NEAREST)
def test_a_measure_with_another_remedy_has_the_same_baseline(name: str) -> None:
    got = baseline_of(OnesFirst(), name, [3, 4])
    assert [one.measure for one in got] == ([NEAREST[name]] * 2 if NEAREST[name] else [])
