"""Claim: without the norm of its heads differential attention is worse."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.papers.differential_transformer import ARXIV
from lengthwise.papers.differential_transformer.retrieval import plan as runs
from lengthwise.papers.differential_transformer.retrieval import readings as read
from lengthwise.papers.differential_transformer.retrieval.section import RETRIEVAL


def evidence(results: Results) -> list[Finding]:
    """What the norm gains where softmax breaks and at four times that; in range it is shown."""
    trained = results.recipe.max_train_length
    return [
        read.gain(results, task, runs.DIFFERENTIAL, runs.NO_NORM, length, decides=length != trained)
        for task in runs.TASKS
        for length in (*read.breaking_lengths(results, task), trained)
    ]


HEAD_NORM = Claim(
    name="differential-transformer/head-norm",
    sentence="Without the norm of its heads differential attention is worse.",
    source=f"{ARXIV}, ablation of the loss; here of retrieval beyond the training length",
    experiment=RETRIEVAL,
    evidence=evidence,
    place=20,
)
