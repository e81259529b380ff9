"""What a remedy must keep in the models that are not GPTs: set readers, minimal transformers."""

import copy
import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.measures.sets import measure_sets
from lengthwise.models import MinimalTransformer, SetReader
from lengthwise.registry import REMEDIES
from lengthwise.remedies import Keys
from lengthwise.remedies._chain import names_of
from lengthwise.tasks import ArgmaxRetrieval, SetInput, Tokens
from lengthwise.testing._shared import (
    LENGTH,
    LONG,
    VOCAB,
    require_alone_as_in_fleet,
    require_close,
    shaken,
    some_tokens,
)

TASK = ArgmaxRetrieval(classes=4)


class ReadersConformance:
    """Properties of a remedy in a reader of sets and in a minimal transformer."""

    def says(self, chain: tuple[str, ...], flag: str) -> bool:
        """Whether all remedies of a chain say so of themselves."""
        return all(getattr(REMEDIES.get(name), flag) for name in names_of(chain))

    def set_reader(self, chain: tuple[str, ...], seed: int = 0) -> SetReader:
        """A small set reader; remedies with positions do not fit."""
        kinds = [REMEDIES.get(name) for name in names_of(chain)]
        if any(kind.positional or kind.ordered for kind in kinds):
            pytest.skip("needs positions or an order, which sets have not")
        torch.manual_seed(seed)
        shape = TASK.item_width, TASK.query_width, TASK.classes
        return shaken(SetReader(*shape, width=16, heads=2, remedies=chain).double())

    def test_sets_alone_are_as_in_a_fleet(self, chain: tuple[str, ...]) -> None:
        """Likewise for a reader of sets."""
        models = [self.set_reader(chain, seed).train() for seed in range(3)]
        items = torch.randn(3, 4, LENGTH, TASK.item_width)
        query = torch.randn(3, 4, TASK.query_width)
        require_alone_as_in_fleet(models, SetInput(items.double(), query.double()))

    def test_measures_of_entropy_are_of_probabilities_only(self, chain: tuple[str, ...]) -> None:
        """Where weights are no probabilities, entropies and largest weights are not measured."""
        model = self.set_reader(chain)
        if model.attention.acts("queries_keys"):
            pytest.skip("treats keys, which are not formed where sets are measured")
        measured = measure_sets([model], TASK, {LENGTH: 3}, seed=0)
        found = {one.measure: float(one.values) for one in measured}
        said = self.says(chain, "stochastic")
        for name, most in (("entropy", math.log(LENGTH)), ("largest_weight", 1.0)):
            assert (name in found) == said, f"stochastic = {said}, measured: {sorted(found)}"
            value = found.get(name, 0.0)
            assert -1e-9 <= value <= most + 1e-9, f"{name} = {value:.3g}, expected 0..{most:.3g}"

    @pytest.mark.parametrize("training", [True, False])
    def test_the_minimal_transformer_reads_it_alike_on_all_paths(
        self, chain: tuple[str, ...], training: bool
    ) -> None:
        """The short way over the vocabulary is the sequence's, on repeated tokens as well."""
        if any(REMEDIES.get(name).sees_later for name in names_of(chain)):
            with pytest.raises(InputError, match=r"remedy = .* expected"):
                MinimalTransformer(VOCAB, 2, remedies=chain)
            return
        torch.manual_seed(2)
        try:
            minimal = MinimalTransformer(
                VOCAB, 2, key_width=4, value_width=6, max_length=LONG, remedies=chain
            )
        except InputError as error:
            pytest.skip(f"does not fit one head: {error}")
        model = shaken(minimal.double()).train(training)
        for tokens in (some_tokens(5, LONG), torch.stack([torch.randperm(VOCAB)] * 3)):
            ours, theirs = copy.deepcopy(model), copy.deepcopy(model)
            logits, expected = ours(tokens), theirs._read_sequence(Tokens(tokens))
            require_close(logits, expected, "over the vocabulary, against over the sequence")
            for (name, one), other in zip(ours.named_buffers(), theirs.buffers(), strict=True):
                require_close(one, other, name)

    @pytest.mark.parametrize("length", [1, 7])
    def test_a_set_reader_reads_it_alike_on_all_paths(
        self, chain: tuple[str, ...], length: int
    ) -> None:
        """Without keys, in parts, and in any order is as with all keys at once."""
        model = self.set_reader(chain).eval()
        items, query = torch.randn(5, length, TASK.item_width), torch.randn(5, TASK.query_width)
        inputs = SetInput(items.double(), query.double())
        expected = with_keys(model, inputs)
        require_close(model(inputs), expected, "without keys, against with them")
        order = torch.randperm(length)
        shuffled = SetInput(inputs.items[:, order], inputs.query)
        require_close(model(shuffled), expected, "items in another order")
        if not model.attention.acts("queries_keys"):
            for part in (1, 3):
                read = model.read(inputs.query, length, lambda p=part: inputs.items.split(p, 1))  # type: ignore[misc]
                require_close(read.logits, expected, f"in parts of {part}, against at once")


def with_keys(model: SetReader, inputs: SetInput) -> Tensor:
    """The logits of a set reader with keys and values for every item, as a textbook has it."""
    query = model.query_lift(functional.gelu(model.query_encoder(inputs.query))).unsqueeze(1)
    items = model.item_lift(functional.gelu(model.item_encoder(inputs.items)))
    read = Keys(torch.zeros(1, items.shape[1], dtype=items.dtype))
    output = model.attention(query, items, read)
    logits: Tensor = model.answer((output + query if model.residual else output).squeeze(1))
    return logits
