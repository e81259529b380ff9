"""Made-up tables of runs, on which a claim must come out as it should."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars

from lengthwise.claims import Results, Scale, Verdict
from lengthwise.papers import CLAIMS
from lengthwise.randomness import address

Value = Callable[[str, str, int, int], float]
"""Of a run's label, a measure, a length and a seed."""


def judged(
    name: str, measures: tuple[str, ...], value: Value, folder: Path, scale: Scale = "laptop"
) -> Verdict:
    """What comes of a claim on such values, with a little noise of each model's own."""
    claim = CLAIMS[name]
    plan = claim.experiment.plan(scale)
    tables = {}
    for label, run in plan.items():
        rows = []
        for one in run.hyperparameters:
            for measure in measures:
                stream = np.random.default_rng(address(label, measure, one.seed) % 2**63)
                noise = 1 - 1e-4 * stream.uniform()
                rows += [
                    (one.seed, n, measure, value(label, measure, n, one.seed) * noise)
                    for n in run.recipe.test_lengths
                ]
        frame = polars.DataFrame(rows, schema=["seed", "length", "measure", "value"], orient="row")
        raw, none = polars.lit("raw"), polars.lit(None, polars.Int64)
        tables[label] = frame.with_columns(weights=raw, diverged=none)
    return claim.judge(Results(scale, plan, tables, folder))
