"""Languages against a second route: who is a word is decided without machines."""

import itertools
import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.registry import TASKS
from lengthwise.tasks import IGNORE_INDEX
from lengthwise.tasks._languages import Language
from lengthwise.tasks.counting import ANBN
from lengthwise.tasks.dyck import DN, DyckK, ShuffleK
from lengthwise.tasks.language import Automaton, RegularLanguage
from lengthwise.tasks.regular import ABCDE, AAStar, ZeroOneTwo
from lengthwise.tasks.tomita import Tomita1, Tomita3, Tomita4, Tomita5, Tomita7
from lengthwise.testing import TaskConformance


def runs(word: str) -> list[str]:
    return ["".join(same) for _, same in itertools.groupby(word)]


def tomita_3(word: str) -> bool:
    pairs = itertools.pairwise(runs(word))
    return not any(a[0] == "1" and len(a) % 2 and len(b) % 2 for a, b in pairs)


def matching(pairs: str) -> Callable[[str], bool]:
    def accepts(word: str) -> bool:
        before = None
        while word != before:
            before = word
            for first, last in zip(pairs[::2], pairs[1::2], strict=True):
                word = word.replace(first + last, "")
        return word == ""

    return accepts


def shuffled(word: str) -> bool:
    every = [("(", ")"), ("[", "]")]
    return all(matching(a + b)("".join(c for c in word if c in a + b)) for a, b in every)


def shallow(word: str, depth: int) -> bool:
    deep = [word[:n].count("a") - word[:n].count("b") for n in range(len(word) + 1)]
    return deep[-1] == 0 and min(deep) >= 0 and max(deep) <= depth


def expression(word: str) -> bool:
    """Whether a word is one expression, read by descent."""

    def behind(place: int) -> int:
        if place >= len(word):
            return len(word) + 1
        operands = {"0": 0, "1": 0, "~": 1, "+": 2, ">": 3}[word[place]]
        place += 1
        for _ in range(operands):
            place = behind(place)
        return place

    return behind(0) == len(word)


