import math

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from lengthwise.measures import MEASURES, measure_by_length
from lengthwise.models import MinimalTransformer
from lengthwise.tasks import SetComplement
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
        "accuracy": float(int(logits.argmax()) in legal),
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
    found = list(measure_by_length(fleet, SetComplement(7), inputs=300, seed=0))
    assert {r.length for r in found} == set(range(1, 7))
    for one in found:
        if one.measure in ("accuracy", "exact_match"):
            assert one.values[0] == 1
        elif one.measure != "displacement":
            assert abs(one.values[0]) < 1e-6
        if one.measure == "tvd":
            # A uniform guess misses exactly the mass it gives to seen tokens.
            assert math.isclose(one.values[1], one.length / 7, rel_tol=1e-6)


def test_short_lengths_are_exact_and_sampling_agrees() -> None:
    torch.manual_seed(0)
    fleet, task = Fleet([MinimalTransformer(6, 1).double()]), SetComplement(6)
    exact = list(measure_by_length(fleet, task, inputs=720, seed=0))
    assert all(one.exact and one.inputs <= 720 for one in exact)
    sampled = list(measure_by_length(fleet, task, inputs=100, seed=0))
    assert [r.exact for r in sampled if r.measure == "tvd"] == [True, True, False, False, False]
    for one, other in zip(exact, sampled, strict=True):
        assert abs(one.values - other.values) < 0.5 * abs(one.values) + 0.05
    again = list(measure_by_length(fleet, task, inputs=100, seed=1))
    assert sampled[-1].values != again[-1].values, "the seed chooses the sample"
