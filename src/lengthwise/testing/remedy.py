"""What every remedy must keep: all that models, fleets and runs assume of it."""

import copy
import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.models import GPT, Attention, GPTModel, MinimalTransformer, SetReader
from lengthwise.models.gpt import Size
from lengthwise.registry import REMEDIES
from lengthwise.remedies import Keys
from lengthwise.remedies._base import canonical, names_of
from lengthwise.runs import Recipe
from lengthwise.tasks import SetInput, Tokens
from lengthwise.testing._shared import (
    CLOSE,
    Sum,
    gradients,
    require_alone_as_in_fleet,
    shaken,
)
from lengthwise.training import Hyperparameters

VOCAB, LENGTH, LONG = 7, 6, 12
ITEM, QUERY, CLASSES = 5, 3, 4


class RemedyConformance:
    """Properties of any remedy.

    A subclass gives `remedies`: names or paths of Python files, with options behind a colon, or
    several of them that act together.

        class TestMine(RemedyConformance):
            remedies = ("my_remedy.py", "my_remedy.py:width=8", ("rotary", "my_remedy.py"))
    """

    remedies: Sequence[str | tuple[str, ...]]

    size = Size(layers=2, heads=2, width=16)
    """Size of the GPT that a remedy is put into."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Every test sees every remedy, as a tuple of those that act together."""
        if "chain" in metafunc.fixturenames:
            chains = [(one,) if isinstance(one, str) else tuple(one) for one in self.remedies]
            metafunc.parametrize("chain", chains, ids=" ".join)

    def says(self, chain: tuple[str, ...], flag: str) -> bool:
        """Whether all remedies of a chain say so of themselves."""
        return all(getattr(REMEDIES.get(name), flag) for name in names_of(chain))

    def gpt(self, chain: tuple[str, ...], seed: int = 0, **settings: Any) -> GPT:
        """A small GPT, bidirectional if a remedy is not causal, as training may leave it."""
        torch.manual_seed(seed)
        causal = self.says(chain, "causal")
        model = GPT(VOCAB, LONG, self.size, remedies=chain, **{"causal": causal, **settings})
        return shaken(model.double())

    def set_reader(self, chain: tuple[str, ...], seed: int = 0) -> SetReader:
        """A small set reader; remedies with positions do not fit."""
        kinds = [REMEDIES.get(name) for name in names_of(chain)]
        if any(kind.positional or kind.ordered for kind in kinds):
            pytest.skip("needs positions, which sets have not")
        torch.manual_seed(seed)
        return shaken(SetReader(ITEM, QUERY, CLASSES, width=16, heads=2, remedies=chain).double())

    def test_alone_is_as_in_a_fleet(self, chain: tuple[str, ...]) -> None:
        """Logits, gradients and buffers of a model do not depend on what trains beside it."""
        models = [self.gpt(chain, seed).train() for seed in range(3)]
        require_alone_as_in_fleet(models, torch.randint(VOCAB, (3, 4, LENGTH)))

    def test_sets_alone_are_as_in_a_fleet(self, chain: tuple[str, ...]) -> None:
        """Likewise for a reader of sets."""
        models = [self.set_reader(chain, seed).train() for seed in range(3)]
        items, query = torch.randn(3, 4, LENGTH, ITEM), torch.randn(3, 4, QUERY)
        require_alone_as_in_fleet(models, SetInput(items.double(), query.double()))

    @pytest.mark.parametrize("training", [True, False])
    def test_no_token_depends_on_later_ones(self, chain: tuple[str, ...], training: bool) -> None:
        """A later token changes no earlier logit, or a causal model refuses the remedy."""
        if not self.says(chain, "causal"):
            with pytest.raises(InputError, match=r"remedy = .* expected"):
                self.gpt(chain, causal=True)
            return
        model, tokens = self.gpt(chain).train(training), some_tokens()
        for cut in (1, 3, LENGTH - 1):
            changed = tokens.clone()
            changed[:, cut:] = (tokens[:, cut:] + 1) % VOCAB
            logits, others = copy.deepcopy(model)(tokens), copy.deepcopy(model)(changed)
            torch.testing.assert_close(logits[:, :cut], others[:, :cut], rtol=0, atol=1e-10)
            assert (logits[:, cut:] != others[:, cut:]).any(), "but it does change later ones"

    def test_the_order_of_a_batch_does_not_matter(self, chain: tuple[str, ...]) -> None:
        """Outside training, nothing passes from one sequence to another."""
        model, tokens = self.gpt(chain).eval(), some_tokens(9)
        order = torch.randperm(9)
        torch.testing.assert_close(model(tokens)[order], model(tokens[order]), **CLOSE)
        torch.testing.assert_close(model(tokens)[:1], model(tokens[:1]), **CLOSE)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
    def test_gradients_are_finite(self, chain: tuple[str, ...], dtype: torch.dtype) -> None:
        """For usual tokens, equal ones, and a single one; results keep the precision."""
        model = self.gpt(chain).to(dtype).train()
        for tokens in (some_tokens(), torch.zeros(4, LENGTH, dtype=torch.int64), some_tokens(4, 1)):
            logits = model(tokens)
            assert logits.dtype == dtype
            assert logits.isfinite().all()
            assert gradients(model, logits).isfinite().all()

    def test_every_parameter_learns(self, chain: tuple[str, ...]) -> None:
        """No weight of a remedy is without a gradient."""
        model = self.gpt(chain).train()
        logits = model(some_tokens())
        named = [(n, p) for n, p in model.named_parameters() if "remedies" in n.split(".")]
        loss = logits.square().sum()
        for (name, _), found in zip(
            named,
            torch.autograd.grad(loss, [p for _, p in named], allow_unused=True) if named else (),
            strict=True,
        ):
            assert found is not None, name
            assert (found != 0).any(), name

    def test_training_resumes_bit_for_bit(self, chain: tuple[str, ...]) -> None:
        """A checkpoint of a trainer holds all of the state, dropout at work or not."""
        layers, heads, width = self.size
        causal = self.says(chain, "causal")
        model = GPTModel(layers=layers, heads=heads, width=width, causal=causal, remedies=chain)
        recipe = Recipe(task=Sum(VOCAB), model=model, max_train_length=LENGTH, batch=4, steps=4)
        rates = {"embed_dropout": 0.1, "attention_dropout": 0.2, "resid_dropout": 0.1}
        every = [Hyperparameters(seed=1), Hyperparameters(seed=2, **rates)]  # type: ignore[arg-type]
        whole = recipe.trainer(every)
        whole.step()
        whole.step()
        state = {name: tensor.clone() for name, tensor in whole.state_dict().items()}
        whole.run()
        resumed = recipe.trainer(every)
        resumed.load_state_dict(state)
        resumed.run()
        assert (whole.diverged < 0).all()
        ends = whole.state_dict(), resumed.state_dict()
        for name, tensor in ends[0].items():
            assert torch.equal(tensor, ends[1][name]), name
        tokens = some_tokens()
        assert torch.equal(whole.fleet.predict(tokens), resumed.fleet.predict(tokens))

    def test_all_state_is_in_parameters_and_buffers(self, chain: tuple[str, ...]) -> None:
        """Passes change nothing else, and a model that takes them over goes on alike."""
        model, tokens = self.gpt(chain).train(), some_tokens()
        before = settings_of(model)
        for _ in range(2):
            model(tokens)
        assert settings_of(model) == before
        for name, value in before.items():
            assert not isinstance(value, Tensor), f"{name}: expected a buffer"
        other = self.gpt(chain, seed=1).train()
        other.load_state_dict(model.state_dict())
        assert torch.equal(model(tokens), other(tokens))

    def test_the_rest_of_the_model_starts_out_as_without_it(self, chain: tuple[str, ...]) -> None:
        """A remedy draws from a stream of its own, so that it is compared with like."""
        if not self.says(chain, "own_stream"):
            pytest.skip("says that it draws from the model's stream")
        states = []
        for remedies in ((), chain):
            torch.manual_seed(5)
            states.append(GPT(VOCAB, LONG, self.size, causal=False, remedies=remedies).state_dict())
        for name, tensor in states[0].items():
            assert torch.equal(tensor, states[1][name]), name

    @torch.no_grad()
    def test_equal_keys_may_be_read_once(self, chain: tuple[str, ...]) -> None:
        """With `by_multiset`, a key with the logarithm of its count is one that often."""
        if not self.says(chain, "by_multiset"):
            pytest.skip("does not say that equal keys may be read once")
        attention = self.gpt(chain).eval().blocks[1].attention
        assert isinstance(attention, Attention)
        x, context = torch.randn(3, 4, self.size.width), torch.randn(3, 5, self.size.width)
        x, context = x.double(), context.double()
        counts = torch.tensor([1, 3, 0, 2, 7])
        once = Keys(counts.double().log().expand(4, 5))
        repeated = context.repeat_interleave(counts, -2)
        often = Keys(torch.zeros(4, int(counts.sum())).double())
        torch.testing.assert_close(
            attention(x, context, once), attention(x, repeated, often), **CLOSE
        )

    @torch.no_grad()
    def test_weights_are_probabilities_iff_it_says_so(self, chain: tuple[str, ...]) -> None:
        """`stochastic`: weights are at least 0 and sum to 1, hidden keys have none."""
        kept = []
        small = self.gpt(chain).eval()
        for parameter in small.parameters():
            parameter.mul_(1e-3)  # nearly nothing to tell keys apart by
        tokens = some_tokens()
        every = [*calls(self.gpt(chain).eval(), tokens), *calls(small, tokens)]
        for attention, x, context, read in every:
            products = attention.scaled(attention.products(x, context, read), read)
            weights = attention.weights(attention.scores(products, read), read)
            assert weights.shape[-3:] == (self.size.heads, LENGTH, LENGTH)
            hidden = (read.log_count == -torch.inf).expand(weights.shape)
            assert (weights[hidden] == 0).all()
            ones = torch.ones_like(weights[..., 0])
            kept.append(bool((weights >= 0).all()) and torch.allclose(weights.sum(-1), ones))
            # What attention gives out is what these weights mix, through whichever kernel.
            torch.testing.assert_close(
                attention(x, context, read), attention.mix(weights, context), **CLOSE
            )
        assert all(kept) == self.says(chain, "stochastic")

    @pytest.mark.parametrize("causal", [True, False])
    def test_a_hidden_key_changes_nothing(self, chain: tuple[str, ...], causal: bool) -> None:
        """Padding is as good as absent, whatever stands there."""
        model = self.gpt(chain, causal=causal and self.says(chain, "causal")).eval()
        tokens, mask = some_tokens(), torch.ones(4, LENGTH, dtype=torch.bool)
        mask[:, 4:] = False
        expected = model(tokens[:, :4])
        for padding in (tokens[:, 4:], (tokens[:, 4:] + 3) % VOCAB):
            padded = torch.cat([tokens[:, :4], padding], 1)
            logits = model(Tokens(padded, None, mask))
            torch.testing.assert_close(logits[:, :4], expected, **CLOSE)

    def test_it_reads_eight_times_the_training_length_or_says_why_not(
        self, chain: tuple[str, ...]
    ) -> None:
        """Longer inputs than any in training are the point."""
        torch.manual_seed(0)
        causal = self.says(chain, "causal")
        model = GPT(VOCAB, LENGTH, self.size, remedies=chain, causal=causal).eval()
        tokens = some_tokens(2, 8 * LENGTH)
        try:
            logits = model(tokens)
        except InputError:
            with pytest.raises(InputError, match=r" = .*: expected "):
                model(tokens)
            return
        assert logits.isfinite().all()
        if causal:
            short = model(tokens[:, :LENGTH])
            torch.testing.assert_close(logits[:, :LENGTH], short, rtol=1e-4, atol=1e-4)

    def test_options_come_from_text(self, chain: tuple[str, ...]) -> None:
        """Every option has a default, which can be written down; others are refused."""
        for name in names_of(chain):
            options = list(inspect.signature(REMEDIES.get(name)).parameters.values())[1:]
            plain = self.gpt((name,), causal=False).state_dict()
            for option in options:
                assert option.default is not inspect.Parameter.empty, option.name
                text = f"{name}:{option.name}={option.default}"
                assert canonical((text,))[0].endswith(f":{option.name}={option.default}")
                state = self.gpt((text,), causal=False).state_dict()
                assert all(torch.equal(state[key], plain[key]) for key in plain)
            with pytest.raises(InputError, match=f"option of {REMEDIES.get(name).name} = "):
                canonical((f"{name}:no_such_option=1",))

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
        model = shaken(
            MinimalTransformer(
                VOCAB, 2, key_width=4, value_width=6, max_length=LONG, remedies=chain
            ).double()
        ).train(training)
        for tokens in (some_tokens(5, LONG), torch.stack([torch.randperm(VOCAB)] * 3)):
            ours, theirs = copy.deepcopy(model), copy.deepcopy(model)
            logits, expected = ours(tokens), theirs._read_sequence(Tokens(tokens))
            torch.testing.assert_close(logits, expected, **CLOSE)
            for (name, one), other in zip(ours.named_buffers(), theirs.buffers(), strict=True):
                torch.testing.assert_close(one, other, **CLOSE, msg=name)

    @pytest.mark.parametrize("length", [1, 7])
    def test_a_set_reader_reads_it_alike_on_all_paths(
        self, chain: tuple[str, ...], length: int
    ) -> None:
        """Without keys, in parts, and in any order is as with all keys at once."""
        model = self.set_reader(chain).eval()
        inputs = SetInput(torch.randn(5, length, ITEM).double(), torch.randn(5, QUERY).double())
        expected = with_keys(model, inputs)
        torch.testing.assert_close(model(inputs), expected, **CLOSE)
        order = torch.randperm(length)
        shuffled = SetInput(inputs.items[:, order], inputs.query)
        torch.testing.assert_close(model(shuffled), expected, **CLOSE)
        if not model.attention.acts("queries_keys"):
            for part in (1, 3):
                read = model.read(inputs.query, length, lambda p=part: inputs.items.split(p, 1))  # type: ignore[misc]
                torch.testing.assert_close(read.logits, expected, **CLOSE)


