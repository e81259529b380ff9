"""What every executor offers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from lengthwise.search.packing import Chunk
from lengthwise.search.work import Work


@dataclass(frozen=True)
class Done:
    """A chunk that was trained and measured."""

    chunk: Chunk
    content: bytes
    """Of the chunk's Parquet file."""


class Executor(Protocol):
    """Has chunks worked on, somewhere, and hands back what comes out.

    It writes nothing: the one process that started the search does, so that workers need no disk
    in common and no two processes ever write to one file.
    """

    @property
    def name(self) -> str:
        """The name by which the command line and the log know it."""
        ...

    def run(self, work: Work, chunks: Sequence[Chunk]) -> Iterator[Done | None]:
        """Work on all chunks, about in their order, and yield each once when it is done.

        While nothing is done it yields None about twice a second. A chunk whose worker died is
        given to another one. Closing the iterator ends all workers.

        Raises:
            InputError: A chunk failed and would fail again; the message names its trials.
        """
        ...
