"""The section on the search: thousands of small transformers."""

import shlex

import polars

from lengthwise.claims import Experiment, Results, Section
from lengthwise.claims.readings import SMALLEST_FACTOR
from lengthwise.claims.statistics import TOP
from lengthwise.papers.whats_missing.search.plan import fresh_plan, plan


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    assert results.search is not None
    table = results.search.table()
    count = table["trial"].n_unique()
    diverged = table.filter(polars.col("diverged").is_not_null())["trial"].n_unique()
    version = results.search.description["version"]
    return Section(
        title="What helps, in a random search of small transformers",
        introduction=(
            f"{count} one-layer transformers learn to name a token they have not seen yet. Each "
            "has its own training length, width, norm, dropout, learning rate, weight decay, loss "
            "and number of steps, drawn at random. All are tested at every length beyond those "
            "they were trained on, with their last weights and with averages of them."
        ),
        pictures=[],
        notes=[
            "The paper gives that its evidence is a random search read by top portions, and what "
            "is searched: dropout, BEMA and EMA powers, extra dimensions, gaps. Dropout sites, all "
            "ranges, the optimizer, numbers of steps and trials, and the portions are ours.",
            f"Search: seed {results.search.seed}, {count} trials, {diverged} diverged and left "
            f"out, lengthwise {version['lengthwise']}, torch {version['torch']}, commit "
            f"{version['commit'][:12]}; started as: "
            f"{shlex.join(results.search.description['command'])}",
            "Trials come in pairs of twins, which have the same data, initial weights and "
            "hyper-parameters but for one factor. Effects of the norm and of dropout are over "
            "twins, those of averages 'within every trial': Student's t intervals over pairs. Top "
            f"portions (the best {TOP:.0%} by TVD beyond the training length, ranked within each "
            "training length) have bootstrap intervals over pairs.",
            f"Changes of TVD by less than a factor of {SMALLEST_FACTOR} would not matter (ours).",
        ],
    )


SEARCH = Experiment("set-complement-search", lambda scale: {}, section, search=plan)
FRESH_SEARCH = Experiment(
    "set-complement-search-fresh", lambda scale: {}, section, search=fresh_plan
)
