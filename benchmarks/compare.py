"""Comparisons: cells per hour against the same cells trained one by one with x-transformers.

A cell is a model of the built-in study: its training steps, and its tests at four points and five
lengths. Ours trains in the fleets of the study, with the averages that it reads; the peer is
x-transformers with the same layers, heads, width and positions, its faster attention kernel, fused
AdamW, warm-up and clipping of gradients as one writes them down, on the same inputs. It tests its
last weights alone, while ours tests two averages as well. Steps are timed in turn, on one thread,
whose own time counts, and a cell is put together of its steps and its tests; with one process per
core both are as many times faster as there are cores.

Then what a study costs beside training, and how long one of 100,000 records takes to open.
"""

import dataclasses
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars
import torch
from _harness import Comparison, arguments, interleaved, report, seconds
from torch import Tensor, nn
from torch.nn import functional
from x_transformers import Decoder, TransformerWrapper

from lengthwise.comparing import Study, StudyFolder, built_in_study, read, run
from lengthwise.comparing.baselines import levels
from lengthwise.comparing.cells import Job
from lengthwise.comparing.page import page
from lengthwise.comparing.payload import payload
from lengthwise.comparing.records import digest, to_bytes
from lengthwise.comparing.work import PART_ON_THE_WAY, POINTS, Work, measured
from lengthwise.executors import Done
from lengthwise.executors import Work as AnyWork
from lengthwise.memory import keep_freed_memory
from lengthwise.runs import Recipe
from lengthwise.tasks import IGNORE_INDEX, Batch, TokenTask
from lengthwise.training import Trainer

FLAGS: dict[str, dict[str, Any]] = {
    "rotary": {"rotary_pos_emb": True},
    "none": {},
    "alibi": {"alibi_pos_bias": True},
    "fox": {"attn_data_dependent_alibi": True},
}
"""Remedies of the study that x-transformers has."""

TASKS = ("flip-flop", "unique-copy", "majority")
ROUNDS, STEPS = 5, 8
BAR, MOST_BOOKKEEPING, MOST_OPEN, MOST_PAGE = 1.5, 0.01, 5.0, 2.0
RECORDS = 100_000


