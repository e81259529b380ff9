"""What every remedy must keep: all that models, fleets and runs assume of it."""

import copy
import inspect
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.models import GPT, Attention, GPTModel
from lengthwise.models.blocks import Size
from lengthwise.registry import REMEDIES
from lengthwise.remedies import Keys
from lengthwise.remedies._chain import canonical, names_of
from lengthwise.runs import Recipe
from lengthwise.tasks import Tokens
from lengthwise.testing._readers import ReadersConformance
from lengthwise.testing._shared import (
    LENGTH,
    LONG,
    VOCAB,
    Sum,
    gradients,
    require_alone_as_in_fleet,
    require_close,
    shaken,
    some_tokens,
)
from lengthwise.training import Hyperparameters


class RemedyConformance(ReadersConformance):
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

    def gpt(self, chain: tuple[str, ...], seed: int = 0, **settings: Any) -> GPT:
        """A small GPT, bidirectional if a remedy is not causal, as training may leave it."""
        torch.manual_seed(seed)
        causal = self.says(chain, "causal")
        model = GPT(VOCAB, LONG, self.size, remedies=chain, **{"causal": causal, **settings})
        return shaken(model.double())

    def test_alone_is_as_in_a_fleet(self, chain: tuple[str, ...]) -> None:
        """Logits, gradients and buffers of a model do not depend on what trains beside it."""
        models = [self.gpt(chain, seed).train() for seed in range(3)]
        require_alone_as_in_fleet(models, torch.randint(VOCAB, (3, 4, LENGTH)))

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
            case = f"logits before place {cut}, where other tokens begin"
            require_close(logits[:, :cut], others[:, :cut], case, rtol=0, atol=1e-10)
            assert (logits[:, cut:] != others[:, cut:]).any(), f"no logit depends on place {cut} on"

    def test_the_order_of_a_batch_does_not_matter(self, chain: tuple[str, ...]) -> None:
        """Outside training, nothing passes from one sequence to another."""
        model, tokens = self.gpt(chain).eval(), some_tokens(9)
        order = torch.randperm(9)
        require_close(model(tokens[order]), model(tokens)[order], "sequences in another order")
        require_close(model(tokens[:1]), model(tokens)[:1], "a sequence without the others")

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
    def test_gradients_are_finite(self, chain: tuple[str, ...], dtype: torch.dtype) -> None:
        """For usual tokens, equal ones, a single one, padding, large scores; precision is kept."""
        model = self.gpt(chain).to(dtype).train()
        for case, inputs in odd_inputs().items():
            require_finite(model, model(inputs), dtype, case)
        for attention in (part for part in model.modules() if isinstance(part, Attention)):
            attention.query.weight.data.mul_(100)
        require_finite(model, model(some_tokens()), dtype, "scores 100 times as large")

    def test_gradients_are_finite_where_a_run_multiplies_in_bfloat16(
        self, chain: tuple[str, ...]
    ) -> None:
        """As with `--precision bfloat16`: weights of float32 under autocast."""
        model = self.gpt(chain).float().train()
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(some_tokens())
        require_finite(model, logits, torch.bfloat16, "under autocast")

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
            assert found is not None, f"{name}: nothing depends on it"
            assert (found != 0).any(), f"{name}: its gradient is 0 everywhere"

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
        assert (whole.diverged < 0).all(), "training diverged within 4 steps"
        ends = whole.state_dict(), resumed.state_dict()
        for name, tensor in ends[0].items():
            assert torch.equal(tensor, ends[1][name]), f"{name}: another after 2 + 2 than 4 steps"
        tokens = some_tokens()
        found = whole.fleet.predict(tokens), resumed.fleet.predict(tokens)
        assert torch.equal(*found), "equal states, but other logits"

    def test_all_state_is_in_parameters_and_buffers(self, chain: tuple[str, ...]) -> None:
        """Passes change nothing else, and a model that takes them over goes on alike."""
        model, tokens = self.gpt(chain).train(), some_tokens()
        before = settings_of(model)
        for _ in range(2):
            model(tokens)
        after = settings_of(model)
        for name, value in after.items():
            assert not isinstance(value, Tensor), f"{name}: expected a buffer"
            assert name in before, f"{name}: expected a buffer, as a pass makes it"
            assert value == before[name], f"{name}: expected a buffer, as a pass changes it"
        other = self.gpt(chain, seed=1).train()
        other.load_state_dict(model.state_dict())
        found = model(tokens), other(tokens)
        assert torch.equal(*found), "a model with the same state_dict gives other logits"

    def test_the_rest_of_the_model_starts_out_as_without_it(self, chain: tuple[str, ...]) -> None:
        """A remedy draws from a stream of its own, so that it is compared with like."""
        if not self.says(chain, "own_stream"):
            pytest.skip("says that it draws from the model's stream")
        states = []
        for remedies in ((), chain):
            torch.manual_seed(5)
            states.append(GPT(VOCAB, LONG, self.size, causal=False, remedies=remedies).state_dict())
        for name, tensor in states[0].items():
            assert torch.equal(tensor, states[1][name]), f"{name}: begins with other values"

    def test_some_places_may_be_asked_alone(self, chain: tuple[str, ...]) -> None:
        """With `by_query`, a query gives out the same whichever other queries there are."""
        model, tokens = self.gpt(chain).train(), some_tokens()
        if not model.by_query:
            pytest.skip("does not say that some queries may be asked alone")
        every = slice(5, 6), slice(1, 6, 2), torch.tensor([0, 3, 4])
        for asked in every:
            among, alone = copy.deepcopy(model), copy.deepcopy(model)
            whole, part = among(tokens)[:, asked], alone(tokens, asked)
            case = f"places {asked}, alone and among all"
            require_close(part, whole, case)
            require_close(gradients(alone, part), gradients(among, whole), f"gradients, {case}")

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
        case = f"keys that count {counts.tolist()} times, against as many keys"
        require_close(attention(x, context, once), attention(x, repeated, often), case)

    @torch.no_grad()
    def test_weights_are_probabilities_iff_it_says_so(self, chain: tuple[str, ...]) -> None:
        """`stochastic`: weights are at least 0 and sum to 1, hidden keys have none."""
        said = self.says(chain, "stochastic")
        small = self.gpt(chain).eval()
        for parameter in small.parameters():
            parameter.mul_(1e-3)  # nearly nothing to tell keys apart by
        tokens = some_tokens()
        found = []
        for attention, x, context, read in (
            *calls(self.gpt(chain).eval(), tokens),
            *calls(small, tokens),
        ):
            products = attention.scaled(attention.products(x, context, read), read)
            weights = attention.weights(attention.scores(products, read), read)
            expected = (self.size.heads, LENGTH, LENGTH)
            assert weights.shape[-3:] == expected, f"weights {tuple(weights.shape)}, not {expected}"
            hidden = (read.log_count == -torch.inf).expand(weights.shape)
            assert (weights[hidden] == 0).all(), "a hidden key has a weight"
            least, sums = float(weights.min()), weights.sum(-1)
            found.append(least >= 0 and torch.allclose(sums, torch.ones_like(sums)))
            told = f"least weight {least:.3g}, sums {sums.min():.3g} to {sums.max():.3g}"
            assert found[-1] or not said, f"stochastic = True, but {told}"
            # What attention gives out is what these weights mix, through whichever kernel.
            case = "what the weights mix, against what attention gives out"
            require_close(attention.mix(weights, context), attention(x, context, read), case)
        assert said or not all(found), "stochastic = False, but weights are probabilities"

    @pytest.mark.parametrize("causal", [True, False])
    def test_a_hidden_key_changes_nothing(self, chain: tuple[str, ...], causal: bool) -> None:
        """Padding is as good as absent, whatever stands there."""
        model = self.gpt(chain, causal=causal and self.says(chain, "causal")).eval()
        tokens, mask = some_tokens(), torch.ones(4, LENGTH, dtype=torch.bool)
        mask[:, 4:] = False
        # Where prefixes are not read as alone, how much padding there is counts, but not what.
        alone = self.says(chain, "by_prefix")
        expected = model(tokens[:, :4]) if alone else model(Tokens(tokens, None, mask))[:, :4]
        for padding in (tokens[:, 4:], (tokens[:, 4:] + 3) % VOCAB):
            padded = torch.cat([tokens[:, :4], padding], 1)
            logits = model(Tokens(padded, None, mask))
            against = "none behind them" if alone else "another"
            case = f"4 tokens before the padding {padding[0].tolist()}, against {against}"
            require_close(logits[:, :4], expected, case)

    def test_it_reads_eight_times_the_training_length_or_says_why_not(
        self, chain: tuple[str, ...]
    ) -> None:
        """Longer inputs than any in training are the point; what has no position may refuse."""
        causal, tokens = self.says(chain, "causal"), some_tokens(2, 8 * LENGTH)
        for most in (LENGTH, 8 * LENGTH):
            torch.manual_seed(0)
            model = GPT(
                VOCAB, most, self.size, remedies=chain, causal=causal, max_train_length=LENGTH
            ).eval()
            refusal = ""
            try:
                logits = model(tokens)
            except InputError as error:
                refusal = str(error)
            if refusal:
                assert most == LENGTH, f"there are {most} positions, but: {refusal}"
                assert re.search(" = .*: expected ", refusal), f"does not say why: {refusal}"
                continue
            assert logits.isfinite().all(), f"{8 * LENGTH} tokens give logits that are not finite"
            if causal and self.says(chain, "by_prefix"):
                short, case = model(tokens[:, :LENGTH]), "a prefix, against the same tokens alone"
                require_close(logits[:, :LENGTH], short, case, rtol=1e-4, atol=1e-4)

    def test_options_come_from_text(self, chain: tuple[str, ...]) -> None:
        """Every option has a default, which can be written down; others are refused."""
        for name in names_of(chain):
            options = list(inspect.signature(REMEDIES.get(name)).parameters.values())[1:]
            place = names_of(chain).index(name)
            before, after = chain[:place], chain[place + 1 :]
            plain = self.gpt((*before, name, *after), causal=False).state_dict()
            for option in options:
                named = option.default is not inspect.Parameter.empty
                assert named, f"option {option.name}: expected a default"
                text = f"{name}:{option.name}={option.default}"
                assert canonical((text,))[0].endswith(f":{option.name}={option.default}")
                state = self.gpt((*before, text, *after), causal=False).state_dict()
                same = all(torch.equal(state[key], plain[key]) for key in plain)
                assert same, f"{text}: another model than without its default written down"
            with pytest.raises(InputError, match=f"option of {REMEDIES.get(name).name} = "):
                canonical((f"{name}:no_such_option=1",))


def odd_inputs() -> dict[str, Tensor | Tokens]:
    """What a forward pass may meet, by name."""
    mask = torch.ones(4, LENGTH, dtype=torch.bool)
    mask[:, 2:] = False
    return {
        "usual tokens": some_tokens(),
        "equal tokens": torch.zeros(4, LENGTH, dtype=torch.int64),
        "a single token": some_tokens(4, 1),
        "tokens and padding": Tokens(some_tokens(), None, mask),
    }


def require_finite(model: nn.Module, logits: Tensor, dtype: torch.dtype, case: str) -> None:
    """Assert that logits keep the precision, and that they and all gradients are finite."""
    assert logits.dtype == dtype, f"{case}: logits of {logits.dtype} in a model of {dtype}"
    assert logits.isfinite().all(), f"{case}: logits are not finite"
    assert gradients(model, logits).isfinite().all(), f"{case}: gradients are not finite"


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
