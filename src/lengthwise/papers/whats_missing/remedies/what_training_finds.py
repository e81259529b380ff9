"""Claim: training finds models near those of Theorem 4.2."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from lengthwise.claims import Claim, Finding, Results, drawing, estimate, once
from lengthwise.claims.readings import BIAS_POWER, EMA_POWER, SMALLEST_FACTOR, paired_ratio
from lengthwise.papers.whats_missing import ARXIV
from lengthwise.papers.whats_missing.remedies import readings
from lengthwise.papers.whats_missing.remedies.section import REMEDIES
from lengthwise.report.style import COLOURS, Figure, new_panels
from lengthwise.runs import RunFolder
from lengthwise.runs.models import load_trainer, trained_model
from lengthwise.theory import certify, fit_structure, read_tables

KINDS = {
    "baseline": ("baseline", None, None, COLOURS["orange"], "o"),
    "baseline, BEMA": ("baseline", EMA_POWER, BIAS_POWER, COLOURS["blue"], "s"),
    "baseline, EMA": ("baseline", EMA_POWER, None, COLOURS["grey"], "v"),
    "norm": ("norm", None, None, COLOURS["green"], "^"),
}
"""Run, powers of the average, and how to draw it."""

SMALLEST_SHARE = 0.9
"""Nearness of less than nine tenths would not matter. Ours."""


@dataclass(frozen=True)
class Anatomy:
    """What the theory sees in one trained model."""

    attention: float
    """Mean TVD of attention from constant."""
    unexplained: float
    """The part of B and D that is not of the lemma's form."""
    margins: dict[int, float]
    """Worst margin over all inputs, by length."""


def evidence(results: Results) -> list[Finding]:
    """Look into every trained model that did not diverge, with and without averaging and norm."""
    longest = results.recipe.task.lengths[-1]

    def by_seed(kind: str, value: Callable[[Anatomy], float]) -> dict[int, float]:
        return {seed: value(one) for seed, one in anatomies(results, kind).items()}

    def unexplained(kind: str) -> dict[int, float]:
        return by_seed(kind, lambda one: one.unexplained)

    def wider_margin(kind: str) -> list[float]:
        own, plain = (by_seed(k, lambda one: one.margins[longest]) for k in (kind, "baseline"))
        return [own[seed] - plain[seed] for seed in sorted(own.keys() & plain.keys())]

    baseline = anatomies(results, "baseline").values()
    others = [kind for kind in KINDS if kind != "baseline"]
    return [
        Finding(
            "1 - distance of attention from constant (mean TVD), baseline",
            estimate([1 - one.attention for one in baseline]),
            SMALLEST_SHARE,
        ),
        Finding(
            "share of B and D that has the lemma's form (of squares), baseline",
            estimate([1 - one.unexplained**2 for one in baseline]),
            SMALLEST_SHARE,
        ),
        *(
            Finding(
                f"part of B and D without the lemma's form, baseline / {kind}",
                paired_ratio(unexplained("baseline"), unexplained(kind)),
                SMALLEST_FACTOR,
                decides=False,
            )
            for kind in others
        ),
        *(
            Finding(
                f"worst margin over all inputs of length {longest}, {kind} - baseline (logits)",
                estimate(wider_margin(kind)),
                0.0,
                decides=False,
            )
            for kind in others
        ),
    ]


@once
def anatomies(results: Results, kind: str) -> dict[int, Anatomy]:
    """The anatomy of every model of one kind that did not diverge, by seed."""
    run, ema_power, bias_power, _, _ = KINDS[kind]
    alive = set(readings.curves(results, run, "tvd")["seed"])
    found = {}
    for path in results.folders(run):
        folder = RunFolder.open(path)
        trainer = load_trainer(folder)
        for index, one in enumerate(folder.hyperparameters):
            if one.seed not in alive:
                continue
            model = trained_model(trainer, index, ema_power, bias_power)
            tables = read_tables(model)
            found[one.seed] = Anatomy(
                tables.attention_distance,
                fit_structure(tables).distance,
                dict(certify(model).margins),
            )
    return found


@drawing(
    "training",
    "Left: the smallest distance of a legal logit to that of an input token over all "
    "inputs of a length. Right: every trained model by how far it is from constant "
    "attention and from the form of the structure lemma.",
    "Worst margins by length, and distances of trained models from the theorem",
)
def figure_training(results: Results) -> Figure:
    """Worst margins by length of every trained model, and how near they are to the theorem."""
    recipe = results.recipe
    lengths = recipe.task.lengths
    figure, (left, right) = new_panels(9.6, 4.0, 1, 2)
    for kind, (_, _, _, colour, marker) in KINDS.items():
        found = anatomies(results, kind).values()
        right.plot(
            [one.attention for one in found], [one.unexplained for one in found], marker,
            color=colour, markersize=5, label=kind,
        )  # fmt: skip
        means = [math.fsum(one.margins[s] for one in found) / len(found) for s in lengths]
        left.plot(lengths, means, color=colour, marker=marker, markersize=4.5, label=kind)
    left.set_yscale("log")
    left.set_yticks([1, 2, 5, 10, 20], labels=["1", "2", "5", "10", "20"])
    left.minorticks_off()
    left.set(title="Worst margin over all inputs, mean over seeds", xlabel="input length")
    left.set_ylabel("logits")
    left.legend(loc="upper right")
    right.set_xlim(left=0)
    right.set_ylim(bottom=0)
    right.set_title("How near to the theorem's models: (0, 0)")
    right.set_xlabel("attention: distance from constant")
    right.set_ylabel("B and D: part without the lemma's form")
    return figure


WHAT_TRAINING_FINDS = Claim(
    name="whats-missing/what-training-finds",
    sentence=(
        "Trained models come near those of the theorem: attention is nearly constant, and B and D "
        "nearly have the form of the structure lemma."
    ),
    source=f"Ours: a question that {ARXIV}, Theorem 4.2, raises",
    experiment=REMEDIES,
    evidence=evidence,
    drawings=(figure_training,),
    place=70,
)
