"""GPT: the decoder that Othello-GPT is (arXiv 2210.13382, after minGPT), open to remedies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require, require_name
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models._base import Model, embedded, model, position_ids, read_of, tokens_of
from lengthwise.models.attention import Attention
from lengthwise.randomness import where
from lengthwise.remedies import Dropout, Keys, Shape
from lengthwise.remedies._chain import Chain, chain_key_maps, require_fit
from lengthwise.remedies.learned import DEVIATION
from lengthwise.tasks import Task, Tokens, TokenTask

Layout = Literal["pre", "post", "sandwich"]
NormKind = Literal["layernorm", "rmsnorm"]
MLPKind = Literal["gelu", "gated"]


class Size(NamedTuple):
    """How large a GPT is."""

    layers: int
    heads: int
    width: int


SIZES = {"original": Size(8, 8, 512), "small": Size(4, 4, 128), "tiny": Size(2, 4, 64)}
"""Othello-GPT's own size, and two for processors without a GPU (ours)."""


class GPT(nn.Module):
    """Tokens in, logits out, after every place.

    With the layout "pre", layers are x + attention(norm(x)), then x + MLP(norm(x)), and a last norm
    follows; with "post", norm(x + attention(x)), then norm(x + MLP(x)); "sandwich" is "pre" with a
    second norm behind attention and MLP. The MLP is four times as wide with GELU, or gated (GEGLU)
    and 8/3 times as wide, which has as many weights. The unembedding has no bias. All weight
    matrices and embeddings begin as N(0, 0.02), biases as 0.
    """

    def __init__(
        self,
        vocab: int,
        max_length: int,
        size: Size = SIZES["small"],
        *,
        classes: int | None = None,
        layout: Layout = "pre",
        norm: NormKind = "layernorm",
        mlp: MLPKind = "gelu",
        causal: bool = True,
        remedies: Sequence[str] = ("learned",),
        tracks: int = 1,
        max_train_length: int | None = None,
        embed_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        resid_dropout: float = 0.0,
    ) -> None:
        """Build the model.

        Args:
            vocab: Number of tokens.
            max_length: How many position ids there are: the length of the longest input.
            size: Layers, heads and width.
            classes: Number of answers (default: `vocab`).
            layout: Where norms stand: "pre", "post" or "sandwich".
            norm: "layernorm" or "rmsnorm".
            mlp: "gelu" or "gated".
            causal: Whether a token sees only itself and those before it.
            remedies: Names, or paths of Python files; positions are among them.
            tracks: How many position ids a token has.
            max_train_length: Length of the longest input of training (default: `max_length`).
            embed_dropout: Dropout rate of the embedded tokens with their positions.
            attention_dropout: Dropout rate of the attention weights.
            resid_dropout: Dropout rate of what attention and MLP add.

        Raises:
            InputError: A value is out of range, or remedies do not go together.
        """
        super().__init__()
        for field, value in (("vocab", vocab), ("max_length", max_length), *size._asdict().items()):
            require(value >= 1, field, value, "at least 1")
        require(size.width % size.heads == 0, "width", size.width, f"a multiple of {size.heads}")
        require_name(layout, ("pre", "post", "sandwich"), "layout")
        require_name(norm, ("layernorm", "rmsnorm"), "norm")
        require_name(mlp, ("gelu", "gated"), "mlp")
        shape = Shape(
            width=size.width,
            heads=size.heads,
            head_width=size.width // size.heads // chain_key_maps(remedies),
            value_width=size.width,
            layer=0,
            max_length=max_length,
            max_train_length=max_train_length or max_length,
            tracks=tracks,
        )
        chain = Chain(remedies, shape, where())
        self.causal = causal
        self.tokens = nn.Embedding(vocab, size.width)
        self.remedies = chain.of_model()
        self.embed_dropout = Dropout(embed_dropout, "embed_dropout")
        self.blocks = nn.Sequential()
        for layer in range(size.layers):
            attention = Attention(
                size.width,
                heads=size.heads,
                bias=True,
                remedies=chain.of_layer(layer),
                attention_dropout=Dropout(attention_dropout, "attention_dropout"),
                resid_dropout=Dropout(resid_dropout, "resid_dropout"),
            )
            every = [*self.remedies, *attention.remedies]
            require_fit(every, positions=True, causal=causal, tracks=tracks, model="a GPT")
            block = Block(attention, size.width, Dropout(resid_dropout), layout, norm, mlp)
            self.blocks.append(block)
        self.norm = nn.Identity() if layout == "post" else _norm(norm, size.width)
        self.unembedding = nn.Linear(size.width, classes or vocab, bias=False)
        for name, module in self.named_modules():
            if "remedies" not in name.split("."):  # they begin as they say themselves
                _initialise(module)

    @property
    def no_weight_decay(self) -> set[str]:
        """Names of matrices that weight decay leaves alone: the embeddings, as in minGPT."""
        embeddings = ("tokens", "remedies")
        return {name for name, _ in self.named_parameters() if name.split(".")[0] in embeddings}

    def forward(self, inputs: Tensor | Tokens) -> Tensor:
        """Logits `(batch, length, classes)` of tokens `(batch, length)`."""
        inputs = tokens_of(inputs)
        logits: Tensor = self.unembedding(self.trunk(inputs))
        return logits

    def trunk(self, inputs: Tokens) -> Tensor:
        """What the last layer gives out, normed: `(batch, length, width)`."""
        ids = position_ids(inputs, self.remedies)
        hidden = embedded(inputs, self.tokens(inputs.tokens), ids, self.remedies)
        hidden = self.embed_dropout(hidden)
        read = read_of(inputs, ids, hidden, self.remedies, causal=self.causal)
        for block in self.blocks:
            hidden = block(hidden, read)
        normed: Tensor = self.norm(hidden)
        return normed


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
        self.attention_norm = _norm(norm, width)
        self.attention = attention
        self.mlp_norm = _norm(norm, width)
        self.mlp: nn.Module = (
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            if mlp == "gelu"
            else GatedMLP(width)
        )
        self.resid_dropout = dropout
        if layout == "sandwich":
            self.attention_second = _norm(norm, width)
            self.mlp_second = _norm(norm, width)

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


