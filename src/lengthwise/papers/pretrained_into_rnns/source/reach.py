"""Claim: what conversion costs beyond the training length."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.claims import arms as read
from lengthwise.papers.pretrained_into_rnns import ARXIV
from lengthwise.papers.pretrained_into_rnns.source import plan as runs
from lengthwise.papers.pretrained_into_rnns.source import readings as own
from lengthwise.papers.pretrained_into_rnns.source.section import SOURCE


def evidence(results: Results) -> list[Finding]:
    """Nats that are lost beyond training, against the softmax model that was trained on as long.

    Only where both are near the source in range: else it would be learning that is compared.
    """
    softmax = own.beyond(results, runs.SOFTMAX_ON)
    return [
        read.gain(
            f"nats per token {own.words(results)}, {runs.ARMS[label].line.title}, minus softmax "
            "trained on",
            own.beyond(results, label),
            softmax,
            own.learned(results, runs.SOFTMAX_ON, label),
            runs.SMALLEST,
            decides=label == runs.CONVERTED,
        )
        for label in (runs.CONVERTED, runs.CONVERTED_NORM, runs.SCRATCH_LONG)
    ]


REACH = Claim(
    name="pretrained-into-rnns/reach",
    sentence="Conversion costs beyond the training length, even where it costs nothing in range.",
    source=f"ours, on {ARXIV}, which tests no other lengths",
    experiment=SOURCE,
    evidence=evidence,
    place=50,
)
