"""Claims without training: how the mix grows with N, and what noise does to one key."""

import numpy as np

from lengthwise.claims import Claim, Experiment, Finding, Results, Section, drawing, estimate
from lengthwise.papers.normalized_attention import ARXIV
from lengthwise.papers.normalized_attention.noise import readings as read
from lengthwise.report.style import COLOURS, Figure, new_panels

SMALLEST_RATE = 0.4
"""The mix must grow or fall at least as N^0.4 to count as the square root of N. Ours."""

SMALLEST_SHARE = 0.05
LONG = 4096

DASHES = {0.0: "-", 0.1: "--", 0.3: ":", 1.0: "-."}


def spread(results: Results) -> list[Finding]:
    """How fast the deviation of the mix of random values changes with N."""
    return [
        Finding(
            "rate k at which the deviation of NAP's mix grows, as N^k",
            estimate(read.rates(results, "NAP"), "populations"),
            SMALLEST_RATE,
        ),
        Finding(
            "rate k at which the deviation of softmax's mix falls, as 1/N^k",
            estimate([-one for one in read.rates(results, "softmax")], "populations"),
            SMALLEST_RATE,
        ),
    ]


def noise_law(results: Results) -> list[Finding]:
    """Which one finds the key that is ahead, with and without noise in the others' scores."""
    findings = []
    for noise in read.NOISE:
        nap, softmax = (
            np.array(read.found_share(results, kind, noise, LONG)) for kind in read.KINDS
        )
        sign = 1.0 if noise == 0 else -1.0
        words = "NAP minus softmax" if noise == 0 else "softmax minus NAP"
        findings.append(
            Finding(
                f"part of the mix that comes from a key {read.AHEAD:g} ahead of {LONG - 1} others "
                f"whose scores have deviation {noise:g}, {words}",
                estimate([float(one) for one in sign * (nap - softmax)], "populations"),
                SMALLEST_SHARE,
                decides=noise in (0.0, 0.3),
            )
        )
    return findings


@drawing(
    "noise-law",
    "Left: deviation of the mix of N random values under random scores. Right: the part of the mix "
    f"that comes from one key whose score is {read.AHEAD:g} ahead, for several deviations of the "
    "others' scores.",
    "Deviation of the mix, and the part of one key in it, against the number of keys",
)
def figure(results: Results) -> Figure:
    """The mix's deviation left, the found share right."""
    drawn, (left, right) = new_panels(10.4, 4.0, 1, 2)
    for kind, colour in zip(read.KINDS, (COLOURS["blue"], COLOURS["orange"]), strict=True):
        means = [float(np.mean(values)) for values in read.deviation(results, kind).values()]
        left.plot(read.COUNTS, means, "o-", color=colour, label=kind, markersize=4.5)
        for noise, dashes in DASHES.items():
            shares = [np.mean(read.found_share(results, kind, noise, n)) for n in read.COUNTS]
            right.plot(
                read.COUNTS, shares, dashes, color=colour, label=f"{kind}, noise {noise:g}",
                linewidth=1.6,
            )  # fmt: skip
    left.set(yscale="log", ylabel="deviation of the mix")
    right.set(ylim=(-0.02, 1.02), ylabel="part of the key that is ahead")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xticks(read.COUNTS, [str(n) for n in read.COUNTS])
        axes.set_xlabel("keys N")
    left.legend()
    right.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return drawn


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    return Section(
        title="What standardized scores do as keys get many",
        introduction=(
            "Scores are drawn, not learned. NAP standardizes them over the keys and uses them as "
            "weights as they are; softmax makes probabilities of them."
        ),
        pictures=[figure.picture(results)],
        notes=[
            "That the spread of softmax's output falls with N before training is the paper's; that "
            "NAP's grows, and what noise does, is our derivation. The weights are those of the "
            "remedy `nap` with its initial gain and shift.",
            f"Ours at scale '{results.scale}': {read.POPULATIONS[results.scale]} draws, N up to "
            f"{read.COUNTS[-1]}, {read.FEATURES} features of normal values.",
            "A noise of 0.3 was named in advance, in the notes on the paper; the other values are "
            "shown only.",
        ],
    )


NOISE = Experiment("normalized-attention-noise", lambda scale: {}, section)

SPREAD = Claim(
    name="normalized-attention/spread",
    sentence=(
        "At the start of training the deviation of what attention gives out falls with the number "
        "of keys under softmax, and grows with its square root under NAP."
    ),
    source=f"{ARXIV} for softmax; for NAP ours",
    experiment=NOISE,
    evidence=spread,
    place=40,
)

NOISE_LAW = Claim(
    name="normalized-attention/noise-law",
    sentence=(
        "Of very many keys NAP finds the one that is ahead better than softmax if the others' "
        "scores are equal, and worse if they are noisy."
    ),
    source=f"ours, on {ARXIV}",
    experiment=NOISE,
    evidence=noise_law,
    place=50,
)
