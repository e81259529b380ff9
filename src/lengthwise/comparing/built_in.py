"""The built-in study at three scales: its tasks, remedies, model and training. All values are ours.

Those of the laptop scale were chosen by a pilot on seeds that the study does not use, so that the
baseline learns its training lengths and fails beyond them: see docs/results/compare.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from lengthwise.comparing.entries import Entry, baseline_entry, parse
from lengthwise.comparing.plans import Plan, plan
from lengthwise.comparing.study import Study
from lengthwise.errors import require_name
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.registry import MODELS

ScaleName = Literal["quick", "laptop", "cluster"]

BASELINE = "rotary"
"""The positions of most models today."""

REMEDIES = (
    "none", "offset", "randomized", "alibi", "fire", "fox", "stick-breaking", "scalable",
    "layernorm", "layout=post", "dropout", "ema", "bema",
)  # fmt: skip
"""What is compared: positions and biases, other weights, and the remedies of the two papers."""

PLANS: dict[str, dict[str, Any]] = {
    "flip-flop": {"longest": 80, "steps": 1500},
    "sort": {"longest": 80, "symbols": 80, "steps": 2500},
    "unique-copy": {"longest": 80, "symbols": 80, "steps": 3000},
    "majority": {"longest": 80, "steps": 2000},
    "tomita-3": {"longest": 80, "steps": 2500},
    "repeat-copy": {"longest": 80, "steps": 3000},
    "successor": {"longest": 80, "steps": 2500},
    "parity": {"task": "crasp-parity", "longest": 80, "steps": 5000},
}
"""The tasks, each with what is not the default. Steps are as many as the baseline needs."""


@dataclass(frozen=True)
class Scale:
    """How large a study is."""

    model: Mapping[str, Any]
    """Fields of the model."""
    training: Mapping[str, Any]
    """Fields of the recipe that all tasks share."""
    hyperparameters: Hyperparameters
    rates: tuple[float, ...]
    seeds: int
    tasks: tuple[str, ...]
    remedies: tuple[str, ...]
    plans: Mapping[str, Mapping[str, Any]]
    """By task, what is not as in `PLANS`."""


SCALES: dict[ScaleName, Scale] = {
    "quick": Scale(
        model={"layers": 2, "heads": 4, "width": 48},
        training={"max_train_length": 6, "batch": 32, "steps": 1500, "test_inputs": 64},
        hyperparameters=Hyperparameters(warmup=50, final_lr_fraction=0.1),
        rates=(1e-3, 3e-3),
        seeds=3,
        tasks=("flip-flop", "majority"),
        remedies=("none", "alibi", "layernorm"),
        plans={
            "flip-flop": {"longest": 48, "steps": 600},
            "sort": {"longest": 48, "symbols": 48, "steps": 2000},
            "unique-copy": {"longest": 48, "symbols": 48, "steps": 2000},
            "majority": {"longest": 48, "steps": 600},
            "tomita-3": {"longest": 48, "steps": 1000},
            "repeat-copy": {"longest": 48, "steps": 2000},
            "successor": {"longest": 48, "steps": 1500},
            "parity": {"longest": 48, "steps": 1500},
        },
    ),
    "laptop": Scale(
        model={"layers": 2, "heads": 4, "width": 64},
        training={
            "max_train_length": 10, "batch": 32, "steps": 3000, "test_inputs": 256,
            "test_items": 5120,
        },
        hyperparameters=Hyperparameters(warmup=100, final_lr_fraction=0.1),
        rates=(1e-3, 3e-3),
        seeds=3,
        tasks=tuple(PLANS),
        remedies=REMEDIES,
        plans={},
    ),
    "cluster": Scale(
        model={"layers": 4, "heads": 4, "width": 128},
        training={"max_train_length": 10, "batch": 64, "steps": 20_000, "test_inputs": 1024},
        hyperparameters=Hyperparameters(warmup=500, final_lr_fraction=0.1),
        rates=(3e-4, 1e-3, 3e-3),
        seeds=10,
        tasks=tuple(PLANS),
        remedies=REMEDIES,
        plans={name: {"steps": 20_000} for name in PLANS},
    ),
}  # fmt: skip


def built_in_study(
    scale: ScaleName = "laptop",
    *,
    remedies: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    model: str = "gpt",
    baseline: str = BASELINE,
    seeds: int | None = None,
) -> Study:
    """The study of a scale, or one of other parts by its rules.

    Args:
        scale: How large models and trainings are.
        remedies: What is compared, by name or file: see `Entry` (default: the study's own).
        tasks: On which tasks, by name or file (default: the study's own).
        model: The model, by name or file. Sizes of the scale count where it has such fields.
        baseline: Remedies of the baseline, its positions, with + between them.
        seeds: How many seeds (default: those of the scale).

    Raises:
        InputError: A name is not known, or parts do not go together.
    """
    require_name(scale, get_args(ScaleName), "scale")
    size = SCALES[scale]
    kind = MODELS.get(model)
    sizes = {name: value for name, value in size.model.items() if hasattr(kind, name)}
    shape = kind(**sizes, remedies=tuple(one for one in baseline.split("+") if one))
    first = baseline_entry(shape)
    entries = [first]
    for one in size.remedies if remedies is None else remedies:
        entry = parse(one, shape)
        if all(not _same(entry, other) for other in entries):
            entries.append(entry)
    plans = [_plan(name, size, shape) for name in (size.tasks if tasks is None else tasks)]
    return Study(
        plans=tuple(dict.fromkeys(plans)),
        entries=tuple(entries),
        rates=size.rates,
        seeds=size.seeds if seeds is None else seeds,
        hyperparameters=size.hyperparameters,
        scale=scale,
    )


def _same(one: Entry, other: Entry) -> bool:
    """Whether two entries are the same by two names."""
    return replace(one, name="", specification="") == replace(other, name="", specification="")


def _plan(name: str, size: Scale, shape: Any) -> Plan:
    known = {one.get("task", label): label for label, one in PLANS.items()}
    name = known.get(name, name)
    settings = {**PLANS.get(name, {}), **size.plans.get(name, {})}
    return plan(name, shape, settings, **size.training)
