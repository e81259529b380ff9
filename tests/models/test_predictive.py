"""A GPT that predicts positions: two losses, ids that are decoded, and plain coupling beside it."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.models import GPT, GPTModel
from lengthwise.models.blocks import Size
from lengthwise.models.predictive import PredictiveGPT, PredictiveModel
from lengthwise.randomness import at, below, bits
from lengthwise.runs import Recipe
from lengthwise.tasks import IGNORE_INDEX, Batch, Tokens, TokenTask
from lengthwise.testing._shared import require_alone_as_in_fleet, shaken
from lengthwise.training import Hyperparameters

SIZE = Size(2, 2, 16)
VOCAB, IDS = 6, 20
EQUALS = 4


@dataclass(frozen=True)
class CoupledCopy(TokenTask):
    """x_1 .. x_n = x_1 .. x_n: token i of both parts has the id 1 + i, and '=' has 0."""

    name = "coupled-copy"

    @property
    def classes(self) -> int:
        return 4

    @property
    def vocab(self) -> int:
        return VOCAB

    @property
    def max_position(self) -> int:
        return IDS

    @property
    def lengths(self) -> range:
        return range(2, 10)

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        words = bits(at(key.unsqueeze(-1), torch.arange(count)), length)
        items = below(words, 4)
        end = torch.full_like(items[..., :1], EQUALS)
        tokens = torch.cat([items, end, items[..., :-1]], -1)
        places = torch.arange(length) + 1
        ids = torch.cat([places, torch.zeros(1, dtype=torch.int64), places[:-1]])
        labels = torch.cat([torch.full_like(items, IGNORE_INDEX), items], -1)
        return Batch(Tokens(tokens, ids.expand(tokens.shape)), labels)

    def targets(self, inputs: Tokens) -> Tensor:
        length = inputs.tokens.shape[-1] // 2
        items = functional.one_hot(inputs.tokens[..., :length], 4).float()
        return torch.cat([torch.zeros_like(items), items], -2)


TASK = CoupledCopy()


def model(seed: int = 0, **settings: object) -> PredictiveGPT:
    torch.manual_seed(seed)
    own = PredictiveGPT(VOCAB, IDS, SIZE, remedies=("learned",), classes=4, **settings)  # type: ignore[arg-type]
    return shaken(own.double())


def batch(length: int = 5, count: int = 6) -> Batch:
    return TASK.draw(torch.tensor(3), length, count)


def plain(one: PredictiveGPT, **settings: object) -> GPT:
    """A GPT with the weights of the first head."""
    own = GPT(VOCAB, IDS, SIZE, remedies=("learned",), classes=4, **settings).double()  # type: ignore[arg-type]
    own.load_state_dict({k: v for k, v in one.state_dict().items() if k in own.state_dict()})
    return own


def test_with_the_tasks_ids_it_is_plain_coupling() -> None:
    one, inputs = model(predicted=False).eval(), batch().inputs
    assert torch.equal(one(inputs), plain(one).eval()(inputs))
    torch.manual_seed(5)
    start = PredictiveGPT(VOCAB, IDS, SIZE, remedies=("learned",), classes=4).state_dict()
    torch.manual_seed(5)
    other = GPT(VOCAB, IDS, SIZE, remedies=("learned",), classes=4).state_dict()
    assert all(torch.equal(start[name], tensor) for name, tensor in other.items())


def test_where_the_second_head_is_right_decoding_gives_the_tasks_ids() -> None:
    """A head that knows the ids: its weights are made so that the vector of each id gives it."""
    one, inputs = model(prompt_end=EQUALS).eval(), batch().inputs
    ids = inputs.position_ids
    following = {0: 1, **{i: i + 1 for i in range(1, IDS - 1)}, IDS - 1: 0}

    def trunk(given: Tokens) -> Tensor:
        return functional.one_hot(given.position_ids, IDS).double()

    weight = torch.zeros(IDS, IDS).double()
    for own, after in following.items():
        weight[after, own] = 1.0
    one.next_id = torch.nn.Linear(IDS, IDS, bias=False).double()
    one.next_id.weight.data = weight
    one.trunk = trunk  # type: ignore[assignment, method-assign]
    assert torch.equal(one.decoded(inputs, ids), ids)
    wrong = ids.clone()
    wrong[:, 7:] = 0
    assert torch.equal(one.decoded(inputs, wrong), ids), "ids behind the prompt are not read"
    one.prompt_end = None
    assert torch.equal(one.decoded(inputs, ids)[:, :5], ids[:, :5])
    assert not torch.equal(one.decoded(inputs, ids), ids), "without a prompt, '=' is 6 for it"


def slow_decoding(one: PredictiveGPT, tokens: Tensor, ids: list[int], start: int) -> list[int]:
    """One sequence, one token after the other."""
    found = ids[:start]
    for place in range(start, len(ids)):
        hidden = one.trunk(Tokens(tokens[None, :place], torch.tensor([found])))
        found.append(int(one.next_id(hidden)[0, -1].argmax()))
    return found


@pytest.mark.parametrize("prompt_end", [None, EQUALS])
def test_ids_are_decoded_greedily(prompt_end: int | None) -> None:
    one, inputs = model(prompt_end=prompt_end).eval(), batch().inputs
    ids = inputs.position_ids
    found = one.decoded(inputs, ids)
    for row in range(len(ids)):
        start = 1 if prompt_end is None else 6
        expected = slow_decoding(one, inputs.tokens[row], ids[row].tolist(), start)
        assert found[row].tolist() == expected
    expected_logits = plain(one).eval()(Tokens(inputs.tokens, found))
    torch.testing.assert_close(one(inputs), expected_logits)


def test_padding_is_passed_over() -> None:
    one, inputs = model().eval(), batch().inputs
    tokens, ids = inputs.tokens, inputs.position_ids
    mask = torch.ones_like(tokens, dtype=torch.bool)
    mask[:, 0] = mask[:, 3] = mask[:, 4] = False
    kept = mask[0]
    alone = one(Tokens(tokens[:, kept], ids[:, kept]))
    torch.testing.assert_close(one(Tokens(tokens, ids, mask))[:, kept], alone)


def test_the_loss_is_that_of_tokens_and_of_ids_where_something_is_asked() -> None:
    recipe = Recipe(
        task=TASK, model=PredictiveModel(layers=2, heads=2, width=16, prompt_end=EQUALS),
        max_train_length=5, batch=6, steps=3, accumulate=2, test_lengths=(7,), test_inputs=4,
    )  # fmt: skip
    for accumulate in (1, 2):
        trainer = replace(recipe, accumulate=accumulate).trainer([Hyperparameters(seed=2)])
        one = trainer.fleet.model(0)
        drawn = trainer._batch(0).at(0)
        assert isinstance(one, PredictiveGPT)
        trainer.step()
        expected: Any = 0.0
        asked = drawn.labels != IGNORE_INDEX
        for part in range(accumulate):
            rows = slice(part * 6 // accumulate, (part + 1) * 6 // accumulate)
            tokens, given = drawn.inputs.tokens[rows], drawn.inputs.position_ids[rows]
            words = bits(at(one.key, part), len(tokens))
            ids = given + below(words, IDS - given.amax(-1)).unsqueeze(-1)
            hidden = one.trunk(Tokens(tokens, ids))
            token_logits, id_logits = one.unembedding(hidden), one.next_id(hidden)
            for row in range(len(tokens)):
                for place in range(tokens.shape[-1]):
                    if asked[rows][row, place]:
                        label = drawn.labels[rows][row, place]
                        expected += functional.cross_entropy(token_logits[row, place], label)
                        if place + 1 < tokens.shape[-1]:
                            following = ids[row, place + 1]
                            expected += functional.cross_entropy(id_logits[row, place], following)
        torch.testing.assert_close(trainer.loss[0], expected / asked.sum())


def test_random_starts_are_addressed_and_alone_as_in_a_fleet() -> None:
    drawn = [batch(count=4).inputs for _ in range(3)]
    inputs = Tokens(
        *(torch.stack(parts) for parts in zip(*(one[:2] for one in drawn), strict=True))
    )
    require_alone_as_in_fleet([model(seed).train() for seed in range(3)], inputs)
    one = model().train()
    first, second = one(drawn[0]), one(drawn[0])
    assert not torch.equal(first, second)
    one.step.fill_(0)
    assert torch.equal(one(drawn[0]), first)
    fixed = model(random_start=False).train()
    assert torch.equal(fixed(drawn[0]), fixed(drawn[0]))


def test_it_learns_positions_and_tokens_and_is_measured_with_its_own_ids() -> None:
    recipe = Recipe(
        task=TASK, model=PredictiveModel(layers=2, heads=2, width=32, prompt_end=EQUALS),
        min_train_length=2, max_train_length=4, batch=32, steps=250, test_lengths=(4,),
        test_inputs=32,
    )  # fmt: skip
    trainer = recipe.trainer([Hyperparameters(seed=0, learning_rate=3e-3)])
    trainer.run()
    one = trainer.fleet.model(0)
    assert isinstance(one, PredictiveGPT)
    drawn = TASK.draw(torch.tensor(9), 4, 32)
    ids = drawn.inputs.position_ids
    right = (one.decoded(drawn.inputs, ids) == ids)[:, 5:].float().mean()
    assert right > 0.9
    measured = {found.measure: float(found.values) for found in recipe.measure(trainer.fleet)}
    assert measured["accuracy"] > 0.6


def test_what_does_not_fit_is_named() -> None:
    def recipe(**settings: object) -> Recipe:
        own = PredictiveModel(layers=1, heads=2, width=8, **settings)  # type: ignore[arg-type]
        return Recipe(task=TASK, model=own, max_train_length=4)

    with pytest.raises(InputError, match=r"remedies = \['offset'\]: expected with 'learned' among"):
        recipe(remedies=("offset",))
    with pytest.raises(InputError, match="causal = False: expected True, as positions are predict"):
        recipe(causal=False)
    with pytest.raises(InputError, match=r"prompt_end = 6: expected a token, 0\.\.5"):
        recipe(prompt_end=6)
    assert GPTModel().remedies == PredictiveModel().remedies
