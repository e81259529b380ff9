"""Sequences: as long as asked, of the tokens asked, and the same for the same seed."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.probing.inputs import Source, Vocabulary

VOCABULARY = Vocabulary(torch.arange(10, 60), start=(1, 2))
TEXT = torch.randint(10, 60, (500,), generator=torch.Generator().manual_seed(0))


def source(input, query, seed=0):
    return Source(VOCABULARY, input, query, seed, None if input == "random" else TEXT)


@given(
    input=st.sampled_from(["random", "unigram", "text"]),
    query=st.sampled_from(["fixed", "random", "natural"]),
    length=st.integers(4, 40),
    sequences=st.integers(2, 20),
    seed=st.integers(0, 1000),
)
def test_every_sequence_is_what_was_asked_for(input, query, length, sequences, seed):
    ids = source(input, query, seed).draw(length, sequences)
    assert ids.shape == (sequences, length)
    assert torch.equal(ids, source(input, query, seed).draw(length, sequences))
    assert torch.equal(ids[:, :2], torch.tensor([[1, 2]]).expand(sequences, -1))
    assert ((ids[:, 2:] >= 10) & (ids[:, 2:] < 60)).all()
    natural = source(input, "natural", seed).draw(length, sequences)
    assert torch.equal(ids[:, :-1], natural[:, :-1])  # only the last token is replaced
    if query == "fixed":
        assert (ids[:, -1] == source(input, query, seed).fixed_query).all()
    if input == "text":
        text = TEXT.tolist()
        for row in natural[:, 2:].tolist():
            assert any(text[i : i + len(row)] == row for i in range(len(text)))


def test_windows_of_a_text_differ():
    windows = source("text", "natural").draw(8, 400)[:, 2:]
    assert len({tuple(row) for row in windows.tolist()}) > 390
    assert torch.equal(
        TEXT, torch.randint(10, 60, (500,), generator=torch.Generator().manual_seed(0))
    )


def test_unigrams_are_as_frequent_as_in_the_text():
    text = torch.tensor([10] * 90 + [11] * 10)
    ids = Source(VOCABULARY, "unigram", "natural", 0, text).draw(102, 100)[:, 2:]
    assert (ids == 10).float().mean() == pytest.approx(0.9, abs=0.02)


def test_a_random_query_varies_and_a_fixed_one_depends_on_the_seed():
    assert len(source("text", "random").draw(8, 100)[:, -1].unique()) > 30
    assert len({source("random", "fixed", seed).fixed_query for seed in range(20)}) > 5


def test_a_text_too_short_is_refused_and_one_that_overlaps_is_noted():
    with pytest.raises(InputError, match=r"text = '500 tokens': expected at least 507 tokens"):
        source("text", "fixed").require_length(500, 10)
    source("text", "fixed").require_length(490, 10)
    assert "overlap" in source("text", "fixed").notes(100, 10)[0]
    assert not source("text", "fixed").notes(50, 10)
    assert not source("unigram", "fixed").notes(100, 10)


def test_a_length_without_room_for_the_start_is_refused():
    with pytest.raises(InputError, match="lengths = 3: expected at least 4"):
        source("random", "fixed").require_length(3, 10)
