"""What the claims on string edits read: tables of runs, and what trained models write."""

from collections.abc import Mapping
from dataclasses import replace

import polars

from lengthwise.claims import Results, once
from lengthwise.claims import arms as read
from lengthwise.claims.readings import by_seed
from lengthwise.measures.decoding import measure_greedy
from lengthwise.papers.length_is_a_domain.edits import plan as runs
from lengthwise.runs import RunFolder
from lengthwise.runs.models import load_trainer

INPUTS = 64
"""Prompts of each length that are decoded. Ours."""


@once
def decoded(results: Results) -> Mapping[str, polars.DataFrame]:
    """What models write by themselves, by run: `seed`, `length`, `measure`, `value`.

    All are asked for single edits, also those that were trained on joined ones.
    """
    lengths, found = runs.SIZES[results.scale].lengths, {}
    for label, run in results.plan.items():
        task = replace(runs.task_of(label), piece=None).held_out()
        seeds = {one.seed for one in run.hyperparameters}
        rows = []
        for folder in map(RunFolder.open, results.folders(label)):
            fleet = load_trainer(folder).fleet
            rows += [
                (models.seed, one.length, one.measure, float(value))
                for one in measure_greedy(fleet, task, lengths, inputs=INPUTS)
                for models, value in zip(folder.hyperparameters, one.values, strict=True)
                if models.seed in seeds
            ]
        schema = ["seed", "length", "measure", "value"]
        frame = polars.DataFrame(rows, schema=schema, orient="row")
        found[label] = frame.sort("seed", "length", "measure")
    return found


def of(results: Results, label: str, measure: str) -> polars.DataFrame:
    """One measure of what a run's models write: `seed`, `length`, `value`."""
    return decoded(results)[label].filter(polars.col("measure") == measure).drop("measure")


def within(table: polars.DataFrame, bucket: tuple[int, int]) -> dict[int, float]:
    """The mean over the measured lengths of a bucket, by seed."""
    return by_seed(table.filter(polars.col("length").is_between(*bucket)))


def right(results: Results, label: str, bucket: tuple[int, int]) -> dict[int, float]:
    """The share of right answers of a run to inputs of its own kind, by seed."""
    return read.between(results, label, runs.MEASURE, *bucket)


def learned(results: Results, *labels: str) -> list[int]:
    """The seeds at which all of these runs learned the lengths they are trained on."""
    seeds = [
        {
            seed
            for seed, value in right(results, label, runs.TRAINED_ON[label]).items()
            if value >= runs.LEAST
        }
        for label in labels
    ]
    return sorted(set.intersection(*seeds))


def words(bucket: tuple[int, int]) -> str:
    """A bucket as people read it."""
    return f"{bucket[0]} to {bucket[1]} letters"
