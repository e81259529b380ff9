"""Targets stay the same tokens, copies are copies, and needles lie where they are said to."""

import pytest
import torch
from checking.models import Known, KnownConfig, text_of
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.checking.behaviour import measure
from lengthwise.checking.inputs import Inputs
from lengthwise.checking.needles import DEPTHS, Needles
from lengthwise.errors import InputError
from lengthwise.probing.inputs import Vocabulary

LARGE = 5000


def inputs(documents=4, start=(), tokens=20_000, vocabulary=LARGE, seed=0):
    text = text_of(tokens, vocabulary)
    return Inputs(Vocabulary(torch.arange(vocabulary), start), text, None, documents, 16, seed)


@given(
    lengths=st.lists(st.integers(32, 2000), min_size=2, max_size=4, unique=True),
    documents=st.integers(2, 8),
    start=st.sampled_from([(), (7,), (7, 8)]),
)
def test_targets_are_the_same_tokens_at_every_length(lengths, documents, start):
    made = inputs(documents, start)
    found = []
    for length in sorted(lengths):
        ids, targets, positions = made.reading(length)
        assert ids.shape == (documents, length)
        assert ids[:, : len(start)].tolist() == [list(start)] * documents
        assert positions.min() > len(start)
        found.append(ids[:, targets])
    assert all(torch.equal(one, found[0]) for one in found)
    shorter, longer = sorted(lengths)[:2]
    body = shorter - len(start)
    assert torch.equal(made.reading(longer)[0][:, -body:], made.reading(shorter)[0][:, -body:])


@given(
    length=st.integers(32, 900), sequences=st.integers(1, 4), seed=st.integers(0, 99),
    shuffled=st.booleans(),
)  # fmt: skip
def test_what_is_copied_stands_where_it_is_said_to(length, sequences, seed, shuffled):
    copying = inputs(start=(7,), seed=seed).copying(length, sequences, shuffled)
    if not shuffled:
        half = (length - 1) // 2
        assert (copying.distance == half).all()
        assert torch.equal(copying.ids[:, -half:], copying.ids[:, -2 * half : -half])
    assert copying.ids.shape == (sequences, length)
    assert (copying.ids[:, 0] == 7).all()
    for ids, distances in zip(copying.ids, copying.distance, strict=True):
        assert torch.equal(ids[copying.copied], ids[copying.copied - distances])
        # The token before is copied as well: there is a cue.
        assert torch.equal(ids[copying.copied - 1], ids[copying.copied - distances - 1])
    assert int(copying.fresh.max()) < int(copying.copied.min())


def test_distances_reach_from_short_to_the_whole_length():
    distance = inputs().copying(2048, 8, shuffled=True).distance
    assert distance.min() < 200
    assert distance.max() > 1800


@torch.inference_mode()
def test_a_model_that_copies_scores_one_and_a_uniform_one_chance():
    made = inputs(2)
    perfect = measure(Known(KnownConfig(vocab_size=LARGE)), made, 256, 2, whole=True)
    assert perfect.copied.mean() == 1.0
    assert perfect.fresh.mean() == 0.0
    assert perfect.copy_gain.tolist() == [1.0, 1.0]
    assert perfect.shuffled.mean() == 1.0
    assert perfect.found.tolist() == [1.0, 1.0]
    uniform = Known(KnownConfig(vocab_size=LARGE, copies=False))
    found = measure(uniform, made, 256, 2, whole=True)
    assert found.copied.mean() < 0.02
    assert found.fresh.mean() < 0.02
    torch.testing.assert_close(found.loss, torch.tensor(float(LARGE)).log().expand_as(found.loss))
    likely = found.needle_log_probability
    torch.testing.assert_close(likely, -torch.tensor(float(LARGE)).log().expand_as(likely))


@given(length=st.integers(200, 1500), number=st.integers(0, 9), start=st.sampled_from([0, 1]))
def test_needles_lie_where_they_are_said_to(length, number, start):
    made = inputs(start=(7,) * start)
    text = made.document(0, length)
    hidden = made.needles.hide(text, start, number)
    assert hidden is not None
    assert len(hidden.ids) == length
    assert torch.equal(hidden.ids[:start], text[:start])
    needles = made.needles
    for place, answer in zip(hidden.places, hidden.answers, strict=True):
        word = hidden.ids[answer]
        opening = next(o for o in needles.openings if torch.equal(o, hidden.ids[place:][: len(o)]))
        after = place + len(opening)
        assert torch.equal(hidden.ids[after : after + len(word)], word)
        asked = int(answer[0])
        assert torch.equal(hidden.ids[asked - len(opening) : asked], opening)
    assert list(hidden.places) == sorted(hidden.places)
    assert hidden.places[0] == start
    # Between the statements stands the text, in order and whole up to where it ends.
    statements = sum(len(needles.openings[0]) + 3 for _ in range(8))
    asked = sum(len(needles.openings[0]) + 3 for _ in DEPTHS)
    room = length - start - statements - asked
    middle = hidden.places[2] - start - 4 * (len(needles.openings[0]) + 3)
    assert middle == round(0.5 * room)


def test_a_haystack_without_room_is_none():
    assert inputs().needles.hide(text_of(100), 0, 0) is None


def test_needles_in_words_are_what_a_tokenizer_makes_of_them():
    class Letters:
        def __call__(self, text, add_special_tokens):
            assert not add_special_tokens
            return {"input_ids": [ord(letter) for letter in text]}

    needles = Needles.of(Letters(), torch.arange(200), 0)
    hidden = needles.hide(torch.full((1000,), ord("x")), 0, 3)
    said = "".join(map(chr, hidden.ids.tolist()))
    assert said.count("The secret word of") == 8 + 5
    assert len({"".join(map(chr, hidden.ids[a].tolist())) for a in hidden.answers}) == 5


def test_a_text_too_short_is_refused():
    with pytest.raises(InputError, match=r"text = '20000 tokens': expected at least 20004 tokens"):
        inputs().require_lengths([64, 5001])
    inputs().require_lengths([64, 5000])
