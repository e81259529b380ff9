"""Table 1: the search space, stated as ours, and whether the search really covers it."""

from typing import Any

import numpy as np
import polars
from scipy import stats

from lengthwise.claims import Claim, Finding, Results, Table, every
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.search.section import SEARCH

SMALLEST_COVER = 0.9
"""Draws that lie further than 0.1 from the stated distribution do not cover it. Ours."""


def rows(results: Results) -> list[tuple[str, str]]:
    """Every hyper-parameter of the space and its distribution, in words."""
    assert results.search is not None
    space = results.search.description["space"]
    listed = {name: in_words(given) for name, given in space["hyperparameters"].items()}
    fixed = space["recipe"] | space["defaults"] | {"task.vocab": space["recipe"]["task"]["vocab"]}
    for name in ("batch", "test_inputs", "task.vocab", "warmup", "beta1", "beta2", "grad_clip"):
        listed.setdefault(name, f"{fixed[name]} (fixed)")
    return list(listed.items())


def in_words(described: dict[str, Any]) -> str:
    """A distribution as one reads it."""
    if "uniform" in described:
        return "uniform, {} to {}".format(*described["uniform"])
    if "log_uniform" in described:
        return "log-uniform, {} to {}".format(*described["log_uniform"])
    if "integers" in described:
        return "whole numbers, {} to {}".format(*described["integers"])
    if "choice" in described:
        values = ", ".join(map(_in_words, described["choice"]))
        equal = len(set(described["weights"])) == 1
        shares = "" if equal else f" (weights {', '.join(f'{w:g}' for w in described['weights'])})"
        return f"one of {values}{shares}"
    if "sometimes" in described:
        rest = f"{1 - described['chance']:.0%} {described['otherwise']:g}"
        return f"{rest}, else {in_words(described['sometimes'])}"
    return f"{_in_words(described['fixed'])} (fixed)"


def _in_words(value: Any) -> str:
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


def evidence(results: Results) -> list[Finding]:
    """Compare what was drawn with what is stated, for every hyper-parameter."""
    assert results.search is not None
    trials = results.search.table().unique("trial", maintain_order=True)
    described = results.search.description["space"]["hyperparameters"]
    covers = [
        1 - distance(trials[name], given)
        for name, given in described.items()
        if "fixed" not in given
    ]
    return [
        Finding(
            "1 - largest distance between the drawn and the stated distribution function, every "
            "hyper-parameter",
            every(covers, "hyper-parameters"),
            SMALLEST_COVER,
        )
    ]


def distance(drawn: polars.Series, described: dict[str, Any]) -> float:
    """The largest distance between two distribution functions (Kolmogorov and Smirnov's)."""
    if "choice" in described:
        total = sum(described["weights"])
        shares = [float((drawn == value).mean() or 0) for value in described["choice"]]
        stated = [weight / total for weight in described["weights"]]
        return float(np.abs(np.cumsum(shares) - np.cumsum(stated)).max())
    if "sometimes" in described:
        has = drawn != described["otherwise"]
        apart = abs(float(has.mean() or 0) - described["chance"])
        return max(apart, distance(drawn.filter(has), described["sometimes"]))
    (kind,) = described.keys() & {"uniform", "log_uniform"}
    low, high = described[kind]
    stated = (
        stats.loguniform(low, high) if kind == "log_uniform" else stats.uniform(low, high - low)
    )
    return float(stats.kstest(drawn.to_numpy(), stated.cdf).statistic)


TABLE_1 = Claim(
    name="whats-missing/table-1",
    sentence="The search covers the space that its table states (the space is ours).",
    source=f"{V1}, table 1 (its contents are not known to us)",
    experiment=SEARCH,
    evidence=evidence,
    tables=lambda results: [
        Table(
            "table-1",
            "Table 1: the search space. The paper's own ranges are not known to us; all of these "
            "are ours. Every trial is measured raw and with all pairs of the EMA and bias powers.",
            ["hyper-parameter", "distribution"],
            rows(results),
        )
    ],
    place=80,
)
