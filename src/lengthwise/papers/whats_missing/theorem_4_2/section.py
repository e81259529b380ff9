"""The section on Theorem 4.2: models that are built, and their worst cases.

Nothing is trained for it but models of one length; every number is an exact certificate.
"""

from lengthwise.claims import Drawing, Experiment, Results, Section
from lengthwise.papers.whats_missing.theorem_4_2.instances import INSTANCES, VOCABULARIES
from lengthwise.report.style import COLOURS, Axes, Figure, house_style, new_panels
from lengthwise.theory import balanced_model, certify, minimal_model, unbalanced_model

SHOWN, STRENGTH = 16, 5.0
"""Number of tokens and C of the models that are drawn. Ours."""


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    return Section(
        title="The theorem, built",
        introduction=(
            "Theorem 4.2 says how wide a minimal transformer must be to name unseen tokens, and "
            "how fast its certainty falls as the input grows. Here its models are written down as "
            "weights, and the worst case of each over all inputs is computed exactly."
        ),
        pictures=[
            Drawing(
                "constructions",
                figure_constructions,
                f"Worst margin over all inputs of a length, for models of {SHOWN} tokens whose "
                "weights are written down. Left: the smallest model (width v - 1) and a wider, "
                "balanced one keep exactly to 2C/s. Right: one that solves lengths 1 and 2 without "
                "balance names a seen token from length 3 on.",
                "Exact margins by length of three constructed models, with the 2C/s law",
            ).picture(results)
        ],
        notes=[
            "Precision C at a length means: for every input all legal logits are equal, and those "
            "of the input's tokens lie at least C lower. The exact meaning of 'balanced' and the "
            "structure lemma are our derivation; legal logits are equal up to 1e-9.",
            f"Ours at scale '{results.scale}': {INSTANCES[results.scale]} models per claim, of "
            f"{', '.join(map(str, VOCABULARIES))} tokens. An interval over 'every model' is the "
            "smallest and the largest value, not an estimate.",
            "Part (a) was first tried on narrow models trained by cross-entropy. Their margin is "
            "0, which tests the bound weakly; the models shown are trained against the bound.",
        ],
    )


@house_style()
def figure_constructions(results: Results | None = None) -> Figure:
    """Exact margins of the three constructions against 2C/s."""
    lengths = range(1, SHOWN)
    figure, (left, right) = new_panels(9.2, 4.0, 1, 2)
    for label, model, colour, marker in (
        ("minimal, width v - 1", minimal_model(SHOWN, STRENGTH), "blue", "o"),
        ("balanced, width 2v", balanced_model(SHOWN, STRENGTH), "green", "x"),
    ):
        margins = certify(model).margins
        left.plot(
            lengths, [margins[s] for s in lengths], marker, color=COLOURS[colour],
            markersize=6, label=label,
        )  # fmt: skip
    _draw_law(left, STRENGTH, lengths)
    left.set(xscale="log", yscale="log")
    left.set_xticks([1, 2, 3, 5, 10, 15], labels=["1", "2", "3", "5", "10", "15"])
    left.set_yticks([0.5, 1, 2, 5, 10], labels=["0.5", "1", "2", "5", "10"])
    left.minorticks_off()
    left.set_title("Balanced: the 2C/s law, exactly")
    broken = certify(unbalanced_model(SHOWN))
    right.plot(
        lengths, [broken.margins[s] for s in lengths], "s", color=COLOURS["orange"],
        markersize=5, label="x = 10, delta = 11",
    )  # fmt: skip
    _draw_law(right, broken.strength, lengths)
    right.axhline(0, color="#9a9a9a", lw=0.8)
    right.set_title("Unbalanced: solves 1 and 2, fails from 3 on")
    for axes in (left, right):
        axes.set(xlabel="input length", ylabel="worst margin (logits)")
        axes.legend(loc="upper right")
    return figure


def _draw_law(axes: Axes, strength: float, lengths: range) -> None:
    rates = [2 * strength / s for s in lengths]
    axes.plot(lengths, rates, "--", color=COLOURS["grey"], lw=1.5, label="2C/s", zorder=1)


THEOREM = Experiment("set-complement-theorem", lambda scale: {}, section)
