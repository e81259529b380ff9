"""Layers of attention and MLP, which several models are made of."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.models.attention import Attention
from lengthwise.randomness import where
from lengthwise.remedies import Dropout, Keys, Shape
from lengthwise.remedies._chain import Chain, Remedies, chain_key_maps, require_fit

Layout = Literal["pre", "post", "sandwich"]
NormKind = Literal["layernorm", "rmsnorm"]
MLPKind = Literal["gelu", "gated"]


MOST_LAYERS = 256
"""More are a typing error, and building them one by one would take forever. Ours."""


class Size(NamedTuple):
    """How large a GPT is."""

    layers: int
    heads: int
    width: int


def chain_for(
    size: Size, remedies: Sequence[str], max_length: int, max_train_length: int, tracks: int = 1
) -> Chain:
    """The remedies of a model of layers, made from their names.

    Args:
        size: Layers, heads and width.
        remedies: Names, or paths of Python files.
        max_length: How many position ids there are.
        max_train_length: Length of the longest input of training.
        tracks: How many position ids a token has.

    Raises:
        InputError: A size is out of range, or a remedy is not known.
    """
    for field, value in size._asdict().items():
        require(value >= 1, field, value, "at least 1")
    require(size.layers <= MOST_LAYERS, "layers", size.layers, f"at most {MOST_LAYERS}")
    require(size.width % size.heads == 0, "width", size.width, f"a multiple of {size.heads}")
    shape = Shape(
        width=size.width,
        heads=size.heads,
        head_width=size.width // size.heads // chain_key_maps(remedies),
        value_width=size.width,
        layer=0,
        max_length=max_length,
        max_train_length=max_train_length,
        tracks=tracks,
    )
    return Chain(remedies, shape, where())


def blocks_of(
    size: Size,
    chain: Chain,
    of_model: Remedies,
    *,
    layout: "Layout",
    norm: "NormKind" = "layernorm",
    mlp: "MLPKind" = "gelu",
    attention_dropout: float = 0.0,
    resid_dropout: float = 0.0,
    **fit: Any,
) -> nn.Sequential:
    """All layers of a model, with their remedies.

    Args:
        size: Layers, heads and width.
        chain: The remedies, from `chain_for`.
        of_model: Those that are one for the whole model.
        layout: Where norms stand.
        norm: The norm of the layers.
        mlp: The MLP of the layers.
        attention_dropout: Dropout rate of the attention weights.
        resid_dropout: Dropout rate of what attention and MLP add.
        fit: What the model is, as `require_fit` asks.

    Raises:
        InputError: Remedies do not go together, or not with the model.
    """
    blocks = nn.Sequential()
    for layer in range(size.layers):
        attention = Attention(
            size.width,
            heads=size.heads,
            bias=True,
            remedies=chain.of_layer(layer),
            attention_dropout=Dropout(attention_dropout, "attention_dropout"),
            resid_dropout=Dropout(resid_dropout, "resid_dropout"),
        )
        require_fit([*of_model, *attention.remedies], **fit)
        blocks.append(Block(attention, size.width, Dropout(resid_dropout), layout, norm, mlp))
    return blocks


class Block(nn.Module):
    """One layer: attention, then the MLP, each on the side of the residual stream."""

    def __init__(
        self,
        attention: Attention,
        width: int,
        dropout: Dropout,
        layout: Layout,
        norm: NormKind,
        mlp: MLPKind,
    ) -> None:
        super().__init__()
        self.layout = layout
        self.attention_norm = norm_of(norm, width)
        self.attention = attention
        self.mlp_norm = norm_of(norm, width)
        self.mlp: nn.Module = (
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            if mlp == "gelu"
            else GatedMLP(width)
        )
        self.resid_dropout = dropout
        if layout == "sandwich":
            self.attention_second = norm_of(norm, width)
            self.mlp_second = norm_of(norm, width)

    def forward(self, hidden: Tensor, read: Keys) -> Tensor:
        """`(batch, length, width)` to the same."""
        if self.layout == "post":
            hidden = self.attention_norm(hidden + self.attention(hidden, hidden, read))
            after: Tensor = self.mlp_norm(hidden + self.resid_dropout(self.mlp(hidden)))
            return after
        x = self.attention_norm(hidden)
        attended = self.attention(x, x, read)
        if self.layout == "sandwich":
            attended = self.attention_second(attended)
        hidden = hidden + attended
        changed = self.mlp(self.mlp_norm(hidden))
        if self.layout == "sandwich":
            changed = self.mlp_second(changed)
        added: Tensor = hidden + self.resid_dropout(changed)
        return added


class GatedMLP(nn.Module):
    """GEGLU (arXiv 2002.05202): W_3 (GELU(W_1 x) * W_2 x), 8/3 times as wide as the model."""

    def __init__(self, width: int) -> None:
        super().__init__()
        inner = -(-8 * width // 3)
        self.gate = nn.Linear(width, inner)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        """`(..., width)` to the same."""
        out: Tensor = self.down(functional.gelu(self.gate(x)) * self.up(x))
        return out


def norm_of(kind: NormKind, width: int) -> nn.Module:
    """A norm of the layers."""
    return nn.LayerNorm(width) if kind == "layernorm" else nn.RMSNorm(width, eps=1e-5)
