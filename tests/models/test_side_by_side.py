"""What a fleet computes for all of its models at once is what torch computes model by model."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional

from lengthwise.models import GPT
from lengthwise.models.blocks import Size
from lengthwise.models.short_reads import read_short
from lengthwise.models.side_by_side import LayerNorm, Linear
from lengthwise.training import Fleet

MODELS, BATCH, HEADS, WIDTH = 3, 4, 2, 6
CLOSE = {"rtol": 1e-5, "atol": 2e-6}


def require_same(found: Tensor, expected: Tensor, leaves: list[Tensor]) -> None:
    """Assert that two results and their gradients are equal but for rounding."""
    torch.testing.assert_close(found, expected, **CLOSE)
    pull = torch.randn_like(expected)
    ours = torch.autograd.grad(found, leaves, pull)
    theirs = torch.autograd.grad(expected, leaves, pull)
    for own, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("keys", [1, 5, 8, 17])
@pytest.mark.parametrize("bias", ["none", "of heads", "of every input"])
def test_short_reads_are_softmax_attention(keys: int, bias: str) -> None:
    """With masks and biases, some queries of them all, and gradients of everything."""
    torch.manual_seed(0)
    asked = slice(keys // 2, keys)
    shape = (MODELS, BATCH, keys, HEADS, WIDTH)
    rows = [torch.randn(shape).requires_grad_() for _ in range(3)]
    hidden = torch.full((keys, keys), -torch.inf).triu(1)[asked]
    shapes = {
        "none": (1, 1, 1),
        "of heads": (MODELS, 1, HEADS),
        "of every input": (*shape[:2], HEADS),
    }
    own = torch.randn(*shapes[bias], *hidden.shape).requires_grad_()

    def read(kernel: bool, queries: Tensor, keys: Tensor, values: Tensor, own: Tensor) -> Tensor:
        queries, keys, values = (one.transpose(-2, -3) for one in (queries, keys, values))
        queries, mask = queries[..., asked, :], hidden + own
        if kernel:
            return read_short(queries, keys, values, mask, 0.4)
        return (queries @ keys.mT * 0.4 + mask).softmax(-1) @ values

    over = (0, 0, 0, 0 if len(own) > 1 else None)
    given = (*rows, own if len(own) > 1 else own[0])
    ours, theirs = (vmap(partial(read, kernel), over)(*given) for kernel in (True, False))
    require_same(ours, theirs, [*rows, own])


@pytest.mark.parametrize("queries", [1, 5])
@pytest.mark.parametrize("keys", [1, 6])
def test_a_mask_may_be_the_same_for_all_queries_or_keys(queries: int, keys: int) -> None:
    """What broadcasts is written out: compiled code would read beyond it."""
    torch.manual_seed(1)
    rows = [torch.randn(MODELS, BATCH, HEADS, count, WIDTH).requires_grad_() for count in (5, 6, 6)]
    mask = torch.randn(queries, keys).requires_grad_()

    def read(kernel: bool, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        if kernel:
            return read_short(queries, keys, values, mask)
        return (queries @ keys.mT + mask).softmax(-1) @ values

    ours, theirs = (vmap(partial(read, kernel))(*rows) for kernel in (True, False))
    require_same(ours, theirs, [*rows, mask])


@pytest.mark.parametrize("shared", ["inputs", "weights"])
@pytest.mark.parametrize("kind", [Linear, LayerNorm])
def test_models_may_share_inputs_or_weights(kind: type[nn.Module], shared: str) -> None:
    """An axis of length 1 stands for all models."""
    torch.manual_seed(2)
    layer = kind(WIDTH, WIDTH) if kind is Linear else kind(WIDTH)
    x = torch.randn(MODELS, BATCH, WIDTH).requires_grad_()
    weights = {
        name: torch.randn(MODELS, *one.shape).requires_grad_()
        for name, one in layer.named_parameters()
    }
    if shared == "inputs":
        x = x.detach()[0].requires_grad_()
    else:
        weights = {name: one.detach()[0].requires_grad_() for name, one in weights.items()}
    over = (None, 0) if shared == "weights" else (0, None)
    found = []
    for vmapped in (True, False):
        layer.vmapped = vmapped  # type: ignore[assignment]
        found.append(vmap(partial(functional_call, layer), over)(weights, x))
    require_same(found[0], found[1], [x, *weights.values()])


def test_what_is_no_number_stays_so() -> None:
    """A model that diverged is seen by it, and changes nothing for the others."""
    rows = torch.randn(MODELS, BATCH, HEADS, 5, WIDTH)
    values = rows.clone()
    for place, broken in ((1, torch.nan), (2, torch.inf)):
        rows[place, 0, 0, 3, 2] = broken
    hidden = torch.full((5, 5), -torch.inf).triu(1)
    mixed = vmap(lambda own, values: read_short(own, own, values, hidden))(rows, values)
    expected = (rows @ rows.mT + hidden).softmax(-1) @ values
    assert mixed[0].isfinite().all()
    assert not expected.isfinite().all()
    torch.testing.assert_close(mixed, expected, **CLOSE, equal_nan=True)


@pytest.mark.parametrize("kind", [Linear, LayerNorm])
def test_layers_are_torchs(kind: type[nn.Module]) -> None:
    """Each model with its own weights."""
    torch.manual_seed(0)
    module = kind(WIDTH, 9) if kind is Linear else kind(WIDTH)
    state = {
        name: torch.randn(MODELS, *one.shape).requires_grad_()
        for name, one in module.named_parameters()
    }
    x = torch.randn(MODELS, BATCH, 5, WIDTH).requires_grad_()
    found = []
    for vmapped in (True, False):
        module.vmapped = vmapped  # type: ignore[assignment]
        found.append(vmap(lambda state, x: functional_call(module, state, (x,)))(state, x))
    require_same(found[0], found[1], [x, *state.values()])


@pytest.mark.parametrize("remedies", [(), ("rotary",), ("alibi",), ("fox",), ("fire",), ("kerple",),
                                      ("rotary", "layernorm"), ("rotary", "scalable")])  # fmt: skip
@pytest.mark.parametrize(
    "settings", [{}, {"layout": "post"}, {"layout": "sandwich", "mlp": "gated"}]
)
def test_a_fleet_in_float32_is_its_models(remedies: tuple[str, ...], settings: dict) -> None:
    """Logits and gradients, at all places and at some."""
    models = []
    for seed in range(MODELS):
        torch.manual_seed(seed)
        model = GPT(7, 12, Size(2, 2, 16), remedies=remedies, **settings)
        for parameter in model.parameters():
            parameter.data.add_(0.3 * torch.randn_like(parameter))
        models.append(model.train())
    fleet, tokens = Fleet(models), torch.randint(7, (MODELS, 4, 9))
    assert fleet.by_query
    for asked in (None, slice(4, 9), slice(0, 9, 2), torch.tensor([1, 2, 7])):
        logits = fleet.forward(tokens, asked=asked)
        expected = torch.stack([one(own) for one, own in zip(models, tokens, strict=True)])
        expected = expected if asked is None else expected[:, :, asked]
        torch.testing.assert_close(logits, expected, rtol=1e-5, atol=2e-5)
        found = fleet.views(fleet.gradient(logits.square().mean((1, 2, 3))))
        for place, model in enumerate(models):
            named = dict(model.named_parameters())
            grads = torch.autograd.grad(
                expected[place].square().mean(), list(named.values()), retain_graph=True
            )
            for name, gradient in zip(named, grads, strict=True):
                torch.testing.assert_close(found[name][place], gradient, rtol=1e-3, atol=2e-5)


def test_torch_without_its_inner_parts_is_only_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stepping out of `vmap` is no promise of torch's."""
    torch.manual_seed(0)
    models = [GPT(7, 12, Size(2, 2, 16), remedies=("rotary",)) for _ in range(2)]
    fleet, tokens = Fleet(models), torch.randint(7, (2, 4, 9))
    expected = fleet.predict(tokens, shared_inputs=False)
    monkeypatch.setattr("lengthwise.models.side_by_side.STEPS_OUT", False)
    torch.testing.assert_close(fleet.predict(tokens, shared_inputs=False), expected, **CLOSE)


def test_attention_of_torch_agrees() -> None:
    """The kernel of ours and torch's, on the same heads."""
    rows = torch.randn(MODELS, BATCH, HEADS, 7, WIDTH)
    hidden = torch.full((7, 7), -torch.inf).triu(1)
    ours = vmap(lambda own: read_short(own, own, own, hidden, WIDTH**-0.5))(rows)
    theirs = functional.scaled_dot_product_attention(rows, rows, rows, is_causal=True)
    torch.testing.assert_close(ours, theirs, **CLOSE)
