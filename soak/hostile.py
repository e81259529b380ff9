"""Damaged and hostile inputs: one line, exit code 2, no traceback, nothing overwritten, bounds.

A case takes a command and the valid files it reads, damages one of them or one word of the command,
and runs the command in a forked process that has bounds on time and memory. Cases are run in
batches, one after the other in one process; one that goes wrong there is run again alone, and that
counts.
"""

import json
import os
import re
import resource
import select
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soak._harness import (
    Child,
    Ran,
    Record,
    arguments,
    chance,
    command,
    digests,
    import_everything,
    side_by_side,
)
from soak.damage import WORDS, damage, files
from soak.seeds import CHECK, OTHELLO, PROBE, TRAIN, seeds

COUNT = 10_000
SECONDS = 180.0
"""How long a case may take, on a machine that has other things to do."""
BATCH = 25
"""Cases per process."""
MEMORY = 3 << 30
"""How many bytes a case may map beyond those of a process that has everything imported."""


@dataclass(frozen=True)
class Target:
    """A command, and the valid files that it reads."""

    name: str
    words: Sequence[str]
    inputs: Sequence[str]
    """Files and folders it reads; one of them is damaged."""
    writes: Sequence[str] = ()
    """What it may change or remove among its inputs when it succeeds."""
    weight: int = 4
    """How often it is taken: what takes long is taken seldom."""


GAMES = ("othello", "generate", "--games", "24", "--board", "4", "--shard-games", "8")
TINY = ("--steps", "2", "--batch", "4", "--seeds", "1", "--test-inputs", "4")
TARGETS = (
    Target("show a run", ["show", "run"], ["run"], weight=10),
    Target("show, measure", ["show", "run", "--measure", "kl"], ["run"]),
    Target("show, plot", ["show", "run", "--plot", "plot.svg"], ["run"], weight=1),
    Target("show a stopped run", ["show", "stopped"], ["stopped"]),
    Target("resume", ["resume", "stopped"], ["stopped"], ["stopped/"], weight=10),
    Target("resume a finished run", ["resume", "run"], ["run"], ["run/"]),
    Target("resume own code", ["resume", "own"], ["own"], ["own/"]),
    Target("train over a run", ["train", *TRAIN, "--out", "run"], ["run"]),
    Target("train, start from", ["train", *TRAIN, "--start-from", "run", "--out", "new"], ["run"],
           weight=6),
    Target("train, own remedy", ["train", *TRAIN, "--remedies", "remedy.py", "--out", "new"],
           ["remedy.py"], weight=6),
    Target("train, own task", ["train", "task.py", *TINY, "--layers", "1", "--heads", "1",
                               "--width", "8", "--out", "new"], ["task.py"]),
    Target("certify a run", ["certify", "run"], ["run"], ["run/"], weight=1),
    Target("certify a checkpoint", ["certify", "model.safetensors"], ["model.safetensors"],
           weight=2),
    Target("trust a run", ["trust", "own"], ["own"], weight=6),
    Target("trust a checkpoint", ["trust", "own.safetensors"], ["own.safetensors"], weight=6),
    Target("othello, run", ["othello", "show", "--game", "3", "--run", "othello"], ["othello"],
           weight=4),
    Target("othello, shards", [*GAMES, "--out", "games", "--legal"], ["games"], ["games/"],
           weight=8),
    Target("othello, parquet", [*GAMES, "--format", "parquet", "--out", "games-parquet"],
           ["games-parquet"], ["games-parquet/"], weight=8),
    Target("search status", ["search", "status", "search"], ["search"], weight=10),
    Target("search status, unfinished", ["search", "status", "search-stopped"],
           ["search-stopped"]),
    Target("search export", ["search", "export", "search", "--to", "csv", "out.csv"], ["search"],
           weight=8),
    Target("search, resume", ["search", "run", "space.py", "--trials", "8", "--out",
                              "search-stopped"], ["search-stopped", "space.py"],
           ["search-stopped/"], weight=6),
    Target("search, space", ["search", "run", "space.py", "--trials", "2", "--out", "new"],
           ["space.py"], weight=6),
    Target("compare, page", ["compare", "--page-only", "--out", "study"], ["study"], ["study/"],
           weight=3),
    Target("compare, add", ["compare", "--add", "friend", "--out", "study"], ["friend"],
           ["study/"], weight=4),
    Target("compare, verify", ["compare", "--verify", "1", "--out", "study"], ["study"],
           ["study/"], weight=2),
    Target("average", ["average", "series/step-1.safetensors", "series/step-2.safetensors",
                       "series/step-3.safetensors", "--out", "mean.safetensors"], ["series"],
           weight=14),
    Target("probe a model", ["probe", "hf", *PROBE, "--out", "new"], ["hf"], weight=2),
    Target("probe a GGUF file", ["probe", "tiny.gguf", *PROBE, "--out", "new"], ["tiny.gguf"],
           weight=3),
    Target("probe, text", ["probe", "hf", *PROBE, "--input", "text", "--text", "text.txt", "--out",
                           "new"], ["text.txt"], weight=2),
    Target("probe, kept", ["probe", "hf", *PROBE, "--out", "probe"], ["probe"], ["probe/"],
           weight=2),
    Target("check, text", ["check", "hf", *CHECK, "--out", "new"], ["text.txt"], weight=1),
    Target("check, kept", ["check", "hf", *CHECK, "--out", "check"], ["check"], ["check/"],
           weight=1),
    Target("check, import", ["check", "hf", *CHECK, "--import", "harness.json", "--out", "check"],
           ["harness.json"], ["check/"], weight=3),
    Target("report", ["report", "results/own/quick", "--claims", "claim.py", "--markdown",
                      "page.md"], ["results", "page.md", "claim.py"], ["page.md", ""], weight=4),
    Target("tasks", ["tasks", "task.py"], ["task.py"]),
    Target("remedies", ["remedies", "remedy.py"], ["remedy.py"], weight=2),
)  # fmt: skip
NEEDED = {
    "probe, text": ["hf"], "probe, kept": ["hf"], "check, text": ["hf"],
    "check, kept": ["hf", "text.txt"], "check, import": ["hf", "check", "text.txt"],
    "compare, add": ["study"],
}  # fmt: skip
"""What a target reads that is not damaged."""

