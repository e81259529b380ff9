"""The section on languages: the table with ours beside the published numbers."""

from lengthwise.claims import Experiment, Results, Section
from lengthwise.papers.c_rasp.cells import LEARNED, matrix, table
from lengthwise.papers.c_rasp.languages.plan import CELLS, RATE, SCALES, plan


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    scaled = SCALES[results.scale]
    return Section(
        title="Which languages carry beyond the training length",
        introduction=(
            "After every prefix of a word, a GPT says what may follow: symbols, or the end. A word "
            f"is matched if every one of these sets is right. Words of up to {scaled.trained} "
            f"tokens are trained, and up to {3 * scaled.trained} tested."
        ),
        pictures=[MATRIX.picture(results)],
        notes=_notes(results),
        tables=[
            table(
                results, CELLS, "languages",
                "Words in % of which every legal set is right, mean and standard deviation over "
                "the seeds that learned, up to the training length (1x), up to twice and up to "
                "three times that, beside the published numbers (published sizes). 'program': "
                "whether the language is in C-RASP.",
            )
        ],
    )  # fmt: skip


MATRIX = matrix("languages", CELLS, "Words with every legal set right")


def _notes(results: Results) -> list[str]:
    scaled = SCALES[results.scale]
    return [
        "Languages, positions, bins and the measure are the paper's; it has an output per symbol, "
        "ours is one distribution, in which a symbol is named from half an even share on.",
        (
            "The published sizes as far as they are at hand."
            if results.scale == "paper"
            else "A miniature: lengths, widths, batch and steps are ours; `--scale paper` runs the "
            "published ones (a GPU)."
        )
        + f" {scaled.layers} layers, {scaled.heads} heads, width {scaled.width}, {scaled.steps} "
        f"steps of {scaled.batch} words of {scaled.trained} tokens, AdamW at {RATE:g} falling as a "
        f"cosine, {scaled.seeds} seeds.",
        "Words go on with a symbol drawn among those that are live, so that no word ends early "
        "where it need not; some languages hesitate before steps of no return, so that long words "
        "are not all alike. The paper's data sets are made in other ways, and some of its sets are "
        "small or overlap in length; (aa)* has one word per length.",
        "Tomita 5 and 6 are asked for membership in the paper and for legal sets here. The labels "
        "of the paper's code for Tomita 3 and {0,1,2}*02* differ from the languages' own; ours do "
        "not.",
        f"A model counts only if it matches at least {LEARNED} of the words up to the training "
        "length; the table says how many did.",
    ]


LANGUAGES = Experiment("c-rasp-languages", plan, section)
