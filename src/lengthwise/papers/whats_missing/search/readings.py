"""What the claims about the search read: pairs of twins, and top portions of models."""

import numpy as np
import polars

from lengthwise.claims import Estimate, Results, TopPortion, estimate, once
from lengthwise.claims.readings import weights_in_words
from lengthwise.papers.whats_missing.search.space import DROPOUTS

SITES = dict(zip(DROPOUTS, ("embedding", "attention weights", "attention output"), strict=True))
"""Dropout sites as hyper-parameters and in words. Ours."""

PAIRS = "pairs"
"""What is counted: pairs of twins."""


@once
def trials(results: Results) -> polars.DataFrame:
    """All trials that did not diverge: a row per set of weights.

    Beside the columns of the search's table: `pair` (of twins), `norm` (or "none"), `largest_gap`
    (longest test length minus training length), `kind` ("raw", "EMA 0.5", "BEMA 0.5 0.2" ...),
    `dropout` (whether any site has one), `family` (the remedies that a model has: "norm + EMA").
    """
    assert results.search is not None
    longest = results.search.by_length()["length"].max()
    table = results.search.table().filter(
        polars.col("diverged").is_null(), polars.col("tvd_beyond").is_not_nan()
    )
    norm = polars.col("model.remedies").list.first().fill_null("none")
    table = table.rename({"model.extra_width": "extra_width"}).with_columns(
        pair=polars.col("trial") // 2,
        norm=norm,
        factor=polars.col("factor").replace("model.remedies", "norm"),
        largest_gap=longest - polars.col("max_train_length"),
        kind=weights_in_words(),
        dropout=polars.any_horizontal(polars.col(site) > 0 for site in DROPOUTS),
    )
    remedies = polars.concat_list(
        polars.when(polars.col("norm") != "none").then(polars.lit("norm")),
        polars.when("dropout").then(polars.lit("dropout")),
        polars.when(polars.col("weights") != "raw").then(polars.col("weights").str.to_uppercase()),
    ).list.drop_nulls()
    family = polars.when(remedies.list.len() > 0).then(remedies.list.join(" + "))
    return table.with_columns(family=family.otherwise(polars.lit("no remedy")))


def best_weights(table: polars.DataFrame) -> polars.DataFrame:
    """One row per trial: the set of weights with the least TVD beyond the training length."""
    ordered = table.sort("tvd_beyond", "trial", "kind")
    return ordered.unique("trial", keep="first", maintain_order=True).sort("trial")


def part(table: polars.DataFrame, **values: object) -> polars.DataFrame:
    """The trials with these values."""
    return table.filter(*(polars.col(name) == value for name, value in values.items()))


def twins(table: polars.DataFrame, factor: str, kind: str = "raw") -> polars.DataFrame:
    """Pairs that differ in `factor` alone: one row each, with TVD beyond as `off` and `on`.

    `off` is the twin without the dropout, or without the norm; the other columns are those of the
    pair's first trial, and `rate` is the value of `factor` in the twin that has it.
    """
    chosen = part(table, kind=kind)
    first = chosen.filter(polars.col("factor").is_null())
    second = part(chosen, factor=factor)
    pairs = first.join(second.select("pair", factor, "tvd_beyond"), on="pair", suffix="_twin")
    is_off = polars.col(factor) == ("none" if factor == "norm" else 0.0)
    ours, theirs = polars.col("tvd_beyond"), polars.col("tvd_beyond_twin")
    return pairs.with_columns(
        off=polars.when(is_off).then(ours).otherwise(theirs),
        on=polars.when(is_off).then(theirs).otherwise(ours),
        rate=polars.when(is_off).then(polars.col(f"{factor}_twin")).otherwise(polars.col(factor)),
    )


def factor_lower(pairs: polars.DataFrame, looks: int = 1) -> Estimate:
    """How many times lower TVD is with the factor than without it, over pairs of twins.

    Args:
        pairs: What `twins` gave, or a part of it.
        looks: How many parts are looked at; see `estimate`.
    """
    logs = np.log(pairs["off"].to_numpy() / pairs["on"].to_numpy())
    return estimate(logs.tolist(), PAIRS, looks).exp()


def within_trials(table: polars.DataFrame, below: str, above: str = "raw") -> Estimate:
    """How many times lower TVD is with the weights `below` than `above`, within each trial.

    Twins are no independent witnesses: each pair counts once, with the mean of its two trials.
    """
    upper, lower = (
        part(table, kind=kind).select("trial", "pair", log=polars.col("tvd_beyond").log())
        for kind in (above, below)
    )
    joined = upper.join(lower, on="trial", suffix="_below")
    ratio = (polars.col("log") - polars.col("log_below")).mean()
    means = joined.group_by("pair", maintain_order=True).agg(ratio)
    return estimate(means["log"].to_list(), PAIRS).exp()


def chosen_weights(table: polars.DataFrame, prefix: str) -> tuple[str, polars.DataFrame]:
    """The weights of a kind, such as "BEMA ", whose top portion is best on every other pair.

    Given back with the trials of the other pairs: what is chosen by its numbers must not be judged
    by the same numbers.
    """
    half = table.filter(polars.col("pair") % 2 == 0)
    kinds = sorted(kind for kind in half["kind"].unique() if kind.startswith(prefix))
    chosen = min(kinds, key=lambda kind: top_tvd(part(half, kind=kind)).point)
    return chosen, table.filter(polars.col("pair") % 2 == 1)


def top_tvd(table: polars.DataFrame) -> TopPortion:
    """The logarithm of TVD in the top portion of models, ranked within each largest gap."""
    ordered = table.sort("trial").with_columns(log=polars.col("tvd_beyond").log())
    return TopPortion(ordered, "log", ["largest_gap"])
