"""Claim: blockwise attention at test repairs rotary positions."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.claims import arms as read
from lengthwise.papers.length_extrapolatable import ARXIV
from lengthwise.papers.length_extrapolatable.markov import plan as runs
from lengthwise.papers.length_extrapolatable.markov import readings as own
from lengthwise.papers.length_extrapolatable.markov.section import MARKOV


def evidence(results: Results) -> list[Finding]:
    """What it gains in the same rotary models, and that nothing is lost then; others are shown."""
    return [
        _gain(results, runs.ROTARY, decides=True),
        own.no_rise(
            f"by how much rotary with blockwise attention loses less than {runs.SMALLEST} nats "
            f"beyond {runs.TRAINED} tokens, at {own.words()}",
            results, runs.ROTARY, runs.BLOCKWISE,
        ),
        *(_gain(results, arm, decides=False) for arm in runs.ARMS if arm != runs.ROTARY),
    ]  # fmt: skip


def _gain(results: Results, arm: str, *, decides: bool) -> Finding:
    return read.gain(
        f"nats per token that blockwise attention gains in the same models with "
        f"{runs.ARMS[arm].line.title}, {own.words()}",
        own.beyond(results, arm, runs.MEASURE),
        own.beyond(results, arm, runs.BLOCKWISE),
        own.learned(results, arm),
        runs.SMALLEST,
        decides=decides,
    )


BLOCKWISE = Claim(
    name="length-extrapolatable/blockwise",
    sentence=(
        "Blockwise attention at test repairs a model with rotary positions beyond its training "
        "length."
    ),
    source=f"{ARXIV}, blockwise causal attention, in miniature",
    experiment=MARKOV,
    evidence=evidence,
    place=20,
)
