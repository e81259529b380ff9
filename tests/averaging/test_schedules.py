"""All four schedules against a scalar recursion in 50 digits, written from the table alone."""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.averaging import BEMA, EMA, AveragingError
from lengthwise.errors import InputError

SCHEDULES = ("paper", "trl", "authors-offline", "authors-online")


@dataclass
class Reference:
    """EMA and mu of one scalar, step by step; `mu` is None before the first update."""

    schedule: str
    kappa: float
    eta: float
    lag: float = 10
    gamma: float = 1
    tau: int = 0
    phi: int = 1
    floor: float = 0

    def run(self, thetas: list[float]) -> list[tuple[Decimal, Decimal] | None]:
        with localcontext(prec=50):
            theta_0 = ema = Decimal(thetas[0])
            results: list[tuple[Decimal, Decimal] | None] = []
            latest = None
            for t in range(1, len(thetas)):
                theta = Decimal(thetas[t])
                if self.schedule != "authors-online" and t == self.tau:
                    theta_0 = ema = theta
                if self._is_update(t):
                    beta, alpha = self._beta(t), self._alpha(t)
                    ema = (1 - beta) * ema + beta * theta
                    latest = (ema, ema + alpha * (theta - theta_0))
                results.append(latest)
            return results

    def _is_update(self, t: int) -> bool:
        if self.schedule == "authors-online":
            return t >= self.tau and t % self.phi == self.phi - 1
        return t > self.tau and (t - self.tau) % self.phi == 0

    def _beta(self, t: int) -> Decimal:
        kappa, gamma, lag = Decimal(self.kappa), Decimal(self.gamma), Decimal(self.lag)
        if self.schedule == "authors-offline":
            beta = (1 + gamma * (t - self.tau + lag)) ** -kappa
        elif self.schedule == "authors-online":
            beta = (
                gamma * (1 + max(Decimal(0), t - lag)) ** -kappa if self.kappa > 0 else Decimal(1)
            )
        else:
            beta = (lag + gamma * t) ** -kappa
        return max(beta, Decimal(self.floor))

    def _alpha(self, t: int) -> Decimal:
        eta, gamma, lag = Decimal(self.eta), Decimal(self.gamma), Decimal(self.lag)
        if self.schedule == "authors-offline":
            return (1 + (t - self.tau + lag)) ** -eta if self.eta >= 0 else Decimal(0)
        if self.schedule == "authors-online":
            return gamma * (1 + max(Decimal(0), t - lag)) ** -eta if self.eta > 0 else Decimal(0)
        return (lag + gamma * t) ** -eta


def check(reference: Reference, thetas: list[float], **extra: Any) -> None:
    weight = torch.tensor([thetas[0]], dtype=torch.float64)
    average = BEMA(
        {"weight": weight},
        reference.kappa,
        reference.eta,
        schedule=reference.schedule,
        lag=reference.lag,
        multiplier=reference.gamma,
        start_after=reference.tau,
        update_every=reference.phi,
        **extra,
    )
    for theta, expected in zip(thetas[1:], reference.run(thetas), strict=True):
        weight.fill_(theta)
        average.update()
        if expected is None:
            with pytest.raises(AveragingError, match="no average yet"):
                average.weights()
            continue
        ema, mu = (float(value) for value in expected)
        scale = max(map(abs, thetas)) + 1e-300
        ours_ema = average.weights(bias_power=None)["weight"].item()
        ours_mu = average.weights()["weight"].item()
        assert ours_ema == pytest.approx(ema, abs=1e-12 * scale)
        assert ours_mu == pytest.approx(mu, abs=1e-12 * scale)


THETAS = [
    0.3,
    -1.0,
    2.5,
    0.0,
    7.25,
    -3.5,
    1.0,
    1.5,
    9.0,
    -2.0,
    4.0,
    0.125,
    3.0,
    5.0,
    -6.0,
    8.0,
    2.0,
]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("tau", "phi"), [(0, 1), (3, 1), (0, 4), (5, 3), (2, 7)])
@pytest.mark.parametrize(("lag", "gamma"), [(10, 1), (2, 0.5), (1, 1)])
def test_exact_values_with_burn_in_and_interval(schedule, tau, phi, lag, gamma):
    floor = 1e-4 if schedule == "authors-offline" else 0
    for kappa, eta in [(0.5, 0.2), (1.0, 1.0), (0.0, 0.0), (0.9, 0.05)]:
        check(Reference(schedule, kappa, eta, lag, gamma, tau, phi, floor), THETAS)


@given(
    schedule=st.sampled_from(SCHEDULES),
    kappa=st.floats(0, 1),
    eta=st.floats(0, 3),
    lag=st.floats(1, 30),
    gamma=st.floats(0.01, 1),
    tau=st.integers(0, 12),
    phi=st.integers(1, 6),
    floor=st.floats(0, 1),
    thetas=st.lists(st.floats(-100, 100), min_size=2, max_size=25),
)
def test_any_settings(schedule, kappa, eta, lag, gamma, tau, phi, floor, thetas):
    reference = Reference(schedule, kappa, eta, lag, gamma, tau, phi, floor)
    check(reference, thetas, min_weight=floor)


