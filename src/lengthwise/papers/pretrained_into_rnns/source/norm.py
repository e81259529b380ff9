"""Claim: a norm of every head in place of the division makes a better converted model."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.claims import arms as read
from lengthwise.papers.pretrained_into_rnns.source import plan as runs
from lengthwise.papers.pretrained_into_rnns.source import readings as own
from lengthwise.papers.pretrained_into_rnns.source.section import SOURCE


def evidence(results: Results) -> list[Finding]:
    """At the training length it is decided; beyond it is shown."""
    seeds = own.pretrained(results, runs.CONVERTED, runs.CONVERTED_NORM)
    return [
        read.gain(
            f"nats per token {where}, converted with the division minus with a norm",
            values(results, runs.CONVERTED),
            values(results, runs.CONVERTED_NORM),
            seeds,
            runs.SMALLEST,
            decides=decides,
        )
        for where, values, decides in (
            ("at the training length", own.in_range, True),
            (own.words(results), own.beyond, False),
        )
    ]


GROUP_NORM = Claim(
    name="pretrained-into-rnns/group-norm",
    sentence="A norm of every head in place of the division makes a better converted model.",
    source="arXiv 2405.06640 (SUPRA), which repairs T2R so; in miniature",
    experiment=SOURCE,
    evidence=evidence,
    place=40,
)
