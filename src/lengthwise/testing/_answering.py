"""What a model must keep that parts its inputs into prompt and answer."""

from typing import Any

import torch
from torch import Tensor

from lengthwise.tasks import AnswerTask, Tokens
from lengthwise.tasks._base import IGNORE_INDEX
from lengthwise.testing._shared import CLOSE, require_close


def require_answers_in_order(model: Any, task: AnswerTask, length: int) -> None:
    """Assert that an answer depends on the whole prompt and on no later token of its own.

    Args:
        model: An untrained model in float64.
        task: What it was built for.
        length: Of the inputs.
    """
    model.eval()
    tokens, asked = _drawn(task, length)
    logits = model(tokens)
    for row, places in enumerate(asked):
        first = int(places.nonzero()[0])  # the last token of the prompt
        for cut in range(first + 1, tokens.shape[-1]):
            changed = tokens[row].clone()
            changed[cut:] = (changed[cut:] + 1) % task.end  # other symbols of an answer
            others = model(changed.unsqueeze(0))[0]
            torch.testing.assert_close(logits[row, :cut], others[:cut], **CLOSE)
            read = places[cut:]
            assert not read.any() or (logits[row, cut:] != others[cut:])[read].any()
        for place in range(first):
            changed = tokens[row].clone()
            changed[place] = (changed[place] + 1) % task.end
            others = model(changed.unsqueeze(0))[0]
            assert (logits[row] != others)[places].any(-1).all(), "the whole prompt is read"


def require_padding_unread(model: Any, task: AnswerTask, length: int) -> None:
    """Assert that ids which are not given are the usual ones, and that padding is not read.

    Args:
        model: An untrained model in float64.
        task: What it was built for.
        length: Of the inputs.
    """
    model.eval()
    tokens, asked = _drawn(task, length)
    expected = model(tokens)
    everything = torch.ones_like(tokens, dtype=torch.bool)
    require_close(model(Tokens(tokens, None, everything)), expected, "all of a mask is True")
    # What stands behind the last token that asks is padding, whatever it is.
    behind = (
        torch.arange(tokens.shape[-1])
        > (asked * torch.arange(1, asked.shape[-1] + 1)).amax(-1, keepdim=True) - 1
    )
    filled = tokens.masked_fill(behind, 0)
    require_close(model(filled)[asked], expected[asked], "padding behind the answer")
    # A token of the prompt that the mask hides may be any.
    hidden = everything.clone()
    hidden[:, 0] = False
    other = tokens.clone()
    other[:, 0] = (other[:, 0] + 1) % task.end
    one, another = (model(Tokens(each, None, hidden)) for each in (tokens, other))
    require_close(one, another, "a hidden token of the prompt")
    assert not torch.equal(one, expected)


def _drawn(task: AnswerTask, length: int) -> tuple[Tensor, Tensor]:
    """A few inputs, and where something is asked of them."""
    batch = task.draw(torch.tensor(3), length, 4)
    assert isinstance(batch.inputs, Tensor)
    return batch.inputs, batch.labels != IGNORE_INDEX
