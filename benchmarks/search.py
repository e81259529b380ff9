"""Trials per hour: the default search against Optuna training the same trials one by one.

Ours trains a sample of the fleets of the default search of 2,000 trials, each whole. The peer is
what one writes in plain PyTorch: an Optuna study in memory per process, with its random sampler, in
which a part of the very same trials is enqueued; the same module with torch's own dropout, foreach
AdamW, three EMAs by foreach operations, and the same measures of the same 13 sets of weights. One
process per core and one thread each for both; the peer runs before and after ours.
"""

import io
import math
import multiprocessing
import os
import tempfile
import time
import warnings
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars
import torch
from _harness import Comparison, arguments, report
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.executors import Done
from lengthwise.executors import Work as ExecutorWork
from lengthwise.measures import MEASURES
from lengthwise.models import MinimalTransformer
from lengthwise.papers.whats_missing.search.space import DROPOUTS, set_complement_space
from lengthwise.search import LocalExecutor, SearchFolder, Space, search
from lengthwise.search.distributions import Choice, LogUniform, Sometimes
from lengthwise.search.packing import Chunk, pack
from lengthwise.search.space import Trial
from lengthwise.search.work import Work
from lengthwise.tasks import SetComplement

SEARCH_TRIALS, SEED = 2000, 0
EVERY_CHUNK = 9
"""Every ninth fleet of the search, from the longest to the shortest."""
PEER_TRIALS = 64
TABLE_TRIALS = 100_000
FLEET = 32
"""Trials per chunk of that table, about as many as the default search has."""
WORKERS = len(os.sched_getaffinity(0))


class PlainDropout(nn.Dropout):
    """torch's own dropout in the place of ours."""

    @property
    def active(self) -> bool:
        """Whether it does anything in training."""
        return self.p > 0


class OneByOne:
    """One trial in plain PyTorch."""

    def __init__(self, trial: Trial) -> None:
        recipe = trial.recipe
        self.recipe = recipe
        self.own = trial.hyperparameters
        assert isinstance(recipe.task, SetComplement)
        self.task = recipe.task
        model = recipe.build(self.own)
        assert isinstance(model, MinimalTransformer)
        for name in DROPOUTS:
            owner = model if name == "embed_dropout" else model.attention
            setattr(owner, name, PlainDropout(getattr(self.own, name)))
        self.model = model
        self.parameters: list[Tensor] = list(model.parameters())
        matrices = [p for p in self.parameters if p.ndim >= 2]
        others = [p for p in self.parameters if p.ndim < 2]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": matrices, "weight_decay": self.own.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=self.own.learning_rate,
            betas=(self.own.beta1, self.own.beta2),
            foreach=True,
        )
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._rate)
        self.first = [p.detach().clone() for p in self.parameters]
        self.averages = [[p.detach().clone() for p in self.parameters] for _ in self.own.ema_powers]

    def _rate(self, step: int) -> float:
        share = (1 + math.cos(math.pi * step / self.recipe.steps)) / 2
        final = self.own.final_lr_fraction
        return min(1.0, (step + 1) / self.own.warmup) * (final + (1 - final) * share)

    def train(self) -> None:
        """All steps."""
        recipe = self.recipe
        for step in range(1, recipe.steps + 1):
            permutations = torch.rand(recipe.batch, self.task.vocab).argsort(-1)
            tokens = permutations[:, : recipe.max_train_length + 1]
            inputs, target = tokens[:, :-1], tokens[:, 1:].flatten()
            if self.own.loss == "soft":
                target = self.task.targets(inputs).flatten(0, 1)
            loss = functional.cross_entropy(self.model(inputs).flatten(0, 1), target)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.parameters, self.own.grad_clip, foreach=True)
            self.optimizer.step()
            self.schedule.step()
            with torch.no_grad():
                for power, average in zip(self.own.ema_powers, self.averages, strict=True):
                    torch._foreach_lerp_(average, self.parameters, (10 + step) ** -power)

    @torch.no_grad()
    def measure(self) -> float:
        """Every measure of all weights at every length; the least mean TVD beyond training."""
        self.model.eval()
        last = [p.clone() for p in self.parameters]
        least = self._measured()
        for average in self.averages:
            for bias in (None, *self.own.bias_powers):
                alpha = 0.0 if bias is None else (10 + self.recipe.steps) ** -bias
                moved = torch._foreach_sub(last, self.first)
                weights = torch._foreach_add(average, moved, alpha=alpha)
                torch._foreach_copy_(self.parameters, weights)
                least = min(least, self._measured())
        return least

    def _measured(self) -> float:
        means = []
        for length in self.task.lengths:
            inputs = self.task.enumerate_inputs(length, self.recipe.test_inputs)
            if inputs is None:
                inputs = torch.rand(self.recipe.test_inputs, self.task.vocab).argsort(-1)
                inputs = inputs[:, :length]
            logits, target = self.model(inputs)[:, -1], self.task.targets(inputs)[:, -1]
            found = {name: measure(logits, target).mean() for name, measure in MEASURES.items()}
            if length > self.recipe.max_train_length:
                means.append(float(found["tvd"]))
        return sum(means) / len(means)


