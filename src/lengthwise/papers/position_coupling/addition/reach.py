"""Claim: coupled positions reach further than random start and than none, seed by seed."""

from lengthwise.claims import Claim, Finding, Results, every
from lengthwise.claims.readings import paired_ratio
from lengthwise.papers.position_coupling import ARXIV
from lengthwise.papers.position_coupling.addition import plan as runs
from lengthwise.papers.position_coupling.addition.section import ADDITION


def evidence(results: Results) -> list[Finding]:
    """The ratio of reaches at every seed; then where both learned the training lengths.

    In one layer the others hardly learn addition (without positions they cannot, says the paper):
    a model that learned nothing has reach 1. So it is reach at equal cost that decides, and not
    what is lost beyond the training length alone.
    """
    others = (runs.RANDOM_START, runs.NONE)
    reaches = {label: runs.reach(results, label) for label in (runs.COUPLED, *others)}
    ours = reaches[runs.COUPLED]
    found = []
    for other in others:
        theirs = reaches[other]
        ratios = [ours[seed] / theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]
        effect = f"reach of coupled positions / {runs.LINES[other].title}"
        found.append(Finding(f"{effect}, every seed", every(ratios), runs.SMALLEST_FACTOR))
    for other in others:
        both = runs.learned(results, runs.COUPLED, other)
        theirs = reaches[other]
        ratio = paired_ratio(
            {seed: ours[seed] for seed in both}, {seed: theirs[seed] for seed in both}
        )
        effect = f"the same where both learned the training lengths: {runs.LINES[other].title}"
        found.append(Finding(effect, ratio, runs.SMALLEST_FACTOR, decides=False))
    trained = float(results.recipe.max_train_length)
    found.append(
        Finding(
            "reach of coupled positions / training length, smallest and largest over seeds",
            every([length / trained for length in ours.values()]),
            1.0,
            decides=False,
        )
    )
    return found


REACH = Claim(
    name="position-coupling/reach",
    sentence=(
        "On addition a model of one layer with coupled positions reaches further than one with a "
        "random start and one without positions, at every seed."
    ),
    source=f"{ARXIV}, in miniature",
    experiment=ADDITION,
    evidence=evidence,
    place=10,
)
