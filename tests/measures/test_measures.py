import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from lengthwise.measures import MEASURES, by_length, measure_by_length
from lengthwise.models import MinimalTransformer
from lengthwise.randomness import address
from lengthwise.tasks import NO_ANSWER, Othello, SetComplement
from lengthwise.training import Fleet


@given(st.integers(2, 12), st.data())
def test_measures_against_their_definitions(vocab: int, data: st.DataObject) -> None:
    length = data.draw(st.integers(1, vocab - 1))
    logits = torch.tensor(data.draw(st.lists(st.floats(-9, 9), min_size=vocab, max_size=vocab)))
    logits = logits.double()
    seen = data.draw(st.permutations(range(vocab)))[:length]
    target = SetComplement(vocab).targets(torch.tensor([seen]))[0, -1].double()
    p = (logits - logits.max()).exp()
    p = p / p.sum()
    legal = [t for t in range(vocab) if t not in seen]
    got = {name: float(measure(logits, target)) for name, measure in MEASURES.items()}
    expected = {
        "tvd": sum(abs(float(p[t]) - float(target[t])) for t in range(vocab)) / 2,
        "illegal_mass": sum(float(p[t]) for t in seen),
        "argmax_illegal": float(int(logits.argmax()) in seen),
        "kl": sum(math.log(1 / len(legal) / float(p[t])) / len(legal) for t in legal),
        "displacement": float(logits[legal].mean() - logits[list(seen)].mean()),
    }
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        assert math.isclose(got[name], value, rel_tol=1e-5, abs_tol=1e-6), name


def test_equal_displacements_give_the_formula_of_the_theory() -> None:
    vocab, length, strength = 16, 9, 7.0
    logits = torch.zeros(vocab, dtype=torch.float64)
    logits[:length] = -2 * strength / length
    target = SetComplement(vocab).targets(torch.arange(length).unsqueeze(0))[0, -1].double()
    expected = length / (length + (vocab - length) * math.exp(2 * strength / length))
    for name in ("tvd", "illegal_mass"):
        assert math.isclose(float(MEASURES[name](logits, target)), expected, rel_tol=1e-6)


class Oracle(nn.Module):
    """Knows the answer; a learned shift spoils it."""

    def __init__(self, vocab: int, shift: float) -> None:
        super().__init__()
        self.task = SetComplement(vocab)
        self.shift = nn.Parameter(torch.tensor(shift))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.task.targets(tokens).clamp(min=1e-30).log() * self.shift


def test_a_perfect_model_measures_zero_at_every_length() -> None:
    fleet = Fleet([Oracle(7, 1.0), Oracle(7, 0.0)])
    readings = list(measure_by_length(fleet, SetComplement(7), inputs=300, seed=0))
    assert {r.length for r in readings} == set(range(1, 7))
    for reading in readings:
        if reading.measure != "displacement":
            assert abs(reading.values[0]) < 1e-6
        if reading.measure == "tvd":
            # A uniform guess misses exactly the mass it gives to seen tokens.
            assert math.isclose(reading.values[1], reading.length / 7, rel_tol=1e-6)


def test_short_lengths_are_exact_and_sampling_agrees() -> None:
    torch.manual_seed(0)
    fleet, task = Fleet([MinimalTransformer(6, 1).double()]), SetComplement(6)
    exact = list(measure_by_length(fleet, task, inputs=720, seed=0))
    assert all(reading.exact and reading.inputs <= 720 for reading in exact)
    sampled = list(measure_by_length(fleet, task, inputs=100, seed=0))
    assert [r.exact for r in sampled if r.measure == "tvd"] == [True, True, False, False, False]
    for one, other in zip(exact, sampled, strict=True):
        assert abs(one.values - other.values) < 0.5 * abs(one.values) + 0.05
    again = list(measure_by_length(fleet, task, inputs=100, seed=1))
    assert sampled[-1].values != again[-1].values, "the seed chooses the sample"


class Guess(nn.Module):
    """Gives every prefix logits of its own, which depend on its last two tokens."""

    def __init__(self, classes: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.table = nn.Parameter(torch.randn(2, classes, classes, generator=generator))

    def forward(self, tokens: Tensor) -> Tensor:
        before = tokens.roll(1, -1)
        return self.table[0, tokens] + self.table[1, before]


def test_games_that_ended_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    games, count = Othello(4, split="held-out"), 200
    models = [Guess(games.classes, seed).double() for seed in range(2)]
    # Chunks of 7 games: what a length is a mean over must not depend on how games are cut.
    monkeypatch.setattr(by_length, "CHUNK_ELEMENTS", 7 * 2 * games.lengths[-1] * games.classes)
    readings = list(measure_by_length(Fleet(models), games, inputs=count, seed=3))
    batch = games.draw(torch.tensor(address(3, "test")), games.lengths[-1], count)
    targets = games.targets(batch.inputs).double()
    predicted = [model(batch.inputs).detach() for model in models]
    asked = [
        [game for game in range(count) if batch.drawn[game, length - 1] != NO_ANSWER]
        for length in games.lengths
    ]
    numbers = [len(rows) for rows in asked]
    assert numbers[0] == count > numbers[-1] > 0, "some games must have ended"
    seen = {(reading.measure, reading.length) for reading in readings}
    assert seen == {(name, length) for name in MEASURES for length in games.lengths}
    for reading in readings:
        rows, place = asked[reading.length - 1], reading.length - 1
        assert reading.inputs == len(rows)
        assert not reading.exact
        for index, logits in enumerate(predicted):
            values = [
                float(MEASURES[reading.measure](logits[row, place], targets[row, place]))
                for row in rows
            ]
            expected = sum(values) / len(rows)
            assert math.isclose(float(reading.values[index]), expected, rel_tol=1e-5, abs_tol=1e-7)


def test_a_length_at_which_all_games_have_ended_has_no_reading() -> None:
    games = Othello(4, split="held-out")
    keys = [torch.tensor(address(seed, "test")) for seed in range(100)]
    only_games = [games.draw(key, games.lengths[-1], 1).drawn[0] for key in keys]
    seed, drawn = next((s, own) for s, own in enumerate(only_games) if own[-1] == NO_ANSWER)
    readings = list(measure_by_length(Fleet([Guess(games.classes, 0)]), games, 1, seed))
    lengths = [length for length in games.lengths if drawn[length - 1] != NO_ANSWER]
    assert [r.length for r in readings if r.measure == "tvd"] == lengths
    assert all(reading.values.isfinite().all() for reading in readings)