def optuna_process(numbers: Sequence[int]) -> float:
    """Train some trials of the default search under Optuna; the seconds it took."""
    import optuna

    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # It would rather have no tuples among its choices, but a study in memory can hold them.
    warnings.filterwarnings("ignore", "Choices for a categorical distribution")
    space = set_complement_space()
    trials = [space.trial(SEED, number) for number in numbers]
    start = time.perf_counter()
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=SEED))
    for trial in trials:
        study.enqueue_trial(dict(trial.values))
    asked = iter(trials)

    def objective(suggested: Any) -> float:
        trial = next(asked)
        for name, value in suggest(suggested, space).items():
            assert value == trial.values[name]
        alone = OneByOne(trial)
        alone.train()
        return alone.measure()

    study.optimize(objective, n_trials=len(trials))
    return time.perf_counter() - start


def suggest(trial: Any, space: Space) -> dict[str, Any]:
    """The hyper-parameters of the default space, in the words of Optuna."""
    found: dict[str, Any] = {}
    for name in space.searched:
        given = space.hyperparameters[name]
        if isinstance(given, Choice):
            found[name] = trial.suggest_categorical(name, given.values)
        elif isinstance(given, Sometimes):
            rates: Any = given.then
            found[name] = trial.suggest_float(name, 0.0, rates.high)
        elif isinstance(given, LogUniform):
            found[name] = trial.suggest_float(name, given.low, given.high, log=True)
    return found


def peer_seconds(numbers: Sequence[int]) -> float:
    """The seconds that the slowest process takes for its share of the trials."""
    shares = [numbers[start::WORKERS] for start in range(WORKERS)]
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        return max(pool.map(optuna_process, shares, chunksize=1))


def like(content: bytes, trials: Sequence[int]) -> bytes:
    """The file of a chunk of some trials, all of which gave what the first one of `content` did."""
    chunk = polars.read_parquet(content)
    one = chunk.filter(polars.col("trial") == chunk["trial"][0]).drop("trial")
    numbers = polars.DataFrame({"trial": list(trials)})
    made = io.BytesIO()
    numbers.join(one, how="cross").write_parquet(made)
    return made.getvalue()


class Replay:
    """An executor that hands out what was made before: what is left is bookkeeping."""

    name = "replay"

    def __init__(self, content: bytes, chunks: Sequence[Chunk]) -> None:
        self.results: dict[Hashable, Done] = {
            chunk: Done(chunk, like(content, chunk.trials)) for chunk in chunks
        }

    def run(self, work: ExecutorWork, jobs: Sequence[Hashable]) -> Iterator[Done | None]:
        """Yield every chunk at once."""
        for job in jobs:
            yield self.results[job]


def bookkeeping_seconds(content: bytes) -> float:
    """What a trial costs beside its training: drawing, packing, recording, the best so far."""
    count = 1000
    replay = Replay(content, pack(set_complement_space(), SEED, range(count)))
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        search(set_complement_space(), count, Path(folder) / "search", executor=replay)
        return (time.perf_counter() - start) / count


def seconds_to_open(content: bytes) -> float:
    """How long a table of many trials takes to open."""
    with tempfile.TemporaryDirectory() as name:
        folder = SearchFolder.create_or_open(Path(name) / "s", set_complement_space(), SEED, [])
        for start in range(0, TABLE_TRIALS, FLEET):
            folder.add(like(content, range(start, min(start + FLEET, TABLE_TRIALS))))
        begun = time.perf_counter()
        table = folder.table()
        taken = time.perf_counter() - begun
        assert table["trial"].n_unique() == TABLE_TRIALS
    return taken


def main() -> int:
    options = arguments(__doc__ or "")
    torch.set_num_threads(1)
    space = set_complement_space()
    chunks = pack(space, SEED, range(SEARCH_TRIALS))[EVERY_CHUNK // 2 :: EVERY_CHUNK]
    numbers = [number for chunk in chunks for number in chunk.trials]
    sample = [numbers[place * len(numbers) // PEER_TRIALS] for place in range(PEER_TRIALS)]
    before = peer_seconds(sample[::2])
    start = time.perf_counter()
    results = [r for r in LocalExecutor(WORKERS).run(Work(space, SEED), chunks) if r is not None]
    ours = time.perf_counter() - start
    after = peer_seconds(sample[1::2])
    per_trial = {"search": ours / len(numbers), "optuna": (before + after) / len(sample)}
    content = results[0].content
    training = WORKERS * per_trial["search"]
    print(f"ours: {3600 / per_trial['search']:.0f} trials per hour ({len(numbers)} trained)")
    print(f"Optuna: {3600 / per_trial['optuna']:.0f} trials per hour ({len(sample)} trained)")
    opening = seconds_to_open(content)
    comparisons = [
        Comparison(
            "trials per hour, search / Optuna one by one",
            per_trial["optuna"] / per_trial["search"],
            6.0,
        ),
        Comparison(
            "bookkeeping / training of a trial, in %",
            100 * bookkeeping_seconds(content) / training,
            1.0,
            "at most",
        ),
        Comparison(f"seconds to open {TABLE_TRIALS:,} trials", opening, 5.0, "at most"),
    ]
    return report(comparisons, per_trial, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
