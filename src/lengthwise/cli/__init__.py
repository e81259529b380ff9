"""The command line: parse, call, print. Each command is a dataclass in a file of its own.

Only the module of the command that was asked for is imported, so that help and errors are instant.
"""

import contextlib
import importlib
import io
import re
import sys
from collections.abc import Sequence

from lengthwise._version import __version__
from lengthwise.errors import InputError, require, require_name
from lengthwise.registry import blamed

COMMANDS = {
    "train": ("train", "command", "Train models on a task, and measure them at longer inputs"),
    "resume": ("resume", "Resume", "Resume a run that was stopped"),
    "tasks": ("tasks", "command", "List all tasks, show examples of one, check your own"),
    "show": ("show", "Show", "Print what a run measured, and plot it"),
    "compare": (
        "compare",
        "Compare",
        "Every remedy x task x length by the same rules, on one page",
    ),
    "reproduce": ("reproduce", "Reproduce", "Test the claims of a paper and write a page about it"),
    "report": ("report", "Report", "Judge claims on results, and write a Markdown page about them"),
    "trust": ("trust", "Trust", "Let code run that came inside somebody else's run or checkpoint"),
    "search set-complement": (
        "search",
        "SearchSetComplement",
        "Train thousands of small transformers with random hyper-parameters",
    ),
    "search run": ("search", "SearchRun", "Search a space of your own: any module and task"),
    "search status": ("search", "SearchStatus", "How far a search is, and its best trials"),
    "search export": ("search", "SearchExport", "A search as Parquet, CSV or an Optuna study"),
    "remedies": ("remedies", "Remedies", "List remedies, explain and draw one, or check your own"),
    "certify": ("certify", "Certify", "The exact worst case of a trained model at every length"),
    "probe": ("probe", "Probe", "What attention does in a Hugging Face model as inputs grow"),
    "check": ("check", "Check", "At which length a Hugging Face model breaks, why, what mends it"),
    "average": ("average", "Average", "Average a series of checkpoints (EMA, BEMA)"),
    "othello generate": ("othello", "Generate", "Write random Othello games to a folder"),
    "othello show": (
        "othello",
        "Show",
        "Draw the board after some moves, and what a model expects",
    ),
}
"""Command: module in this folder, class in it or function that gives one, what it does.

Such a function is called with the words after the command, of which it takes the first one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 2 for bad input and 130 after Ctrl-C."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _dispatch(arguments)
    except InputError as error:
        print(f"lengthwise: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read the output has seen enough
        sys.stderr.close()
        return 0
    except OSError as error:  # a full disk, a folder without permission
        print(f"lengthwise: {error.strerror or error}: {error.filename or ''}", file=sys.stderr)
        return 2
    except Exception as error:
        told = _too_large(error) or blamed(error)
        if told is None:
            raise
        print(f"lengthwise: {told}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("lengthwise: stopped", file=sys.stderr)
        return 130


def _too_large(error: Exception) -> str | None:
    """A line if more memory was asked for than there is, which torch has several words for."""
    words = ("allocate memory", "out of memory", "size calculation overflowed")
    known = isinstance(error, MemoryError | OverflowError) or (
        isinstance(error, RuntimeError) and any(word in str(error) for word in words)
    )
    return f"too large for this machine: {error}".split("\n")[0] if known else None


def _dispatch(arguments: list[str]) -> int:
    for word in arguments:  # no shell gives one, but a program may, and no path can have it
        require("\0" not in word, "argument", word, "words without the character NUL")
    if arguments[:1] == ["--version"]:
        print(f"lengthwise {__version__}")
        return 0
    for words in (2, 1):
        name = " ".join(arguments[:words])
        if name in COMMANDS:
            return _run(name, arguments[words:])
    group = arguments[0] if arguments else ""
    listed = [name for name in COMMANDS if name.startswith(f"{group} ")]
    if listed and len(arguments) > 1 and not arguments[1].startswith("-"):
        require_name(" ".join(arguments[:2]), listed, "command")
    if not listed and arguments and group not in ("-h", "--help"):
        require_name(group, {name.split()[0] for name in COMMANDS}, "command")
    _print_help(listed or list(COMMANDS))
    return 0


def _run(name: str, arguments: list[str]) -> int:
    import tyro

    module, kind, _ = COMMANDS[name]
    command = getattr(importlib.import_module(f"lengthwise.cli.{module}"), kind)
    if not isinstance(command, type):
        command = command(arguments)
        if command is None:
            return 0
        name, arguments = f"{name} {arguments[0]}", arguments[1:]
    config = getattr(command, "config", (tyro.conf.FlagCreatePairsOff,))
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            parsed = tyro.cli(
                command,
                prog=f"lengthwise {name}",
                args=arguments,
                config=(tyro.conf.OmitArgPrefixes, *config),
            )
    except SystemExit as stop:
        if stop.code:
            raise InputError(_one_line(complaint.getvalue())) from None
        return 0
    return parsed.run() or 0


def _one_line(complaint: str) -> str:
    """The message inside tyro's box: what is wrong and, if it has one, its suggestion."""
    parts: list[str] = []
    for line in complaint.splitlines()[1:]:
        # The box is made of dashes and bars where the terminal has nothing better.
        text = re.sub(r"[│╭╮╰╯─]|-{4,}", "", line).strip(" |+")
        if text.startswith(("Argument helptext", "For full helptext")):
            break
        parts += [text] if text else []
    # Options are named as they are typed; the names of their groups are ours.
    message = re.sub(r"^Error parsing (?!--)[^:]*: ", "", " ".join(parts))
    return message or "the command could not be understood; see --help"


def _print_help(names: list[str]) -> None:
    width = max(map(len, names))
    print("lengthwise: see where a transformer breaks as its input grows, why, and what mends it\n")
    print("usage: lengthwise COMMAND [OPTIONS]\n")
    for name in names:
        print(f"  {name:<{width}}  {COMMANDS[name][2]}")
    print("\n'lengthwise COMMAND --help' explains one, with an example. Start with:")
    print("  lengthwise reproduce whats-missing/averaging --scale quick")
