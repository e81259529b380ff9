"""Claims: predictive coupling is coupling where ids are given; what it loses where they are not."""

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.claims import arms as read
from lengthwise.papers.position_coupling.addition import plan as runs
from lengthwise.papers.role_of_sparsity import ARXIV
from lengthwise.papers.role_of_sparsity.predictive import given as own


def as_good(results: Results) -> list[Finding]:
    """Ids given: how much less than what matters it is below coupling; reached only by learners."""
    coupled = own.beyond(results, read.readings(results, runs.COUPLED, runs.MEASURE))
    given = own.beyond(results, own.right_sums(results))
    seeds = runs.learned(results, runs.COUPLED, runs.PREDICTIVE)
    lost = [coupled[seed] - given[seed] for seed in seeds]
    left = estimate([runs.SMALLEST_LOSS - one for one in lost])
    effect = f"by how much it loses less than {runs.SMALLEST_LOSS} of the sums beyond training"
    return [
        Finding(f"{effect}, ids given, against coupling", left, 0.0),
        Finding("sums beyond training that it loses on coupling", estimate(lost), 0.0, False),
    ]


def loses(results: Results) -> list[Finding]:
    """What the same models lose when they have to predict the ids."""
    given = own.beyond(results, own.right_sums(results))
    predicted = own.beyond(results, read.readings(results, runs.PREDICTIVE, runs.MEASURE))
    seeds = runs.learned(results, runs.PREDICTIVE)
    return [
        read.gain(
            "sums beyond training that the same models lose where ids are predicted",
            given, predicted, seeds, runs.SMALLEST_LOSS,
        )
    ]  # fmt: skip


GIVEN = Claim(
    name="role-of-sparsity/given",
    sentence="Predictive position coupling is as good as coupling where position ids are given.",
    source=f"{ARXIV}; the definition of the model is ours",
    experiment=own.PREDICTION,
    evidence=as_good,
    place=10,
)

PREDICTED = Claim(
    name="role-of-sparsity/predicted",
    sentence="Beyond the training length sums are lost where position ids have to be predicted.",
    source=f"{ARXIV}; the definition of the model is ours",
    experiment=own.PREDICTION,
    evidence=loses,
    place=20,
)
