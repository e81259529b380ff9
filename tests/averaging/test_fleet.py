"""A fleet's stacked parameters: every model has its own powers."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.averaging import BEMA, EMA
from lengthwise.errors import InputError

SCHEDULES = ["paper", "trl", "authors-offline", "authors-online"]


@given(
    models=st.integers(1, 4),
    schedule=st.sampled_from(SCHEDULES),
    shape=st.sampled_from([(), (1,), (5,), (2, 3)]),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
    start_after=st.integers(0, 3),
    update_every=st.integers(1, 3),
    seed=st.integers(0, 2**16),
)
def test_each_model_averages_as_if_alone(
    models, schedule, shape, dtype, start_after, update_every, seed
):
    generator = torch.Generator().manual_seed(seed)
    kappas: Any = [torch.rand(models, generator=generator), 0.5]
    etas: Any = [torch.rand(models, generator=generator).double(), 0.2]
    stacked = torch.randn(models, *shape, generator=generator).to(dtype)
    alone = [stacked[k].clone() for k in range(models)]
    options = {"schedule": schedule, "start_after": start_after, "update_every": update_every}
    fleet = BEMA({"flat": stacked}, kappas, etas, **options)
    singles = [
        BEMA(
            {"flat": alone[k]},
            [kappas[0][k].double().item(), 0.5],
            [etas[0][k].item(), 0.2],
            **options,
        )
        for k in range(models)
    ]
    for _ in range(8):
        stacked += torch.randn(models, *shape, generator=generator).to(dtype)
        fleet.update()
        for k, single in enumerate(singles):
            alone[k].copy_(stacked[k])
            single.update()
    for ema, bias in fleet.grid():
        expected = torch.stack([single.weights_at(ema, bias)["flat"] for single in singles])
        torch.testing.assert_close(fleet.weights_at(ema, bias)["flat"], expected)


def test_a_diverged_model_does_not_touch_its_neighbours():
    flat = torch.zeros(3, 4)
    average = BEMA({"flat": flat}, torch.tensor([0.1, 0.5, 0.9]), torch.tensor([0.1, 0.2, 0.3]))
    flat[1] = float("nan")
    flat[0] = 1.0
    average.update()
    weights = average.weights()["flat"]
    assert weights[1].isnan().all()
    assert weights[[0, 2]].isfinite().all()


def test_views_of_the_fleet_see_the_average():
    flat = torch.zeros(2, 6)
    matrix = flat[:, :4].view(2, 2, 2)
    average = EMA({"flat": flat}, torch.tensor([0.5, 0.9]))
    flat.fill_(1.0)
    average.update()
    with average.applied_at(0):
        torch.testing.assert_close(matrix[0], torch.full((2, 2), 11**-0.5))
        torch.testing.assert_close(matrix[1], torch.full((2, 2), 11**-0.9))
    assert (matrix == 1).all()


def test_read_out_by_value_with_powers_per_model():
    kappa = torch.tensor([0.5, 0.9])
    average = BEMA({"flat": torch.zeros(2, 3)}, [0.5, kappa])
    average.update()
    average.weights(ema_power=kappa, bias_power=torch.tensor([0.1, 0.2]))
    with pytest.raises(InputError, match="no EMA is kept for it"):
        average.weights(ema_power=torch.tensor([0.5, 0.8]))


def test_powers_must_fit_the_fleet():
    with pytest.raises(InputError, match=r"flat has shape \(3, 4\): expected a first dim"):
        BEMA({"flat": torch.zeros(3, 4)}, torch.tensor([0.5, 0.5]))
    with pytest.raises(InputError, match=r"first dimension of 2"):
        BEMA({"flat": torch.zeros(3, 4)}, 0.5, torch.tensor([0.5, 0.5]))
    with pytest.raises(InputError, match=r"differing lengths \[2, 3\]"):
        BEMA({"flat": torch.zeros(3, 4)}, [torch.full((2,), 0.5), torch.full((3,), 0.5)])
    with pytest.raises(InputError, match=r"one per model"):
        BEMA({"flat": torch.zeros(3, 4)}, torch.full((2, 2), 0.5))
