"""The numbers of a study as arrays: what its records say, by entry, seed, rate and length."""

from dataclasses import dataclass

import numpy as np
import polars

from lengthwise.comparing.plans import Plan
from lengthwise.comparing.scores import ONE_MINUS
from lengthwise.comparing.study import Study

KINDS = ("raw", "ema", "bema")


@dataclass(frozen=True)
class TaskTable:
    """All that was measured on one task."""

    plan: Plan
    done: np.ndarray
    """Which cells are recorded: `(entries, seeds, rates)`."""
    values: dict[str, np.ndarray]
    """By measure, at the end of training: `(entries, seeds, rates, lengths)`."""
    steps: list[int]
    """At which steps the score was measured on the way."""
    curve: np.ndarray
    """The score by then, of raw weights: `(entries, seeds, rates, steps, lengths)`."""
    costs: list[list[float]]
    """Of every entry, the times of a step over the baseline's."""
    parameters: list[int | None]
    """Of every entry."""

    @property
    def score(self) -> np.ndarray:
        """The score of the task: `(entries, seeds, rates, lengths)`; NaN counts as 0."""
        return np.nan_to_num(self.measure(self.plan.score), nan=0.0)

    def measure(self, name: str) -> np.ndarray:
        """A measure or a score by name."""
        if name.startswith(ONE_MINUS):
            return 1 - self.values[name.removeprefix(ONE_MINUS)]
        return self.values[name]


def task_table(study: Study, plan: Plan, records: polars.DataFrame) -> TaskTable:
    """The table of one task of a study.

    Args:
        study: What was asked for.
        plan: One of its tasks.
        records: All records there are; those of other cells are left out.
    """
    trainings = study.trainings()
    of_training = {entry.training: number for number, entry in enumerate(trainings)}
    number_of = [of_training[entry.training] for entry in study.entries]
    kind_of = [KINDS.index(entry.weights) for entry in study.entries]
    index = polars.DataFrame(
        [
            (cell, number, seed - 1, study.rates.index(rate))
            for number, entry in enumerate(trainings)
            for (seed, rate), cell in study.cells(entry, plan).items()
        ],
        schema={"cell": polars.String, "training": int, "seed_at": int, "rate_at": int},
        orient="row",
    )
    found = records.join(index, on="cell")
    shape = len(trainings), study.seeds, len(study.rates)
    places = ("training", "seed_at", "rate_at")
    done = np.zeros(shape, bool)
    done[tuple(found[name].to_numpy() for name in places)] = True
    long = found.select(*places, "weights", "step", "length", "measure", "value").explode(
        "weights", "step", "length", "measure", "value", empty_as_null=False, keep_nulls=False
    )
    base = plan.score.removeprefix(ONE_MINUS)
    # With those that must be there even if nothing is recorded yet.
    steps = sorted({*long["step"], plan.recipe.steps})
    measures = sorted({*long["measure"], base})
    lengths = plan.recipe.test_lengths
    all_values = np.full(
        (*shape, len(KINDS), len(steps), len(measures), len(lengths)), np.nan, np.float32
    )
    codes = [long[name].to_numpy() for name in places]
    for name, known in (
        ("weights", KINDS), ("step", steps), ("measure", measures), ("length", lengths)
    ):  # fmt: skip
        codes.append(
            long[name]
            .replace_strict(list(known), range(len(known)), return_dtype=polars.Int64)
            .to_numpy()
        )
    all_values[tuple(codes)] = long["value"].to_numpy()
    by_entry = all_values[number_of]  # (entries, seeds, rates, kinds, steps, measures, lengths)
    own = np.stack([by_entry[place, :, :, kind] for place, kind in enumerate(kind_of)])
    at_end = own[:, :, :, steps.index(plan.recipe.steps)]
    values = {name: at_end[:, :, :, place] for place, name in enumerate(measures)}
    raw = by_entry[:, :, :, 0]
    curve = raw[..., measures.index(base), :]
    costs, parameters = [], []
    for number in number_of:
        rows = found.filter(polars.col("training") == number)
        costs.append([float(cost) for cost in rows["cost"]])
        parameters.append(int(rows["parameters"][0]) if len(rows) else None)
    return TaskTable(
        plan, done[number_of], values, steps,
        1 - curve if plan.score.startswith(ONE_MINUS) else curve, costs, parameters,
    )  # fmt: skip