class Peer:
    """One model of x-transformers, trained on the inputs that ours sees."""

    def __init__(self, recipe: Recipe, flags: dict[str, Any], draws: Trainer) -> None:
        task, model = recipe.task, recipe.model
        assert isinstance(task, TokenTask)
        layers, heads, width = (getattr(model, name) for name in ("layers", "heads", "width"))
        self.recipe, self.draws, self.number = recipe, draws, 0
        try:
            stack = self._stack(width, layers, heads, flags, flash=True)
        except AssertionError:  # how it says that a flag does not go with the kernel
            stack = self._stack(width, layers, heads, flags, flash=False)
        self.model: nn.Module = TransformerWrapper(
            num_tokens=task.vocab, max_seq_len=task.max_position, attn_layers=stack,
            use_abs_pos_emb=False, logits_dim=task.outputs,
        )  # fmt: skip
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, fused=True)
        self.schedule = torch.optim.lr_scheduler.LinearLR(self.optimizer, 0.01, total_iters=100)

    @staticmethod
    def _stack(
        width: int, layers: int, heads: int, flags: dict[str, Any], *, flash: bool
    ) -> Decoder:
        return Decoder(
            dim=width, depth=layers, heads=heads, attn_dim_head=width // heads, attn_flash=flash,
            verbose=False, **flags,
        )  # fmt: skip

    def step(self) -> None:
        """One training step."""
        batch: Batch = self.draws._batch(self.number)
        self.number += 1
        logits = self.model(batch.inputs[0])
        labels = batch.labels[0]
        loss = functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE_INDEX
        )
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()

    @torch.no_grad()
    def test(self) -> float:
        """The share of inputs at every length of which all is right."""
        task, recipe, right = self.recipe.task.held_out(), self.recipe, 0.0
        for length in recipe.test_lengths:
            count = max(1, min(recipe.test_inputs, (recipe.test_items or 1 << 60) // length))
            batch = task.draw(torch.tensor(length), length, count)
            found: Tensor = self.model(batch.inputs).argmax(-1)
            right += float(
                ((found == batch.labels) | (batch.labels == IGNORE_INDEX)).all(-1).float().mean()
            )
        return right


def cells_per_hour(job: Job) -> tuple[float, float]:
    """Ours and theirs, on one core."""
    trainer = job.recipe.trainer(job.hyperparameters)
    alone = job.recipe.trainer(job.hyperparameters[:1])
    peer = Peer(job.recipe, FLAGS[job.remedy], alone)
    models = len(job.hyperparameters)
    taken = interleaved(
        {"ours": trainer.step, "theirs": peer.step}, ROUNDS, STEPS, clock=time.process_time
    )
    found: list[list[Any]] = [[] for _ in range(models)]
    tested: dict[str, Callable[[], object]] = {
        "last": lambda: measured(job, trainer, found, over=True),
        "way": lambda: measured(job, trainer, found, over=False),
        "theirs": peer.test,
    }
    tests = interleaved(tested, 1, clock=time.process_time)
    steps = job.recipe.steps
    ours = (steps * taken["ours"] + tests["last"] + (POINTS - 1) * tests["way"]) / models
    part = 1 + (POINTS - 1) / PART_ON_THE_WAY
    theirs = steps * taken["theirs"] + part * tests["theirs"]
    return 3600 / ours, 3600 / theirs


class Replay:
    """An executor that hands out what was made before: what is left is bookkeeping."""

    name = "replay"

    def __init__(self, content: bytes) -> None:
        self.content = content

    def run(self, work: AnyWork, jobs: Sequence[Hashable]) -> Iterator[Done | None]:
        """Yield every job at once."""
        for job in jobs:
            yield Done(job, self.content)


def large_study(study: Study, one: dict[str, Any], path: Path) -> StudyFolder:
    """A study with very many seeds, all recorded with the numbers of one cell."""
    trainings = len(study.trainings()) * len(study.plans) * len(study.rates)
    study = dataclasses.replace(study, seeds=RECORDS // trainings + 1)
    folder = StudyFolder.create_or_open(path, study, [])
    for plan in study.plans:
        recipe = plan.recipe
        own = dict(one, length=[n for _ in range(6) for n in recipe.test_lengths])
        own["weights"] = [kind for kind in ("raw",) * 4 + ("ema", "bema") for _ in range(5)]
        marks = [round(recipe.steps * point / POINTS) for point in range(1, POINTS + 1)]
        own["step"] = [step for step in (*marks, marks[-1], marks[-1]) for _ in range(5)]
        measure = plan.score.removeprefix("1 - ")
        own["measure"], own["value"] = [measure] * 30, [0.5] * 30
        rows = [
            own | {"cell": cell, "seed": seed, "learning_rate": rate}
            for entry in study.trainings()
            for (seed, rate), cell in study.cells(entry, plan).items()
        ]
        folder.add(to_bytes(polars.DataFrame(rows, schema=polars.Schema(_schema()))))
    return folder


def _schema() -> dict[str, Any]:
    from lengthwise.comparing.records import SCHEMA

    return SCHEMA


def main() -> int:
    options = arguments(__doc__ or "")
    torch.set_num_threads(1)
    keep_freed_memory()
    warnings.simplefilter("ignore")
    study = built_in_study("laptop", tasks=TASKS, remedies=[n for n in FLAGS if n != "rotary"])
    figures: dict[str, float] = {}
    ratios = []
    for job in study.jobs(set()):
        ours, theirs = cells_per_hour(job)
        figures[f"{job}: ours per hour"], figures[f"{job}: theirs"] = ours, theirs
        ratios.append((ours, theirs))
        print(f"{job}: {ours:.0f} cells per hour, {theirs:.0f} one by one", flush=True)
    total = [sum(1 / one[place] for one in ratios) for place in (0, 1)]
    comparisons = [Comparison("cells per hour over x-transformers", total[1] / total[0], BAR)]
    with tempfile.TemporaryDirectory() as made:
        small = built_in_study("quick", seeds=3)
        job = next(iter(small.jobs(set())))
        quick = dataclasses.replace(job.recipe, steps=POINTS)
        content = Work().do(dataclasses.replace(job, recipe=quick, baseline=quick))
        folder = StudyFolder.create_or_open(Path(made) / "bookkeeping", small, [])
        jobs = len(list(small.jobs(set())))
        beside = seconds(lambda: run(folder, executor=Replay(content))) / jobs
        training = models_seconds(job)
        comparisons.append(
            Comparison("bookkeeping over training", beside / training, MOST_BOOKKEEPING, "at most")
        )
        (row,) = polars.read_parquet(content).head(1).iter_rows(named=True)
        assert digest(row) == row["digest"]
        large = large_study(built_in_study("laptop"), row, Path(made) / "large")
        figures["seconds to open"] = seconds(
            lambda: read((again := StudyFolder.open(large.path)).study, again.records())
        )
        reading = read(large.study, large.records())
        known = levels(large)
        text = page(payload(reading, known, {"command": "", "versions": [], "done": 1,
                                             "planned": 1, "missing": []}))  # fmt: skip
        figures["page megabytes"] = len(text.encode()) / 1e6
    comparisons += [
        Comparison("seconds to open 100,000 records", figures["seconds to open"], MOST_OPEN,
                   "at most"),
        Comparison("megabytes of their page", figures["page megabytes"], None),
    ]  # fmt: skip
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}, indent=1))
    return report(comparisons, figures, options.json)


def models_seconds(job: Job) -> float:
    """How long a job trains: so many times a step as it has, without its tests."""
    trainer = job.recipe.trainer(job.hyperparameters)
    return seconds(trainer.step, 20) * job.recipe.steps


if __name__ == "__main__":
    raise SystemExit(main())
