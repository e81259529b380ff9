"""The part of a report that figures 3 to 5 share: what was trained, and how it does by length."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars

from lengthwise.claims import Experiment, Picture, Results, Section, Table
from lengthwise.measures.distribution import total_variation
from lengthwise.models.gpt import SIZES
from lengthwise.papers.whats_missing import othello_readings as read
from lengthwise.papers.whats_missing.othello import ARMS, DECAYED, OFFSET, PLAIN, plan
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.style import COLOURS, as_svg, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOURCE = "arXiv 2510.08341v1"

GUESSES = 512
"""Games over which the guess is measured that the figure shows."""


HARDLY_TRAINED = (
    "At this scale the models have hardly learned the game, and neither averages nor dropout have "
    "anything to mend yet: it shows how all is made. Scale 'laptop' is the test.",
)


def guess(results: Results) -> dict[int, float]:
    """TVD by length of one who knows only which squares are empty, and guesses among them."""
    import torch

    from lengthwise.randomness import address
    from lengthwise.tasks import Othello

    games = Othello(read.recipe_of(results).board, split="held-out")
    tokens = games.draw(torch.tensor(address("guess")), games.lengths[-1], GUESSES).inputs
    target = games.targets(tokens)
    played = torch.nn.functional.one_hot(tokens, games.classes).cumsum(-2)
    played[..., -1] = 1  # the padding is no square
    logits = torch.zeros(target.shape).masked_fill(played > 0, -math.inf)
    asked = target.sum(-1) > 0
    values = total_variation(logits, target).nan_to_num().where(asked, torch.zeros(()))
    means = values.sum(0) / asked.sum(0).clamp(min=1)
    return {
        length: float(mean)
        for length, mean, count in zip(games.lengths, means, asked.sum(0), strict=True)
        if count
    }


def figure_by_moves(results: Results) -> "Figure":
    """TVD by number of moves, raw and with the BEMA that is best, in a panel per arm."""
    table = read.readings(results)
    recipe = read.recipe_of(results)
    guesses = guess(results)
    arms = [*list(PLAIN)[:2], DECAYED, OFFSET]
    with house_style():
        figure = new_figure(10.4, 6.6)
        panels = figure.subplots(2, 2, sharex=True, sharey=True)
        for axes, arm in zip(panels.flat, arms, strict=True):
            own = table.filter(polars.col("arm") == arm)
            kind = read.best_kind(read.over(own), "BEMA")
            curves = {
                "raw weights": Curve(read.of_kind(own, "raw"), COLOURS["orange"], "-", "o"),
                f"{kind} (best here)": Curve(read.of_kind(own, kind), COLOURS["blue"], "-", "s"),
            }
            lengths = sorted(own["length"].unique())
            draw_by_length(axes, curves, recipe.train_length, lengths, "")
            axes.plot(
                list(guesses), list(guesses.values()), ":", color=COLOURS["grey"], lw=1.4,
                label="a guess among empty squares",
            )  # fmt: skip
            axes.set_ylim(0, 1)
            axes.set_xlabel("")
            axes.set_title(ARMS[arm].title, pad=18)
            axes.legend(loc="upper center", fontsize=8)
        for axes in panels[:, 0]:
            axes.set_ylabel("TVD from the legal moves")
        for axes in panels[-1]:
            axes.set_xlabel("moves seen")
        return figure


def table_by_gap(results: Results) -> Table:
    """TVD within the training length and beyond it, by arm: raw, EMA and BEMA; and a guess."""
    table = read.readings(results)
    ranges = (read.WITHIN, read.NEAR, read.FAR)
    rows = []
    for arm, words in ARMS.items():
        own = table.filter(polars.col("arm") == arm)
        ema, bema = (read.best_kind(read.over(own), prefix) for prefix in ("EMA", "BEMA"))
        for kind in dict.fromkeys(["raw", ema, read.DEFAULT, bema]):
            parts = (read.of_kind(read.over(own, gaps), kind)["value"] for gaps in ranges)
            rows.append([words.title, kind, *(_cell(part.to_list()) for part in parts)])
    guesses = _as_readings(guess(results), read.recipe_of(results).train_length)
    cells = (f"{read.over(guesses, gaps)['value'][0]:.3f}" for gaps in ranges)
    rows.append(["nothing: a guess among the empty squares", "", *cells])
    return Table(
        "othello-tvd",
        "TVD within the training length and at gaps beyond it: mean and standard deviation over "
        "seeds. Per arm: raw weights, the best EMA, BEMA at its default powers, the best BEMA "
        "(best for this table; the claims choose powers on other seeds).",
        ["trained with", "weights", *(gaps.words for gaps in ranges)],
        rows,
    )


def _as_readings(values: dict[int, float], train_length: int) -> polars.DataFrame:
    rows = [("guess", 0, "guess", length - train_length, value) for length, value in values.items()]
    return polars.DataFrame(rows, schema=["arm", "seed", "kind", "gap", "value"], orient="row")


def _cell(values: Sequence[float]) -> str:
    deviation = np.std(values, ddof=1) if len(values) > 1 else math.nan
    return f"{np.mean(values):.3f} ± {deviation:.3f}"


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    recipe = read.recipe_of(results)
    run = next(iter(results.plan.values()))
    member, size = run.members[0], SIZES[recipe.size]
    seeds = sorted({one.seed for planned in results.plan.values() for one in planned.members})
    table = read.readings(results)
    last = table.filter(polars.col("length") == table["length"].max())
    lost = sum(
        frame.filter(polars.col("diverged").is_not_null())["model"].n_unique()
        for frame in results.tables.values()
    )
    return Section(
        title="OthelloGPT: trained on short games, tested on whole ones",
        introduction=(
            f"GPTs read the moves of random Othello games on a board of {recipe.board} x "
            f"{recipe.board} and learn to give the next one. In training they see the first "
            f"{recipe.train_moves} moves of each game; they are tested after every move up to the "
            "end of games that were held out, against the exact answer: all legal moves are "
            "equally likely. The gap is how many moves longer the input is than any in training."
        ),
        pictures=[
            Picture(
                as_svg(figure_by_moves(results)),
                "TVD by number of moves seen, mean over seeds with 95 % bands, for four ways of "
                "training: raw weights, and BEMA with the powers that are best there.",
                "TVD by number of moves, raw and BEMA, in four panels",
            )
        ],
        tables=[table_by_gap(results)],
        notes=[
            "That OthelloGPT is trained on random games and tested on longer ones, TVD, BEMA and "
            "EMA powers and embedding dropout as what is swept are the paper's. Architecture, "
            "AdamW's betas, weight decay and clipping are those of Othello-GPT (arXiv 2210.13382). "
            "Sizes, cut, learning rate, batch, steps, seeds, powers, rates of dropout and what "
            "happens at positions never trained are ours.",
            f"Ours at scale '{results.scale}': {size.layers} layers, {size.heads} heads, width "
            f"{size.width}; {recipe.steps} steps of {recipe.batch} new games, learning rate "
            f"{member.learning_rate:g} after {member.warmup} steps of warm-up, constant but where "
            f"said otherwise; loss on the {member.loss} move; no dropout but of the embedding; "
            f"seeds {seeds[0]} to {seeds[-1]}; {recipe.test_inputs} test games, of which "
            f"{last['inputs'][0]} last to the longest input.",
            "Positions are learned vectors. Those that training never reaches keep the small "
            "random values they began with, N(0, 0.02) as in GPT-1, in every average as well (the "
            f"code of Othello-GPT starts them at zero); '{ARMS[OFFSET].title}' is a model that saw "
            "all of them in training.",
            "A seed fixes the games of all models that bear it, and the initial weights of those "
            "with the same positions. Ratios are taken within seed and arm and averaged over arms; "
            "intervals are Student's t over seeds. In the findings that decide, powers are chosen "
            "on the other seeds (leave one out), so that no choice is judged by the numbers it was "
            f"made with. Models that diverged and are left out: {lost}.",
            f"Changes of TVD by less than a factor of {read.SMALLEST_FACTOR} would not matter "
            "(ours).",
            *(HARDLY_TRAINED if results.scale == "quick" else ()),
        ],
    )


OTHELLO = Experiment("othello", plan, section)
