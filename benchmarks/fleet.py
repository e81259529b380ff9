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

from lengthwise.measures import Reading
from lengthwise.models import MinimalTransformer
from lengthwise.runs import RunFolder, SetComplementRecipe, execute
from lengthwise.tasks import SetComplement
from lengthwise.training import Hyperparameters, Trainer

MODELS, LENGTH, BATCH = 32, 8, 32
ROUNDS, STEPS = 9, 20


def fleet_trainer(recipe: SetComplementRecipe, dropout: float = 0.0) -> Trainer:
    members = [Hyperparameters(seed=seed, dropout_weights=dropout) for seed in range(MODELS)]
    return recipe.trainer(members)


def plain_batch(task: SetComplement) -> Tensor:
    """Random permutations, cut: the idiomatic way."""
    return torch.rand(BATCH, task.vocab).argsort(-1)[:, : LENGTH + 1]


class OneByOne:
    """One model in plain PyTorch; a round trains it for as many steps as the fleet's."""

    def __init__(self, norm: str, dropout: float) -> None:
        self.task = SetComplement(16)
        self.model = MinimalTransformer(16, 5, norm=norm, dropout_weights=dropout)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3, foreach=True)

    def step(self) -> None:
        """One training step."""
        tokens = plain_batch(self.task)
        logits = self.model(tokens[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def speed_up(norm: str, dropout: float) -> tuple[float, dict[str, float]]:
    trainer = fleet_trainer(SetComplementRecipe(norm=norm, steps=10**6), dropout)
    alone = OneByOne(norm, dropout)
    taken = interleaved({"fleet": trainer.advance, "alone": alone.step}, ROUNDS, STEPS)
    return taken["alone"] * MODELS / taken["fleet"], taken


def bookkeeping_share() -> float:
    """The part of a run that is neither steps nor measuring: checkpoints, progress, tables."""
    recipe = SetComplementRecipe(steps=8000)
    members = tuple(Hyperparameters(seed=seed) for seed in range(MODELS))
    work = 0.0
    advance, measure = Trainer.advance, SetComplementRecipe.measure

    def timed_advance(trainer: Trainer) -> None:
        nonlocal work
        start = time.perf_counter()
        advance(trainer)
        work += time.perf_counter() - start

    def timed_measure(
        recipe: SetComplementRecipe, trainer: Trainer, weights: Tensor | None
    ) -> list[Reading]:
        nonlocal work
        start = time.perf_counter()
        readings = list(measure(recipe, trainer, weights))
        work += time.perf_counter() - start
        return readings

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(Trainer, "advance", timed_advance),
        mock.patch.object(SetComplementRecipe, "measure", timed_measure),
    ):
        run = RunFolder.create(Path(folder) / "run", recipe, members, ["benchmark"])
        start = time.perf_counter()
        execute(run)
        return 1 - work / (time.perf_counter() - start)


def main() -> int:
    options = arguments(__doc__ or "")
    torch.set_num_threads(1)
    seconds: dict[str, float] = {}
    comparisons = []
    for name, norm, dropout, bar in (
        ("fleet of 32 / one by one", "none", 0.0, 3.0),
        ("fleet of 32 / one by one, norm", "layernorm", 0.0, None),
        ("fleet of 32 / one by one, dropout", "none", 0.1, None),
    ):
        ratio, taken = speed_up(norm, dropout)
        comparisons.append(Comparison(name, ratio, bar))
        seconds |= {f"{name}: {competitor}": value for competitor, value in taken.items()}
    share = bookkeeping_share()
    comparisons.append(
        Comparison("bookkeeping / run (checkpoints, progress, tables)", share, 0.03, "at most")
    )
    return report(comparisons, seconds, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
