"""A measure is taken at the length that its label says, for every kind of task."""

import dataclasses
import math
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tasks import PaddedParity, Parity, PlacesParity, PrefixParity
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.measures import MEASURES, by_length, measure, measure_by_length
from lengthwise.models import GPTModel, MinimalModel, Model
from lengthwise.randomness import address, at
from lengthwise.tasks import IGNORE_INDEX, Othello, Task
from lengthwise.training import Fleet, Hyperparameters, Trainer, build_fleet


class KnowsUpTo(nn.Module):
    """Right after up to `known` tokens, wrong after more; it answers at every place."""

    def __init__(self, known: int) -> None:
        super().__init__()
        self.known = nn.Parameter(torch.tensor(float(known)))

    def forward(self, tokens: Tensor) -> Tensor:
        right = nn.functional.one_hot(tokens.cumsum(-1) % 2, 2).to(self.known)
        place = torch.arange(1, tokens.shape[-1] + 1)
        return torch.where(place.unsqueeze(-1) <= self.known, 40 * right, -40 * right)


class AnswersOnce(KnowsUpTo):
    """The same, but it answers at the end only."""

    def forward(self, tokens: Tensor) -> Tensor:
        return super().forward(tokens)[..., -1, :]


def test_an_answer_behind_padding_is_refused() -> None:
    own = [Hyperparameters()]
    model = GPTModel(layers=1, heads=1, width=8)
    for padded, refused in (("front", False), ("end", True)):
        task = PaddedParity(padded=padded)  # type: ignore[arg-type]
        fleet = build_fleet(lambda one, task=task: model.build(task, one), own)
        trainer = Trainer(fleet, task, max_train_length=4, batch=8, steps=1)
        for act in (trainer.run, lambda task=task, fleet=fleet: list(measure(fleet, task))):
            with pytest.raises(InputError, match="mask") if refused else nullcontext():
                act()


def test_dropout_is_off_in_measures() -> None:
    """Also right after training, where the Chomsky suite's code leaves it on."""
    task, model = Parity(), GPTModel(layers=1, heads=1, width=8)
    rates = {"embed_dropout": 0.5, "attention_dropout": 0.5, "resid_dropout": 0.5}
    fleets = [
        build_fleet(lambda one: model.build(task, one), [Hyperparameters(**own)])
        for own in (rates, {})
    ]
    Trainer(fleets[0], task, max_train_length=5, batch=8, steps=3).run()
    fleets[1].weights.copy_(fleets[0].weights)
    found, without = ([one.values for one in measure(own, task, inputs=20)] for own in fleets)
    assert found == without


@pytest.mark.parametrize("task", [Parity(), PrefixParity(), Parity(1)], ids=repr)
@pytest.mark.parametrize("kind", [KnowsUpTo, AnswersOnce])
def test_the_length_of_the_label_is_the_length_that_is_read(task: Task, kind: type) -> None:
    if task.prefixes and kind is AnswersOnce:
        pytest.skip("this task asks after every prefix")
    fleet = Fleet([kind(known) for known in (0, 4, 7)])
    found = list(measure(fleet, task, inputs=20))
    for name in ("accuracy", "tvd", "argmax_illegal"):
        own = {one.length: one.values.tolist() for one in found if one.measure == name}
        assert list(own) == list(task.lengths), "every length of the task, and no other"
        for length, values in own.items():
            right = [float(length <= known) for known in (0, 4, 7)]
            expected = right if name == "accuracy" else [1 - one for one in right]
            assert values == pytest.approx(expected, abs=1e-6), (name, length)
    chosen = [one.length for one in measure(fleet, task, [6, 4], inputs=20) if one.measure == "kl"]
    assert chosen == [6, 4]


@pytest.mark.parametrize("task", [Parity(), PrefixParity(), PlacesParity()], ids=repr)
@pytest.mark.parametrize(
    "shape", [GPTModel(layers=1, heads=1, width=8), MinimalModel(extra_width=4)], ids=["gpt", "min"]
)
def test_a_model_that_answers_everywhere_is_measured_at_every_length(
    task: Task, shape: Model
) -> None:
    fleet = build_fleet(
        lambda own: shape.build(task, own), [Hyperparameters(seed=seed) for seed in range(2)]
    )
    lengths = {one.length for one in measure(fleet, task, inputs=8)}
    assert lengths == set(task.lengths)


