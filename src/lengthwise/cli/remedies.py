"""`lengthwise remedies`: list them, explain and draw one, check one of the user's own."""

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from lengthwise.errors import InputError, require, require_name
from lengthwise.registry import REMEDIES

TEXT_WIDTH = 100


@dataclass
class Remedies:
    """List all remedies; explain one and draw it; or check one of your own.

    The list shows for each remedy where it acts, the paper that it is from, and how many parameters
    it adds to the small GPT. Given a name, or the path of your own file, the command says what the
    remedy does and measures it before any training: its weight over distance, and how the largest
    weight and the size of the output change as inputs grow. --check tries on it all that models,
    fleets and runs rely on, and shows the case that breaks.

    Example: lengthwise remedies

    Example: lengthwise remedies fire:hidden=8 --out fire.svg

    Example: lengthwise remedies my_remedy.py --check
    """

    name: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="NAME")] = None
    """A remedy by name or file, with options behind a colon; none lists all."""

    check: bool = False
    """Run the conformance suite on it; the exit code is 1 if a property breaks. Needs pytest."""

    out: Path | None = None
    """A picture of the remedy to write (.png, .svg or .pdf) in place of the tables."""

    pictures: Path | None = None
    """A folder into which to draw all remedies, and a sheet that shows them side by side."""

    def run(self) -> int:
        """List, explain or check."""
        expected = "a remedy first, such as 'lengthwise remedies alibi'"
        for option in ("check", "out"):
            given = getattr(self, option)
            require(self.name is not None or not given, option, str(given), expected)
        if self.name is None:
            return _draw_all(self.pictures) if self.pictures else _list()
        expected = "no name beside it: all remedies are drawn"
        require(self.pictures is None, "pictures", str(self.pictures), expected)
        name = self.name.partition(":")[0]
        if not name.endswith(".py"):
            require_name(name, REMEDIES.names(), "remedy")  # before torch is imported
        import torch

        torch.set_num_threads(1)
        return _check(self.name) if self.check else _explain(self.name, self.out)


def _list() -> int:
    from lengthwise.remedies._catalogue import KINDS, catalogue

    listed = catalogue()
    entries = [entry for own in listed.values() for entry in own]
    name = max(len(entry.name) for entry in entries)
    hooks = max(len(", ".join(entry.hooks)) for entry in entries)
    print(f"{'':<{name + 2}}  {'acts on':<{hooks}}  {'arXiv':<10}  parameters")
    for kind, own in listed.items():
        print(f"\n{kind}: {KINDS[kind]}")
        for entry in own:
            where = ", ".join(entry.hooks)
            print(
                f"  {entry.name:<{name}}  {where:<{hooks}}  {entry.source:<10}  "
                f"{entry.parameters:>10}  {entry.summary}"
            )
    print("\nParameters: added to the small GPT (4 layers, 4 heads, width 128, 64 positions).")
    print("'lengthwise remedies NAME' explains and draws one; your own file is taken as well.")
    return 0


def _explain(specification: str, out: Path | None) -> int:
    from rich.console import Console

    from lengthwise.measures.profile import AHEAD, profile
    from lengthwise.remedies._catalogue import describe
    from lengthwise.report.remedies import distance_table, length_table, remedy_figure
    from lengthwise.report.style import save

    entry = describe(specification)
    source = f", arXiv {entry.source}" if entry.source else ""
    print(f"{entry.name}: {entry.kind}{source}\n")
    for paragraph in entry.text.split("\n\n"):
        indented = paragraph.startswith(" ")  # a formula keeps its lines
        print(paragraph if indented else textwrap.fill(" ".join(paragraph.split()), TEXT_WIDTH))
        print()
    print(f"acts on: {', '.join(entry.hooks) or 'nothing'}")
    if entry.replaces:
        print(f"replaces: {entry.replaces}")
    for said in entry.flags:
        print(f"it {said}")
    print(f"parameters in the small GPT: {entry.parameters}")
    for option in entry.options:
        print(f"option {option}")
    found = profile(specification)
    if out is not None:
        save(remedy_figure(entry.name, found), out)
        print(f"picture: {out}")
        return 0
    console = Console()
    for table in (distance_table(found), length_table(entry.name, found)):
        print()
        console.print(table)
    told = (
        "Before any training, beside plain attention; scores are N(0, 1). Largest weight: as a "
        f"share of all, where one score is {AHEAD:g} ahead. Size of output: its deviation over "
        "random values, where none is ahead. --out draws all this."
    )
    print(f"\n{textwrap.fill(told, TEXT_WIDTH)}")
    return 0


def _check(specification: str) -> int:
    from lengthwise.cli.terminal import print_checked

    try:
        from lengthwise.testing.check import check_remedy
    except ModuleNotFoundError as error:
        expected = "pytest to be installed, as the suite is one of its tests"
        raise InputError(f"check = True: expected {expected} ({error})") from error
    return print_checked(check_remedy(specification))


def _draw_all(folder: Path) -> int:
    from lengthwise.files import write_text
    from lengthwise.measures.profile import profile
    from lengthwise.memory import keep_freed_memory
    from lengthwise.remedies._catalogue import catalogue
    from lengthwise.report.remedies import contact_sheet, remedy_figure, small_svg

    keep_freed_memory()
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        kind: {entry.name: profile(entry.name) for entry in own}
        for kind, own in catalogue().items()
    }
    every = {name: one for own in found.values() for name, one in own.items()}
    for name, one in every.items():
        write_text(folder / f"{name}.svg", small_svg(remedy_figure(name, one)))
    write_text(folder / "all.svg", small_svg(contact_sheet(found)))
    print(f"{len(every)} pictures: {folder}")
    return 0
