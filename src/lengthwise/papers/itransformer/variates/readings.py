"""What the claims on variates read: every model on the same inputs, drawn from all variates."""

from lengthwise.claims import Results, once
from lengthwise.measures import measure_by_length
from lengthwise.papers.itransformer.variates import plan as runs
from lengthwise.runs import RunFolder
from lengthwise.runs.models import load_trainer


def lengths(results: Results) -> tuple[int, ...]:
    """Numbers of variates that are tested: from a few to all."""
    every = runs.SIZES[results.scale].variates
    return tuple(sorted({every // 20 or 1, every // 10, every // 5, 2 * every // 5, every}))


@once
def losses(results: Results, variant: str, trained: str) -> dict[int, dict[int, float]]:
    """Mean squared error on variates drawn from all: by number of variates and seed."""
    size = runs.SIZES[results.scale]
    run = RunFolder.open(results.folder / runs.label(variant, trained))
    trainer = load_trainer(run)
    seeds = [one.seed for one in run.hyperparameters]
    found = measure_by_length(
        trainer.fleet, runs.task(results.scale, size.variates), lengths(results),
        inputs=size.test_inputs,
    )  # fmt: skip
    return {
        one.length: {
            seed: value
            for seed, value, diverged in zip(
                seeds, one.values.tolist(), trainer.diverged.tolist(), strict=True
            )
            if diverged < 0
        }
        for one in found
        if one.measure == "mse"
    }


def on_all(results: Results, variant: str, trained: str) -> dict[int, float]:
    """The loss on all variates at once, by seed."""
    return losses(results, variant, trained)[runs.SIZES[results.scale].variates]


def rise(
    results: Results, variant: str, trained: str = runs.FIFTH, against: str = runs.ALL
) -> dict[int, float]:
    """By how much the loss on all variates is above that of the other training, by seed."""
    worse, better = (on_all(results, variant, one) for one in (trained, against))
    return {seed: worse[seed] - better[seed] for seed in sorted(worse.keys() & better.keys())}
