"""`lengthwise probe`."""

import hashlib
import itertools
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import tyro

from lengthwise.errors import InputError, require


@dataclass
class Probe:
    """Measure what attention does inside a Hugging Face model as its input grows.

    Writes a table, figures and a verdict. Each length is kept when it is done, so the same command
    resumes where it was stopped.

    Example: lengthwise probe smollm2 --lengths 16:1024 --sequences 64
    """

    model: tyro.conf.Positional[str]
    """A name on the hub, a folder, a GGUF file, or a packaged model: smollm2, minilm."""

    lengths: str = "16:1024"
    """From:to by doubling (16:8192), or a list (64,256,1024)."""

    input: Literal["random", "unigram", "text"] = "random"
    """Uniformly random tokens, single tokens as frequent as in the text, or the text itself."""

    text: str | None = None
    """A file of plain text for the last two, or 'shakespeare'."""

    query: Literal["fixed", "random", "natural"] = "fixed"
    """The last token: one and the same, a random one, or as it comes."""

    queries: str = "last"
    """Whose attention is measured: the last position, a number of positions, or all."""

    layers: str = "all"
    """All, from:up-to (0:4), or a list (0,7,15), counted from 0."""

    sequences: int = 256
    """How many sequences of each length."""

    positions: Literal["on", "off"] = "on"
    """Off switches rotary positions off: an altered model, to compare with theory."""

    component: int = 0
    """Which component of the attention output is read on its own."""

    top: int = 8
    """How many of the largest weights top_mass adds up."""

    dtype: Literal["float32", "bfloat16", "float16", "auto"] = "float32"
    """Of the weights; auto is what the checkpoint says, quantised ones included."""

    device: str = "cpu"
    """Where to run: cpu, cuda, ..."""

    seed: int = 0
    """Of the tokens and of the bootstrap."""

    out: Path | None = None
    """Where everything goes; a folder under runs/probe named after these settings if not given."""

    def run(self) -> int:
        """Load, probe, write, print."""
        lengths = parse_lengths(self.lengths)
        layers = parse_layers(self.layers)
        queries = parse_queries(self.queries)
        out = self.out or self._default_out()

        from lengthwise.cli.terminal import command_line, progress_display, quoted
        from lengthwise.probing import probe
        from lengthwise.probing.models import load
        from lengthwise.progress import Progress

        try:
            model, tokenizer = load(self.model, self.dtype, self.device)
            with progress_display() as report:
                table = probe(
                    model, tokenizer, lengths=lengths, input=self.input, text=self.text,
                    query=self.query, queries=queries, layers=layers, sequences=self.sequences,
                    positions=self.positions, component=self.component, top=self.top,
                    seed=self.seed, name=Path(self.model).name, out=out,
                    report=lambda far: report(
                        Progress("probe", far.tokens, far.of, "tokens", f"length {far.length}")
                    ),
                )  # fmt: skip
        except KeyboardInterrupt:
            resume = quoted(command_line())
            print(f"stopped; the lengths done are kept in {out}; resume with: {resume}")
            return 130
        table.save(out)
        print(f"logits with and without the probe differ by {table.logit_difference:g}")
        print(table.verdict())
        print(f"table, figures and slopes: {out}")
        return 0

    def _default_out(self) -> Path:
        """The same settings give the same folder, whatever the lengths: more can be added."""
        told = {key: str(value) for key, value in asdict(self).items() if key != "lengths"}
        digest = hashlib.sha256(repr(sorted(told.items())).encode()).hexdigest()[:8]
        return Path("runs/probe") / f"{Path(self.model).name}-{digest}"


def parse_lengths(text: str, option: str = "lengths") -> list[int]:
    """`16:64` is 16, 32, 64; `5,7` is 5, 7."""
    expected = "from:to by doubling, such as 16:8192, or an ascending list, such as 64,256,1024"
    first, colon, last = text.partition(":")
    lengths = _numbers(f"{first},{last}" if colon else text, option, text, expected)
    ascending = all(a < b for a, b in itertools.pairwise(lengths))
    require(lengths[0] > 0 and ascending, option, text, expected)
    if not colon:
        return lengths
    doubled = [lengths[0]]
    while doubled[-1] * 2 <= lengths[1]:
        doubled.append(doubled[-1] * 2)
    return doubled


def parse_layers(text: str) -> list[int] | None:
    """`all` is None, `0:3` is 0, 1, 2, and `0,5` is 0, 5."""
    if text == "all":
        return None
    expected = "all, a range such as 0:4, or a list such as 0,7,15"
    first, colon, last = text.partition(":")
    if not colon:
        return _numbers(text, "layers", text, expected)
    start, stop = _numbers(f"{first},{last}", "layers", text, expected)
    require(start < stop, "layers", text, expected)
    return list(range(start, stop))


def parse_queries(text: str) -> "Literal['last', 'all'] | int":
    """`last`, `all` or a number."""
    if text == "last":
        return "last"
    if text == "all":
        return "all"
    expected = "last, all, or a number of positions"
    require(text.isdigit() and int(text) >= 1, "queries", text, expected)
    return int(text)


def _numbers(listed: str, field: str, given: str, expected: str) -> list[int]:
    try:
        return [int(word) for word in listed.split(",")]
    except ValueError:
        raise InputError(f"{field} = {given!r}: expected {expected}") from None
