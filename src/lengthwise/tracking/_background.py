"""A sink on a thread of its own, so that nothing it does can stop or change a training."""

import queue
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lengthwise.tracking._base import Sink, require_tracker

MOST_WAITING = 10_000
"""So many calls may wait for a slow tracker; then it is given up."""

CLOSE_SECONDS = 30.0
"""How long a tracker may take to write what is left when the training is over."""


class Tracking:
    """Hands numbers to a sink. Whatever the sink does, calls return at once and never raise.

    A sink that raises, hangs or falls far behind is given up with one line, and everything after
    that goes nowhere.
    """

    def __init__(
        self,
        open_sink: Callable[[], Sink],
        name: str,
        *,
        say: Callable[[str], None] = lambda line: print(line, file=sys.stderr),
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        """Start the thread, which opens the sink.

        Args:
            open_sink: Makes the sink; it may take its time.
            name: The tracker, as the line calls it.
            say: Takes that line.
            close_seconds: How long `close` waits.
        """
        self._open_sink = open_sink
        self._name = name
        self._say = say
        self._close_seconds = close_seconds
        self._waiting: queue.Queue[tuple[dict[str, float], int] | None] = queue.Queue(MOST_WAITING)
        self._lock = threading.Lock()
        self._given_up = False
        self._thread = threading.Thread(target=self._work, name=f"track {name}", daemon=True)
        self._thread.start()

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Keep numbers by their names, at a step."""
        if self._given_up or not values:
            return
        try:
            self._waiting.put_nowait((dict(values), step))
        except queue.Full:
            self._give_up(f"it is {MOST_WAITING} calls behind")

    def close(self) -> None:
        """Let the sink write what is left, for as long as it may."""
        if self._given_up:
            return
        try:
            self._waiting.put_nowait(None)
        except queue.Full:
            return self._give_up(f"it is {MOST_WAITING} calls behind")
        self._thread.join(self._close_seconds)
        if self._thread.is_alive():
            self._give_up(f"it did not finish within {self._close_seconds:g} s")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _work(self) -> None:
        try:
            sink = self._open_sink()
            while (given := self._waiting.get()) is not None:
                if self._given_up:
                    return
                sink.log(*given)
            sink.close()
        except BaseException as error:
            told = str(error).strip().splitlines()
            self._give_up(f"{type(error).__name__}: {told[0]}" if told else type(error).__name__)

    def _give_up(self, reason: str) -> None:
        with self._lock:
            if self._given_up:
                return
            self._given_up = True
        self._say(f"warning: --track {self._name}: {reason}; training goes on without it")


def start(tracker: str, folder: Path, name: str, config: Mapping[str, Any]) -> Tracking:
    """Begin to track a training.

    Args:
        tracker: The name of the tracker.
        folder: The folder of what is trained; the tracker's files go into `track/` in it.
        name: What the training is called there.
        config: What it is, as plain values.

    Raises:
        InputError: The tracker is not known, or not installed. All else that goes wrong with it
            is said in one line, and does not stop anything.
    """
    kind = require_tracker(tracker)
    own = folder / "track" / tracker

    def opened() -> Sink:
        own.mkdir(parents=True, exist_ok=True)
        return kind.open(tracker, own, name, config)

    return Tracking(opened, tracker)
