"""Series: the best prediction and the posterior against dense normal distributions in numpy."""

import itertools
import math

import numpy
import pytest
import torch
from scipy import stats

from lengthwise.errors import InputError
from lengthwise.randomness import at, bits
from lengthwise.tasks import HiddenFactors, SameWell
from lengthwise.tasks._series import Oscillation, normal


def correlation(first: float, second: float, lag: int) -> float:
    """Of an AR(2) process by the roots of its polynomial, which no recursion of ours is."""
    roots = numpy.roots([1, -first, -second]).astype(complex)
    one, other = roots
    a = one * (1 - other**2)
    b = other * (1 - one**2)
    found = (a * one**lag - b * other**lag) / (a - b)
    return float(found.real)


def test_normal_numbers_are_normal() -> None:
    drawn = normal(bits(torch.tensor(5), 20_000))
    assert stats.kstest(drawn.numpy(), "norm").pvalue > 1e-3


def test_paths_are_those_of_a_stationary_process() -> None:
    process = Oscillation.of(torch.tensor([0.9]).double(), torch.tensor([0.7]).double())
    paths = process.paths(normal(bits(torch.arange(20_000), 12)).unsqueeze(1))[:, 0]
    first, second = float(process.first), float(process.second)
    for lag in (0, 1, 2, 5):
        found = float((paths[:, 6 + lag - lag // 2] * paths[:, 6 - lag // 2]).mean())
        assert found == pytest.approx(correlation(first, second, lag), abs=0.04)
        said = float(process.correlations(6)[0, lag])
        assert said == pytest.approx(correlation(first, second, lag), abs=1e-12)


@pytest.mark.parametrize("length", [1, 2, 4])
@pytest.mark.parametrize("window", [5, 8])
def test_the_best_prediction_is_the_mean_given_the_window(length: int, window: int) -> None:
    """All series and times as one normal distribution, conditioned by its covariance."""
    task = HiddenFactors(factors=3, window=window, horizon=4, noise=0.4, drawn="unseen")
    inputs, _ = task.draw(torch.tensor(11), length, 3)
    mean, variance = task.targets(inputs).numpy(), task.variances(inputs).numpy()
    world, processes = task._world(torch.device("cpu")), task._processes(torch.device("cpu"))
    pairs = list(zip(processes.first.tolist(), processes.second.tolist(), strict=True))
    points = [(n, t) for n in range(length) for t in range(window + 4)]
    for row in range(3):
        loadings = world.loadings[inputs.variates[row]].tolist()
        lags = world.lags[inputs.variates[row]].tolist()
        covariance = numpy.array(
            [
                [
                    sum(
                        loadings[n][k] * loadings[m][k]
                        * correlation(*pair, abs((t - lags[n]) - (u - lags[m])))
                        for k, pair in enumerate(pairs)
                    ) + (0.16 if (n, t) == (m, u) else 0.0)
                    for m, u in points
                ]
                for n, t in points
            ]
        )  # fmt: skip
        seen = [place for place, (_, t) in enumerate(points) if t < window]
        ahead = [place for place, (_, t) in enumerate(points) if t >= window]
        across = covariance[numpy.ix_(ahead, seen)]
        gain = across @ numpy.linalg.inv(covariance[numpy.ix_(seen, seen)])
        expected = gain @ inputs.values[row].double().numpy().ravel()
        left = numpy.diag(covariance)[ahead] - (gain * across).sum(1)
        numpy.testing.assert_allclose(mean[row].ravel(), expected, atol=2e-5)
        numpy.testing.assert_allclose(variance[row].ravel(), left, atol=2e-5)


def test_variates_follow_the_factors_with_their_lags() -> None:
    """The same out of tensors: paths, loadings, lags and the noise of every value."""
    task = HiddenFactors(factors=3, window=7, horizon=4)
    (seen, chosen), to_come = task.draw(torch.tensor([3, 4]), 5, 6)
    streams = at(torch.tensor([3, 4])[:, None], torch.arange(6))
    noise = normal(bits(at(streams, 0), 3 * 23)).unflatten(-1, (3, 23))
    paths = task._processes(torch.device("cpu")).paths(noise)
    own = task._world(torch.device("cpu"))
    added = normal(bits(at(streams, 2), 5 * 11)).unflatten(-1, (5, 11))
    for one, example, number in itertools.product(range(2), range(6), range(5)):
        variate = chosen[one, example, number]
        begin = 12 - int(own.lags[variate])
        path = paths[one, example, :, begin : begin + 11]
        expected = own.loadings[variate] @ path + 0.3 * added[one, example, number]
        found = torch.cat([seen[one, example, number], to_come[one, example, number]])
        torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-6)


def test_more_series_tell_more() -> None:
    """Those that lead tell of those that lag: the error that is left falls with their number."""
    task = HiddenFactors()
    left = [
        float(task.variances(task.draw(torch.tensor(2), length, 64).inputs).mean())
        for length in (1, 4, 16, 64)
    ]
    assert left == sorted(left, reverse=True)
    assert left[-1] < 0.5 * left[0]
    assert left[-1] > task.noise**2


def test_unseen_variates_are_others() -> None:
    task = HiddenFactors(seen=16, tested="unseen")
    seen = task.draw(torch.tensor(1), 16, 50).inputs.variates
    unseen = task.held_out().draw(torch.tensor(1), 40, 50).inputs.variates
    assert set(seen.flatten().tolist()) == set(range(16))
    assert unseen.min() >= 16
    assert all(len(set(row)) == 40 for row in unseen.tolist()), "none twice in an input"
    with pytest.raises(InputError, match="length = 17: expected at most 16"):
        task.draw(torch.tensor(1), 17, 1)


def log_density(values: list[float], seen: list[int], first: float, second: float) -> float:
    """Of the values that are seen of a path."""
    covariance = [[correlation(first, second, abs(a - b)) for b in seen] for a in seen]
    found = stats.multivariate_normal.logpdf([values[place] for place in seen], cov=covariance)
    return float(found)


@pytest.mark.parametrize("zeroed", [0.0, 0.4])
def test_the_posterior_is_that_of_all_pairs_of_wells(zeroed: float) -> None:
    task = SameWell(wells=4, channels=2, zeroed=zeroed)
    inputs, labels = task.draw(torch.tensor(3), 9, 8)
    targets = task.targets(inputs).tolist()
    process = task._processes(torch.device("cpu"))
    for pair, target in zip(inputs.tolist(), targets, strict=True):
        likelihood = [
            [
                math.exp(sum(
                    log_density(
                        [step[channel] for step in interval],
                        [place for place, step in enumerate(interval) if any(step)],
                        float(process.first[well, channel]), float(process.second[well, channel]),
                    )
                    for channel in range(2)
                ))
                for well in range(4)
            ]
            for interval in pair
        ]  # fmt: skip
        same = sum(likelihood[0][w] * likelihood[1][w] for w in range(4)) / 4
        different = (
            sum(likelihood[0][w] * likelihood[1][v] for w in range(4) for v in range(4) if w != v)
            / 12
        )
        assert target[1] == pytest.approx(same / (same + different), abs=1e-5)
    assert set(labels.tolist()) == {0, 1}


def test_zeros_take_the_part_that_they_are_said_to() -> None:
    task = SameWell(zeroed=0.25)
    values = task.draw(torch.tensor(3), 40, 200).inputs
    gone = (values == 0).all(-1)
    assert (gone.sum(-1) == 10).all()
    # One run each, anywhere.
    edges = (gone[..., 1:] != gone[..., :-1]).sum(-1)
    assert edges.max() == 2
    assert gone.any((0, 1)).all()
    assert SameWell(test_zeroed=0.5).held_out().zeroed == 0.5
    assert not torch.equal(
        SameWell()._processes(torch.device("cpu")).first,
        SameWell(tested="unseen").held_out()._processes(torch.device("cpu")).first,
    )


BAD = {
    "window = 1": lambda: HiddenFactors(window=1),
    "noise = 0": lambda: HiddenFactors(noise=0),
    "tested = 'new'": lambda: HiddenFactors(tested="new"),  # type: ignore[arg-type]
    "length = 513": lambda: HiddenFactors().draw(torch.tensor(0), 513, 1),
    "wells = 1": lambda: SameWell(wells=1),
    "zeroed = 1": lambda: SameWell(zeroed=1),
    "length = 3": lambda: SameWell().draw(torch.tensor(0), 3, 1),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_named(what: str) -> None:
    with pytest.raises(InputError, match=f"^{what}"):
        BAD[what]()
