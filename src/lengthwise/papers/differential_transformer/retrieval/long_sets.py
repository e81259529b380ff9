"""Claim: differential attention retrieves better than softmax from long inputs."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.papers.differential_transformer import ARXIV
from lengthwise.papers.differential_transformer.retrieval import plan as runs
from lengthwise.papers.differential_transformer.retrieval import readings as read
from lengthwise.papers.differential_transformer.retrieval.section import RETRIEVAL


def evidence(results: Results) -> list[Finding]:
    """The gain on softmax where that breaks and at four times that; version 2 is only shown."""
    return [
        read.gain(results, task, arm, against, length, decides=decides)
        for arm, against, decides in (
            (runs.DIFFERENTIAL, runs.SOFTMAX, True),
            (runs.DIFFERENTIAL, runs.SOFTMAX_NORM, False),
            (runs.SECOND, runs.SOFTMAX, False),
        )
        for task in runs.TASKS
        for length in read.breaking_lengths(results, task)
    ]


LONG_SETS = Claim(
    name="differential-transformer/retrieval",
    sentence=(
        "Differential attention retrieves better than softmax from inputs longer than those of "
        "training, at equal parameters."
    ),
    source=f"{ARXIV}, retrieval of needles, in miniature",
    experiment=RETRIEVAL,
    evidence=evidence,
    place=10,
)