def test_the_published_vector():
    weight = {"weight": torch.zeros(1, dtype=torch.float64)}
    average = BEMA(weight)
    expected = [(0.30151134, 0.92055527), (0.79182279, 2.00855147), (1.40426095, 3.20036952)]
    for t, (ema, mu) in enumerate(expected, start=1):
        weight["weight"].fill_(t)
        average.update()
        assert average.weights(bias_power=None)["weight"].item() == pytest.approx(ema, abs=5e-9)
        assert average.weights()["weight"].item() == pytest.approx(mu, abs=5e-9)


def test_powers_of_one_give_the_running_mean_and_its_correction():
    weight = torch.tensor([THETAS[0]], dtype=torch.float64)
    average = BEMA({"weight": weight}, 1.0, 1.0, lag=0)
    for t, theta in enumerate(THETAS[1:], start=1):
        weight.fill_(theta)
        average.update()
        mean = sum(THETAS[1 : t + 1]) / t
        assert average.weights(bias_power=None)["weight"].item() == pytest.approx(mean)
        corrected = mean + (theta - THETAS[0]) / t
        assert average.weights()["weight"].item() == pytest.approx(corrected)


@given(
    schedule=st.sampled_from(SCHEDULES),
    kappas=st.lists(st.floats(0, 1), min_size=1, max_size=3),
    value=st.floats(-60000, 60000, width=32),
    dtype=st.sampled_from([torch.float64, torch.float32, torch.bfloat16, torch.float16]),
    steps=st.integers(1, 30),
)
def test_constant_weights_stay_constant(schedule, kappas, value, dtype, steps):
    weight = torch.full((3, 2), value, dtype=dtype)
    average = BEMA({"weight": weight}, kappas, schedule=schedule)
    for _ in range(steps):
        average.update()
    for kappa in kappas:
        expected = weight.to(torch.promote_types(dtype, torch.float32))
        assert torch.equal(average.weights(kappa, 0.3)["weight"], expected)


def test_the_authors_floor_is_the_default_of_their_schedule_only():
    for schedule, floor in (("authors-offline", 1e-4), ("paper", 0)):
        reference = Reference(schedule, kappa=1.0, eta=0.2, gamma=1e6, floor=floor)
        thetas = [1e6 * theta for theta in THETAS]
        weight = torch.tensor([thetas[0]], dtype=torch.float64)
        average = BEMA({"weight": weight}, 1.0, schedule=schedule, multiplier=1e6)
        for theta, expected in zip(thetas[1:], reference.run(thetas), strict=True):
            weight.fill_(theta)
            average.update()
            assert expected is not None
            ema, _ = expected
            ours = average.weights(bias_power=None)["weight"].item()
            assert ours == pytest.approx(float(ema), rel=1e-9)


@pytest.mark.parametrize("decay", [0.0, 0.9, 0.999, 1.0])
def test_constant_decay(decay):
    weight = torch.tensor([THETAS[0]], dtype=torch.float64)
    average = EMA({"weight": weight}, decay=decay)
    ema = THETAS[0]
    for theta in THETAS[1:]:
        weight.fill_(theta)
        average.update()
        ema = decay * ema + (1 - decay) * theta
        assert average.weights()["weight"].item() == pytest.approx(ema)


@pytest.mark.parametrize("schedule", ["authors-offline", "authors-online"])
def test_the_authors_switch_the_correction_off_by_a_negative_power(schedule):
    weight = torch.zeros(1)
    average = BEMA({"weight": weight}, 0.5, -1.0, schedule=schedule)
    weight.fill_(3.0)
    average.update()
    assert torch.equal(average.weights()["weight"], average.weights(bias_power=None)["weight"])


def test_a_leap_over_the_burn_in_still_starts_the_average():
    weight = torch.zeros(1)
    average = BEMA({"weight": weight}, start_after=10)
    for step, value in ((7, 1.0), (13, 2.0), (14, 2.0)):
        weight.fill_(value)
        average.update(step)
    assert average.weights()["weight"].item() == 2.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ema_power": 1.5}, "ema_power = 1.5: expected a number from 0 to 1"),
        ({"ema_power": -0.1}, "ema_power = -0.1"),
        ({"ema_power": float("nan")}, "ema_power = nan"),
        ({"ema_power": "half"}, "ema_power = 'half'"),
        ({"ema_power": []}, r"ema_power = \[\]"),
        ({"ema_power": [0.5, 2]}, "ema_power = 2"),
        ({"bias_power": -0.2}, "bias_power = -0.2: expected a number >= 0"),
        ({"bias_power": float("inf")}, "bias_power = inf"),
        ({"bias_power": torch.tensor([0.1, -0.2])}, "bias_power = -0.2"),
        ({"schedule": "papers"}, "did you mean 'paper'"),
        ({"lag": -1}, "lag = -1"),
        ({"multiplier": 0}, "multiplier = 0"),
        ({"start_after": -1}, "start_after = -1"),
        ({"update_every": 0}, "update_every = 0"),
        ({"update_every": 2.5}, "update_every = 2.5"),
        ({"min_weight": 2}, "min_weight = 2"),
        ({"lag": 0, "multiplier": 0.1}, "would have weight 3.162"),
        ({"buffers": "kopy"}, "did you mean 'copy'"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        BEMA({"weight": torch.zeros(2)}, **settings)


def test_a_step_going_backwards_is_refused():
    average = BEMA({"weight": torch.zeros(2)})
    average.update(5)
    for step in (5, 4, 0):
        with pytest.raises(InputError, match=f"step = {step}: expected more than 5"):
            average.update(step)
