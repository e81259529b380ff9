"""Languages of one's own: expressions against Python's `re`, and tables of states."""

import itertools
import re

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.tasks._expressions import alphabet_of, compile_expression
from lengthwise.tasks._machines import Machine, endless
from lengthwise.tasks.language import Automaton, RegularLanguage

QUANTIFIERS = ["", "*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,3}", "{0}"]


def larger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = parts.map(lambda part: f"({part})")
    repeated = st.tuples(group, st.sampled_from(QUANTIFIERS)).map("".join)
    return st.one_of(
        repeated,
        st.lists(group, min_size=1, max_size=3).map("".join),
        st.lists(parts, min_size=2, max_size=3).map("|".join),
    )


ATOMS = st.sampled_from(["a", "b", "c", "[ab]", "[a-c]", "ab", "c*", "a|b", r"\*", r"[\]b]", "()"])
EXPRESSIONS = st.recursive(ATOMS, larger, max_leaves=6)
WORDS = ["".join(word) for n in range(6) for word in itertools.product("abc*", repeat=n)]


def accepts(machine: Machine, word: str, alphabet: str) -> bool:
    state = 0
    for symbol in word:
        state = int(machine.moves[state, alphabet.index(symbol)])
        if state < 0:
            return False
    return bool(machine.accepts[state])


@settings(max_examples=60)
@given(EXPRESSIONS)
def test_an_expression_has_the_words_that_re_finds(expression: str) -> None:
    alphabet = "*]abc"
    machine = compile_expression(expression, alphabet)
    pattern = re.compile(expression)
    for word in WORDS:
        assert accepts(machine, word, alphabet) == bool(pattern.fullmatch(word))


@settings(max_examples=60)
@given(EXPRESSIONS)
def test_the_machine_is_the_smallest(expression: str) -> None:
    """No two states go on alike, all are reached, and from all of them a word ends."""
    machine = compile_expression(expression, "*]abc")
    states = len(machine.moves)
    assert machine.accepts.any()
    # Which states differ after one more symbol, until no more do: the classical table.
    differ = machine.accepts[:, None] != machine.accepts[None, :]
    for _ in range(states + 1):
        for first, second in itertools.combinations(range(states), 2):
            for one, other in zip(machine.moves[first], machine.moves[second], strict=True):
                apart = (one < 0) != (other < 0) or (one >= 0 and differ[one, other])
                differ[first, second] |= apart
                differ[second, first] |= apart
    assert (differ | numpy.eye(states, dtype=bool)).all()
    reached = {0}
    for _ in range(states):
        reached |= {int(to) for state in reached for to in machine.moves[state] if to >= 0}
    assert reached == set(range(states))


@pytest.mark.parametrize(
    ("expression", "construct"),
    [
        ("a.b*", "the dot"),
        ("^a*", "the anchor ^"),
        ("(aa)*$", "the anchor $"),
        ("[^a]*b", "a negated class"),
        (r"\d*a", r"the escape \d"),
        (r"(a|b)\1*", r"a reference \1"),
        ("(?:ab)*", "a group of another kind, (?:"),
        ("(?=ab)*", "a group of another kind, (?="),
        ("(ab)*?", "a second quantifier, ?"),
        ("(ab)*+", "a second quantifier, +"),
    ],
)
def test_what_is_out_of_reach_is_named(expression: str, construct: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"found {construct}")) as caught:
        RegularLanguage(expression=expression)
    assert str(caught.value).startswith(f"expression = {expression!r}: expected")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "a regular expression such as (ab)*"),
        ("(ab", "a bracket ) for every bracket ("),
        ("ab)*", "a bracket ( for every bracket )"),
        ("*a", "something for * to repeat"),
        ("[]a*", "a class of one or more symbols"),
        ("[ab", "a class of one or more symbols"),
        ("[b-a]", "a range from low to high"),
        ("a{2,1}", "m <= n <= 100"),
        ("(a{99}){101}", "m <= n <= 100"),
        ("a{b}", "numbers in {m}"),
        ("(a|b)*a(a|b){20}", "at most 500 states"),
        ("((((a{99}){99}){99}){99})*", "one that is shorter"),
        ("ab|ba", "this one dies out"),
        ("a{3}", "this one dies out"),
        ("a*", "something depends on the word: a, the end are always legal"),
        ("(a|b)*", "something depends on the word: a, b, the end are always legal"),
    ],
)
def test_what_is_no_language_to_learn_is_refused(expression: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        RegularLanguage(expression=expression)
    assert str(caught.value).startswith(f"expression = {expression!r}: expected")


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ("", "a table such as"),
        ("s!", "symbols that lead on"),
        ("s a:s", "this one is empty"),
        ("s a:t; t! ", "this one dies out"),
        ("s! a:s", "something depends on the word"),
        ("s! a:t", "a state behind a: in 's', not 't'"),
        ("s! a:s; s b:s", "every state once"),
        ("s! a:s a:s", "one symbol:state per symbol behind 's', not 'a:s'"),
        ("s! ab:s", "one symbol:state per symbol behind 's', not 'ab:s'"),
    ],
)
def test_tables_that_are_none_are_refused(states: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        Automaton(states=states)
    assert str(caught.value).startswith(f"states = {states!r}: expected")


def test_a_table_and_an_expression_of_one_language_are_one_task() -> None:
    table = Automaton(states="x! a:y; y b:z; z! a:y b:dead; dead a:dead")
    other = RegularLanguage(expression="(ab)*")
    assert len(table.machine().moves) == 2
    assert endless(table.machine())
    ours, theirs = (task.draw(torch.tensor(1), 20, 10) for task in (table, other))
    assert torch.equal(ours.inputs, theirs.inputs)
    assert torch.equal(ours.labels, theirs.labels)


def test_the_alphabet_is_what_is_written_down() -> None:
    assert alphabet_of("(b|[x-z])*a?") == "abxyz"
    assert RegularLanguage(expression="(aa)*").classes == 2
