"""Claim: with the same noise in both maps, the best lambda grows with the number of keys."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lengthwise.claims import (
    Claim,
    Drawing,
    Experiment,
    Finding,
    Results,
    Section,
    Table,
    estimate,
    once,
)
from lengthwise.papers.differential_transformer import ARXIV
from lengthwise.report.style import COLOURS, Figure, new_panels

GAP = 4.0
"""By how much the first map scores the right key above its noise."""

DEVIATION = 1.0
"""Deviation of the noise, which both maps have in common."""

COUNTS = (16, 64, 256, 1024, 4096, 16384)
LAMBDAS = np.linspace(0.0, 1.2, 121)
DRAWS = {"quick": 64, "laptop": 512, "paper": 4096}
PARTS = 16
"""A best lambda is one of a mean over draws: there are so many means, each over its own draws."""

SMALLEST_GROWTH = 0.1
"""A best lambda that grows by less would not matter. All of this is ours."""


class Shares(NamedTuple):
    """What differential attention over so many keys gives out."""

    energy: npt.NDArray[np.float64]
    """Share of the output's energy that comes of the right key: `(PARTS, lambdas)`."""

    @property
    def best(self) -> npt.NDArray[np.float64]:
        """The best lambda of every part."""
        return LAMBDAS[self.energy.argmax(-1)]


@once
def shares(results: Results, count: int) -> Shares:
    """Energy shares at a number of keys, for every lambda.

    Values are independent of one another, so what a key adds to the energy is its squared weight.
    """
    draws = DRAWS[results.scale]
    generator = np.random.default_rng([count, 0])
    found = np.empty((draws, len(LAMBDAS)))
    for number in range(draws):
        first, second = maps(generator.normal(0, DEVIATION, count))
        weights = first - LAMBDAS[:, None] * second
        found[number] = weights[:, 0] ** 2 / (weights**2).sum(-1)
    return Shares(found.reshape(PARTS, -1, len(LAMBDAS)).mean(1))


def maps(noise: npt.NDArray[np.float64]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Both softmax maps: the noise with the right key, which is the first, and the noise alone."""
    scores = np.stack([noise, noise])
    scores[0, 0] += GAP
    weights = np.exp(scores)
    weights /= weights.sum(-1, keepdims=True)
    return weights[0], weights[1]


def evidence(results: Results) -> list[Finding]:
    """How the best lambda grows, and what a lambda that is right for few keys loses at many."""
    few, many = shares(results, COUNTS[0]), shares(results, COUNTS[-1])
    kept = many.energy[:, np.abs(LAMBDAS - few.best.mean()).argmin()]
    return [
        Finding(
            f"best lambda at {COUNTS[-1]} keys above that at {COUNTS[0]}",
            estimate((many.best - few.best).tolist(), "parts of the draws"),
            SMALLEST_GROWTH,
        ),
        Finding(
            f"share of the energy at {COUNTS[-1]} keys that is lost with the best lambda of "
            f"{COUNTS[0]} keys",
            estimate((many.energy.max(-1) - kept).tolist(), "parts of the draws"),
            SMALLEST_GROWTH,
            decides=False,
        ),
    ]


def draw(results: Results) -> Figure:
    """The share by lambda, a line per number of keys; the best lambda by the number of keys."""
    figure, (left, right) = new_panels(10.4, 3.9, 1, 2)
    shades = np.linspace(0.25, 1.0, len(COUNTS))
    for count, shade in zip(COUNTS, shades, strict=True):
        energy = shares(results, count).energy.mean(0)
        left.plot(LAMBDAS, energy, color=COLOURS["blue"], alpha=shade, label=f"{count} keys")
        best = energy.argmax()
        left.plot(LAMBDAS[best], energy[best], "o", color=COLOURS["orange"], ms=6, zorder=3)
    left.set(xlabel="lambda", ylabel="energy share of the right key", ylim=(0, 1.03))
    left.legend(loc="lower right", fontsize=8.5)
    estimates = [estimate(shares(results, count).best.tolist()) for count in COUNTS]
    right.plot(COUNTS, [one.mean for one in estimates], "o-", color=COLOURS["orange"])
    right.fill_between(
        COUNTS, [one.low for one in estimates], [one.high for one in estimates],
        color=COLOURS["orange"], alpha=0.18, lw=0,
    )  # fmt: skip
    right.set(xscale="log", xlabel="number of keys", ylabel="best lambda", ylim=(0, 1.1))
    right.set_xticks(list(COUNTS), [str(count) for count in COUNTS])
    right.xaxis.minorticks_off()
    return figure


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    chosen = (0.0, 0.2, 0.5, 0.8, 1.0)
    rows = []
    for count in COUNTS:
        found = shares(results, count)
        energy = found.energy.mean(0)
        at = [f"{energy[np.abs(LAMBDAS - one).argmin()]:.3f}" for one in chosen]
        rows.append([str(count), *at, f"{found.best.mean():.2f}"])
    return Section(
        title="Noise that two maps have in common",
        introduction=(
            "Two softmax maps see the same random scores; the first one also sees the right key, "
            f"{GAP:g} above its noise. The difference A_1 - lambda A_2 takes the noise out, but "
            "how much of it there is depends on the number of keys."
        ),
        pictures=[],
        notes=[
            "Why it should be so: the second map has the noise of all keys, the first one has it "
            "less what the right key takes. Noise cancels where lambda = Z / (Z + (e^g - 1) "
            "e^x), with Z the sum of e^score in the second map, g the gap and x the right key's "
            "own noise. That tends to 1 as Z grows with the number of keys.",
            "The paper does not say this: it learns one lambda per layer at all lengths at once. "
            f"Ours: the gap, normal noise of deviation {DEVIATION:g}, values that are independent "
            f"of one another, {DRAWS[results.scale]} draws in {PARTS} parts. Nothing is trained.",
        ],
        tables=[
            Table(
                "energy",
                "Share of the output's energy that comes of the right key, by number of keys and "
                "lambda; and the best lambda.",
                ["keys", *(f"lambda {one:g}" for one in chosen), "best lambda"],
                rows,
            )
        ],
    )


BEST_LAMBDA = Claim(
    name="differential-transformer/noise",
    sentence=(
        "Where both maps have the same noise, the lambda that leaves most to the right key grows "
        "with the number of keys."
    ),
    source=f"our derivation for {ARXIV}",
    experiment=Experiment("differential-noise", lambda scale: {}, section),
    evidence=evidence,
    drawings=(
        Drawing(
            "lambda",
            draw,
            "Left: share of the output's energy that comes of the right key, by lambda; dots mark "
            "the best one. Right: the best lambda by the number of keys, with a 95 % band.",
            "Energy share of the right key by lambda, and the best lambda by number of keys",
        ),
    ),
    place=40,
)
