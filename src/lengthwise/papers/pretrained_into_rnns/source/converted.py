"""Claims: a converted softmax model beats one from scratch, and comes close to the softmax."""

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.claims import arms as read
from lengthwise.papers.pretrained_into_rnns import ARXIV
from lengthwise.papers.pretrained_into_rnns.source import plan as runs
from lengthwise.papers.pretrained_into_rnns.source import readings as own
from lengthwise.papers.pretrained_into_rnns.source.section import SOURCE


def against(results: Results, scratch: str) -> list[Finding]:
    """Nats that the converted model gains on one from scratch, at the training length."""
    title = runs.ARMS[scratch].line.title
    effect = f"nats per token at the training length, {title}, minus converted"
    seeds = own.pretrained(results, scratch, runs.CONVERTED)
    ours, theirs = own.in_range(results, runs.CONVERTED), own.in_range(results, scratch)
    return [read.gain(effect, theirs, ours, seeds, runs.SMALLEST)]


def close(results: Results) -> list[Finding]:
    """How much less than what matters the converted model lies above the softmax one."""
    found = []
    for label in (runs.CONVERTED, runs.CONVERTED_NORM):
        seeds = own.pretrained(results, label, runs.SOFTMAX_ON)
        ours, softmax = own.in_range(results, label), own.in_range(results, runs.SOFTMAX_ON)
        title = runs.ARMS[label].line.title
        effect = (
            f"by how much {title}, lies less than {runs.SMALLEST} nats above softmax trained on"
        )
        left = [runs.SMALLEST - (ours[seed] - softmax[seed]) for seed in seeds]
        found.append(Finding(effect, estimate(left), 0.0, decides=label == runs.CONVERTED))
    return found


FINETUNED = Claim(
    "pretrained-into-rnns/finetuned",
    "A softmax model that is converted and finetuned beats a recurrent one that is trained from "
    "scratch for as many steps as the finetuning takes.",
    f"{ARXIV}, conversion, in miniature",
    SOURCE,
    lambda results: against(results, runs.SCRATCH),
    place=10,
)
IN_ALL = Claim(
    "pretrained-into-rnns/in-all",
    "A softmax model that is converted and finetuned beats a recurrent one that is trained from "
    "scratch for as many steps as both trainings take.",
    f"{ARXIV}, conversion, in miniature",
    SOURCE,
    lambda results: against(results, runs.SCRATCH_LONG),
    place=20,
)
CLOSE = Claim(
    "pretrained-into-rnns/close",
    "A converted and finetuned model comes close to the softmax model.",
    f"{ARXIV}, conversion, in miniature",
    SOURCE,
    close,
    place=30,
)
