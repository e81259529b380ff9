"""A map: in which settings LayerNorm after attention helps, one change at a time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lengthwise.claims import Claim, Experiment, Finding, PlannedRun, Results, Scale, Table
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.retrieval import plan as runs
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval import section as shown


@dataclass(frozen=True)
class Setting:
    """One change to the training or the model."""

    words: str
    tasks: tuple[str, ...] = tuple(runs.TASKS)
    task: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)


SYMBOLS = 4096

SETTINGS = {
    "as-is": Setting("as in the other tables"),
    "residual": Setting("the query added to the attention output", model={"residual": True}),
    "decay": Setting("weight decay 1 instead of 0.001", hyperparameters={"weight_decay": 1.0}),
    "symbols": Setting(
        f"keys are {SYMBOLS} symbols, none twice in a set", ("dictionary",),
        task={"keys": "symbols", "symbols": SYMBOLS},
    ),
    "narrow-keys": Setting(
        "keys of width 4 instead of 16", ("dictionary",), task={"key_width": 4}
    ),
}  # fmt: skip
"""Ours: the paper reports one setting."""

CELLS = {
    f"{task}-{name}": (task, setting)
    for task in runs.TASKS
    for name, setting in SETTINGS.items()
    if task in setting.tasks
}


def planned(scale: Scale) -> dict[str, PlannedRun]:
    """Baseline and LayerNorm in every cell, paired by seed; sets no larger than symbols allow."""
    size = runs.MAP_SIZES[scale]
    size = size._replace(longest=min(size.longest, SYMBOLS))
    found = {}
    for cell, (task, setting) in CELLS.items():
        for variant in (runs.BASELINE, runs.NORM):
            run = runs.plan(size, (task,), (variant,))[runs.label(task, variant)]
            recipe = replace(
                run.recipe,
                task=replace(run.recipe.task, **setting.task),  # type: ignore[type-var]
                model=replace(run.recipe.model, **setting.model),
                test_remedies=(),
            )
            models = (replace(one, **setting.hyperparameters) for one in run.hyperparameters)
            found[runs.label(cell, variant)] = PlannedRun(recipe, tuple(models))
    return found


def evidence(results: Results) -> list[Finding]:
    """The gain where the baseline of the same cell breaks."""
    return [
        read.gain(
            f"accuracy gained by LayerNorm at {length} items, {runs.TITLES[task]}, {setting.words}",
            results, cell, runs.NORM, length,
        )
        for cell, (task, setting) in CELLS.items()
        for length in read.breaking_lengths(results, cell)[:1]
    ]  # fmt: skip


def tables(results: Results) -> list[Table]:
    """The map: a row per cell."""
    trained, baseline = results.recipe.max_train_length, runs.BASELINE
    rows = []
    for cell, (task, setting) in CELLS.items():
        length = read.breaking_lengths(results, cell)[0]
        gains = read.differences(results, cell, runs.NORM, length)
        accuracies = (
            shown.mean_and_deviation(
                list(read.at_length(results, cell, variant, "accuracy", at).values())
            )
            for variant, at in ((baseline, trained), (baseline, length), (runs.NORM, length))
        )
        words = f"{runs.TITLES[task]}: {setting.words}"
        rows.append([words, *accuracies, str(length), shown.gain(gains)])
    return [
        Table(
            "map",
            "Where LayerNorm after attention helps: accuracy in % (mean and standard deviation "
            "over seeds) at the longest training length and where the baseline breaks, and the "
            "difference in points with its 95 % bootstrap interval and the p-value of a paired "
            "t-test.",
            [
                "setting",
                f"baseline at {trained}",
                "baseline",
                "LayerNorm",
                "at items",
                "difference",
            ],
            rows,
        )
    ]


WHERE_NORM_HELPS = Claim(
    name="vanishing-variance/where-norm-helps",
    sentence=(
        "LayerNorm after attention improves accuracy beyond the training lengths whatever the "
        "weight decay, residual path and keys."
    ),
    source=f"the generality of {ARXIV}'s claim; the settings are ours",
    experiment=Experiment(
        "retrieval-map", planned, shown.section("Where the norm helps", list(runs.TASKS))
    ),
    evidence=evidence,
    tables=tables,
    place=110,
)
