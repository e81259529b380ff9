"""Figure 3: drift of the global mean and decay of the global variance."""

import polars

from lengthwise.claims import Finding, Results
from lengthwise.claims.readings import SMALLEST_FACTOR, by_seed, paired_ratio
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval.plan import VARIANTS
from lengthwise.papers.vanishing_variance.retrieval.samples import COMPARED, claim_per_task
from lengthwise.papers.vanishing_variance.retrieval.section import LINES
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.style import Figure, house_style, new_panels


def drift(results: Results, task: str, variant: str) -> polars.DataFrame:
    """|global mean - that at the longest training length| / global variance there."""
    mean = _with_trained(results, task, variant, "global_mean_after")
    variance = _with_trained(results, task, variant, "global_variance_after")
    return mean.with_columns(
        ((polars.col("value") - polars.col("trained")).abs() / variance["trained"]).alias("value")
    )


def variance_left(results: Results, task: str, variant: str) -> polars.DataFrame:
    """Global variance over that at the longest training length."""
    rows = _with_trained(results, task, variant, "global_variance_after")
    return rows.with_columns((polars.col("value") / polars.col("trained")).alias("value"))


def _with_trained(results: Results, task: str, variant: str, measure: str) -> polars.DataFrame:
    rows = read.readings(results, task, variant, measure)
    trained = rows.filter(polars.col("length") == results.recipe.max_train_length)
    own = trained.select("seed", polars.col("value").alias("trained"))
    return rows.join(own, on="seed", maintain_order="left")


def evidence(results: Results, task: str) -> list[Finding]:
    """Both shifts at the longest sets, without the norm over with it, seed by seed.

    The paper divides the drift by the variance, which depends on the scale of the output; divided
    by the standard deviation, which does not, it is only shown.
    """
    trained, longest = results.recipe.max_train_length, read.lengths(results)[-1]
    learned = read.learned(results, task, COMPARED)
    at_longest = (polars.col("length") == longest) & polars.col("seed").is_in(learned)
    findings = []
    for words, shift, decides in (
        ("global variance changes", _change, True),
        ("global mean drifts (over the variance)", drift, True),
        ("global mean drifts (over the standard deviation)", _drift_in_deviations, False),
    ):
        baseline, norm = (
            by_seed(shift(results, task, variant).filter(at_longest)) for variant in COMPARED
        )
        findings.append(
            Finding(
                f"how far the {words} from {trained} to {longest} items, baseline / LayerNorm",
                paired_ratio(baseline, norm, results.level),
                SMALLEST_FACTOR,
                decides,
            )
        )
    return findings


def _drift_in_deviations(results: Results, task: str, variant: str) -> polars.DataFrame:
    variance = _with_trained(results, task, variant, "global_variance_after")["trained"]
    return drift(results, task, variant).with_columns(polars.col("value") * variance.sqrt())


def _change(results: Results, task: str, variant: str) -> polars.DataFrame:
    """By what factor the global variance changes, as a logarithm."""
    left = variance_left(results, task, variant)
    return left.with_columns(polars.col("value").log().abs().clip(1e-6))


@house_style()
def draw(results: Results, task: str) -> Figure:
    """Drift left, variance right."""
    trained, lengths = results.recipe.max_train_length, read.lengths(results)
    figure, (left, right) = new_panels(10.4, 3.7, 1, 2)
    for axes, table, ylabel in (
        (left, drift, "drift of the global mean"),
        (right, variance_left, "global variance left"),
    ):
        curves = {
            VARIANTS[variant].title: Curve(table(results, task, variant), *LINES[variant])
            for variant in COMPARED
        }
        draw_by_length(axes, curves, trained, lengths, ylabel)
        axes.set_xlabel("number of items")
    left.set_ylim(bottom=0)
    right.set_yscale("log")
    left.legend(loc="upper left")
    return figure


FIGURE_3_ARGMAX, FIGURE_3_DICTIONARY = claim_per_task(
    "figure-3",
    "LayerNorm after attention reduces the shift of the attention output's distribution on {task}.",
    evidence,
    draw,
    "On {task}. Left: how far the mean over all features of what the answer is made of has moved "
    "from its value at the longest training length, divided by the variance there. Right: what is "
    "left of that variance. Means over seeds with 95 % bands.",
    "Drift of the global mean and decay of the global variance, {task}",
    place=60,
)
