"""The section on Othello: what was trained, and how it does by length."""

import math
from collections.abc import Sequence

import numpy as np
import polars

from lengthwise.claims import Experiment, Results, Section, Table, drawing
from lengthwise.claims.readings import DEFAULT_BEMA, SMALLEST_FACTOR, best_average, diverged
from lengthwise.measures.distribution import MEASURES
from lengthwise.models import GPTModel
from lengthwise.papers.whats_missing.othello import readings as read
from lengthwise.papers.whats_missing.othello.plan import DECAYED, OFFSET, PLAIN, VARIANTS, plan
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.style import COLOURS, Figure, new_panels
from lengthwise.tasks import Othello

HARDLY_TRAINED = (
    "At this scale the models have hardly learned the game, and neither averages nor dropout have "
    "anything to mend yet: it shows how all is made. Scale 'laptop' is the test.",
)


@drawing(
    "by-moves",
    "TVD by number of moves seen, mean over seeds with 95 % bands, for four ways of "
    "training: raw weights, and BEMA with the powers that are best there.",
    "TVD by number of moves, raw and BEMA, in four panels",
)
def figure_by_moves(results: Results) -> Figure:
    """TVD by number of moves, raw and with the BEMA that is best, in a panel per variant."""
    table = read.readings(results)
    recipe = results.recipe
    guesses = read.guess(results)
    variants = [*list(PLAIN)[:2], DECAYED, OFFSET]
    figure, panels = new_panels(10.4, 6.6, 2, 2, sharex=True, sharey=True)
    for axes, variant in zip(panels.flat, variants, strict=True):
        own = read.of_variants(table, [variant])
        kind = best_average(read.over(own), "BEMA")
        curves = {
            "raw weights": Curve(read.of_kind(own, "raw"), COLOURS["orange"], "-", "o"),
            f"{kind} (best here)": Curve(read.of_kind(own, kind), COLOURS["blue"], "-", "s"),
        }
        lengths = sorted(own["length"].unique())
        draw_by_length(axes, curves, recipe.max_train_length, lengths, "")
        axes.plot(
            list(guesses), list(guesses.values()), ":", color=COLOURS["grey"], lw=1.4,
            label="a guess among empty squares",
        )  # fmt: skip
        axes.set_ylim(0, 1)
        axes.set_xlabel("")
        axes.set_title(VARIANTS[variant].title, pad=18)
        axes.legend(loc="upper center", fontsize=8)
    for axes in panels[:, 0]:
        axes.set_ylabel("TVD from the legal moves")
    for axes in panels[-1]:
        axes.set_xlabel("moves seen")
    return figure


def table_by_gap(results: Results) -> Table:
    """TVD within the training length and beyond it, by variant: raw, EMA and BEMA; and a guess."""
    table = read.readings(results)
    ranges = (read.WITHIN, read.NEAR, read.FAR)
    rows = []
    for variant, words in VARIANTS.items():
        own = read.of_variants(table, [variant])
        ema, bema = (best_average(read.over(own), prefix) for prefix in ("EMA", "BEMA"))
        for kind in dict.fromkeys(["raw", ema, DEFAULT_BEMA, bema]):
            parts = (read.of_kind(read.over(own, gaps), kind)["value"] for gaps in ranges)
            rows.append([words.title, kind, *(_cell(part.to_list()) for part in parts)])
    trained = results.recipe.max_train_length
    guesses = {length - trained: value for length, value in read.guess(results).items()}
    cells = (
        np.mean([value for gap, value in guesses.items() if gaps.least <= gap <= gaps.most])
        for gaps in ranges
    )
    guessing = "nothing: a guess among the empty squares"
    rows.append([guessing, "", *(f"{cell:.3f}" for cell in cells)])
    return Table(
        "tvd",
        "TVD within the training length and at gaps beyond it: mean and standard deviation over "
        "seeds. Per variant: raw weights, the best EMA, BEMA at its default powers, the best BEMA "
        "(best for this table; the claims choose powers on other seeds).",
        ["trained with", "weights", *(gaps.words for gaps in ranges)],
        rows,
    )


