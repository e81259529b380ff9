"""What the report says about positions beyond the training length."""

from lengthwise.claims import Drawing, Experiment, Results, Section, Table
from lengthwise.claims import arms as read
from lengthwise.papers.length_extrapolatable import ARXIV
from lengthwise.papers.length_extrapolatable.markov import plan as runs
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.style import Figure, new_panels
from lengthwise.tasks import Markov

KINDS = {runs.MEASURE: "all keys", runs.BLOCKWISE: "blockwise at test"}


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    recipe, size, task = results.recipe, runs.SIZES[results.scale], Markov()
    rates = ", ".join(f"{arm.line.title} {runs.RATES[name]:g}" for name, arm in runs.ARMS.items())
    return Section(
        title="Positions beyond the training length",
        introduction=(
            f"A small GPT learns a source whose next token depends on the last one and on the one "
            f"{task.reach} back. It is trained on {runs.TRAINED} tokens and reads up to "
            f"{runs.LENGTHS[-1]}: with all keys, and blockwise, where a token sees its own block "
            f"of {runs.TRAINED // 2} tokens and the one before."
        ),
        pictures=[_DRAWING.picture(results)],
        notes=[
            f"A miniature: {ARXIV} trains 24 layers of width 1024 on text of 1024 tokens and "
            "measures perplexity on up to 4096. `--scale paper` trains models of that size, on "
            f"this source, for {runs.SIZES['paper'].steps} steps (ours).",
            f"Ours at scale '{results.scale}': {size.layers} layers, {size.heads} heads, width "
            f"{size.width}, {recipe.steps} steps of {recipe.batch} sequences, {size.seeds} paired "
            f"seeds, {recipe.test_inputs} test sequences, the same for all.",
            "Measured is the KL divergence from the source, in nats per token: 0 is the best there "
            "is, and its exponential is the factor by which perplexity is too high.",
            f"Learning rates, each the best of 1e-3 and 3e-3 on a pilot seed (100): {rates}. ALiBi "
            "did not learn the source there in 1,500 steps at either: it favours near keys, and "
            "is shown only.",
            "The decay of xPos is slower than the training length by the same factor as in the "
            "paper (scale 32 for 64 tokens, where the paper has 512 for 1024).",
            f"A model counts only if it is within {runs.MOST_IN_RANGE:g} nats of the source at "
            f"{runs.TRAINED} tokens; beyond is the mean over the lengths measured from "
            f"{runs.BEYOND[0]} to {runs.BEYOND[1]}.",
        ],
        tables=[_table(results, measure) for measure in KINDS],
    )


def _table(results: Results, measure: str) -> Table:
    return read.means_table(
        results, {name: arm.line for name, arm in runs.ARMS.items()}, measure,
        "kl" if measure == runs.MEASURE else "kl-blockwise",
        f"Nats per token above the source, {KINDS[measure]}: mean and standard deviation over "
        "seeds.",
        "tokens", percent=False,
    )  # fmt: skip


def _draw(results: Results) -> Figure:
    """Left with all keys, right blockwise."""
    figure, panels = new_panels(11, 4.2, 1, 2, sharey=True)
    for axes, (measure, title) in zip(panels, KINDS.items(), strict=True):
        curves = {
            arm.line.title: Curve(read.readings(results, name, measure), *arm.line[1:])
            for name, arm in runs.ARMS.items()
        }
        draw_by_length(axes, curves, runs.TRAINED, runs.LENGTHS, "")
        shown = (16, 32, 64, 128, 256, 512, 1024)
        axes.set_xticks(shown, [str(length) for length in shown])
        axes.set_title(title[0].upper() + title[1:], pad=20)
        axes.set_xlabel("tokens")
        axes.set_ylim(bottom=-0.08)  # lines at 0 are seen
    panels[0].set_ylabel("nats per token above the source")
    panels[0].legend(loc="upper left")
    return figure


_DRAWING = Drawing(
    "positions",
    _draw,
    "Distance from the source against the number of tokens, mean over seeds with 95 % bands. Left: "
    "every token sees all before it. Right: the same models with blockwise attention at test.",
    "Nats per token above the source by number of tokens, with all keys and blockwise",
)

MARKOV = Experiment("length-extrapolatable-markov", runs.plan, section)
