import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.remedies import Dropout


@given(st.floats(0, 0.95), st.integers(0, 100))
def test_rate_and_mean_are_kept(rate: float, seed: int) -> None:
    torch.manual_seed(seed)
    dropout = Dropout(rate)
    values = dropout(torch.ones(40_000))
    assert abs((values == 0).double().mean() - rate) < 0.02
    kept = values[values != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - rate)))


def test_masks_are_a_function_of_key_and_step() -> None:
    torch.manual_seed(0)
    dropout = Dropout(0.5)
    masks = [dropout(torch.ones(100)) for _ in range(3)]
    assert not torch.equal(masks[0], masks[1])
    dropout.step.fill_(1)
    assert torch.equal(dropout(torch.ones(100)), masks[1])


def test_keys_follow_the_seed() -> None:
    outputs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        outputs.append(Dropout(0.5)(torch.ones(100)))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_state_brings_the_masks_along() -> None:
    first, second = Dropout(0.3), Dropout(0.3)
    first(torch.ones(10))
    second.load_state_dict(first.state_dict())
    assert torch.equal(first(torch.ones(50)), second(torch.ones(50)))


def test_evaluation_leaves_values_alone() -> None:
    values = torch.randn(10)
    assert Dropout(0.5).eval()(values) is values
