"""Write `tasks.md`: every task with one example and what can be had without reading."""

import sys
from pathlib import Path

import torch

from lengthwise.cli.tasks import shown_length
from lengthwise.families import FAMILIES, by_family
from lengthwise.measures import Baseline, baselines
from lengthwise.registry import TASKS, Listed
from lengthwise.report.numbers import number
from lengthwise.report.tasks import SHOWN, example_lines, source_of
from lengthwise.runs.recipe import default_training
from lengthwise.tasks import Task

PAGE = Path(__file__).parent / "tasks.md"

BEGINNING = """\
# Tasks

*Written by `docs/make_tasks_page.py`.* Every task draws inputs of any length on the fly and knows
the exact target distribution of every answer. `lengthwise tasks` lists them, `lengthwise tasks NAME
--length 12` shows more examples, `lengthwise train NAME` trains on one; [your own](add-a-task.md)
is one file, and `lengthwise tasks my_task.py --check` tries on it all that the rest relies on.

In an example, what is asked stands under the place that asks for it. Where several answers are
right, the target names them (`a|b`) or says how many they are (`5/61`), and the answer is one that
was drawn. Where some are likelier than others, the target names the likeliest with its probability.

**Without reading.** A score says something only beside what can be had without reading the input.
The tables give two such numbers, *chance / length only*, at the longest length of training and at
twice that length (or the longest there is). *Chance* guesses among all classes alike. *Length only*
is the best predictor that knows the length of the input and the place of the answer, and nothing of
what stands in it. Both follow from the exact targets: over all inputs where these are few, else
over up to 8192 that are drawn with a fixed seed, so that a share is known to about 0.01; the
predictor is chosen on one half of them and scored on the other.
`lengthwise show` puts both beside every measure of a run.

- `tvd`: total variation distance from the target. The length-only one is exact where answers have
  one right class, and a bound from above elsewhere.
- `accuracy`: whether the most probable answer is a right one. Where it is 1 by the length alone, as
  in many languages, look at `tvd` and `legal_set_match`.
- `exact_match`: all answers of an input right at once. Where an answer ends by itself (END),
  `exact_match` asks that it end at the right place, and `exact_match_length_given` takes END out of
  the logits and asks for the rest.
- `legal_set`, `legal_set_match`: of languages, whether the classes of at least half an even share
  are exactly the legal ones, and whether they are at every place of a word. Papers score languages
  so (arXiv 2009.11264, 2410.02140); the threshold for one distribution over all classes is ours.
- `expected_accuracy`: the target's mass of the most probable answer, where answers are graded.
- `mse`, `excess_mse`: squared error of numbers, and how much of it the best prediction avoids.
"""


def entry(listed: Listed) -> str:
    """One task: what it is, where it is from, and an example."""
    task: Task = TASKS.get(listed.name)()
    source, lengths = source_of(task), task.lengths
    paper = f" [arXiv {source}](https://arxiv.org/abs/{source})." if source else " Ours."
    trained = default_training(task)["max_train_length"]
    example = "\n".join(example_lines(task, shown_length(task), 1))
    return (
        f"### `{listed.name}`\n\n{listed.summary}{paper} A length counts {task.unit}, "
        f"{lengths[0]}..{lengths[-1]}; training goes up to {trained}.\n\n```\n{example}\n```\n"
    )


def lengths_of(task: Task) -> tuple[int, int]:
    """The longest length of training, and one beyond it."""
    trained: int = default_training(task)["max_train_length"]
    return trained, min(2 * trained, task.lengths[-1])


def table(own: list[Listed]) -> str:
    """Chance and what the length alone gives, of the tasks of a family."""
    found: dict[tuple[str, int], dict[str, Baseline]] = {}
    for listed in own:
        task: Task = TASKS.get(listed.name)()
        for one in baselines(task, lengths_of(task)):
            found.setdefault((listed.name, one.length), {})[one.measure] = one
    measures = [name for name in SHOWN if any(name in row for row in found.values())]
    lines = [
        f"| task | length | {' | '.join(f'`{name}`' for name in measures)} |",
        f"|---|---:|{'---:|' * len(measures)}",
    ]
    for (name, length), row in found.items():
        cells = [cell(row[measure]) if measure in row else "" for measure in measures]
        lines.append(f"| `{name}` | {length} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def cell(one: Baseline) -> str:
    """Both numbers, or one where they are the same."""
    chance, best = number(one.chance), number(one.length_only)
    return chance if chance == best else f"{chance} / {best}"


def main() -> int:
    """Write the page."""
    torch.set_num_threads(1)
    parts = [BEGINNING]
    for family, own in by_family().items():
        parts.append(f"## {family[0].upper()}{family[1:]}\n\n{FAMILIES[family][0].capitalize()}.\n")
        parts += [entry(listed) for listed in own]
        parts.append(f"Without reading (chance / length only):\n\n{table(own)}")
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
