"""Layers of attention and MLP, which several models are made of."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.models.attention import Attention
from lengthwise.models.side_by_side import LayerNorm, Linear
from lengthwise.randomness import where
from lengthwise.remedies import Dropout, Keys, Shape
from lengthwise.remedies._chain import Chain, Remedies, chain_key_maps, require_fit
from lengthwise.remedies._keys import Places
from lengthwise.remedies.learned import DEVIATION

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
    size: Size,
    remedies: Sequence[str],
    max_length: int,
    max_train_length: int,
    tracks: int = 1,
    *,
    crossing: bool = False,
) -> Chain:
    """The remedies of a model of layers, made from their names.

    Args:
        size: Layers, heads and width.
        remedies: Names, or paths of Python files.
        max_length: How many position ids there are.
        max_train_length: Length of the longest input of training.
        tracks: How many position ids a token has.
        crossing: Whether they are those of cross attention.

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
        crossing=crossing,
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
            nn.Sequential(Linear(width, 4 * width), nn.GELU(), Linear(4 * width, width))
            if mlp == "gelu"
            else GatedMLP(width)
        )
        self.resid_dropout = dropout
        if layout == "sandwich":
            self.attention_second = norm_of(norm, width)
            self.mlp_second = norm_of(norm, width)

    @property
    def by_query(self) -> bool:
        """Whether some places give out in training what they would among all."""
        return self.attention.by_query and not self.resid_dropout.active

    def forward(self, hidden: Tensor, read: Keys, asked: Places | None = None) -> Tensor:
        """`(batch, length, width)` to the same, or to what some places give out.

        Args:
            hidden: What all places hold.
            read: What they see.
            asked: With it, only what these places give out; the others are read all the same.
        """
        return self.changed(self.attended(hidden, read, asked))

    def attended(self, hidden: Tensor, read: Keys, asked: Places | None = None) -> Tensor:
        """The first half: with what attention adds."""
        read = read if asked is None else read.at(asked)
        own = hidden if asked is None else hidden[..., asked, :]
        if self.layout == "post":
            after: Tensor = self.attention_norm(own + self.attention(own, hidden, read))
            return after
        context = self.attention_norm(hidden)
        x = context if asked is None else context[..., asked, :]
        attended = self.attention(x, context, read)
        if self.layout == "sandwich":
            attended = self.attention_second(attended)
        added: Tensor = own + attended
        return added

    def changed(self, hidden: Tensor) -> Tensor:
        """The second half: with what the MLP adds."""
        if self.layout == "post":
            after: Tensor = self.mlp_norm(hidden + self.resid_dropout(self.mlp(hidden)))
            return after
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
        self.gate = Linear(width, inner)
        self.up = Linear(width, inner)
        self.down = Linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        """`(..., width)` to the same."""
        out: Tensor = self.down(functional.gelu(self.gate(x)) * self.up(x))
        return out


def initialise(model: nn.Module) -> None:
    """Begin all weight matrices and embeddings as N(0, 0.02), biases as 0, but for remedies."""
    for name, module in model.named_modules():
        if "remedies" in name.split("."):  # they begin as they say themselves
            continue
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=DEVIATION)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)


def norm_of(kind: NormKind, width: int) -> nn.Module:
    """A norm of the layers."""
    return LayerNorm(width) if kind == "layernorm" else nn.RMSNorm(width, eps=1e-5)