def blocks(word: str, alphabet: str) -> bool:
    return word == "".join(one * (len(word) // len(alphabet)) for one in alphabet)


MEMBERS: list[tuple[Language, Callable[[str], object], int, int]] = [
    (TASKS.get("tomita-1")(), lambda w: "0" not in w, 8, 9),
    (TASKS.get("tomita-2")(), lambda w: w == "10" * (len(w) // 2), 8, 10),
    (Tomita3(), tomita_3, 8, 11),
    (Tomita4(), lambda w: "000" not in w, 9, 11),
    (Tomita5(), lambda w: w.count("0") % 2 == 0 == w.count("1") % 2, 8, 10),
    (TASKS.get("tomita-6")(), lambda w: (w.count("0") - w.count("1")) % 3 == 0, 8, 11),
    (Tomita7(), lambda w: len(runs(w.lstrip("0"))) <= 3, 8, 10),
    (AAStar(), lambda w: len(w) % 2 == 0, 11, 13),
    (TASKS.get("aaaa-star")(), lambda w: len(w) % 4 == 0, 11, 16),
    (TASKS.get("abab-star")(), lambda w: re.fullmatch("(abab)*", w), 8, 13),
    (TASKS.get("ab-d-bc")(), lambda w: re.fullmatch("(a|b)*d(b|c)*", w), 5, 7),
    (ZeroOneTwo(), lambda w: w.rstrip("2").endswith("0"), 6, 8),
    (ABCDE(), lambda w: [r[0] for r in runs(w)] == list("abcde"), 3, 8),
    (TASKS.get("dyck-1")(), matching("()"), 6, 14),
    (DN(n=1), lambda w: shallow(w, 1), 7, 9),
    (DN(n=3), lambda w: shallow(w, 3), 7, 11),
    (DyckK(), matching("()[]"), 3, 8),
    (DyckK(k=3), matching("()[]{}"), 2, 6),
    (ShuffleK(), shuffled, 3, 8),
    (ANBN(), lambda w: blocks(w, "ab"), 5, 12),
    (TASKS.get("anbncn")(), lambda w: blocks(w, "abc"), 2, 9),
    (TASKS.get("bool-3")(), expression, 1, 7),
    (TASKS.get("language")(), lambda w: w.endswith("abb"), 7, 11),
    (TASKS.get("automaton")(), lambda w: w.count("1") % 2 == 0, 7, 9),
]


class TestVariants(TaskConformance):
    tasks = (
        ANBN(lasting=False),
        DN(n=1),
        DyckK(k=1),
        DyckK(k=5),
        ShuffleK(k=3),
        Tomita7(longest=2, lasting=False),
        RegularLanguage(expression="a*b"),
        RegularLanguage(expression="[ab]*(a|bc)+", lasting=False),
        Automaton(states="one a:two b:one; two! c:one"),
    )


def named(task: Language) -> str:
    return task.name


@pytest.mark.parametrize(
    ("task", "accepts", "longest", "horizon"), MEMBERS, ids=lambda v: getattr(v, "name", "")
)
def test_what_is_legal_is_what_some_word_has_there(
    task: Language, accepts: Callable[[str], object], longest: int, horizon: int
) -> None:
    """After every string of symbols, whether it begins a word or not."""
    alphabet = task.alphabet
    words = [
        "".join(word)
        for length in range(horizon + 1)
        for word in itertools.product(alphabet, repeat=length)
        if accepts("".join(word))
    ]
    beginnings = {word[:length] for word in words for length in range(len(word) + 1)}
    for length in range(longest + 1):
        prefixes = ["".join(one) for one in itertools.product(alphabet, repeat=length)]
        numbers = [[task.word_end + 1, *map(alphabet.index, one)] for one in prefixes]
        found = task.targets(torch.tensor(numbers))[:, -1]
        legal = [
            [prefix + one in beginnings for one in alphabet]
            + [prefix in beginnings and bool(accepts(prefix))]
            for prefix in prefixes
        ]
        expected = torch.tensor(legal, dtype=torch.float32)
        expected /= expected.sum(-1, keepdim=True).clamp(min=1)
        torch.testing.assert_close(found, expected)


def test_a_boolean_expression_can_always_be_filled_up_with_zeros() -> None:
    task = TASKS.get("bool-3")()
    for prefix in map("".join, itertools.product(task.alphabet, repeat=4)):
        number = torch.tensor([[task.word_end + 1, *map(task.alphabet.index, prefix)]])
        alive = any(expression(prefix + "0" * more) for more in range(10))
        ended = expression(prefix)
        assert (task.targets(number)[0, -1, :-1] > 0).all() == (alive and not ended)
        assert task.targets(number)[0, -1, -1] == ended


def test_every_language_is_checked_so() -> None:
    known = {name for name in TASKS.listed() if issubclass(TASKS.get(name), Language)}
    assert {task.name for task, *_ in MEMBERS} == known


def frequencies(task: Language, length: int, count: int) -> tuple[Tensor, Tensor]:
    """How often classes were drawn beyond their targets, and how often something was asked."""
    inputs, labels = task.draw(torch.tensor(11), length, count)
    asked = labels != IGNORE_INDEX
    drawn = torch.nn.functional.one_hot(labels.clamp(min=0), task.classes) * asked.unsqueeze(-1)
    return (drawn - task.targets(inputs)).sum(0), asked.sum(0)


@pytest.mark.parametrize("task", [one for one, *_ in MEMBERS], ids=named)
def test_answers_at_all_places_follow_the_targets(task: Language) -> None:
    beyond, asked = frequencies(task, 30, 4000)
    assert (beyond.abs() <= 5 * 0.5 * (asked.unsqueeze(-1) + 1) ** 0.5).all()


def test_symbols_are_drawn_uniformly_among_the_live() -> None:
    tokens = Tomita4().draw(torch.tensor(1), 3, 40_000).inputs[:, 1:]
    observed = torch.bincount(tokens[:, 0] * 2 + tokens[:, 1], minlength=4)
    assert ((observed - 10_000) ** 2 / 10_000).sum() < 21.1  # chi-squared, 3 degrees: 1e-4
    words = Tomita4().draw(torch.tensor(1), 4, 40_000).inputs[:, 1:]
    assert (words[(words[:, :2] == 0).all(-1), 2] == 1).all()


def test_lasting_words_reach_every_length_and_others_do_not() -> None:
    def going_on(task: Language) -> float:
        return float(
            (task.draw(torch.tensor(2), 150, 2000).labels[:, -1] != IGNORE_INDEX).float().mean()
        )

    assert going_on(ANBN(lasting=False)) == 0
    assert going_on(ANBN()) > 0.2
    last = ABCDE().draw(torch.tensor(3), 150, 2000).inputs[:, -1]
    assert (torch.bincount(last, minlength=5) > 100).all()
    # Where no step is one of no return, nothing changes.
    plain, lasting = Tomita5(), Tomita5(lasting=True)
    assert torch.equal(
        plain.draw(torch.tensor(4), 50, 10).inputs, lasting.draw(torch.tensor(4), 50, 10).inputs
    )


def test_a_step_of_no_return_comes_with_the_chance_of_its_word() -> None:
    """The number of a is a mixture of nine geometric distributions, from a a on."""
    tokens = ANBN(longest=12).draw(torch.tensor(8), 12, 40_000).inputs
    leading = (tokens[:, 1:] == 0).long().cumprod(-1).sum(-1)
    for number in (1, 2, 5):
        chance = sum(2.0**-s * (1 - 2.0**-s) ** (number - 1) for s in range(1, 10)) / 9
        assert ((leading == number).float().mean() - chance).abs() < 5 * (chance / 40_000) ** 0.5


def test_behind_the_end_nothing_is_asked() -> None:
    task = ANBN()
    word = torch.tensor([[3, 0, 1, 2, 2, 2]])
    expected = torch.zeros(6, 3)
    expected[0, [0, 2]] = 0.5
    expected[1, [0, 1]] = 0.5
    expected[2, 2] = 1
    assert torch.equal(task.targets(word)[0], expected)
    drawn = task.draw(torch.tensor(3), 60, 500)
    ended = (drawn.inputs == task.word_end).any(-1)
    assert ended.any()
    assert ((drawn.inputs == task.word_end) == (drawn.labels == IGNORE_INDEX)).all()
    first = (drawn.inputs == task.word_end).long().argmax(-1)[ended] - 1
    assert (drawn.labels[ended].gather(1, first.unsqueeze(1)) == task.word_end).all()


def test_tomita_3_lives_behind_odd_ones_and_odd_zeros() -> None:
    """The labels of a published generator take this state for a dead one."""
    target = Tomita3().targets(torch.tensor([[3, 1, 0]]))[0, -1]
    assert target.tolist() == [1, 0, 0]


def test_a_word_of_012_02_may_end_right_behind_its_zero() -> None:
    """The labels of a published generator have no end there."""
    target = ZeroOneTwo().targets(torch.tensor([[4, 1, 0]]))[0, -1]
    assert target.tolist() == [0.25] * 4


def test_words_without_the_begin_are_no_inputs() -> None:
    assert (Tomita4().targets(torch.tensor([[1, 1, 0]])) == 0).all()


def test_inputs_are_enumerated_where_they_are_equally_likely() -> None:
    assert Tomita5().enumerate_inputs(4, 8).shape == (8, 4)
    assert Tomita5().enumerate_inputs(4, 7) is None
    assert Tomita1().enumerate_inputs(150, 1).tolist() == [[3] + [1] * 149]
    assert Tomita4().enumerate_inputs(4, 100) is None, "001 is twice as likely as 010"
    assert len(Tomita4().enumerate_inputs(3, 100)) == 4
    assert ANBN().enumerate_inputs(5, 100) is None
    assert ANBN(lasting=False).enumerate_inputs(4, 100) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DN(n=0), "n = 0: expected a depth of 1"),
        (lambda: DyckK(k=0), "k = 0: expected a number of kinds, 1..8"),
        (lambda: ShuffleK(k=9), "k = 9: expected a number of kinds, 1..8"),
        (lambda: Tomita1(longest=1), "longest = 1: expected at least 2"),
        (lambda: Tomita1(longest=9).draw(torch.tensor(0), 10, 1), "length = 10: expected one of"),
    ],
)
def test_bad_input_is_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make()
