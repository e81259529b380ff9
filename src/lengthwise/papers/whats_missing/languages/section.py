"""The section on formal languages."""

from lengthwise.claims import Experiment, Results, Section, Table, drawing
from lengthwise.papers.whats_missing.languages import readings as read
from lengthwise.papers.whats_missing.languages.plan import LANGUAGES, RATE, SCALES, VARIANTS, plan
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.numbers import number
from lengthwise.report.style import COLOURS, Figure, new_panels

STYLES = {
    "baseline": (COLOURS["orange"], "-", "o"),
    "norm": (COLOURS["blue"], "-", "s"),
    "post": (COLOURS["green"], "--", "^"),
}

SHOWN = 12
"""So many lengths are drawn."""


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    scaled = SCALES[results.scale]
    return Section(
        title="Formal languages with several legal next tokens",
        introduction=(
            "After every prefix of a word, all symbols that may follow, and the end where it may "
            f"end, are equally right. GPTs without positions learn words of up to {scaled.trained} "
            f"tokens and are tested on up to {3 * scaled.trained}."
        ),
        pictures=[figure_languages.picture(results)],
        notes=[
            "The question is the paper's (second version); its languages, models and numbers are "
            "not known to us. The languages, all sizes and the rules are ours, so this is no "
            "reproduction of a table.",
            f"{scaled.layers} layers, {scaled.heads} heads, width {scaled.width}, {scaled.steps} "
            f"steps of {scaled.batch} words, AdamW at a constant {RATE:g}, {scaled.seeds} seeds; "
            "one learning rate for all. `--scale paper` runs larger ones (a GPU).",
            "A seed fixes the data, their order and the initial weights that models have in "
            f"common. A model counts only if its mean TVD in range is at most {read.LEARNED}.",
            "EMA: of three powers, the one that is best over the other seeds.",
        ],
        tables=[_table(results)],
    )


def _table(results: Results) -> Table:
    rows = []
    for language, (title, _, _) in LANGUAGES.items():
        for variant, about in VARIANTS.items():
            run = f"{language}-{variant}"
            cells = [
                _mean(values)
                for measure in read.MEASURES
                for values in (
                    read.beyond(results, run, measure),
                    read.averaged(results, run, measure),
                )
            ]
            counts = f"{len(read.learned(results, run))} of {SCALES[results.scale].seeds}"
            rows.append([title, about.title, counts, *cells])
    columns = ["language", "variant", "learned", "TVD", "TVD, EMA", "illegal mass",
               "illegal mass, EMA"]  # fmt: skip
    caption = "Means beyond the training length, over the seeds that learned."
    return Table("formal-languages", caption, columns, rows)


def _mean(values: dict[int, float]) -> str:
    return number(sum(values.values()) / len(values)) if values else ""


@drawing(
    "formal-languages",
    "TVD from the exact answer (0 is perfect) against the length of the prefix, mean over seeds "
    "with 95 % bands.",
    "TVD by length on four formal languages with and without norms",
)
def figure_languages(results: Results) -> Figure:
    """A panel per language, a line per variant."""
    figure, panels = new_panels(9.6, 6.4, 2, 2)
    for axes, (language, (title, _, _)) in zip(panels.flat, LANGUAGES.items(), strict=True):
        recipe = results.plan[f"{language}-baseline"].recipe
        lengths = [n for n in recipe.test_lengths if n % -(-len(recipe.test_lengths) // SHOWN) == 0]
        curves = {}
        for variant, about in VARIANTS.items():
            table = read.curves(results, f"{language}-{variant}", "tvd")
            shown = table.filter(table["length"].is_in(lengths))
            curves[about.title] = Curve(shown, *STYLES[variant])
        draw_by_length(axes, curves, recipe.max_train_length, lengths, "TVD")
        axes.set_ylim(bottom=0)
        axes.set_title(title, pad=20)
    panels.flat[0].legend(loc="upper left")
    return figure


FORMAL_LANGUAGES = Experiment("formal-languages", plan, section)
