"""Claim: seeds that are all perfect in range spread beyond it."""

from lengthwise.claims import Claim, Finding, Results, every
from lengthwise.papers.not_robustly import ARXIV
from lengthwise.papers.not_robustly.addition import plan as runs
from lengthwise.papers.not_robustly.addition import readings as read
from lengthwise.papers.not_robustly.addition.section import ADDITION


def evidence(results: Results) -> list[Finding]:
    """The deviation over seeds beyond training, of those that are perfect in range."""
    seeds = read.perfect(results, runs.RECIPE)
    values = [read.beyond(results, runs.RECIPE)[seed] for seed in seeds]
    within = [read.in_range(results, runs.RECIPE)[seed] for seed in seeds]
    about = "over seeds that are perfect in range"
    found = [
        Finding(
            f"standard deviation of the share of right sums {read.words(results)}, {about}",
            read.spread(values),
            runs.SMALLEST_SPREAD,
        ),
        Finding(
            f"the same in range, {about}", read.spread(within), runs.SMALLEST_SPREAD, decides=False
        ),
    ]
    if seeds:
        found.append(
            Finding(
                f"share of right sums {read.words(results)}, mean, smallest and largest {about}",
                every(values), 0.0, decides=False,
            )
        )  # fmt: skip
    return found


NOT_ROBUST = Claim(
    name="not-robustly/seeds",
    sentence="Models of the recipe that are all perfect in range differ widely beyond it by seed.",
    source=f"{ARXIV}, seeds of weights and data, in miniature",
    experiment=ADDITION,
    evidence=evidence,
    place=30,
)
