"""An encoder-decoder (arXiv 1706.03762): one stack reads prompts, the other writes answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from lengthwise.errors import require, require_name
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models._base import Model, embedded, model, position_ids, read_of, tokens_of
from lengthwise.models.attention import Attention
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
from lengthwise.registry import REMEDIES
from lengthwise.remedies import Dropout, Keys, Remedy
from lengthwise.remedies._chain import names_of, require_fit
from lengthwise.tasks import AnswerTask, Task, Tokens

Counted = Literal["forward", "backward"]


class Encoded(NamedTuple):
    """A prompt as the decoder reads it."""

    hidden: Tensor
    """`(batch, prompt size, width)`."""
    ids: Tensor
    """Position ids of its tokens as cross attention counts them."""
    mask: Tensor | None
    """False at padding."""


class EncoderDecoder(nn.Module):
    """Prompts go to the encoder, answers to the decoder, whose cross attention reads the prompt.

    It takes whole inputs, `prompt answer`, as other models do, and parts them: the last token of
    the prompt, which asks for the first one of the answer, is where the decoder begins. Prompts
    that are shorter than others are padded, and padding is not read. Layers are those of a GPT,
    with cross attention between self attention and MLP in the decoder; the encoder sees its whole
    prompt, the decoder what is written so far. Tokens have one embedding for both. Without layers
    the encoder is the identity: cross attention then reads embedded tokens, normed.

    Remedies act in the encoder and in the decoder, each with weights of its own. In cross attention
    act those that do not ask where a key stands (`by_multiset`), and those that are made for it
    (`crosses`).
    """

    def __init__(
        self,
        vocab: int,
        sizes: Mapping[int, tuple[int, int]],
        size: Size,
        *,
        classes: int,
        max_length: int,
        max_train_sizes: tuple[int, int],
        separator: int | None = None,
        encoder_layers: int = 2,
        counted: Counted = "forward",
        layout: Layout = "pre",
        norm: NormKind = "layernorm",
        mlp: MLPKind = "gelu",
        remedies: Sequence[str] = ("sinusoidal",),
        tracks: int = 1,
        embed_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        resid_dropout: float = 0.0,
    ) -> None:
        """Build the model; weights begin as those of a GPT.

        Args:
            vocab: Number of tokens.
            sizes: Of inputs of so many tokens, how many the longest prompt and the longest answer
                with its END have.
            size: Layers of the decoder, heads and width.
            classes: Number of answers.
            max_length: How many position ids there are.
            max_train_sizes: Those of `sizes` at the longest input of training.
            separator: The token that ends a prompt, where prompts of one size of input differ in
                theirs.
            encoder_layers: Layers of the encoder; 0 makes it the identity.
            counted: How cross attention counts the places of the prompt: from its first token
                ("forward"), or from its last ("backward"), which is 0 then.
            layout: Where norms stand: "pre", "post" or "sandwich".
            norm: "layernorm" or "rmsnorm".
            mlp: "gelu" or "gated".
            remedies: Names, or paths of Python files; positions are among them.
            tracks: How many position ids a token has.
            embed_dropout: Dropout rate of the embedded tokens with their positions.
            attention_dropout: Dropout rate of the attention weights.
            resid_dropout: Dropout rate of what attention and MLP add.

        Raises:
            InputError: A value is out of range, or remedies do not go together.
        """
        super().__init__()
        require(encoder_layers >= 0, "encoder_layers", encoder_layers, "0 or more")
        require_name(counted, ("forward", "backward"), "counted")
        require_name(layout, ("pre", "post", "sandwich"), "layout")
        require_name(norm, ("layernorm", "rmsnorm"), "norm")
        require_name(mlp, ("gelu", "gated"), "mlp")
        self.sizes = dict(sizes)
        self.separator = separator
        self.counted = counted
        self.tokens = nn.Embedding(vocab, size.width)
        common: dict[str, Any] = {
            "layout": layout, "norm": norm, "mlp": mlp, "max_length": max_length,
            "tracks": tracks, "attention_dropout": attention_dropout,
            "resid_dropout": resid_dropout, "embed_dropout": embed_dropout,
        }  # fmt: skip
        kept = remedies if encoder_layers else _those(remedies, _embeds)
        reading = size._replace(layers=encoder_layers)
        self.encoder = Stack(reading, kept, max_train_sizes[0], causal=False, **common)
        self.decoder = Stack(size, remedies, max_train_sizes[1], causal=True, **common)
        self.cross = Cross(size, _those(remedies, _crosses), max_train_sizes[0], **common)
        self.unembedding = nn.Linear(size.width, classes, bias=False)
        initialise(self)

    @property
    def no_weight_decay(self) -> set[str]:
        """Names of matrices that weight decay leaves alone: embeddings, and remedies of stacks."""
        names = [(name, name.split(".")) for name, _ in self.named_parameters()]
        return {name for name, parts in names if "tokens" in parts[:1] or "remedies" in parts[1:2]}

    def forward(self, inputs: Tensor | Tokens) -> Tensor:
        """Logits `(batch, length, classes)` of whole inputs; 0 where the prompt has not ended.

        Args:
            inputs: Prompts with their answers behind them, as the task gives them.

        Raises:
            InputError: No input of the task has as many tokens.
        """
        inputs = tokens_of(inputs)
        count = inputs.tokens.shape[-1]
        expected = "that of an input of the task it was made for"
        require(count in self.sizes, "input size", count, expected)
        prompt_size, answer_size = self.sizes[count]
        places = torch.arange(count, device=inputs.tokens.device)
        # Where the decoder begins: `(batch, 1)`.
        first = self._prompt_sizes(inputs.tokens[..., :prompt_size]) - 1
        seen = None if inputs.mask is None else inputs.mask[..., :prompt_size]
        if self.separator is not None:
            within = places[:prompt_size] <= first
            seen = within if seen is None else seen & within
        ids = inputs.position_ids
        if ids is not None:
            ids = ids.narrow(inputs.tokens.dim() - 1, 0, prompt_size)
        encoded = self.encode(Tokens(inputs.tokens[..., :prompt_size], ids, seen))
        taken = (first + places[:answer_size]).clamp(max=count - 1)
        logits = self.decode(encoded, _gathered(inputs, taken))
        back = places - first
        found = logits.gather(-2, _last(back.clamp(0, answer_size - 1), logits))
        return found.masked_fill(((back < 0) | (back >= answer_size)).unsqueeze(-1), 0.0)

    def encode(self, prompt: Tokens) -> Encoded:
        """What the encoder makes of prompts, of which padding is no part.

        Args:
            prompt: The prompts, with a mask where some are padded.
        """
        hidden, ids = self.encoder.embed(prompt, self.tokens)
        read = read_of(prompt, ids, hidden, self.encoder.remedies, causal=False)
        for block in self.encoder.blocks:
            hidden = block(hidden, read)
        if self.counted == "backward":
            size = prompt.tokens.shape[-1]
            mask = torch.ones_like(prompt.tokens) if prompt.mask is None else prompt.mask.long()
            # How many tokens follow; those of padding are no matter.
            ids = (mask.sum(-1, keepdim=True) - mask.cumsum(-1)).clamp(max=size - 1)
        return Encoded(self.encoder.norm(hidden), ids, prompt.mask)

    def decode(self, encoded: Encoded, answer: Tokens) -> Tensor:
        """Logits `(batch, answer size, classes)` after every token of what is written so far.

        Args:
            encoded: The prompts, as `encode` gives them.
            answer: What is written so far; it begins with the last token of the prompt.
        """
        hidden, ids = self.decoder.embed(answer, self.tokens)
        read = read_of(answer, ids, hidden, self.decoder.remedies, causal=True)
        across = self.cross.read(encoded, ids, hidden)
        for block, layer in zip(self.decoder.blocks, self.cross.layers, strict=True):
            assert isinstance(block, Block)
            hidden = layer(block.attended(hidden, read), encoded.hidden, across)
            hidden = block.changed(hidden)
        logits: Tensor = self.unembedding(self.decoder.norm(hidden))
        return logits

    def _prompt_sizes(self, prompts: Tensor) -> Tensor:
        if self.separator is None:
            return torch.full_like(prompts[..., :1], prompts.shape[-1])
        return (prompts == self.separator).to(torch.int8).argmax(-1, keepdim=True) + 1


class Stack(nn.Module):
    """The encoder or the decoder: remedies, layers and the last norm."""

    def __init__(
        self,
        size: Size,
        remedies: Sequence[str],
        max_train_length: int,
        *,
        causal: bool,
        layout: Layout,
        norm: NormKind,
        max_length: int,
        tracks: int,
        embed_dropout: float,
        **common: Any,
    ) -> None:
        super().__init__()
        at_least = size._replace(layers=max(1, size.layers))
        chain = chain_for(at_least, remedies, max_length, max_train_length, tracks)
        self.remedies = chain.of_model()
        self.embed_dropout = Dropout(embed_dropout, "embed_dropout")
        self.blocks = blocks_of(
            size, chain, self.remedies, layout=layout, norm=norm, positions=True, causal=causal,
            tracks=tracks, model="an encoder-decoder", **common,
        )  # fmt: skip
        # Layers with norms after them give out what is normed; without layers nothing is yet.
        normed = layout == "post" and size.layers > 0
        self.norm = nn.Identity() if normed else norm_of(norm, size.width)

    def embed(self, inputs: Tokens, tokens: nn.Embedding) -> tuple[Tensor, Tensor]:
        """Embedded tokens with their positions, and their ids."""
        ids = position_ids(inputs, self.remedies)
        hidden = embedded(inputs, tokens(inputs.tokens), ids, self.remedies)
        return self.embed_dropout(hidden), ids


class Cross(nn.Module):
    """Cross attention of all layers of a decoder, with its remedies."""

    def __init__(
        self,
        size: Size,
        remedies: Sequence[str],
        max_train_length: int,
        *,
        layout: Layout,
        norm: NormKind,
        max_length: int,
        tracks: int,
        attention_dropout: float,
        resid_dropout: float,
        **others: Any,
    ) -> None:
        super().__init__()
        chain = chain_for(size, remedies, max_length, max_train_length, tracks, crossing=True)
        self.remedies = chain.of_model()
        self.layers = nn.ModuleList()
        for layer in range(size.layers):
            attention = Attention(
                size.width,
                heads=size.heads,
                bias=True,
                remedies=chain.of_layer(layer),
                attention_dropout=Dropout(attention_dropout, "attention_dropout"),
                resid_dropout=Dropout(resid_dropout, "resid_dropout"),
            )
            require_fit(
                [*self.remedies, *attention.remedies], positions=True, causal=False, tracks=tracks,
                model="cross attention",
            )  # fmt: skip
            self.layers.append(CrossLayer(attention, size.width, layout, norm))

    def read(self, encoded: Encoded, ids: Tensor, like: Tensor) -> Keys:
        """What every token of the answer sees: all of the prompt that is no padding."""
        shape = like.shape[-2], encoded.hidden.shape[-2]
        seen = torch.zeros(shape, dtype=like.dtype, device=like.device)
        if encoded.mask is not None:
            padding = (~encoded.mask).unsqueeze(-2).unsqueeze(-3)
            seen = seen.masked_fill(padding, -torch.inf)
        plain = encoded.ids.dim() < like.dim()  # several ids per token say no distances
        read = Keys(seen, ids if plain else None, encoded.ids if plain else None)
        total = None
        for one in self.remedies:
            bias = one.bias(read)
            total = total if bias is None else bias if total is None else total + bias
        return Keys(seen, read.query_ids, read.key_ids, bias=total)


class CrossLayer(nn.Module):
    """Cross attention of one layer, with its norms."""

    def __init__(self, attention: Attention, width: int, layout: Layout, norm: NormKind) -> None:
        super().__init__()
        self.layout = layout
        self.norm = norm_of(norm, width)
        self.attention = attention
        if layout == "sandwich":
            self.second = norm_of(norm, width)

    def forward(self, hidden: Tensor, context: Tensor, read: Keys) -> Tensor:
        """Add what the context says."""
        if self.layout == "post":
            after: Tensor = self.norm(hidden + self.attention(hidden, context, read))
            return after
        attended = self.attention(self.norm(hidden), context, read)
        added: Tensor = hidden + (self.second(attended) if self.layout == "sandwich" else attended)
        return added


def _gathered(inputs: Tokens, taken: Tensor) -> Tokens:
    """The tokens at some places, `(batch, places)`; ids that nobody gave begin at 0 there."""
    ids, mask = inputs.position_ids, inputs.mask
    if ids is not None:
        several = ids.dim() > inputs.tokens.dim()
        ids = ids.gather(-2, _last(taken, ids)) if several else ids.gather(-1, taken)
    return Tokens(
        inputs.tokens.gather(-1, taken), ids, None if mask is None else mask.gather(-1, taken)
    )


def _last(places: Tensor, like: Tensor) -> Tensor:
    """Places for a gather that takes whole rows of `like`."""
    return places.unsqueeze(-1).expand(*places.shape, like.shape[-1])


def _those(remedies: Sequence[str], fits: Callable[[type[Remedy]], bool]) -> list[str]:
    """The remedies that fit a place, in their order."""
    names = zip(remedies, names_of(remedies), strict=True)
    return [one for one, name in names if fits(REMEDIES.get(name))]


def _crosses(kind: type[Remedy]) -> bool:
    return kind.by_multiset or kind.crosses


def _embeds(kind: type[Remedy]) -> bool:
    """Whether it acts on ids or embedded tokens, which an encoder without layers has, too."""
    hooks = ("ids", "embedded", "numbered")
    return any(getattr(kind, hook) is not getattr(Remedy, hook) for hook in hooks)


@model("encoder-decoder")
@dataclass(frozen=True, kw_only=True)
class EncoderDecoderModel(Model):
    """An encoder-decoder for tasks with written answers, with any remedies. Sizes are ours."""

    reads = AnswerTask

    layers: int = 2
    """Number of layers of the decoder."""

    encoder_layers: int = 2
    """Number of layers of the encoder; 0 makes it the identity."""

    heads: int = 4
    """Number of heads."""

    width: int = 64
    """Width."""

    counted: Counted = "forward"
    """How cross attention counts the places of the prompt, for remedies that ask: from its first
    token, or backward from its last, so that digits of equal significance are equally far from an
    answer that begins with its last digit."""

    layout: Layout = "pre"
    """Where norms stand: before attention and MLP, after adding what they give (post), or before
    and behind them (sandwich)."""

    norm: NormKind = "layernorm"
    """The norm of the layers."""

    mlp: MLPKind = "gelu"
    """Four times as wide with GELU, or gated (GEGLU) with as many weights."""

    remedies: tuple[str, ...] = ("sinusoidal",)
    """Remedies by name, each with options behind a colon (layernorm:place=before), or by the path
    of a Python file; they act in this order. Positions are among them: what is given here takes
    the place of the sinusoidal ones."""

    def build(
        self, task: Task, hyperparameters: Hyperparameters, max_train_length: int | None = None
    ) -> EncoderDecoder:
        """An untrained encoder-decoder."""
        assert isinstance(task, AnswerTask)
        return EncoderDecoder(
            task.vocab,
            {task.input_size(length): task.sizes(length) for length in task.lengths},
            Size(self.layers, self.heads, self.width),
            classes=task.outputs,
            max_length=task.max_position,
            max_train_sizes=task.sizes(max_train_length or task.lengths[-1]),
            separator=task.separator,
            encoder_layers=self.encoder_layers,
            counted=self.counted,
            layout=self.layout,
            norm=self.norm,
            mlp=self.mlp,
            remedies=self.remedies,
            tracks=task.tracks,
            embed_dropout=hyperparameters.embed_dropout,
            attention_dropout=hyperparameters.attention_dropout,
            resid_dropout=hyperparameters.resid_dropout,
        )
