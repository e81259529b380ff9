"""Claims: EMA counteracts noise, and BEMA improves length generalization, over the search."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars

from lengthwise.claims import Claim, Finding, Picture, Results
from lengthwise.papers.whats_missing import search_readings as readings
from lengthwise.papers.whats_missing.search_experiment import SEARCH, SOURCE
from lengthwise.report.style import as_svg, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EMA = f"EMA {readings.EMA_POWER}"
BEMA = f"BEMA {readings.EMA_POWER} {readings.BIAS_POWER}"

CHOSEN = "powers chosen on half of the pairs, read on the others"

REACH = float(np.log(2))
"""Where the colours of the picture end: half or twice the TVD."""

PARTS = {
    "no norm, constant rate": {"norm": "none", "final_rate": 1.0},
    "no norm, rate falls to 0": {"norm": "none", "final_rate": 0.0},
    "norm, constant rate": {"norm": "layernorm", "final_rate": 1.0},
    "norm, rate falls to 0": {"norm": "layernorm", "final_rate": 0.0},
}
"""Where averaging is read on its own: whether the learning rate stays decides how much noise there
is left to average. Ours."""


def part(table: polars.DataFrame, **values: object) -> polars.DataFrame:
    """The trials with these values."""
    return table.filter(*(polars.col(name) == value for name, value in values.items()))


def ema_evidence(results: Results) -> Sequence[Finding]:
    """Raw against EMA, at the top and within every trial; noise-free targets as a control."""
    table = readings.trials(results)
    found = []
    for loss, words in (("drawn", "the drawn token"), ("exact", "the exact target, the control")):
        chosen, rest = readings.chosen_weights(part(table, loss=loss), "EMA ")
        found.append(
            Finding(
                f"TVD beyond the training length of the top {readings.TOP:.0%} of models, raw / "
                f"{chosen} ({CHOSEN}), loss on {words}",
                readings.top_tvd(rest, "raw").minus(readings.top_tvd(rest, chosen)).exp(),
                readings.SMALLEST_FACTOR,
                decides=loss == "drawn",
            )
        )
    for loss in ("drawn", "exact"):
        found.append(
            Finding(
                f"within every trial of the search: raw / {EMA}, {loss} target",
                readings.within_trials(part(table, loss=loss), "raw", EMA),
                readings.SMALLEST_FACTOR,
                decides=False,
            )
        )
    for words, values in PARTS.items():
        for loss in ("drawn", "exact"):
            found.append(
                Finding(
                    f"within every trial: raw / {EMA}, {words}, {loss} target",
                    readings.within_trials(part(table, loss=loss, **values), "raw", EMA),
                    readings.SMALLEST_FACTOR,
                    decides=False,
                )
            )
    return found


def bema_evidence(results: Results) -> Sequence[Finding]:
    """Raw and EMA against BEMA, at the top and within every trial.

    The claim is that of the paper's first version, whose models have no norm: they decide it.
    """
    table = readings.trials(results)
    found: list[Finding] = []
    for norm, models in (("none", "models without norm"), ("layernorm", "models with the norm")):
        own = part(table, norm=norm)
        chosen, rest = readings.chosen_weights(own, "BEMA ")
        plain, _ = readings.chosen_weights(own, "EMA ")
        tops = {kind: readings.top_tvd(rest, kind) for kind in ("raw", plain, chosen, BEMA)}
        for above, below, how in (
            ("raw", chosen, CHOSEN),
            (plain, chosen, CHOSEN),
            ("raw", BEMA, "the defaults of BEMA"),
        ):
            found.append(
                Finding(
                    f"TVD beyond the training length of the top {readings.TOP:.0%} of {models}, "
                    f"{above} / {below} ({how})",
                    tops[above].minus(tops[below]).exp(),
                    readings.SMALLEST_FACTOR,
                    decides=not found,
                )
            )
    found.append(
        Finding(
            f"within every trial of the search: raw / {BEMA} (the defaults of BEMA)",
            readings.within_trials(table, "raw", BEMA),
            readings.SMALLEST_FACTOR,
            decides=False,
        )
    )
    for where, values in PARTS.items():
        found.append(
            Finding(
                f"within every trial: raw / {BEMA} (defaults), {where}",
                readings.within_trials(part(table, **values), "raw", BEMA),
                readings.SMALLEST_FACTOR,
                decides=False,
            )
        )
    return found


def figure(results: Results) -> "Figure":
    """How many times lower TVD is for every pair of powers, by part of the search."""
    table = readings.trials(results)
    powers = table.filter(polars.col("weights") == "bema")
    emas = sorted(powers["ema_power"].unique())
    biases: list[float | None] = [*sorted(powers["bias_power"].unique()), None]
    with house_style():
        figure = new_figure(9.8, 5.4)
        panels = figure.subplots(2, 2)
        for axes, (words, values) in zip(panels.ravel(), PARTS.items(), strict=True):
            chosen = part(table, **values)
            grid = np.array([
                [
                    readings.within_trials(
                        chosen, "raw", f"EMA {ema}" if bias is None else f"BEMA {ema} {bias}"
                    ).mean
                    for bias in biases
                ]
                for ema in emas
            ])  # fmt: skip
            axes.imshow(np.log(grid), cmap="PuOr", vmin=-REACH, vmax=REACH, aspect="auto")
            for row, column in np.ndindex(*grid.shape):
                dark = abs(np.log(grid[row, column])) > 0.6 * REACH
                axes.text(
                    column, row, f"{grid[row, column]:.2f}", ha="center", va="center",
                    color="white" if dark else "black",
                )  # fmt: skip
            axes.set_xticks(
                range(len(biases)), labels=["EMA" if b is None else f"{b}" for b in biases]
            )
            axes.set_yticks(range(len(emas)), labels=[f"{ema}" for ema in emas])
            axes.set_xlabel("bias power")
            axes.set_ylabel("EMA power")
            axes.set_title(words[0].upper() + words[1:])
            axes.grid(visible=False)
        return figure


def pictures(results: Results) -> list[Picture]:
    """The picture of both claims."""
    return [
        Picture(
            as_svg(figure(results)),
            "How many times lower TVD beyond the training length is with an average than with the "
            "last weights, mean over trials, for every pair of powers (above 1 the average helps). "
            "'EMA' is the average without bias correction.",
            "Heat maps of the gain from averaging by powers, norm and learning rate schedule",
        )
    ]


SEARCH_EMA = Claim(
    name="whats-missing/search-ema",
    sentence=(
        "EMA counteracts noise: where the loss is on the one token drawn, it lowers the TVD of the "
        "best models beyond the training length."
    ),
    source=f"{SOURCE}, EMA stabilization",
    experiment=SEARCH,
    evidence=ema_evidence,
    pictures=pictures,
)

SEARCH_BEMA = Claim(
    name="whats-missing/search-bema",
    sentence="BEMA improves the length generalization of the best models.",
    source=f"{SOURCE}, EMA stabilization",
    experiment=SEARCH,
    evidence=bema_evidence,
)
