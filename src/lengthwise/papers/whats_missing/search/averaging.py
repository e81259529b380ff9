"""What the claims about EMA and BEMA share: parts of the search, and the map of all powers."""

import polars

from lengthwise.claims import Finding, Results, drawing
from lengthwise.claims.readings import DEFAULT_BEMA, DEFAULT_EMA, SMALLEST_FACTOR
from lengthwise.papers.whats_missing.search import readings
from lengthwise.report.intervals import draw_intervals
from lengthwise.report.powers import draw_powers, grid_of_powers
from lengthwise.report.style import Figure, new_figure, new_panels

CHOSEN = "powers chosen on half of the pairs, read on the others"

REACH = 2.0
"""Where the colours of the picture end: half or twice the TVD."""

PARTS = {
    "no norm, constant rate": {"norm": "none", "final_lr_fraction": 1.0},
    "no norm, rate falls to 0": {"norm": "none", "final_lr_fraction": 0.0},
    "norm, constant rate": {"norm": "layernorm", "final_lr_fraction": 1.0},
    "norm, rate falls to 0": {"norm": "layernorm", "final_lr_fraction": 0.0},
}
"""Where averaging is read on its own: whether the learning rate stays decides how much noise there
is left to average. Ours."""


def gain_within(effect: str, table: polars.DataFrame, kind: str) -> Finding:
    """What an average gains within every trial; no claim rests on it."""
    return Finding(effect, readings.within_trials(table, kind), SMALLEST_FACTOR, decides=False)


@drawing(
    "averaging",
    "How many times lower TVD beyond the training length is with an average than with the last "
    "weights, mean over trials, for every pair of powers (above 1 the average helps). 'EMA' is the "
    "average without bias correction.",
    "Heat maps of the gain from averaging by powers, norm and learning rate schedule",
)
def all_powers(results: Results) -> Figure:
    """How many times lower TVD is for every pair of powers, by part of the search."""
    table = readings.trials(results)
    powers = readings.part(table, weights="bema")
    emas, biases = (sorted(powers[name].unique()) for name in ("ema_power", "bias_power"))
    figure = new_figure(9.8, 5.4)
    for axes, (words, values) in zip(figure.subplots(2, 2).ravel(), PARTS.items(), strict=True):
        own = readings.part(table, **values)

        def gain(kind: str, own: polars.DataFrame = own) -> float:
            return readings.within_trials(own, kind).mean

        grid = grid_of_powers(gain, emas, biases)
        draw_powers(axes, grid, grid, emas, biases, reach=REACH, digits=2)
        axes.set_title(words[0].upper() + words[1:])
    return figure


@drawing(
    "schedule",
    "How many times lower TVD beyond the training length is with an average at its default powers "
    "than with the last weights, within every trial (95 % intervals over pairs), by whether the "
    "learning rate stays or falls to 0, and by the norm. Green: the average helps; orange: it "
    "harms; grey: neither by 5 % for sure.",
    "Gain from BEMA and EMA with intervals, by learning rate schedule and norm",
)
def by_schedule(results: Results) -> Figure:
    """What BEMA and EMA gain, by learning rate schedule."""
    table = readings.trials(results)
    figure, panels = new_panels(8.4, 2.6, 1, 2, sharey=True, sharex=True)
    for axes, kind in zip(panels, (DEFAULT_BEMA, DEFAULT_EMA), strict=True):
        effects = {
            words: readings.within_trials(readings.part(table, **values), kind)
            for words, values in PARTS.items()
        }
        draw_intervals(axes, effects, list(effects), SMALLEST_FACTOR)
        axes.set_title(kind)
        axes.set_xlabel("TVD of the last weights / of the average")
    return figure