OPTIONS = {
    "train": ["--steps", "--batch", "--seeds", "--first-seed", "--vocab", "--max-train-length",
              "--min-train-length", "--test-lengths", "--test-inputs", "--test-seed", "--remedies",
              "--test-remedies", "--model", "--learning-rate", "--ema-powers", "--bias-powers",
              "--warmup", "--device", "--start-from", "--out", "--checkpoint-seconds",
              "--attention-dropout", "--beta1", "--weight-decay", "--extra-width", "--accumulate",
              "--precision", "--compiled", "--test-steps", "--grad-clip"],
    "othello": ["--board", "--layers", "--heads", "--width", "--remedies", "--max-train-length"],
    "average": ["--ema-power", "--bias-power", "--schedule", "--lag", "--multiplier",
                "--min-weight", "--out"],
    "generate": ["--games", "--board", "--shard-games", "--seed", "--start", "--split",
                 "--format", "--out"],
    "board": ["--game", "--after", "--board", "--run", "--model-index", "--ema-power",
              "--picture"],
    "status": ["--top", "--objective"],
    "export": ["--to", "--name"],
    "search": ["--trials", "--seed", "--workers", "--out", "--ray"],
    "compare": ["--remedies", "--tasks", "--model", "--baseline", "--seeds", "--scale", "--out",
                "--workers", "--add", "--verify"],
    "show": ["--measure", "--plot"],
    "certify": ["--model", "--ema-power", "--bias-power", "--lengths", "--inputs", "--figure"],
    "probe": ["--lengths", "--input", "--text", "--query", "--queries", "--layers",
              "--sequences", "--positions", "--component", "--top", "--dtype", "--device",
              "--seed", "--out"],
    "report": ["--markdown", "--claims", "--seeds", "--first-seed", "--model"],
    "tasks": ["--length", "--examples", "--seed"],
    "remedies": ["--out", "--pictures"],
}  # fmt: skip
BASES = {
    "train": ["train", *TRAIN, "--out", "new"],
    "othello": ["train", *OTHELLO, "--out", "new"],
    "average": ["average", "series/step-1.safetensors", "series/step-2.safetensors", "--out", "m"],
    "generate": [*GAMES, "--out", "new"],
    "board": ["othello", "show", "f5d6c3"],
    "status": ["search", "status", "search"],
    "export": ["search", "export", "search", "--to", "csv", "out.csv"],
    "search": ["search", "run", "space.py", "--trials", "2", "--out", "new"],
    "compare": ["compare", "--remedies", "alibi", "--tasks", "majority", "--scale", "quick",
                "--page-only", "--out", "nothing"],
    "show": ["show", "run"],
    "certify": ["certify", "model.safetensors"],
    "probe": ["probe", "hf", *PROBE, "--out", "new"],
    "report": ["report", "results/own/quick", "--claims", "claim.py"],
    "tasks": ["tasks", "parity"],
    "remedies": ["remedies", "alibi"],
}  # fmt: skip
READ = {
    "average": ["series"], "status": ["search"], "export": ["search"], "search": ["space.py"],
    "show": ["run"], "certify": ["model.safetensors"], "probe": ["hf"],
    "report": ["results", "claim.py", "page.md"], "board": ["othello"],
}  # fmt: skip
SELDOM = {"probe": 1, "certify": 1, "report": 1, "remedies": 1, "compare": 2}


