import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import vmap

from lengthwise.randomness import address, at, below, bits, bits_at, seeded, unit

KEYS = st.integers(-(2**63), 2**63 - 1)


def test_addresses_are_stable_across_versions() -> None:
    # Every stored run depends on these numbers.
    assert address(0, 0, "data") == 4078137155279189938
    assert bits(torch.tensor(address(0)), 3).tolist() == [-1594819862, 980646549, 398118633]
    assert at(torch.tensor(1), 2).item() == -534904783426661026


def test_different_paths_have_different_addresses() -> None:
    paths = [(seed, trial, use) for seed in range(20) for trial in range(20) for use in "ab"]
    assert len({address(*path) for path in paths}) == len(paths)
    assert address(1, 2) != address(12)
    assert address("1") != address(1)


@given(KEYS, st.integers(1, 50), st.integers(1, 50))
def test_a_number_does_not_depend_on_how_many_are_asked_for(key: int, few: int, many: int) -> None:
    words = bits(torch.tensor(key), few + many)
    assert torch.equal(words[:few], bits(torch.tensor(key), few))


@given(st.lists(KEYS, min_size=1, max_size=5), st.integers(0, 1000))
def test_streams_do_not_depend_on_their_neighbours(keys: list[int], step: int) -> None:
    together = bits(at(torch.tensor(keys), step), 10)
    alone = torch.stack([bits(at(torch.tensor(key), step), 10) for key in keys])
    assert torch.equal(together, alone)
    assert torch.equal(vmap(lambda key: bits(at(key, step), 10))(torch.tensor(keys)), alone)


def test_numbers_are_uniform_and_uncorrelated_even_for_neighbouring_keys() -> None:
    words = bits(torch.arange(300), 2000).double() / 2**31
    assert abs(words.mean()) < 5 / (3 * words.numel()) ** 0.5
    assert abs(words.var() - 1 / 3) < 0.002
    correlation = torch.corrcoef(words).fill_diagonal_(0)
    assert correlation.abs().max() < 6 / 2000**0.5
    lagged = torch.corrcoef(torch.stack([words[:, 1:].flatten(), words[:, :-1].flatten()]))[0, 1]
    assert abs(lagged) < 5 / words.numel() ** 0.5
    each_bit = (bits(torch.arange(300), 2000).unsqueeze(-1) >> torch.arange(32)) & 1
    assert (each_bit.double().mean((0, 1)) - 0.5).abs().max() < 0.004


@given(KEYS, st.integers(1, 1000))
def test_integers_stay_below_their_bound(key: int, bound: int) -> None:
    values = below(bits(torch.tensor(key), 200), bound)
    assert values.min() >= 0
    assert values.max() < bound


def test_seeded_leaves_the_generator_as_it_was() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    with seeded(5, "weights"):
        first = torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
    with seeded(5, "weights"):
        assert torch.equal(torch.rand(3), first)


@given(KEYS, st.lists(st.integers(0, 2**24), min_size=1, max_size=20), st.integers(0, 2**24))
def test_any_numbers_of_a_stream_can_be_asked_for(key: int, numbers: list[int], first: int) -> None:
    streams = torch.tensor([[key], [7]])
    found = bits_at(streams, torch.tensor(numbers))
    for place, number in enumerate(numbers):
        assert torch.equal(found[..., place : place + 1], bits(streams, 1, number))
    assert torch.equal(bits(streams, 30, first)[..., 10:], bits(streams, 20, first + 10))


def test_numbers_of_the_unit_interval() -> None:
    edges = torch.tensor([-(2**31), -1, 0, 2**31 - 1], dtype=torch.int32)
    assert unit(edges).tolist() == [0.5, 1 - 2**-24, 0.0, 0.5 - 2**-24]
    numbers = unit(bits(torch.tensor(3), 40_000))
    assert abs(numbers.mean() - 0.5) < 0.01
    assert abs(numbers.var() - 1 / 12) < 0.002
