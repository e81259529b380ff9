"""Predicted ids: trained models read with the ids that the task gives."""

from dataclasses import replace

import polars

from lengthwise.claims import Experiment, Results, once
from lengthwise.papers.position_coupling.addition import plan as runs
from lengthwise.papers.position_coupling.addition.section import section
from lengthwise.runs import RunFolder
from lengthwise.runs.models import load_trainer


@once
def right_sums(results: Results) -> polars.DataFrame:
    """Share of right sums by seed and length: columns `seed`, `length`, `value`."""
    run = RunFolder.open(results.folder / runs.PREDICTIVE)
    fleet = load_trainer(run).fleet
    model = replace(run.recipe.model, predicted=False)  # type: ignore[call-arg]
    recipe = replace(run.recipe, model=model)
    given = recipe.fleet(run.hyperparameters)
    given.weights.copy_(fleet.weights)
    rows = [
        (models.seed, found.length, float(value))
        for found in recipe.measure(given)
        if found.measure == runs.MEASURE
        for models, value in zip(run.hyperparameters, found.values, strict=True)
    ]
    return polars.DataFrame(rows, schema=["seed", "length", "value"], orient="row")


def beyond(results: Results, table: polars.DataFrame) -> dict[int, float]:
    """Mean share of right sums beyond the training length up to twice that, by seed."""
    trained = results.recipe.max_train_length
    near = polars.col("length").is_between(trained + 1, 2 * trained)
    means = table.filter(near).group_by("seed").agg(polars.col("value").mean())
    return dict(means.iter_rows())


PREDICTION = Experiment(
    "role-of-sparsity-predictive",
    lambda scale: runs.plan(scale, runs.COUPLED, runs.PREDICTIVE),
    section("Position ids that the model predicts"),
    shared_runs=runs.SHARED_RUNS,
)
