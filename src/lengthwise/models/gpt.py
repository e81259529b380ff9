"""GPT: the decoder that Othello-GPT is (arXiv 2210.13382, after minGPT), open to remedies."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from lengthwise.errors import require, require_name
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models._base import Model, embedded, model, position_ids, read_of, tokens_of
from lengthwise.models.blocks import (
    Block,
    Layout,
    MLPKind,
    NormKind,
    Size,
    blocks_of,
    chain_for,
    initialise,
    norm_of,
)
from lengthwise.remedies import Dropout
from lengthwise.remedies._keys import Places
from lengthwise.tasks import Task, Tokens, TokenTask

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
        for field, value in (("vocab", vocab), ("max_length", max_length)):
            require(value >= 1, field, value, "at least 1")
        require_name(layout, ("pre", "post", "sandwich"), "layout")
        require_name(norm, ("layernorm", "rmsnorm"), "norm")
        require_name(mlp, ("gelu", "gated"), "mlp")
        chain = chain_for(size, remedies, max_length, max_train_length or max_length, tracks)
        self.causal = causal
        self.tokens = nn.Embedding(vocab, size.width)
        self.remedies = chain.of_model()
        self.embed_dropout = Dropout(embed_dropout, "embed_dropout")
        self.blocks = blocks_of(
            size, chain, self.remedies, layout=layout, norm=norm, mlp=mlp,
            attention_dropout=attention_dropout, resid_dropout=resid_dropout,
            positions=True, causal=causal, tracks=tracks, model="a GPT",
        )  # fmt: skip
        self.norm = nn.Identity() if layout == "post" else norm_of(norm, size.width)
        self.unembedding = nn.Linear(size.width, classes or vocab, bias=False)
        initialise(self)

    @property
    def no_weight_decay(self) -> set[str]:
        """Names of matrices that weight decay leaves alone: the embeddings, as in minGPT."""
        embeddings = ("tokens", "remedies")
        return {name for name, _ in self.named_parameters() if name.split(".")[0] in embeddings}

    @property
    def by_query(self) -> bool:
        """Whether `forward` may be asked at some places alone: see `Remedy.by_query`."""
        # What hides keys makes `Keys.causal` false.
        hides = any(one.acts("visible") for one in self.remedies)
        last: Block = self.blocks[-1]  # type: ignore[assignment]
        return self.causal and not hides and last.by_query

    def forward(self, inputs: Tensor | Tokens, asked: Places | None = None) -> Tensor:
        """Logits `(batch, length, classes)` of tokens `(batch, length)`.

        Args:
            inputs: Tokens, or `Tokens` with position ids and a mask.
            asked: With it, logits at these places alone, where the model says `by_query` and
                nothing is padding: the last layer then reads there and nowhere else.
        """
        inputs = tokens_of(inputs)
        logits: Tensor = self.unembedding(self.trunk(inputs, asked))
        return logits

    def trunk(self, inputs: Tokens, asked: Places | None = None) -> Tensor:
        """What the last layer gives out, normed: `(batch, length or asked, width)`.

        Args:
            inputs: Tokens with position ids and a mask.
            asked: With it, what these places give out alone.
        """
        ids = position_ids(inputs, self.remedies)
        hidden = embedded(inputs, self.tokens(inputs.tokens), ids, self.remedies)
        hidden = self.embed_dropout(hidden)
        read = read_of(inputs, ids, hidden, self.remedies, causal=self.causal)
        *others, last = self.blocks
        for block in others:
            hidden = block(hidden, read)
        hidden = last(hidden, read, asked)
        normed: Tensor = self.norm(hidden)
        return normed


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