@dataclass(frozen=True)
class Case:
    """A command, what it reads, and what is to be damaged."""

    kind: str
    words: list[str]
    inputs: list[str]
    damaged: str
    """The input to damage; empty if a word of the command was damaged instead."""
    writes: tuple[str, ...]
    said: str = ""
    """What was done to the command."""


def case_of(number: int) -> Case:
    """The case of a number."""
    rng = chance("hostile", number)
    kind = rng.random()
    if kind < 0.60:
        target = rng.choices(TARGETS, [one.weight for one in TARGETS])[0]
        damaged = rng.choice(target.inputs)
        inputs = [*target.inputs, *NEEDED.get(target.name, [])]
        return Case(target.name, list(target.words), inputs, damaged, tuple(target.writes))
    if kind < 0.68:
        return _transcript(rng)
    name = rng.choices(list(OPTIONS), [SELDOM.get(one, 6) for one in OPTIONS])[0]
    words, said = _options(rng, name)
    return Case(f"options of {name}", words, READ.get(name, []), "", ("page.md", "README.md"), said)


def _options(rng: Any, name: str) -> tuple[list[str], str]:
    words = list(BASES[name])
    option, value = rng.choice(OPTIONS[name]), rng.choice(WORDS)
    more = [rng.choice(WORDS)] if rng.random() < 0.1 else []
    if option in words:
        words[words.index(option) + 1] = value
    else:
        words += [option, value]
    words += more
    return words, f"{option} {value[:40]!r} {' '.join(more)[:40]}".strip()


def _transcript(rng: Any) -> Case:
    text = list("f5d6c3d3c4f4f6f3e6e7d7c5b6d8c6c7e8")
    for _ in range(rng.choice([1, 2, 8])):
        place = rng.randrange(len(text))
        text[place] = rng.choice(["a", "9", "i", "z", " ", "-", "é", "\u0660", "\n", "8", "h", ""])
    word = "".join(text)[: rng.choice([1000, 1000, rng.randrange(1, 34)])]
    word = rng.choice([word, word, word, word.upper(), word * 50, rng.choice(WORDS)])
    board = rng.choice([[], [], ["--board", "4"], ["--board", "6"], ["--after", str(rng.choice(
        [0, 3, 99, -1, 10**20]))]])  # fmt: skip
    return Case("a transcript", ["othello", "show", word, *board], [], "", (), repr(word)[:60])


def run_alone(number: int, place: Path, kept: Path) -> dict[str, Any]:
    """Run a case in a process of its own; what came out, as a line of the record."""
    case = case_of(number)
    work = place / "work"
    child = Child(
        command(case.words, train_in_this_process), place,
        prepare=lambda: _prepare(case, number, place, kept), cwd=work, memory=MEMORY, nobody=True,
    )  # fmt: skip
    return _line(case, place, child.wait(SECONDS))