def measures(results: Results) -> list[Table]:
    """TVD of all weights, and all other measures of the raw ones, by variant and length."""
    pieces = []
    for measure in MEASURES:
        table = read.readings(results, measure)
        if measure != "tvd":
            table = table.filter(polars.col("kind") == "raw")
        value = polars.col("value")
        means = table.group_by("variant", "kind", "length", "inputs").agg(
            mean=value.mean(), deviation=value.std(), seeds=polars.len()
        )
        pieces.append(means.with_columns(measure=polars.lit(measure)))
    columns = ("measure", "variant", "kind", "length", "mean", "deviation", "seeds", "inputs")
    ordered = polars.concat(pieces).select(columns).sort(columns[:4])
    guesses = list(read.guess(results).items())
    guessed = polars.DataFrame(guesses, schema=["length", "tvd"], orient="row")
    return [
        Table.of_frame("measures", "All measures, by number of moves.", ordered),
        Table.of_frame("guess", "TVD of a guess among the empty squares.", guessed),
    ]


def _cell(values: Sequence[float]) -> str:
    deviation = np.std(values, ddof=1) if len(values) > 1 else math.nan
    return f"{np.mean(values):.3f} ± {deviation:.3f}"


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    recipe = results.recipe
    run = next(iter(results.plan.values()))
    one, size, games = run.hyperparameters[0], recipe.model, recipe.task
    assert isinstance(size, GPTModel)
    assert isinstance(games, Othello)
    seeds = sorted(
        {one.seed for planned in results.plan.values() for one in planned.hyperparameters}
    )
    table = read.readings(results)
    last = table.filter(polars.col("length") == table["length"].max())
    lost = sum(map(diverged, results.tables.values()))
    return Section(
        title="OthelloGPT: trained on short games, tested on whole ones",
        introduction=(
            f"GPTs read the moves of random Othello games on a board of {games.board} "
            f"x {games.board} and learn to give the next one. In training they see the first "
            f"{recipe.max_train_length + 1} moves of each game; they are tested after every move "
            "up to the end of games that were held out, against the exact answer: all legal moves "
            "are equally likely. The gap is how many moves longer the input is than any of "
            "training."
        ),
        pictures=[figure_by_moves.picture(results)],
        tables=[table_by_gap(results), *measures(results)],
        notes=[
            "That OthelloGPT is trained on random games and tested on longer ones, TVD, BEMA and "
            "EMA powers and embedding dropout as what is swept are the paper's. Architecture, "
            "AdamW's betas, weight decay and clipping are those of Othello-GPT (arXiv 2210.13382). "
            "Sizes, cut, learning rate, batch, steps, seeds, powers, rates of dropout and what "
            "happens at positions never trained are ours.",
            f"Ours at scale '{results.scale}': {size.layers} layers, {size.heads} heads, width "
            f"{size.width}; {recipe.steps} steps of {recipe.batch} new games, learning rate "
            f"{one.learning_rate:g} after {one.warmup} steps of warm-up, constant but where "
            f"said otherwise; loss on the {one.loss} move; no dropout but of the embedding; "
            f"seeds {seeds[0]} to {seeds[-1]}; {recipe.test_inputs} test games, of which "
            f"{last['inputs'][0]} last to the longest input.",
            "Positions are learned vectors. Those that training never reaches keep the small "
            "random values they began with, N(0, 0.02) as in GPT-1, in every average as well (the "
            f"code of Othello-GPT starts them at zero); '{VARIANTS[OFFSET].title}' is a model that "
            "saw all of them in training.",
            "A seed fixes the games of all models that bear it, and the initial weights of those "
            "with the same positions. Ratios are taken within seed and variant and averaged over "
            "variants; intervals are Student's t over seeds. In the findings that decide, powers "
            "are chosen on the other seeds (leave one out), so that no choice is judged by the "
            f"numbers it was made with. Models that diverged and are left out: {lost}.",
            f"Changes of TVD by less than a factor of {SMALLEST_FACTOR} would not matter (ours).",
            *(HARDLY_TRAINED if results.scale == "quick" else ()),
        ],
    )


OTHELLO = Experiment("othello", plan, section)