def some_tokens(count: int = 4, length: int = LENGTH) -> Tensor:
    """Random tokens."""
    return torch.randint(VOCAB, (count, length))


def settings_of(model: nn.Module) -> dict[str, Any]:
    """All that remedies keep which is neither a parameter nor a buffer nor a module."""
    plain = vars(nn.Module())
    return {
        f"{name}.{field}": value
        for name, module in model.named_modules()
        if "remedies" in name.split(".")
        for field, value in vars(module).items()
        if field not in plain
    }


def calls(model: nn.Module, inputs: Any) -> list[tuple[Attention, Tensor, Tensor, Keys]]:
    """Every attention of a model with what it is called with."""
    caught: list[tuple[Attention, Tensor, Tensor, Keys]] = []

    def catch(attention: Any, given: tuple[Tensor, Tensor, Keys]) -> None:
        x, context, read = given
        caught.append((attention, x, context, replace(read, x=x, context=context)))

    parts = [module for module in model.modules() if isinstance(module, Attention)]
    hooks = [attention.register_forward_pre_hook(catch) for attention in parts]
    model(inputs)
    for hook in hooks:
        hook.remove()
    return caught


def with_keys(model: SetReader, inputs: SetInput) -> Tensor:
    """The logits of a set reader with keys and values for every item, as a textbook has it."""
    query = model.query_lift(functional.gelu(model.query_encoder(inputs.query))).unsqueeze(1)
    items = model.item_lift(functional.gelu(model.item_encoder(inputs.items)))
    read = Keys(torch.zeros(1, items.shape[1], dtype=items.dtype))
    output = model.attention(query, items, read)
    logits: Tensor = model.answer((output + query if model.residual else output).squeeze(1))
    return logits
