"""A certificate as a table for the terminal and as a figure."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.table import Table

from lengthwise.report.numbers import number
from lengthwise.report.style import COLOURS, house_style, new_figure
from lengthwise.theory.certificate import EQUAL, Certificate
from lengthwise.theory.illegal_mass import MeasuredMass

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def certificate_table(certificate: Certificate, measured: Mapping[int, MeasuredMass]) -> Table:
    """One row per length: margin, what 2C/s would give, spread, illegal mass, the worst input."""
    table = Table(
        title="Worst case over all inputs of a length", title_justify="left", box=None,
        padding=(0, 2, 0, 0), caption_justify="left",
    )  # fmt: skip
    for name in ("length", "margin", "2C/s", "legal\nspread"):
        table.add_column(name, justify="right", no_wrap=True, min_width=6)
    for name in ("illegal:\nat most", "worst\nmet", "mean"):
        table.add_column(name, justify="right", no_wrap=True, min_width=8)
    table.add_column("worst input:\nlast, others", no_wrap=True, overflow="ellipsis")
    for length, margin in certificate.margins.items():
        *others, last = certificate.worst_inputs[length]
        table.add_row(
            str(length),
            ("" if certificate.exact[length] else "~") + number(margin),
            number(2 * certificate.strength / length) if _starts(certificate) else "-",
            number(certificate.legal_spreads[length]),
            number(certificate.illegal_mass_bounds(length)[1]),
            number(measured[length].worst),
            number(measured[length].mean),
            " ".join(map(str, [last, *sorted(others)])),
        )
    tried = [certificate.inputs[s] for s, exact in certificate.exact.items() if not exact]
    if tried:
        table.caption = f"~ not exact: the worst of {min(tried)} or more inputs that were tried"
    return table


def certificate_figure(
    certificate: Certificate, measured: Mapping[int, MeasuredMass], title: str
) -> "Figure":
    """Margins against 2C/s on the left, illegal mass between its bounds on the right."""
    from matplotlib.ticker import MaxNLocator

    with house_style():
        figure = new_figure(9.6, 4.2)
        left, right = figure.subplots(1, 2)
        _draw_margins(left, certificate)
        _draw_mass(right, certificate, measured)
        for axes in (left, right):
            axes.set_xlabel("input length")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=COLOURS["grey"])
        return figure


def _draw_margins(axes: "Axes", certificate: Certificate) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    lengths = list(certificate.margins)
    exact = all(certificate.exact.values())
    label = "worst margin over all inputs" if exact else "worst margin found"
    axes.plot(
        lengths, list(certificate.margins.values()), "o", color=COLOURS["blue"], markersize=4.5,
        label=label,
    )  # fmt: skip
    several = [s for s in lengths if s < certificate.vocab - 1]  # a single legal token spreads not
    spreads = [certificate.legal_spreads[s] for s in several]
    axes.plot(
        several, spreads, "-", color=COLOURS["orange"], lw=1.5,
        label="widest spread of legal logits",
    )  # fmt: skip
    if _starts(certificate):
        rates = [2 * certificate.strength / s for s in lengths]
        axes.plot(lengths, rates, "--", color=COLOURS["grey"], lw=1.5, label="2C/s", zorder=1)
    if min(certificate.margins.values()) > 0 and min(spreads, default=0) > EQUAL:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.axhline(0, color="#9a9a9a", lw=0.8)
    axes.set_ylabel("logits")
    axes.set_title(
        "Lowest legal - highest seen logit" if exact else "Lowest legal - highest seen, by search"
    )
    axes.legend(loc="best")


def _draw_mass(
    axes: "Axes", certificate: Certificate, measured: Mapping[int, MeasuredMass]
) -> None:
    lengths = list(certificate.margins)
    lows, highs = zip(*map(certificate.illegal_mass_bounds, lengths), strict=True)
    axes.fill_between(
        lengths, lows, highs, color=COLOURS["blue"], alpha=0.18, lw=0,
        label="bounds on the worst input",
    )  # fmt: skip
    axes.plot(
        lengths, [measured[s].worst for s in lengths], "o", color=COLOURS["blue"], markersize=4.5,
        label="worst that was measured", zorder=3,
    )  # fmt: skip
    axes.plot(
        lengths, [measured[s].mean for s in lengths], "-", color=COLOURS["green"],
        label="mean that was measured",
    )  # fmt: skip
    axes.set_yscale("log")
    axes.set_ylim(top=1.5)
    axes.set_title("Illegal mass")
    axes.legend(loc="lower right")


def _starts(certificate: Certificate) -> bool:
    """Whether lengths 1 and 2 are there, from which the 2C/s law starts."""
    return {1, 2} <= certificate.margins.keys()
