"""The encoder-decoder: what the suite does not ask of it."""

import pytest
import torch

from lengthwise import Hyperparameters, recipe_for
from lengthwise.errors import InputError
from lengthwise.models import EncoderDecoderModel
from lengthwise.remedies import Remedy
from lengthwise.tasks import IGNORE_INDEX, Addition, SetComplement, Successor, Tokens
from lengthwise.testing._shared import shaken

SMALL = {"layers": 2, "encoder_layers": 2, "heads": 2, "width": 8}
UNEVEN = Addition(padding="none", longest=6)


@pytest.mark.parametrize("counted", ["forward", "backward"])
@pytest.mark.parametrize("remedies", [("sinusoidal",), ("rotary",), ("diagonal", "scalable")])
def test_a_padded_prompt_is_read_as_it_is_read_alone(
    counted: str, remedies: tuple[str, ...]
) -> None:
    """Prompts of one length differ in their size; each is the same without its padding."""
    torch.manual_seed(0)
    model = EncoderDecoderModel(**SMALL, counted=counted, remedies=remedies)  # type: ignore[arg-type]
    one = shaken(model.build(UNEVEN, Hyperparameters()).double()).eval()
    batch = UNEVEN.draw(torch.tensor(1), 5, 8)
    logits, asked = one(batch.inputs), batch.labels != IGNORE_INDEX
    sizes = set()
    for row, places in enumerate(asked):
        begins = int(places.nonzero()[0])
        sizes.add(begins)
        prompt = batch.inputs[row : row + 1, : begins + 1]
        answer = batch.inputs[row : row + 1, begins:]
        alone = one.decode(one.encode(Tokens(prompt)), Tokens(answer))[0]
        found = logits[row][places]
        torch.testing.assert_close(found, alone[: len(found)], rtol=1e-9, atol=1e-9)
    assert len(sizes) > 1


def test_cross_attention_counts_from_either_end() -> None:
    """Backward, the last token of a prompt of any size is 0; a learned bias tells them apart."""
    for counted, expected in (("forward", [0, 1, 2, 3]), ("backward", [3, 2, 1, 0])):
        model = EncoderDecoderModel(**SMALL, counted=counted)  # type: ignore[arg-type]
        one = model.build(Successor(longest=6), Hyperparameters())
        found = one.encode(Tokens(torch.tensor([[1, 2, 3, 12]]))).ids
        assert found.flatten().tolist() == expected
    padded = Tokens(torch.tensor([[1, 2, 12, 10]]), None, torch.tensor([[True, True, True, False]]))
    assert one.encode(padded).ids[0, :3].tolist() == [2, 1, 0]


def test_remedies_stand_where_they_fit() -> None:
    """Those that ask where keys stand are not in cross attention, unless they are made for it."""
    model = EncoderDecoderModel(**SMALL, remedies=("rotary", "alibi", "scalable"))
    one = model.build(Successor(longest=6), Hyperparameters())
    found = {
        part: sorted({m.name for m in getattr(one, part).modules() if isinstance(m, Remedy)})
        for part in ("encoder", "decoder", "cross")
    }
    assert found["encoder"] == found["decoder"] == ["alibi", "rotary", "scalable"]
    assert found["cross"] == ["scalable"]
    model = EncoderDecoderModel(**(SMALL | {"encoder_layers": 0}), remedies=("learned", "diagonal"))
    one = model.build(Successor(longest=6), Hyperparameters())
    assert [each.name for each in one.encoder.remedies] == ["learned"]
    assert [each.name for each in one.cross.remedies] == ["diagonal"]


def test_tasks_without_a_written_answer_are_refused() -> None:
    with pytest.raises(InputError, match="model = 'encoder-decoder': expected one that can read"):
        recipe_for(SetComplement(7), EncoderDecoderModel(**SMALL))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"encoder_layers": -1}, "encoder_layers = -1: expected 0 or more"),
        ({"counted": "sideways"}, "counted = 'sideways'"),
        ({"layers": 0}, "layers = 0: expected at least 1"),
        ({"heads": 3}, "width = 8: expected a multiple of 3"),
    ],
)
def test_bad_input_is_one_line(fields: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipe_for(Successor(), EncoderDecoderModel(**(SMALL | fields)))
