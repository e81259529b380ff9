"""Claim: rotary positions break beyond the training length where xPos does not."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.claims import arms as read
from lengthwise.papers.length_extrapolatable import ARXIV
from lengthwise.papers.length_extrapolatable.markov import plan as runs
from lengthwise.papers.length_extrapolatable.markov import readings as own
from lengthwise.papers.length_extrapolatable.markov.section import MARKOV


def evidence(results: Results) -> list[Finding]:
    """What rotary loses beyond training; that xPos with blockwise attention loses nothing.

    That is what the paper proposes. xPos with all keys is shown.
    """
    rotary = own.beyond(results, runs.ROTARY, runs.MEASURE)
    findings = [
        read.gain(
            f"nats per token that rotary loses beyond {runs.TRAINED} tokens, at {own.words()}",
            rotary,
            own.in_range(results, runs.ROTARY),
            own.learned(results, runs.ROTARY),
            runs.SMALLEST,
        ),
        own.no_rise(
            f"by how much xPos with blockwise attention loses less than {runs.SMALLEST} nats "
            f"beyond {runs.TRAINED} tokens, at {own.words()}",
            results, runs.XPOS, runs.BLOCKWISE,
        ),
    ]  # fmt: skip
    findings += [
        read.gain(
            f"nats per token of rotary with all keys above {title}, {own.words()}",
            rotary,
            own.beyond(results, arm, measure),
            own.learned(results, runs.ROTARY, arm),
            runs.SMALLEST,
            decides=measure == runs.BLOCKWISE,
        )
        for arm, measure, title in (
            (runs.XPOS, runs.BLOCKWISE, "xPos with blockwise attention"),
            (runs.XPOS, runs.MEASURE, "xPos with all keys"),
            (runs.XPOS_SLOW, runs.MEASURE, "xPos of scale 512 with all keys"),
            (runs.ALIBI, runs.MEASURE, "ALiBi with all keys"),
        )
    ]
    return findings


ROTARY_BREAKS = Claim(
    name="length-extrapolatable/rotary-breaks",
    sentence=(
        "Beyond the training length rotary positions break, where xPos with blockwise attention "
        "does not."
    ),
    source=f"{ARXIV}, perplexity by length, in miniature",
    experiment=MARKOV,
    evidence=evidence,
    place=10,
)
