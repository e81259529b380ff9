"""Effects with their intervals, one below the other."""

from collections.abc import Mapping, Sequence

from lengthwise.claims.statistics import Estimate
from lengthwise.report.style import COLOURS, Axes


def draw_intervals(
    axes: Axes, effects: Mapping[str, Estimate], names: Sequence[str], smallest: float | None = None
) -> None:
    """Draw a dot and a bar per effect, on a logarithmic axis.

    Args:
        axes: Where to draw.
        effects: Ratios by name.
        names: All rows from top to bottom; those that have no effect stay empty.
        smallest: The smallest ratio that matters: effects are green above it, orange below its
            inverse and grey else. Without it they are blue.
    """
    from matplotlib.ticker import MaxNLocator

    for name, effect in effects.items():
        place, colour = -names.index(name), COLOURS["blue"]
        if smallest is not None:
            helps, harms = effect.low > smallest, effect.high < 1 / smallest
            colour = COLOURS["green" if helps else "orange" if harms else "grey"]
        axes.plot([effect.low, effect.high], [place, place], color=colour, lw=2)
        axes.plot(effect.mean, place, "o", color=colour, markersize=5)
    if smallest is not None:
        axes.axvline(1, color="#333333", lw=1)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    if high < 10 * low:  # the axis has room for few numbers, and powers of ten would be none or one
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.minorticks_off()
    axes.set_yticks([-place for place in range(len(names))], labels=list(names))
    axes.set_ylim(0.3 - len(names), 0.7)
