"""What the claims on blanked intervals read: every model on the same blanked pairs."""

from lengthwise.claims import Results, once
from lengthwise.claims.readings import alive
from lengthwise.measures import measure_by_length
from lengthwise.papers.reguformer.blanks import plan as runs
from lengthwise.runs import RunFolder
from lengthwise.runs.models import load_trainer

MEASURE = "expected_accuracy"

LEAST_ACCURACY = 0.65
"""A model counts only if it has this accuracy on whole intervals of the training length. Ours."""


@once
def blanked(results: Results, variant: str) -> dict[float, dict[int, float]]:
    """Accuracy at the training length by blanked part and seed; diverged models are left out."""
    size = runs.SIZES[results.scale]
    run = RunFolder.open(results.folder / variant)
    trainer = load_trainer(run)
    found = {}
    for part in runs.BLANKED:
        (one,) = (
            one
            for one in measure_by_length(
                trainer.fleet, runs.task(results.scale, part), (size.length,),
                inputs=size.test_inputs,
            )
            if one.measure == MEASURE
        )  # fmt: skip
        rows = zip(run.hyperparameters, one.values.tolist(), trainer.diverged.tolist(), strict=True)
        found[part] = {own.seed: value for own, value, diverged in rows if diverged < 0}
    return found


def by_length(results: Results, variant: str) -> dict[int, dict[int, float]]:
    """Accuracy on whole intervals by length and seed."""
    rows = alive(results.tables[variant], MEASURE)
    found: dict[int, dict[int, float]] = {}
    for length, seed, value in rows.select("length", "seed", "value").sort("length").iter_rows():
        found.setdefault(length, {})[seed] = value
    return found


def learned(results: Results, *variants: str) -> list[int]:
    """The seeds at which all of these learned the task at the training length."""
    length = runs.SIZES[results.scale].length
    seeds = [
        {seed for seed, value in by_length(results, one)[length].items() if value >= LEAST_ACCURACY}
        for one in variants
    ]
    return sorted(set.intersection(*seeds))
