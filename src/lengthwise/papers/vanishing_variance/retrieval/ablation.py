"""The ablation: LayerNorm against standardization, and against norms the paper does not have."""

from lengthwise.claims import Claim, Experiment, Finding, Results
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.retrieval import plan as runs
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval import section as shown


def evidence(results: Results) -> list[Finding]:
    """LayerNorm after W_O against every other norm; every norm against the baseline is shown."""
    norms = [variant for variant in runs.VARIANTS if variant != runs.BASELINE]
    pairs = [(runs.NORM, other) for other in norms if other != runs.NORM]
    return [
        read.gain(
            f"accuracy by which {runs.VARIANTS[variant].title} is above "
            f"{runs.VARIANTS[against].title} on {runs.TITLES[task]} at {length} items",
            results, task, variant, length, against, decides=against != runs.BASELINE,
        )
        for task in runs.TASKS
        for length in read.breaking_lengths(results, task)[:1]
        for variant, against in (*pairs, *((norm, runs.BASELINE) for norm in norms))
    ]  # fmt: skip


TABLE_ABLATION = Claim(
    name="vanishing-variance/table-ablation",
    sentence="Of all norms after attention, LayerNorm after W_O is the best.",
    source=f"{ARXIV}, ablation; norms other than LayerNorm and standardization are ours",
    experiment=Experiment(
        "retrieval-ablation",
        lambda scale: runs.plan(
            runs.MAIN_SIZES[scale]._replace(fleets=1), variants=tuple(runs.VARIANTS)
        ),
        shown.section("Which norm, and where", list(runs.TASKS)),
        shared_runs=runs.SHARED_RUNS,
    ),
    evidence=evidence,
    drawings=(shown.accuracy_drawing("table-ablation", tuple(runs.TASKS), tuple(runs.VARIANTS)),),
    tables=lambda results: [
        table
        for task in runs.TASKS
        for table in shown.accuracy_tables(results, task, tuple(runs.VARIANTS), f"ablation-{task}")
    ],
    place=100,
)
