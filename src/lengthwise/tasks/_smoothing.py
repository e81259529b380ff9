"""The paths of hidden AR(2) processes, given what was seen of them: exact, and linear in time."""

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.tasks._series import Oscillation


def smoothed(processes: Oscillation, weight: Tensor, told: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and covariance at every time of independent AR(2) processes, given linear observations.

    The precision of all times together is that of the processes, which couples times no further
    apart than 2, plus `weight` at every time. In blocks of two times it is tridiagonal, so that
    one elimination forward and one substitution back do it.

    Args:
        processes: K of them, `(K,)`.
        weight: What observations add to the precision at every time, `(inputs, times, K, K)`.
        told: What they add to precision times mean, `(inputs, times, K)`.

    Returns:
        `(inputs, times, K)` and `(inputs, times, K, K)`.
    """
    inputs, times, count = told.shape
    pairs = -(-times // 2)
    odd = 2 * pairs - times
    weight = functional.pad(weight, (0, 0, 0, 0, 0, odd))
    told = functional.pad(told, (0, 0, 0, odd)).view(inputs, pairs, 2 * count)
    prior = _precision(processes, 2 * pairs)
    size = 2 * count
    blocks = prior.view(pairs, size, pairs, size).transpose(1, 2)
    steps = torch.arange(pairs, device=told.device)
    own = blocks[steps, steps].expand(inputs, -1, -1, -1).clone()
    own[..., :count, :count] += weight[:, 0::2]
    own[..., count:, count:] += weight[:, 1::2]
    next_to = blocks[steps[:-1], steps[1:]]
    # Forward: what is left of each block once all before it are eliminated.
    inverses: list[Tensor] = []
    carried = [told[:, 0]]
    for step in range(pairs):
        left = own[:, step]
        if step:
            gone = next_to[step - 1].mT @ inverses[-1]
            left = left - gone @ next_to[step - 1]
            carried.append(told[:, step] - (gone @ carried[-1].unsqueeze(-1)).squeeze(-1))
        inverses.append(torch.cholesky_inverse(torch.linalg.cholesky(left)))
    # Back: means and covariances, each out of the one after it.
    means = [(inverses[-1] @ carried[-1].unsqueeze(-1)).squeeze(-1)]
    covariances = [inverses[-1]]
    for step in reversed(range(pairs - 1)):
        link = inverses[step] @ next_to[step]
        ahead = carried[step] - (next_to[step] @ means[-1].unsqueeze(-1)).squeeze(-1)
        means.append((inverses[step] @ ahead.unsqueeze(-1)).squeeze(-1))
        covariances.append(inverses[step] + link @ covariances[-1] @ link.mT)
    mean = torch.stack(means[::-1], 1).view(inputs, 2 * pairs, count)
    both = torch.stack(covariances[::-1], 1).view(inputs, pairs, 2, count, 2, count)
    covariance = both.diagonal(dim1=2, dim2=4).movedim(-1, 2).reshape(inputs, -1, count, count)
    return mean[:, :times], covariance[:, :times]


def _precision(processes: Oscillation, times: int) -> Tensor:
    """The inverse of the covariance of all times, `(times K, times K)`, time by time."""
    first, second = processes
    innovation = processes.innovation
    count = len(first)
    whitening = torch.zeros(count, times, times, dtype=torch.float64, device=first.device)
    deviation = innovation.rsqrt()
    for time in range(2, times):
        whitening[:, time, time] = deviation
        whitening[:, time, time - 1] = -first * deviation
        whitening[:, time, time - 2] = -second * deviation
    start = (1 - processes.correlation**2).rsqrt()
    whitening[:, 0, 0] = 1.0
    whitening[:, 1, 1] = start
    whitening[:, 1, 0] = -processes.correlation * start
    precision = whitening.mT @ whitening
    whole = torch.zeros(times, count, times, count, dtype=torch.float64, device=first.device)
    each = torch.arange(count, device=first.device)
    whole[:, each, :, each] = precision
    return whole.view(times * count, times * count)
