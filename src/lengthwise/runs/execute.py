"""Training a run from wherever it stands to its end, safely against being stopped."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import polars

from lengthwise.progress import Progress, Report
from lengthwise.runs.folder import RunFolder
from lengthwise.runs.table import measure_pieces, measure_table
from lengthwise.tracking import Tracking
from lengthwise.tracking.numbers import every, of_losses, of_measures
from lengthwise.training import Trainer

CHECKPOINT_SECONDS = 20.0
"""Default time between checkpoints: seldom enough to cost next to nothing."""

REPORT_SECONDS = 0.5


class Interrupted(Exception):  # noqa: N818 - being stopped is no error
    """The run was stopped by request, and its state is saved."""


def execute(
    folder: RunFolder,
    report: Report = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    track: Tracking | None = None,
) -> None:
    """Train and measure `folder`'s run, from its newest checkpoint on.

    Args:
        folder: The run; nothing happens if it is finished.
        report: Called about twice a second, and at the end.
        stop: Asked between steps; True saves the state and raises `Interrupted`.
        checkpoint_seconds: Time between checkpoints.
        track: Takes losses and measures as well; whoever made it closes it.
    """
    with folder.locked(), interrupts() as interrupted:
        if folder.finished:
            return
        folder.require_same_version()
        state = folder.load_checkpoint()
        trainer = folder.recipe.trainer(folder.hyperparameters, start=state is None)
        if state is not None:
            trainer.load_state_dict(state)
        folder.log(f"training from step {trainer.steps_done} of {trainer.steps}")

        def stopped() -> bool:
            return interrupted() or stop()

        _train(folder, trainer, report, stopped, checkpoint_seconds, track)
        _measure(folder, trainer, report, stopped, checkpoint_seconds)
        if track is not None:
            track.log(of_measures(folder.table()), trainer.steps_done)
        folder.log("finished")
        report(_progress(folder, trainer, "finished"))


def _train(
    folder: RunFolder,
    trainer: Trainer,
    report: Report,
    stopped: Callable[[], bool],
    checkpoint_seconds: float,
    track: Tracking | None,
) -> None:
    saved = reported = time.monotonic()
    measured, apart = set(folder.recipe.test_steps), every(trainer.steps)
    report(_progress(folder, trainer))

    def after_step(trainer: Trainer) -> None:
        nonlocal saved, reported
        if trainer.steps_done in measured and not folder.has_table_at(trainer.steps_done):
            table = measure_table(folder.recipe.on_the_way(), trainer)
            folder.save_table_at(trainer.steps_done, table)
            if track is not None:
                track.log(of_measures(table), trainer.steps_done)
        if track is not None and trainer.steps_done % apart == 0:
            track.log(of_losses(trainer.loss.tolist()), trainer.steps_done)
        now = time.monotonic()
        if stopped():
            folder.save_checkpoint(trainer.steps_done, trainer.state_dict())
            folder.log(f"stopped at step {trainer.steps_done}")
            raise Interrupted
        if now - reported > REPORT_SECONDS:
            report(_progress(folder, trainer))
            reported = now
        if now - saved > checkpoint_seconds:
            folder.save_checkpoint(trainer.steps_done, trainer.state_dict())
            saved = now

    trainer.run(after_step)
    folder.save_checkpoint(trainer.steps_done, trainer.state_dict())


def _measure(
    folder: RunFolder,
    trainer: Trainer,
    report: Report,
    stopped: Callable[[], bool],
    checkpoint_seconds: float,
) -> None:
    """Measure what is trained; what takes long is kept on the way, like training."""
    saved = time.monotonic()
    report(_progress(folder, trainer, "measuring"))
    done, pieces = folder.load_pieces()
    for piece in measure_pieces(folder.recipe, trainer, done):
        pieces.append(piece)
        done += 1
        ended = stopped()
        if ended or time.monotonic() - saved > checkpoint_seconds:
            folder.save_pieces(done, pieces)
            saved = time.monotonic()
        if ended:
            folder.log(f"stopped after {done} pieces of the measures")
            raise Interrupted
    folder.save_table(polars.concat(pieces))


def _progress(folder: RunFolder, trainer: Trainer, phase: str = "") -> Progress:
    alive = trainer.loss[trainer.diverged < 0]
    loss = float(alive.median()) if len(alive) else math.nan
    parts = [] if math.isnan(loss) else [f"loss {loss:.4f}"]
    diverged = len(trainer.loss) - len(alive)
    parts += [f"{diverged} diverged"] if diverged else []
    parts += [phase] if phase else []
    name, done = folder.path.name or folder.path.resolve().name, trainer.steps_done
    return Progress(name, done, trainer.steps, detail=", ".join(parts))


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, so that no step is cut in two; a second ends at once."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    flagged = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal flagged
        if flagged:
            raise KeyboardInterrupt
        flagged = True

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: flagged
    finally:
        signal.signal(signal.SIGINT, before)