def run_batch(numbers: Sequence[int], place: Path, kept: Path) -> dict[int, dict[str, Any]]:
    """Run cases one after the other in one process; those after one that ends it are not run."""
    cases = {number: case_of(number) for number in numbers}
    places = {number: place / str(number) for number in numbers}
    reading, writing = os.pipe()

    def lay_out() -> None:
        for number, case in cases.items():
            places[number].mkdir()
            places[number].chmod(0o777)
            _prepare(case, number, places[number], kept)

    def work() -> int:
        train_in_this_process()
        for number, case in cases.items():
            ran = _here(case, places[number])
            os.write(writing, f"{number} {json.dumps(ran)}\n".encode())
        return 0

    child = Child(work, place, prepare=lay_out, memory=MEMORY, nobody=True)
    os.close(writing)
    found = {}
    with os.fdopen(reading) as lines:
        while select.select([lines], [], [], SECONDS)[0] and (line := lines.readline()):
            number, values = line.split(" ", 1)
            own = places[int(number)]
            out, err = (
                (own / name).read_text(encoding="utf-8", errors="replace")
                for name in ("out", "err")
            )
            ran = Ran(**json.loads(values), signal=0, late=False, out=out, err=err)
            found[int(number)] = _line(cases[int(number)], own, ran)
            shutil.rmtree(own, ignore_errors=True)
    child.kill()
    child.wait(SECONDS)
    return found


def _here(case: Case, place: Path) -> dict[str, Any]:
    """Run a command in this process, as if it had been started for it alone."""
    for number, name in ((1, "out"), (2, "err")):
        handle = os.open(place / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(place / "work")
    environment = dict(os.environ)
    began, worked = time.monotonic(), time.process_time()
    try:
        code: Any = command(case.words)()
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
        code = 1
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    used = {"processor": time.process_time() - worked, "seconds": time.monotonic() - began}
    os.chdir("/")
    os.environ.clear()
    os.environ.update(environment)
    from lengthwise import registry

    registry._FILES.clear()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"code": code, "megabytes": peak, **used}


def _line(case: Case, place: Path, ran: Ran) -> dict[str, Any]:
    """What came out of a case, as a line of the record."""
    work, before = place / "work", place / "before.json"
    if not before.exists():
        return {"kind": case.kind, "damage": "", "exit": None, "wrong": [f"soak: {ran.err[-500:]}"]}
    known = json.loads(before.read_text(encoding="utf-8"))
    for path in work.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    wrong = judged(ran, case, known["files"], digests(work))
    return {
        "kind": case.kind, "damage": known["said"], "exit": ran.code,
        "seconds": round(ran.seconds, 2), "processor": round(ran.processor, 2),
        "megabytes": round(ran.megabytes),
        "line": ran.err.strip().splitlines()[-1][:300] if ran.err.strip() else "", "wrong": wrong,
        **({"words": case.words, "err": ran.err[-3000:]} if wrong else {}),
    }  # fmt: skip


def _prepare(case: Case, number: int, place: Path, kept: Path) -> None:
    """Lay out the inputs and damage one; runs in the forked process."""
    work, before = place / "work", place / "before.json"
    work.mkdir()
    work.chmod(0o777)
    for name in case.inputs:
        source = kept / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, work / name)
    for path in work.rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
    said = case.said
    if case.damaged:
        rng = chance("hostile damage", number)
        chosen = work / case.damaged
        chosen = rng.choice(files(chosen)) if chosen.is_dir() else chosen
        told = chosen.relative_to(work)
        said = f"{told}: {damage(rng, chosen)}"
    text = json.dumps({"said": said, "files": digests(work)})
    before.write_text(text, encoding="utf-8")


def train_in_this_process() -> None:
    """Let searches train in this process: a worker of its own would take seconds to start."""
    import lengthwise.executors.local as local
    from lengthwise.pool import Event, _done

    class Nobody:
        def send(self, message: object) -> None:
            pass

    def run_jobs(do: Any, jobs: Any, workers: int) -> Any:
        for job in jobs:
            kind, value = _done(do, job, Nobody(), lambda: False)  # type: ignore[arg-type]
            yield Event(job, kind, value)  # type: ignore[arg-type]

    setattr(local, "run_jobs", run_jobs)  # noqa: B010 - mypy has it for no attribute


