"""Model-steps per second: a fleet of 32 against the same models trained one by one.

The peer is what one writes in plain PyTorch: the same module and the same data, cross-entropy,
`backward()` and foreach AdamW. Vocabulary 16, width 20, length 8, batch 32; one thread each. The
fleet does everything a run does, averages included; bookkeeping is measured on a run of its own.
"""

import tempfile
import time
from pathlib import Path
from unittest import mock

import torch
from _harness import Comparison, arguments, interleaved, report
from torch import Tensor
from torch.nn import functional

from lengthwise.measures import Measurement
from lengthwise.models import MinimalModel, MinimalTransformer
from lengthwise.runs import Recipe, RunFolder, execute, recipe_for
from lengthwise.tasks import SetComplement
from lengthwise.training import Fleet, Hyperparameters, Trainer

MODELS, LENGTH, BATCH = 32, 8, 32
ROUNDS, STEPS = 9, 20


def plain_batch(task: SetComplement) -> Tensor:
    """Random permutations, cut: the idiomatic way."""
    return torch.rand(BATCH, task.vocab).argsort(-1)[:, : LENGTH + 1]


class OneByOne:
    """One model in plain PyTorch; a round trains it for as many steps as the fleet's."""

    def __init__(self, remedies: tuple[str, ...], dropout: float) -> None:
        self.task = SetComplement(16)
        self.model = MinimalTransformer(16, 5, remedies=remedies, attention_dropout=dropout)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3, foreach=True)

    def step(self) -> None:
        """One training step."""
        tokens = plain_batch(self.task)
        logits = self.model(tokens[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def speed_up(remedies: tuple[str, ...], dropout: float) -> tuple[float, dict[str, float]]:
    recipe = recipe_for("set-complement", MinimalModel(remedies=remedies), steps=10**6)
    rates = [Hyperparameters(seed=seed, attention_dropout=dropout) for seed in range(MODELS)]
    trainer = recipe.trainer(rates)
    alone = OneByOne(remedies, dropout)
    taken = interleaved({"fleet": trainer.step, "alone": alone.step}, ROUNDS, STEPS)
    return taken["alone"] * MODELS / taken["fleet"], taken


def bookkeeping_share() -> float:
    """The part of a run that is neither steps nor measuring: checkpoints, progress, tables."""
    recipe = recipe_for("set-complement", steps=8000)
    seeds = tuple(Hyperparameters(seed=seed) for seed in range(MODELS))
    work = 0.0
    step, measure = Trainer.step, Recipe.measure

    def timed_step(trainer: Trainer) -> None:
        nonlocal work
        start = time.perf_counter()
        step(trainer)
        work += time.perf_counter() - start

    def timed_measure(
        recipe: Recipe, fleet: Fleet, weights: Tensor | None = None
    ) -> list[Measurement]:
        nonlocal work
        start = time.perf_counter()
        found = list(measure(recipe, fleet, weights))
        work += time.perf_counter() - start
        return found

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(Trainer, "step", timed_step),
        mock.patch.object(Recipe, "measure", timed_measure),
    ):
        run = RunFolder.create(Path(folder) / "run", recipe, seeds, ["benchmark"])
        start = time.perf_counter()
        execute(run)
        return 1 - work / (time.perf_counter() - start)


def main() -> int:
    options = arguments(__doc__ or "")
    torch.set_num_threads(1)
    seconds: dict[str, float] = {}
    comparisons = []
    cases: tuple[tuple[str, tuple[str, ...], float, float | None], ...] = (
        ("fleet of 32 / one by one", (), 0.0, 6.0),
        ("fleet of 32 / one by one, norm", ("layernorm",), 0.0, None),
        ("fleet of 32 / one by one, dropout", (), 0.1, None),
    )
    for name, remedies, dropout, bar in cases:
        ratio, taken = speed_up(remedies, dropout)
        comparisons.append(Comparison(name, ratio, bar))
        seconds |= {f"{name}: {competitor}": value for competitor, value in taken.items()}
    share = bookkeeping_share()
    comparisons.append(
        Comparison("bookkeeping / run (checkpoints, progress, tables)", share, 0.03, "at most")
    )
    return report(comparisons, seconds, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
