import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.tasks import SetComplement


def test_target_is_uniform_over_the_unseen() -> None:
    target = SetComplement(4).targets(torch.tensor([[2, 0]]))
    expected = torch.tensor([[[1, 1, 0, 1], [0, 1.5, 0, 1.5]]]) / 3
    torch.testing.assert_close(target, expected)


def test_every_ordered_input_is_enumerated() -> None:
    inputs = SetComplement(6).enumerate_inputs(3, limit=1000)
    assert inputs is not None
    assert len(inputs) == math.perm(6, 3)


@given(st.integers(2, 20), st.integers(0, 1000))
def test_no_token_stands_twice(vocab: int, key: int) -> None:
    inputs = SetComplement(vocab).draw(torch.tensor(key), vocab - 1, 50).inputs
    ordered = inputs.sort(-1).values
    assert (ordered[..., 1:] != ordered[..., :-1]).all()


def test_all_permutations_are_equally_likely() -> None:
    count = 60_000
    batch = SetComplement(4).draw(torch.tensor(9), 3, count)
    codes = (batch.inputs * torch.tensor([16, 4, 1])).sum(-1)
    observed = torch.bincount(codes)
    observed = observed[observed > 0]
    assert len(observed) == 24
    # Chi-squared with 23 degrees of freedom: 58 has a chance of 1e-4.
    assert ((observed - count / 24) ** 2 / (count / 24)).sum() < 58


@pytest.mark.parametrize("vocab", [1, 0, -3])
def test_a_vocabulary_needs_two_tokens(vocab: int) -> None:
    with pytest.raises(InputError, match=f"vocab = {vocab}: expected at least 2"):
        SetComplement(vocab)


def test_length_must_leave_a_token() -> None:
    with pytest.raises(InputError, match=r"length = 5: expected one of 1\.\.4"):
        SetComplement(5).draw(torch.tensor(0), 5, 1)
