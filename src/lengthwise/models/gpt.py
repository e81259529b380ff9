"""GPT: the decoder that Othello-GPT is (arXiv 2210.13382, after minGPT), with slots."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from lengthwise.errors import require, require_name
from lengthwise.models.attention import Attention, NormPlace
from lengthwise.remedies import NORMS, SCORES, Dropout
from lengthwise.remedies.positions import ADDED, DEVIATION, TURNED


class Size(NamedTuple):
    """How large a GPT is."""

    layers: int
    heads: int
    width: int


SIZES = {"original": Size(8, 8, 512), "small": Size(4, 4, 128), "tiny": Size(2, 4, 64)}
"""Othello-GPT's own size, and two for processors without a GPU (ours)."""


class GPT(nn.Module):
    """Tokens in, logits of the next token out, after every prefix.

    Layers are pre-LN: x + attention(LayerNorm(x)), then x + MLP(LayerNorm(x)), the MLP four times
    as wide with GELU; a last LayerNorm and an unembedding of its own, without bias, follow. All
    weight matrices and embeddings begin as N(0, 0.02), biases as 0.
    """

    def __init__(
        self,
        vocab: int,
        most: int,
        size: Size = SIZES["small"],
        *,
        positions: str = "learned",
        attention: str = "softmax",
        norm: str = "none",
        norm_place: NormPlace = "after",
        dropout_embedding: float = 0.0,
        dropout_weights: float = 0.0,
        dropout_output: float = 0.0,
    ) -> None:
        """Build the model.

        Args:
            vocab: Number of tokens.
            most: Length of the longest input.
            size: Layers, heads and width.
            positions: By the name in `lengthwise.remedies.positions.ADDED`.
            attention: How keys are scored, by the name in `lengthwise.remedies.SCORES`.
            norm: Norm after attention, by its name in `lengthwise.remedies.NORMS`.
            norm_place: "before" or "after" attention's output projection.
            dropout_embedding: Dropout rate of the embedded tokens with their positions.
            dropout_weights: Dropout rate of the attention weights.
            dropout_output: Dropout rate of what attention and MLP add.
        """
        super().__init__()
        for field, value in (("vocab", vocab), ("most", most), *size._asdict().items()):
            require(value >= 1, field, value, "at least 1")
        require(size.width % size.heads == 0, "width", size.width, f"a multiple of {size.heads}")
        require_name(positions, ADDED, "positions")
        require_name(attention, SCORES, "attention")
        require_name(norm, NORMS, "norm")
        expected = "another one: over a batch of sequences it mixes later tokens into earlier ones"
        require(norm != "batchnorm", "norm", norm, expected)
        require_name(norm_place, ("before", "after"), "norm_place")
        turn = TURNED[positions](size.width // size.heads) if positions in TURNED else None
        self.tokens = nn.Embedding(vocab, size.width)
        self.positions = ADDED[positions](most, size.width)
        self.dropout_embedding = Dropout(dropout_embedding, "dropout_embedding")
        self.blocks = nn.Sequential()
        for _ in range(size.layers):
            attends = Attention(
                size.width,
                heads=size.heads,
                bias=True,
                positions=turn,
                score=SCORES[attention](),
                norm=NORMS[norm](size.width, size.heads),
                norm_place=norm_place,
                dropout_weights=Dropout(dropout_weights, "dropout_weights"),
                dropout_output=Dropout(dropout_output, "dropout_output"),
            )
            self.blocks.append(Block(attends, size.width, Dropout(dropout_output)))
        self.norm = nn.LayerNorm(size.width)
        self.unembedding = nn.Linear(size.width, vocab, bias=False)
        self.apply(_initialise)

    @property
    def undecayed(self) -> set[str]:
        """Names of matrices that weight decay leaves alone: the embeddings, as in minGPT."""
        embeddings = ("tokens", "positions")
        return {name for name, _ in self.named_parameters() if name.split(".")[0] in embeddings}

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits `(batch, length, vocab)` of tokens `(batch, length)`."""
        hidden = self.dropout_embedding(self.positions(self.tokens(tokens)))
        for block in self.blocks:
            hidden = block(hidden)
        logits: Tensor = self.unembedding(self.norm(hidden))
        return logits


class Block(nn.Module):
    """One layer: attention, then the MLP, each on the side of the residual stream."""

    def __init__(self, attention: Attention, width: int, dropout: Dropout) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = attention
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.dropout_output = dropout

    def forward(self, hidden: Tensor) -> Tensor:
        """`(batch, length, width)` to the same; a place reads itself and those before it."""
        length = hidden.shape[-2]
        never = torch.full((length, length), -torch.inf, dtype=hidden.dtype, device=hidden.device)
        read = self.attention_norm(hidden)
        hidden = hidden + self.attention(read, read, never.triu(1))
        added: Tensor = hidden + self.dropout_output(self.mlp(self.mlp_norm(hidden)))
        return added


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=DEVIATION)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
