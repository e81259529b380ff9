"""The six kinds of work that a soak kills, fills the disk of and moves, and how results compare."""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from soak.small import tiny_scale

GAMES = (
    "othello", "generate", "--games", "36", "--board", "4", "--shard-games", "6", "--legal",
    "--out", "out",
)  # fmt: skip
TRAIN = (
    "set-complement", "--vocab", "6", "--max-train-length", "3", "--seeds", "2", "--steps", "12",
    "--batch", "4", "--test-inputs", "16", "--ema-powers", "0.5", "--bias-powers", "0.2",
    "--test-steps", "4", "8", "--checkpoint-seconds", "0", "--out", "out",
)  # fmt: skip
SERIES = tuple(f"series/step-{step}.safetensors" for step in (1, 2, 3))


@dataclass(frozen=True)
class Workload:
    """A command that can be stopped at any moment and started again."""

    name: str
    words: Sequence[str]
    digest: Callable[[Path], str]
    """Of all that must come out the same, whatever happened on the way."""
    reads: Sequence[str] = ()
    """Seeds that it reads."""
    resume: Sequence[str] = ()
    """What resumes it once `resumable` is there; the same command if empty."""
    resumable: str = ""
    prepare: Callable[[], None] = lambda: None
    """What a process does before the command."""

    def command(self, place: Path) -> list[str]:
        """What a user would type now."""
        again = self.resume and (place / self.resumable).exists()
        return list(self.resume if again else self.words)

    def lay_out(self, place: Path, kept: Path) -> None:
        """Put what it reads into a folder."""
        for name in self.reads:
            source = kept / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, place / name)


def _files(*patterns: str) -> Callable[[Path], str]:
    """A digest of files, by their names and contents."""

    def digest(place: Path) -> str:
        made = hashlib.sha256()
        found = sorted({path for pattern in patterns for path in place.glob(pattern)})
        for path in found:
            made.update(f"{path.relative_to(place)}\n".encode())
            made.update(hashlib.sha256(path.read_bytes()).digest())
        return f"{len(found)} files {made.hexdigest()[:20]}"

    return digest


def _records(place: Path) -> str:
    """A digest of what a comparison recorded; its times differ, its numbers must not."""
    from lengthwise.comparing import StudyFolder
    from lengthwise.comparing.records import LISTS, SCHEMA, require_true

    records = StudyFolder.open(place / "out").records()
    require_true(records, "the soak")
    same = [name for name in SCHEMA if name not in ("seconds", "cost", "digest")]
    table = records.select(*same).sort("cell")
    assert set(LISTS) <= set(same)
    made = hashlib.sha256(repr(table.rows()).encode()).hexdigest()[:20]
    return f"{len(table)} records {made}"


def _trials(place: Path) -> str:
    """A digest of all tables of a search, and of how many rows they have."""
    from lengthwise.search import SearchFolder

    folder = SearchFolder.open(place / "out")
    tables = folder.table(), folder.by_length()
    assert folder.done() == set(range(TRIALS)), "every trial once"
    made = hashlib.sha256()
    for table in tables:
        made.update(repr(table.rows()).encode())
    return f"{len(tables[0])} and {len(tables[1])} rows {made.hexdigest()[:20]}"


TRIALS = 6

WORKLOADS = (
    Workload(
        "train", ("train", *TRAIN),
        _files("out/measures*.parquet", "out/checkpoints/step-000000012.safetensors"),
        resume=("resume", "out", "--checkpoint-seconds", "0"), resumable="out/run.json",
    ),
    Workload(
        "search", ("search", "run", "space.py", "--trials", str(TRIALS), "--workers", "2", "--out",
                   "out"),
        _trials, ["space.py"],
    ),
    Workload(
        "compare", ("compare", "--scale", "quick", "--workers", "2", "--out", "out"), _records,
        prepare=tiny_scale,
    ),
    Workload("othello generate", GAMES, _files("out/[!.]*.npy")),
    Workload(
        "probe", ("probe", "hf", "--lengths", "4,8,12,16", "--sequences", "2", "--out", "out"),
        _files("out/lengths/[!.]*", "out/*.csv", "out/*.txt"), ["hf"],
    ),
    Workload("average", ("average", *SERIES, "--out", "out.safetensors", "--overwrite"),
             _files("out.safetensors"), ["series"]),
)  # fmt: skip
