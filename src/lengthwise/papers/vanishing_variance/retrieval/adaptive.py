"""Softmax against the adaptive temperature, in a model that was trained without it."""

from lengthwise.claims import Claim, Experiment, Finding, Results, Table, estimate
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.retrieval import plan as runs
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval import section as shown
from lengthwise.papers.vanishing_variance.retrieval.section import mean_and_deviation

TASK = "argmax"

PUBLISHED = {
    "softmax": {16: 98.6, 64: 94.3, 256: 81.3, 1024: 53.8, 4096: 22.6, 16384: 12.4},
    "adaptive": {16: 98.6, 64: 94.5, 256: 82.1, 1024: 57.7, 4096: 24.9, 16384: 14.0},
}
"""Accuracy in %, from arXiv 2410.01104."""

MEASURES = {"softmax": "accuracy", "adaptive": "accuracy_adaptive"}

SMALLEST_GAIN = 0.005
"""Half a point; the published gains are 0.2 to 3.9 points. Ours."""


def evidence(results: Results) -> list[Finding]:
    """The gain within each model where it breaks; then, how far from the published rows."""
    gains = [
        Finding(
            f"accuracy gained by the adaptive temperature at {length} items, in the same model",
            estimate(_gains(results, length), level=results.level),
            SMALLEST_GAIN,
        )
        for length in read.breaking_lengths(results, TASK)
    ]
    apart = [
        Finding(
            f"accuracy of plain softmax at {length} items above the published {published:g} %",
            estimate([value - published / 100 for value in _values(results, "softmax", length)]),
            0.0,
            decides=False,
        )
        for length, published in PUBLISHED["softmax"].items()
        if length in read.lengths(results)
    ]
    return [*gains, *apart]


def _values(results: Results, weighing: str, length: int) -> list[float]:
    by_seed = read.at_length(results, TASK, runs.BASELINE, MEASURES[weighing], length)
    return [by_seed[seed] for seed in read.learned(results, TASK, (runs.BASELINE,))]


def _gains(results: Results, length: int) -> list[float]:
    pairs = zip(
        _values(results, "adaptive", length), _values(results, "softmax", length), strict=True
    )
    return [adaptive - softmax for adaptive, softmax in pairs]


def tables(results: Results) -> list[Table]:
    """Ours next to the published rows."""
    lengths = [length for length in PUBLISHED["softmax"] if length in read.lengths(results)]
    rows = [
        [
            str(length),
            *(
                cell
                for weighing, published in PUBLISHED.items()
                for cell in (
                    f"{published[length]:.1f}",
                    mean_and_deviation(_values(results, weighing, length)),
                )
            ),
        ]
        for length in lengths
    ]
    return [
        Table(
            "argmax-adaptive",
            "Accuracy in % on argmax retrieval by number of items. Here: mean and standard "
            "deviation over seeds; published: arXiv 2410.01104.",
            [
                "items",
                "softmax, published",
                "softmax, here",
                "adaptive, published",
                "adaptive, here",
            ],
            rows,
        )
    ]


TABLE_ADAPTIVE = Claim(
    name="vanishing-variance/table-adaptive",
    sentence=(
        "An adaptive temperature at inference improves the accuracy of an unchanged model on "
        "argmax retrieval where it breaks."
    ),
    source=f"arXiv 2410.01104, which {ARXIV} builds on",
    experiment=Experiment(
        "retrieval-adaptive",
        lambda scale: runs.plan(runs.MAIN_SIZES[scale], (TASK,), (runs.BASELINE,)),
        shown.section("Adaptive temperature", [TASK]),
        shared_runs=runs.SHARED_RUNS,
        looks=lambda scale: runs.LOOKS[scale],
    ),
    evidence=evidence,
    tables=tables,
    place=120,
)