def slow_reference(
    models: list[nn.Module], task: Task, length: int, inputs: Tensor
) -> dict[str, list[float]]:
    """Accuracy and exact match, input by input and answer by answer."""
    found: dict[str, list[float]] = {"accuracy": [], "exact_match": []}
    for model in models:
        right_answers, answers, whole, asked_inputs = 0, 0, 0, 0
        for one in inputs:
            logits = model(one.unsqueeze(0))[0].detach()
            target = task.targets(one.unsqueeze(0))[0]
            if target.dim() == 1:
                rows = [(logits[-1], target)]
            else:
                rows = list(zip(logits, target, strict=True))
            verdicts = [
                bool(own[int(row.argmax())] > 0) for row, own in rows if float(own.sum()) > 0
            ]
            if task.prefixes and float(rows[length - 1][1].sum()) == 0:
                continue  # this prefix is not asked
            if not verdicts:
                continue
            asked_inputs += 1
            whole += all(verdicts)
            counted = verdicts[-1:] if task.prefixes else verdicts
            right_answers += sum(counted)
            answers += len(counted)
        found["accuracy"].append(right_answers / answers)
        found["exact_match"].append(whole / asked_inputs)
    return found


class Guess(nn.Module):
    """Gives every place logits of its own, which depend on its last two tokens."""

    def __init__(self, vocab: int, classes: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.table = nn.Parameter(torch.randn(2, vocab, classes, generator=generator))

    def forward(self, tokens: Tensor) -> Tensor:
        before = torch.cat([tokens[..., :1], tokens[..., :-1]], -1)
        return self.table[0, tokens] + self.table[1, before]


@settings(max_examples=12)
@given(
    st.sampled_from([Parity(), PrefixParity(), PlacesParity(), Othello(4)]),
    st.integers(0, 10**6),
    st.integers(1, 30),
)
def test_accuracy_and_exact_match_against_a_slow_reference(
    task: Parity | Othello, seed: int, count: int
) -> None:
    models: list[nn.Module] = [Guess(task.vocab, task.classes, seed + i) for i in range(2)]
    found = list(measure_by_length(Fleet(models), task, inputs=count, seed=seed))
    longest = task.lengths[-1]
    for length in task.lengths:
        own = {one.measure: one for one in found if one.length == length}
        if task.prefixes:
            inputs = task.draw(torch.tensor(address(seed, "test")), longest, count).inputs
            inputs = inputs[:, :length]
        else:
            key = at(torch.tensor(address(seed, "test", length)), 0)
            inputs = task.draw(key, length, count).inputs
        if not own:
            assert (task.targets(inputs)[:, -1].sum(-1) == 0).all()
            continue
        for name, values in slow_reference(models, task, length, inputs).items():
            assert own[name].values.tolist() == pytest.approx(values), (name, length)
        assert (own["exact_match"].values <= own["accuracy"].values + 1e-12).all()


def test_batches_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    models = [Guess(2, 2, seed).double() for seed in range(2)]
    whole = list(measure(Fleet(models), PlacesParity(), inputs=50))
    monkeypatch.setattr(by_length, "CHUNK_ELEMENTS", 7 * 2 * 7 * 2)
    for one, other in zip(whole, measure(Fleet(models), PlacesParity(), inputs=50), strict=True):
        assert (one.measure, one.length, one.inputs) == (other.measure, other.length, other.inputs)
        torch.testing.assert_close(one.values, other.values)


def test_numbers_of_inputs_may_differ_by_length() -> None:
    found = measure(Fleet([Guess(2, 2, 0)]), Parity(), [3, 5], inputs={3: 4, 5: 300})
    assert {one.length: one.inputs for one in found} == {3: 4, 5: 300}


def test_games_that_ended_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    games, count = Othello(4, split="held-out"), 200
    models = [Guess(games.classes, games.classes, seed).double() for seed in range(2)]
    # Chunks of 7 games: what a length is a mean over must not depend on how games are cut.
    monkeypatch.setattr(by_length, "CHUNK_ELEMENTS", 7 * 2 * games.lengths[-1] * games.classes)
    found = list(measure_by_length(Fleet(models), games, inputs=count, seed=3))
    batch = games.draw(torch.tensor(address(3, "test")), games.lengths[-1], count)
    targets = games.targets(batch.inputs).double()
    predicted = [model(batch.inputs).detach() for model in models]
    asked = [
        [game for game in range(count) if batch.labels[game, length - 1] != IGNORE_INDEX]
        for length in games.lengths
    ]
    numbers = [len(rows) for rows in asked]
    assert numbers[0] == count > numbers[-1] > 0, "some games must have ended"
    seen = {(one.measure, one.length) for one in found if one.measure != "exact_match"}
    assert seen == {(name, length) for name in MEASURES for length in games.lengths}
    for one in found:
        rows, place = asked[one.length - 1], one.length - 1
        assert (one.inputs, one.exact) == (len(rows), False)
        if one.measure == "exact_match":
            continue
        for index, logits in enumerate(predicted):
            values = MEASURES[one.measure](logits[rows, place], targets[rows, place])
            expected = float(values.mean())
            assert math.isclose(float(one.values[index]), expected, rel_tol=1e-5, abs_tol=1e-7)


def test_a_length_at_which_all_games_have_ended_has_no_measurement() -> None:
    games = Othello(4, split="held-out")
    keys = [torch.tensor(address(seed, "test")) for seed in range(100)]
    only_games = [games.draw(key, games.lengths[-1], 1).labels[0] for key in keys]
    seed, labels = next((s, own) for s, own in enumerate(only_games) if own[-1] == IGNORE_INDEX)
    guess = Guess(games.classes, games.classes, 0)
    found = list(measure_by_length(Fleet([guess]), games, inputs=1, seed=seed))
    lengths = [length for length in games.lengths if labels[length - 1] != IGNORE_INDEX]
    assert [one.length for one in found if one.measure == "tvd"] == lengths
    assert all(one.values.isfinite().all() for one in found)


def test_lengths_that_the_task_has_not_are_named() -> None:
    fleet = Fleet([Guess(2, 2, 0)])
    with pytest.raises(InputError, match=r"lengths = 2: expected one of 3\.\.7"):
        list(measure(fleet, Parity(), [4, 2]))

    @dataclasses.dataclass(frozen=True)
    class Endless(Parity):
        @property
        def lengths(self) -> range:
            return range(1, 2**40)

    with pytest.raises(InputError, match="lengths = 'all': expected some: the task has 1099511627"):
        list(measure(fleet, Endless()))


STRETCHED = '''
from lengthwise.remedies import Remedy, remedy

@remedy("stretched")
class Stretched(Remedy):
    """The attention output by the length of the input."""

    by_prefix = {by_prefix}

    def output(self, output):
        return output * output.shape[-2]
'''


@pytest.mark.parametrize("by_prefix", [True, False])
def test_what_depends_on_the_length_is_measured_at_every_length_alone(
    by_prefix: bool, tmp_path: Path
) -> None:
    """What it says of prefixes decides: wrongly told, a long pass would give the short lengths."""
    path = tmp_path / "stretched.py"
    path.write_text(STRETCHED.format(by_prefix=by_prefix))
    task = PrefixParity()
    model = GPTModel(layers=1, heads=1, width=8, remedies=("rotary", str(path)))
    fleet = build_fleet(lambda own: model.build(task, own), [Hyperparameters(seed=1)])
    kl = {one.length: one.values for one in measure(fleet, task, inputs=8) if one.measure == "kl"}
    short = [one.values for one in measure(fleet, task, [5], inputs=8) if one.measure == "kl"]
    assert torch.equal(kl[5], short[0]) == (not by_prefix)