def _norm(kind: NormKind, width: int) -> nn.Module:
    return nn.LayerNorm(width) if kind == "layernorm" else nn.RMSNorm(width, eps=1e-5)


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=DEVIATION)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


@model("gpt")
@dataclass(frozen=True, kw_only=True)
class GPTModel(Model):
    """A GPT with block layouts, norms, MLPs and any remedies. The default size is ours."""

    reads = TokenTask

    layers: int = 4
    """Number of layers; Othello-GPT has 8."""

    heads: int = 4
    """Number of heads; Othello-GPT has 8."""

    width: int = 128
    """Width; that of Othello-GPT is 512."""

    layout: Layout = "pre"
    """Where norms stand: before attention and MLP, after adding what they give (post), or before
    and behind them (sandwich)."""

    norm: NormKind = "layernorm"
    """The norm of the layers."""

    mlp: MLPKind = "gelu"
    """Four times as wide with GELU, or gated (GEGLU) with as many weights."""

    causal: bool = True
    """Whether a token sees only itself and those before it."""

    remedies: tuple[str, ...] = ("learned",)
    """Remedies by name, each with options behind a colon (layernorm:place=before), or by the path
    of a Python file; they act in this order. Positions are among them: what is given here takes
    the place of the learned ones."""

    def build(
        self, task: Task, hyperparameters: Hyperparameters, max_train_length: int | None = None
    ) -> GPT:
        """An untrained GPT."""
        assert isinstance(task, TokenTask)
        expected = f"True: in inputs of {task.name!r}, answers follow what asks for them"
        shown = task.prefixes or task.autoregressive
        require(self.causal or not shown, "causal", self.causal, expected)
        return GPT(
            task.vocab,
            task.max_position,
            Size(self.layers, self.heads, self.width),
            classes=task.outputs,
            layout=self.layout,
            norm=self.norm,
            mlp=self.mlp,
            causal=self.causal,
            remedies=self.remedies,
            tracks=task.tracks,
            max_train_length=max_train_length and task.input_size(max_train_length),
            embed_dropout=hyperparameters.embed_dropout,
            attention_dropout=hyperparameters.attention_dropout,
            resid_dropout=hyperparameters.resid_dropout,
        )
