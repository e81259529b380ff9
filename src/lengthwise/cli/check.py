"""`lengthwise check`: at which length a model breaks, why, and what mends it."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from lengthwise.cli.probe import parse_lengths
from lengthwise.errors import InputError

if TYPE_CHECKING:
    from lengthwise.checking import Check as Result


@dataclass(frozen=True)
class Check:
    """Find at which length a pretrained causal model breaks, why, and what mends it.

    Forward passes only: loss on the same tokens with growing context, copying, needles, what
    attention does meanwhile, and the same with remedies that need no training. Everything goes to
    one folder, with a page to open. Each length is kept as it is done, so the same command goes on
    where it was stopped.

    Example: lengthwise check smollm2 --lengths 256:4096 --budget 20m
    """

    model: tyro.conf.Positional[str]
    """A name on the hub, a folder, a GGUF file, or a packaged model: smollm2."""

    compare: tuple[str, ...] = ()
    """Further models, to stand beside it on a page of their own."""

    text: str = "shakespeare"
    """A file of plain text, or 'shakespeare'."""

    lengths: str = "256:16384"
    """From:to by doubling, or a list (256,1024,4096); may go beyond what the model claims."""

    remedies: tuple[str, ...] = ("all",)
    """What-ifs by name, such as yarn-4, window or rotary-off; all that the model can take; none."""

    remedies_at: str = "all"
    """At which of the lengths to try them, such as 256,16384: long inputs take their time."""

    documents: int = 8
    """On how many documents of the text the loss is taken."""

    sequences: int = 4
    """How many sequences to copy and how many haystacks; half as many to copy out of order."""

    mechanism: Literal["on", "off"] = "on"
    """Whether to watch attention while documents are read."""

    budget: str | None = None
    """A time such as 20m or 2h; what would not fit is left out, and the page says what."""

    dtype: Literal["float32", "bfloat16", "float16", "auto"] = "float32"
    """Of the weights; auto is what the checkpoint says, quantised ones included."""

    device: str = "cpu"
    """Where to run: cpu, cuda, ..."""

    seed: int = 0
    """Of all that is drawn."""

    imported: Annotated[Path | None, tyro.conf.arg(name="import")] = None
    """A results file of lm-evaluation-harness by length, to stand on the same page."""

    card: bool = False
    """Print a model-index block for a model card."""

    out: Path | None = None
    """Where everything goes; a folder under runs/check named after these settings if not given."""

    def run(self) -> int:
        """Load, check, write, print."""
        lengths = parse_lengths(self.lengths)
        if self.compare and self.out is not None and self.out.is_file():
            raise InputError(f"out = {str(self.out)!r}: expected a folder")

        from lengthwise.checking.budget import parse_budget
        from lengthwise.checking.compare import save_comparison
        from lengthwise.checking.harness import read_results
        from lengthwise.cli.terminal import command_line, quoted

        budget = None if self.budget is None else parse_budget(self.budget)
        imported = None if self.imported is None else read_results(self.imported)
        models = (self.model, *self.compare)
        names = [Path(model).name for model in models]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"compare = {twice[0]!r}: expected models with names of their own")
        done: dict[str, Result] = {}
        for model in models:
            out = self._out(model)
            try:
                found = self._check(model, lengths, budget, out)
            except KeyboardInterrupt:
                words = quoted(command_line())
                print(f"stopped; the lengths done are kept in {out}; go on with: {words}")
                return 130
            found.save(out, quoted(command_line()), imported)
            done[Path(model).name] = found
            print(found.verdict())
            print(f"page, figures and tables: {out / 'index.html'}")
        if self.card:
            print(done[Path(self.model).name].card(), end="")
        if self.compare:
            folder = self._out(self.model).parent if self.out is None else self.out
            print(f"side by side: {save_comparison(done, folder, quoted(command_line()))}")
        return 0

    def _check(self, model: str, lengths: list[int], budget: float | None, out: Path) -> "Result":
        from lengthwise.checking import check
        from lengthwise.cli.terminal import progress_display

        remedies = None if self.remedies == ("all",) else self.remedies
        at = None if self.remedies_at == "all" else parse_lengths(self.remedies_at, "remedies-at")
        with progress_display() as report:
            return check(
                model, lengths=lengths, text=self.text,
                remedies=() if remedies == ("none",) else remedies, remedies_at=at,
                documents=self.documents, sequences=self.sequences,
                mechanism=self.mechanism == "on", budget=budget, seed=self.seed,
                dtype=self.dtype, device=self.device, name=Path(model).name, out=out,
                report=report, say=print,
            )  # fmt: skip

    def _out(self, model: str) -> Path:
        """The same settings give the same folder, whatever the lengths and the budget."""
        if self.out is not None:
            return self.out / Path(model).name if self.compare else self.out
        told = (model, self.text, self.documents, self.sequences, self.dtype, self.seed,
                parse_lengths(self.lengths)[0])  # fmt: skip
        digest = hashlib.sha256(repr(told).encode()).hexdigest()[:8]
        return Path("runs/check") / f"{Path(model).name}-{digest}"
