"""Certificates against brute force over every input, and against the model itself."""

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.models import MinimalTransformer
from lengthwise.randomness import seeded
from lengthwise.tasks import SetComplement
from lengthwise.theory import (
    Tables,
    certify,
    measure_illegal_mass,
    minimal_model,
    read_tables,
)
from lengthwise.theory.sampling import (
    all_inputs,
    held_tokens,
    last_logits,
    margin,
    negative_spread,
    neighbours,
)
from lengthwise.theory.worst_gap import smallest_gaps


def build(
    vocab: int, attention: str, scale: float, seed: int, norm: str = "", **options
) -> MinimalTransformer:
    with seeded(seed, "test"):
        named = ("constant",) if attention == "constant" else ()
        model = MinimalTransformer(vocab, 2, remedies=(*named, *norm.split()), **options)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(scale)
    return model


def trained(vocab: int, attention: str, seed: int, **options) -> MinimalTransformer:
    model = build(vocab, attention, 1.0, seed, **options)
    task = SetComplement(vocab)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    inputs = task.draw(torch.tensor(seed), vocab - 1, 64).inputs
    for _ in range(150):
        optimizer.zero_grad()
        logits = model(inputs).flatten(0, 1)
        torch.nn.functional.cross_entropy(logits, task.targets(inputs).flatten(0, 1)).backward()
        optimizer.step()
    return model.eval()


@torch.no_grad()
def brute_force(model: MinimalTransformer, length: int) -> tuple[float, float]:
    """Margin and spread over every ordered input, by the model's own forward pass."""
    inputs = SetComplement(model.vocab).enumerate_inputs(length, limit=10**6)
    logits = model(inputs)[:, -1]
    held = held_tokens(inputs, model.vocab)
    return float(margin(logits, held).min()), -float(negative_spread(logits, held).min())


@torch.no_grad()
def assert_equals_brute_force(model: MinimalTransformer) -> None:
    certificate = certify(model)
    model = model.double()
    for length in range(1, model.vocab):
        low, spread = brute_force(model, length)
        assert certificate.exact[length]
        assert certificate.inputs[length] == math.perm(model.vocab, length)
        assert math.isclose(certificate.margins[length], low, rel_tol=1e-9, abs_tol=1e-9)
        assert math.isclose(certificate.legal_spreads[length], spread, rel_tol=1e-9, abs_tol=1e-9)
        worst = torch.tensor([certificate.worst_inputs[length]])
        assert len(set(worst[0].tolist())) == length
        attained = margin(model(worst)[:, -1], held_tokens(worst, model.vocab))
        assert math.isclose(float(attained), certificate.margins[length], abs_tol=1e-9)


@given(
    vocab=st.integers(2, 7),
    attention=st.sampled_from(["softmax", "constant"]),
    scale=st.floats(0.3, 3.0),
    pre_norm=st.booleans(),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60)
def test_random_models_equal_brute_force(vocab, attention, scale, pre_norm, seed):
    model = build(vocab, attention, scale, seed, pre_norm=pre_norm)
    assume(read_tables(model).score_spread <= 600)
    assert_equals_brute_force(model)


def test_scores_that_float64_cannot_weigh() -> None:
    with pytest.raises(InputError, match="expected at most 600"):
        certify(build(5, "softmax", 20.0, 0, pre_norm=False))


@pytest.mark.parametrize("attention", ["softmax", "constant"])
@pytest.mark.parametrize("vocab", [4, 7])
def test_trained_models_equal_brute_force(vocab: int, attention: str) -> None:
    assert_equals_brute_force(trained(vocab, attention, seed=vocab))


@pytest.mark.parametrize("norm", ["layernorm", "standardization", "rmsnorm"])
@pytest.mark.parametrize("place", ["before", "after"])
def test_a_norm_is_gone_through_input_by_input(norm: str, place: str) -> None:
    assert_equals_brute_force(trained(6, "softmax", 3, norm=f"{norm}:place={place}"))


@pytest.mark.parametrize("remedy", ["adaptive", "nap"])
def test_other_weights_are_gone_through_input_by_input(remedy: str) -> None:
    assert_equals_brute_force(trained(5, "softmax", 3, norm=remedy))


@pytest.mark.parametrize("remedy", ["alibi", "scalable", "learned"])
def test_scores_that_depend_on_more_than_two_tokens(remedy: str) -> None:
    with pytest.raises(InputError, match=f"model with remedy = '{remedy}': expected"):
        certify(build(6, "softmax", 1.0, 0, norm=remedy))


