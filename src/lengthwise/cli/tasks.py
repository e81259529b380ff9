"""`lengthwise tasks`: list them, show examples of one, check one of the user's own."""

import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, make_dataclass
from typing import TYPE_CHECKING, Any

from lengthwise.errors import InputError, require, require_name
from lengthwise.registry import TASKS

if TYPE_CHECKING:
    from lengthwise.tasks import Task

TEXT_WIDTH = 100

SHOWN_LENGTH = 8
"""The length of the examples unless told otherwise, where a task has it."""

OVERVIEW = """\
usage: lengthwise tasks [TASK] [--length N] [--examples N] [--seed N] [--check] [OPTIONS]

Without a name, list all tasks by family. With the name of a task, or the path of your own Python
file, show examples as a person reads them: the input with its ids, what is asked, the target, and
what can be had without reading the input (by chance, and by the best predictor that knows only the
length and the place). --check tries on it all that training and measures rely on, one line for
each property, and shows the case that breaks.

Example: lengthwise tasks
Example: lengthwise tasks dyck-k --length 12
Example: lengthwise tasks addition --length 3 --operands 3 --positions coupled
Example: lengthwise tasks my_task.py --check

'lengthwise tasks TASK --help' shows all options of a task, 'lengthwise train TASK' trains on it."""


def command(arguments: Sequence[str]) -> type[Any] | None:
    """The class of the options of `tasks TASK`; None where a list or help is all that is asked.

    The first of `arguments` is the task; the class is for those after it.
    """
    if not arguments:
        _list()
        return None
    if arguments[0] in ("-h", "--help"):
        print(OVERVIEW)
        return None
    expected = "the name or file of a task first; see 'lengthwise tasks --help'"
    require(not arguments[0].startswith("-"), "task", arguments[0], expected)
    if not arguments[0].endswith(".py"):
        require_name(arguments[0], TASKS.names(), "task")  # before torch is imported
    task = TASKS.get(arguments[0])
    from lengthwise.cli.train import group, require_own_names

    require_own_names(task, Show)
    own = ("the_task", group(task, f"task {task.name}"), field(default_factory=task))
    kind = make_dataclass("Options", [own], bases=(Show,), kw_only=True)
    kind.__doc__ = f"{inspect.getdoc(task)}\n\nExample: lengthwise tasks {arguments[0]} --length 12"
    return kind


@dataclass(kw_only=True)
class Show:
    """What can be asked of a task."""

    length: int | None = None
    """How long the examples are (default: 8, or the nearest that there is)."""

    examples: int = 2
    """How many examples are shown."""

    seed: int = 0
    """Seed of the examples."""

    check: bool = False
    """Run the conformance suite on it; the exit code is 1 if a property breaks. Needs pytest."""

    def run(self) -> int:
        """Show or check."""
        import torch

        torch.set_num_threads(1)
        given: Any = self
        require(1 <= self.examples <= 100, "examples", self.examples, "1..100")
        if self.check:
            return _check(given.the_task)
        return _explain(given.the_task, self.length, self.examples, self.seed)


def shown_length(task: "Task") -> int:
    """The length of a task's examples unless told otherwise."""
    return min(max(SHOWN_LENGTH, task.lengths[0]), task.lengths[-1])


def _list() -> None:
    from lengthwise.families import FAMILIES, by_family

    listed = by_family()
    width = max(len(one.name) for own in listed.values() for one in own)
    for family, own in listed.items():
        print(f"{family}: {FAMILIES[family][0]}" if family in FAMILIES else family)
        for one in own:
            print(f"  {one.name:<{width}}  {one.summary}")
        print()
    print("'lengthwise tasks NAME' shows examples of one; your own file is taken as well.")


def _explain(task: Any, length: int | None, examples: int, seed: int) -> int:
    from rich.console import Console

    from lengthwise.families import family_of
    from lengthwise.measures import baselines
    from lengthwise.report.tasks import baseline_table, example_lines, source_of
    from lengthwise.runs.exhausted import count_by_drawing

    lengths = task.lengths
    if length is None:
        length = shown_length(task)
    require(length in lengths, "length", length, f"one of {lengths[0]}..{lengths[-1]}")
    source = source_of(task)
    known = task.name in TASKS.listed()
    heads = [family_of(task.name)] if known else []
    heads += [f"arXiv {source}"] if source else []
    print(f"{task.name}{': ' if heads else ''}{', '.join(heads)}\n")
    for paragraph in (inspect.getdoc(task) or "").split("\n\n"):
        print(f"{textwrap.fill(' '.join(paragraph.split()), TEXT_WIDTH)}\n")
    print(f"lengths: {lengths[0]}..{lengths[-1]} {task.unit}; shown: {length}\n")
    for line in example_lines(task, length, examples, seed):
        print(f"  {line}" if line else "")
    print()
    found = list(baselines(task, [length]))
    if found:
        Console().print(baseline_table(found))
        most = max(one.inputs for one in found)
        print("exact" if found[0].exact else f"estimated over {most} inputs")
    count = task.count_inputs(length)
    if count is None:
        count = count_by_drawing(task, length)
    told = "not known" if count is None else f"{count:,}"
    print(f"\ndifferent inputs of length {length}: {told}")
    return 0


def _check(task: Any) -> int:
    from lengthwise.cli.terminal import print_checked

    try:
        from lengthwise.testing.check import check_task
    except ModuleNotFoundError as error:
        expected = "pytest to be installed, as the suite is one of its tests"
        raise InputError(f"check = True: expected {expected} ({error})") from error
    return print_checked(check_task(task))
