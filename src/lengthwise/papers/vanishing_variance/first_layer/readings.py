"""What the claim on the first layer reads: deviations over sequences, and how fast they fall."""

import sys
from pathlib import Path

import polars
import torch
from torch import Tensor

from lengthwise.claims import Estimate, Results, once
from lengthwise.papers.vanishing_variance.first_layer.plan import (
    CONDITIONS,
    LAYER,
    MODEL,
    SIZES,
    TEXT,
    Condition,
)
from lengthwise.probing import ProbeTable, probe
from lengthwise.probing.inputs import read_text
from lengthwise.probing.models import load
from lengthwise.probing.summary import HEADS, Summary
from lengthwise.probing.table import INTERVAL, fit_slopes

Tables = dict[Condition, list[ProbeTable]]
"""A table per seed; where the claim is tested, another seed is another query token."""


@once
def measured(results: Results) -> Tables:
    """Probe the first layer under every condition; lengths that the folder keeps are not redone."""
    size, name = SIZES[results.scale], results.model or MODEL
    lengths = [2**power for power in range(4, size.longest.bit_length())]
    model, tokenizer = load(name)
    text = read_text(TEXT, tokenizer)
    tables: Tables = {condition: [] for condition in CONDITIONS}
    for number, condition in enumerate(CONDITIONS, start=1):
        print(f"probing {name}, {number} of {len(CONDITIONS)}: {condition}", file=sys.stderr)
        for seed in range(size.tokens if condition.decides else 1):
            table = probe(
                model, tokenizer, lengths=lengths, input=condition.input, text=text,
                query=condition.query, positions=condition.positions, layers=[LAYER],
                sequences=size.sequences, seed=seed, name=name,
                out=results.folder / Path(name).name / "-".join((*condition, str(seed))),
            )  # fmt: skip
            tables[condition].append(table)
    return tables


def deviation(summary: Summary) -> Tensor:
    """The root mean square over all heads and components: `(1 + resamples, 1)`."""
    return summary.estimates[LAYER, HEADS, "std"].square().mean(-1, keepdim=True).sqrt()


def fall(table: ProbeTable) -> Estimate:
    """How fast the deviation falls: minus its slope on log-log axes."""
    values = torch.stack([deviation(summary) for summary in table.summaries.values()])
    slope, low, high = (float(value[0]) for value in fit_slopes(list(table.summaries), values))
    return Estimate(-slope, -high, -low, table.sequences, "sequences")


def curve(table: ProbeTable) -> polars.DataFrame:
    """By `length`: `std` of all components with its interval, that of component 0 of head 0."""
    rows = []
    for length, summary in table.summaries.items():
        std = deviation(summary)[:, 0]
        low, high = std[1:].quantile(torch.tensor(INTERVAL)).tolist()
        component = summary.estimates[LAYER, HEADS, "std_component"][0, 0].item()
        rows.append((length, std[0].item(), low, high, component))
    columns = ["length", "std", "low", "high", "std_component"]
    return polars.DataFrame(rows, schema=columns, orient="row")


def all_curves(tables: Tables) -> polars.DataFrame:
    """The curves of all conditions and seeds, with their slopes."""
    pieces = []
    for condition, by_seed in tables.items():
        for seed, table in enumerate(by_seed):
            rate = fall(table)
            about = condition._asdict() | {
                "seed": seed, "slope": -rate.mean, "slope_low": -rate.high, "slope_high": -rate.low,
                "sequences": table.sequences,
            }  # fmt: skip
            columns = (polars.lit(value).alias(name) for name, value in about.items())
            pieces.append(curve(table).with_columns(*columns))
    names = ["positions", "input", "query", "seed"]
    return polars.concat(pieces).select(*names, polars.exclude(names))