@pytest.mark.parametrize("seed", [65, 176, 241, 320, 350])
def test_small_weights_are_not_hidden_by_large_ones(seed: int) -> None:
    """Attention so sharp that rounding of the largest weight exceeds the whole of the others."""
    generator = torch.Generator().manual_seed(seed)
    bias, displacement, scores = (
        size * torch.randn(5, 5, generator=generator, dtype=torch.float64)
        for size in (1, 3, (20, 60, 150)[seed % 3])
    )
    found = smallest_gaps(Tables(bias, displacement, scores, linear=True), [1, 2, 3, 4], "illegal")
    for length, gap in found.items():
        inputs = all_inputs(5, length)
        held, last = held_tokens(inputs, 5), inputs[:, -1]
        weights = scores[last].masked_fill(~held, -torch.inf).softmax(-1)
        logits = bias[last] + weights @ displacement
        assert gap.value == pytest.approx(float(margin(logits, held).min()), abs=1e-9)


def test_a_search_says_that_it_is_one_and_finds_real_inputs() -> None:
    model = trained(9, "softmax", 0, norm="layernorm")
    complete, searched = certify(model), certify(model, inputs=40)
    assert all(complete.exact.values())
    assert not searched.exact[5]
    assert searched.inputs[5] > 40
    model = model.double().requires_grad_(False)
    for length in range(1, 9):
        assert searched.margins[length] >= complete.margins[length] - 1e-9
        assert searched.legal_spreads[length] <= complete.legal_spreads[length] + 1e-9
        worst = torch.tensor([searched.worst_inputs[length]])
        attained = margin(model(worst)[:, -1], held_tokens(worst, 9))
        assert math.isclose(float(attained), searched.margins[length], abs_tol=1e-9)


@pytest.mark.parametrize("norm", ["", "layernorm"])
@pytest.mark.parametrize("attention", ["softmax", "constant"])
def test_reading_the_vocabulary_once_is_the_forward_pass(norm: str, attention: str) -> None:
    model = build(7, attention, 1.0, 0, norm=norm).double().eval()
    inputs = all_inputs(7, 4)
    assert (
        len(inputs) == 4 * math.comb(7, 4) == len({(*sorted(i[:3]), i[3]) for i in inputs.tolist()})
    )
    torch.testing.assert_close(last_logits(model, inputs), model(inputs)[:, -1])


def test_neighbours_differ_in_one_token_or_in_the_last() -> None:
    found = neighbours(torch.tensor([3, 0, 5]), vocab=7).tolist()
    assert len(found) == 3 * 4 + 2 == len(set(map(tuple, found)))
    for row in found:
        assert len(set(row)) == 3
        assert len({3, 0, 5} - set(row)) == (
            0 if row[-1] in (3, 0) and set(row) == {0, 3, 5} else 1
        )


@given(st.integers(3, 7), st.sampled_from(["softmax", "constant"]), st.integers(0, 10**6))
def test_illegal_mass_lies_between_its_bounds(vocab: int, attention: str, seed: int) -> None:
    model = build(vocab, attention, 1.0, seed)
    certificate = certify(model)
    for length, mass in measure_illegal_mass(model, certificate, inputs=10**4).items():
        least, most = certificate.illegal_mass_bounds(length)
        assert least <= mass.worst * (1 + 1e-9)
        assert mass.mean <= mass.worst * (1 + 1e-9)
        assert mass.worst <= most * (1 + 1e-9)


def test_chosen_lengths_are_those_of_the_whole() -> None:
    model = build(7, "softmax", 1.0, 0)
    some, whole = certify(model, [4, 2]), certify(model)
    assert list(some.margins) == [2, 4]
    assert all(some.margins[s] == whole.margins[s] for s in (2, 4))


def test_precision_asks_for_equal_legal_logits() -> None:
    assert certify(minimal_model(6)).precision(3) == pytest.approx(10 / 3)
    assert certify(build(6, "softmax", 1.0, 0)).precision(3) == -math.inf


@pytest.mark.parametrize("length", [0, -1, 6, 99])
def test_a_length_that_does_not_exist(length: int) -> None:
    with pytest.raises(InputError, match=rf"length = {length}: expected one of 1..5"):
        certify(build(6, "constant", 1.0, 0), [length])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_weights_that_are_not_finite(bad: float) -> None:
    model = build(6, "softmax", 1.0, 0)
    with torch.no_grad():
        model.attention.value.weight[0, 0] = bad
    with pytest.raises(InputError, match=r"attention.value.weight holds NaN or infinity"):
        certify(model)


def test_another_kind_of_model() -> None:
    with pytest.raises(InputError, match="model = Linear: expected a MinimalTransformer"):
        certify(torch.nn.Linear(2, 2))


def test_strength_needs_its_lengths() -> None:
    with pytest.raises(InputError, match="1 and 2 among them"):
        _ = certify(build(6, "constant", 1.0, 0), [3]).strength


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["softmax", "constant"])
def test_64_tokens_at_every_length(attention: str) -> None:
    model = build(64, attention, 1.0, 0)
    certificate = certify(model)
    assert list(certificate.margins) == list(range(1, 64))
    sampled = SetComplement(64).draw(torch.tensor(0), 63, 200).inputs
    logits = model.double()(sampled).detach()
    for length in range(1, 64):
        held = held_tokens(sampled[:, :length], 64)
        assert (
            float(margin(logits[:, length - 1], held).min()) >= certificate.margins[length] - 1e-9
        )
