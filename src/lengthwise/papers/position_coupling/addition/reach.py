"""Claim: coupled positions reach further than random start and than none, seed by seed."""

from lengthwise.claims import Claim, Finding, Results, every
from lengthwise.claims.readings import paired_ratio
from lengthwise.papers.position_coupling import ARXIV
from lengthwise.papers.position_coupling.addition import plan as runs
from lengthwise.papers.position_coupling.addition.section import ADDITION


def evidence(results: Results) -> list[Finding]:
    """The ratio of reaches where both learned the training lengths; then at every seed."""
    found = []
    ours = runs.reach(results, runs.COUPLED)
    for other in (runs.RANDOM_START, runs.NONE):
        theirs, title = runs.reach(results, other), runs.LINES[other].title
        both = runs.learned(results, runs.COUPLED, other)
        found.append(
            Finding(
                f"reach of coupled positions / {title}, where both learned the training lengths",
                paired_ratio(
                    {seed: ours[seed] for seed in both}, {seed: theirs[seed] for seed in both}
                ),
                runs.SMALLEST_FACTOR,
            )
        )
    for other in (runs.RANDOM_START, runs.NONE):
        theirs, title = runs.reach(results, other), runs.LINES[other].title
        ratios = [ours[seed] / theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]
        found.append(
            Finding(
                f"the same against {title}, learned or not, smallest and largest over seeds",
                every(ratios),
                runs.SMALLEST_FACTOR,
                decides=False,
            )
        )
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
