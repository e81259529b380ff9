"""Comparing competitors on the same work: interleaved rounds, medians, ratios with bars."""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

Clock = Callable[[], float]


def seconds(
    work: Callable[[], object], repeats: int = 1, clock: Clock = time.perf_counter
) -> float:
    """How long one call takes, on average over `repeats` calls in a row."""
    start = clock()
    for _ in range(repeats):
        work()
    return (clock() - start) / repeats


def interleaved(
    competitors: Mapping[str, Callable[[], object]],
    rounds: int,
    repeats: int = 1,
    clock: Clock = time.perf_counter,
) -> dict[str, float]:
    """The median seconds of one call of each competitor.

    Every round times every competitor once, so that a slow moment of the machine meets all of
    them, and begins with the next one, so that none always follows the same neighbour. A first
    round, for caches and lazy set-up, does not count. Where all work is done by one thread,
    `time.process_time` as the clock leaves out the time in which others had the processor.
    """
    order = list(competitors)
    times: dict[str, list[float]] = {name: [] for name in competitors}
    for round_number in range(rounds + 1):
        order = order[1:] + order[:1]
        for name in order:
            taken = seconds(competitors[name], repeats, clock)
            if round_number > 0:
                times[name].append(taken)
    return {name: statistics.median(taken) for name, taken in times.items()}


@dataclass(frozen=True)
class Comparison:
    """A ratio and the bar it has to clear; without a bar it is only reported."""

    name: str
    ratio: float
    bar: float | None = None
    kind: Literal["at least", "at most"] = "at least"

    @property
    def met(self) -> bool:
        """Whether the ratio clears its bar."""
        if self.bar is None:
            return True
        return self.ratio >= self.bar if self.kind == "at least" else self.ratio <= self.bar

    def __str__(self) -> str:
        bar = "none" if self.bar is None else f"{self.kind} {self.bar:g}"
        return f"{self.name}: {self.ratio:.2f} (bar {bar}){'' if self.met else '  MISSED'}"


def parser(description: str) -> argparse.ArgumentParser:
    """The command line every benchmark has, to which one may add."""
    own = argparse.ArgumentParser(description=description)
    own.add_argument("--json", type=Path, metavar="FILE", help="keep the figures in FILE")
    return own


def arguments(description: str) -> argparse.Namespace:
    """What was given on that command line."""
    return parser(description).parse_args()


def report(
    comparisons: list[Comparison], seconds_per_call: Mapping[str, float], json_file: Path | None
) -> int:
    """Print one line per comparison; the exit code is 1 if a bar is missed."""
    for comparison in comparisons:
        print(comparison)
    if json_file is not None:
        figures = {
            "comparisons": [asdict(c) | {"met": c.met} for c in comparisons],
            "seconds": dict(seconds_per_call),
        }
        json_file.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0 if all(comparison.met for comparison in comparisons) else 1
