"""How NAP behaves as inputs grow, without any training."""

import math
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional
from weight_tools import everything, made, numbers, share_of_first

LENGTHS = (16, 256, 4096, 16384)


def scores_with(length: int, noise: float) -> Tensor:
    """One key that is ahead by 4 of others with noise."""
    scores = numbers(50, 1, length, scale=noise)
    scores[..., 0] = 4.0
    return scores


def shares(length: int, noise: float) -> tuple[float, float]:
    """The first key's share of the energy with NAP, and with softmax."""
    scores = scores_with(length, noise)
    weights = made("nap").weights(scores, everything(length)).detach()
    return share_of_first(weights), share_of_first(scores.softmax(-1))


def test_without_noise_nap_does_not_disperse_and_softmax_does() -> None:
    found = [shares(length, 0.0) for length in LENGTHS]
    assert [nap for nap, _ in found] == sorted(nap for nap, _ in found)
    assert found[0][0] > 0.93
    assert found[-1][0] > 0.999
    assert found[-1][1] < 0.2 < 0.99 < found[0][1]


def test_with_noise_nap_disperses_sooner_than_softmax() -> None:
    for length in LENGTHS:
        nap, softmax = shares(length, 0.3)
        assert nap < softmax
    nap, softmax = shares(4096, 0.3)
    assert nap < 0.1
    assert softmax > 0.3


def test_what_nap_mixes_grows_with_the_square_root_of_the_number_of_keys() -> None:
    sizes = []
    for length in (16, 256, 4096):
        scores, values = numbers(100, 1, length), numbers(length, 16, seed=1)
        weights = made("nap").weights(scores, everything(length)).detach()
        sizes.append(float((weights @ values).std()))
    for shorter, longer in pairwise(sizes):
        assert math.isclose(longer / shorter, 4.0, rel_tol=0.1)


@torch.no_grad()
def test_mte_norms_the_mix_of_softmax_and_nothing_else() -> None:
    one = made("mte", 2, 4)
    one.norm.weight.copy_(numbers(8, seed=1))
    one.norm.bias.copy_(numbers(8, seed=2))
    assert one.weights(numbers(2, 3, 3), everything(3, 3)) is None
    heads = numbers(5, 3, 2, 4)
    rows = heads.reshape(5, 3, 8)
    normed = functional.layer_norm(rows, (8,)) * one.norm.weight + one.norm.bias
    expected = 0.5 * normed * (1 + torch.erf(normed / math.sqrt(2)))
    torch.testing.assert_close(one.mixed(heads), expected.view_as(heads))