PROGRESS = re.compile(r"^.*: \d+/\d+ \w+")


def judged(ran: Ran, case: Case, before: dict[str, str], after: dict[str, str]) -> list[str]:
    """All that is wrong with what a command did."""
    wrong = []
    if ran.late and re.search(r"/s, .*\d:\d\d left", ran.err):
        return []  # it works on what it was asked for, and says how long that will take
    if ran.late:
        wrong.append(f"not done after {SECONDS:.0f} s")
    elif ran.code is None:
        wrong.append(f"ended by signal {ran.signal}")
    elif ran.code not in (0, 2) and not (ran.code == 1 and "verify" in case.kind):
        wrong.append(f"exit code {ran.code}")
    if "Traceback" in ran.err + ran.out:
        wrong.append("a traceback")
    lines = [line for line in ran.err.splitlines() if not PROGRESS.match(line)]
    if ran.code == 2:
        if len(lines) != 1 or not lines[0].startswith("lengthwise: "):
            wrong.append(f"{len(lines)} lines in place of one")
        elif not _names(lines[0], case):
            wrong.append("the line names nothing")
    elif ran.code == 0 and lines:
        wrong.append("warnings beside success")
    return wrong + _changed(ran, case, before, after)


def _names(line: str, case: Case) -> bool:
    """Whether a line says what it is about: a field and its value, an option, or a file."""
    given = any(len(word) > 1 and word in line for word in case.words[1:])
    return given or bool(
        re.search(r"\w+( of .*)? = |--\w|\w/|\.\w+|too large|expected|Unrecognized options:", line)
    )


def _changed(ran: Ran, case: Case, before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Files that were changed though nobody had asked for it, and what was left behind."""
    wrong = []
    for name, digest in before.items():
        may = ran.code == 0 and any(name.startswith(one) for one in case.writes)
        if Path(name).name in ("log.txt", "lock") or may:
            continue
        if after.get(name) != digest:
            wrong.append(f"{name} was {'changed' if name in after else 'removed'}")
    for name in after.keys() - before.keys():
        if re.match(r"\.\w.*\.\w{8}$", Path(name).name):
            wrong.append(f"{name} was left behind")
    return wrong


def main() -> int:
    """Run the cases that are missing."""
    more = {
        "--one": {"type": int, "help": "only this case, shown"},
        "--workers": {"type": int, "default": 2, "help": "cases at a time"},
    }
    options = arguments(__doc__, COUNT, more)
    import_everything()
    kept = seeds()
    if options.one is not None:
        print(json.dumps(_run(options.one, kept), indent=1))
        return 0
    numbers = list(Record("hostile").left(options.count, again=options.again))
    side_by_side(lambda part: _work(numbers[part :: options.workers], kept), options.workers)
    wrong = [one for one in Record("hostile").cases.values() if one["wrong"]]
    print(f"hostile: {len(numbers)} cases run, {len(wrong)} wrong in all")
    return 1 if wrong else 0


def _run(number: int, kept: Path) -> dict[str, Any]:
    with _folder() as place:
        return run_alone(number, place, kept)


@contextmanager
def _folder() -> Iterator[Path]:
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as name:
        Path(name).chmod(0o777)
        yield Path(name)


def _work(numbers: Sequence[int], kept: Path) -> None:
    record = Record("hostile")
    began, bad = time.monotonic(), 0
    for first in range(0, len(numbers), BATCH):
        batch = numbers[first : first + BATCH]
        with _folder() as place:
            found = run_batch(batch, place, kept)
        for number in batch:
            one = found.get(number)
            if one is None or one["wrong"]:  # alone it counts
                one = _run(number, kept)
            record.add(number, **one)
            if one["wrong"]:
                bad += 1
                print(f"case {number}: {one['kind']}: {one['damage']}: {one['wrong']}")
        done = first + len(batch)
        rate = done / (time.monotonic() - began)
        print(f"{batch[-1]}: {done} cases, {bad} wrong, {rate:.1f} a second", flush=True)


if __name__ == "__main__":
    sys.exit(main())
