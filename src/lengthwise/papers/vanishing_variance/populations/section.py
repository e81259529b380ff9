"""The section on Proposition 1: random populations, and nothing trained."""

from typing import Any

from lengthwise.claims import Drawing, Experiment, Results, Section
from lengthwise.papers.vanishing_variance.populations import population as drawn
from lengthwise.report.style import COLOURS, Figure, house_style, new_panels


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    return Section(
        title="Why the variance vanishes, and what a norm can do",
        introduction=(
            "Attention over N random items is a weighted mean, and a mean of many things hardly "
            "varies: every feature of the output settles at a limit of its own."
        ),
        pictures=[
            Drawing(
                "populations",
                figure_populations,
                "Left: deviation of single features over random sequences (dots) and the 1/N "
                "formula (lines), with and without E[V] = 0. Middle: the variance across the "
                "features of one output does not vanish, it tends to that of the limit. Right: "
                "with a norm after attention the decay is less where E[V] = 0, the same where it "
                "is not, and gone where the limit is equal in all features.",
                "Deviation and variance of the attention output against the number of items",
            ).picture(results)
        ],
        notes=[
            "The proposition is the paper's; the 1/N formula, the drift of the mean and the limit "
            "of the global variance are our derivation.",
            f"Ours at scale '{results.scale}': {drawn.POPULATIONS[results.scale]} random "
            f"populations of {drawn.ITEMS} items with normal keys and values of {drawn.FEATURES} "
            f"features, scores of deviation 1, {drawn.DRAWS} sequences per population and length.",
            "Agreement within 3 standard errors depends on the number of sequences: the formula "
            "leaves out terms of 1/N^2, some percent at N = 64, which more sequences would show.",
            "A pilot of 24 populations, with scores of any deviation, left all three claims "
            "undecided. After it the scores were given deviation 1 and the populations became "
            f"more; the verdicts rest on new ones (seeds from {drawn.FIRST_SEED}), at the pilot's "
            "bars. In between, on the pilot's seeds, an agreement bar of 0.97 and not 0.98 was "
            "tried.",
        ],
    )


@house_style()
def figure_populations(results: Results | None = None, seed: int = 0) -> Figure:
    """Deviation of features, global variance, and deviation after a norm, against N."""
    styles: dict[drawn.Kind, tuple[str, str]] = {
        "centred": ("blue", "o"),
        "shifted": ("orange", "s"),
        "level": ("green", "^"),
    }
    figure, (features, globally, normed) = new_panels(10.4, 3.9, 1, 3)
    for kind, (name, marker) in styles.items():
        one, colour = drawn.population(kind, seed), COLOURS[name]
        spread = drawn.spreads_of(one, seed).values()
        # The two kinds lie on one another on the left: one is hollow and larger.
        dots: dict[str, Any] = {"marker": marker, "ls": "", "color": colour, "ms": 5}
        dots["label"] = drawn.WORDS[kind]
        if kind == "centred":
            dots |= {"mfc": "none", "ms": 9}
        normed.plot(drawn.COUNTS, [at.normed for at in spread], **{**dots, "ls": "-"})
        if kind == "level":
            continue
        predicted = [float(one.variance(n).log().mean().mul(0.5).exp()) for n in drawn.COUNTS]
        features.plot(drawn.COUNTS, predicted, color=colour, lw=1.5)
        features.plot(drawn.COUNTS, [at.deviation for at in spread], **dots)
        limit = one.global_variance_limit
        globally.plot(drawn.COUNTS, [at.across * limit for at in spread], **dots)
        globally.axhline(limit, color=colour, ls="--", lw=1.5)
    for axes, title in (
        (features, "One feature: deviation"),
        (globally, "Across features: variance"),
        (normed, "One feature after a norm"),
    ):
        axes.set_xscale("log", base=2)
        axes.set(yscale="log", xlabel="items N", title=title)
    features.legend(loc="lower left")
    normed.legend(loc="lower left")
    return figure


POPULATION = Experiment("random-populations", lambda scale: {}, section)
