"""How a model tells positions apart, and how far that reaches."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from torch import nn

from lengthwise.errors import InputError
from lengthwise.probing.models import positions_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Kind = Literal["rotary", "alibi", "learned", "none"]


@dataclass(frozen=True)
class Positions:
    """The positions of a model."""

    kind: Kind
    claimed: int | None
    """The length that the configuration claims, which stands for the trained length here."""
    limit: int | None = None
    """The longest input that there is a position for; None if any length can be put in."""

    @classmethod
    def of(cls, model: "PreTrainedModel") -> "Positions":
        """Look at a model's modules and configuration."""
        config = model.config
        claimed = positions_of(model) or getattr(config, "max_seq_len", None)
        if rotary_modules(model):
            return cls("rotary", claimed)
        if config.model_type == "mpt":  # makes its biases for the claimed length, and no longer
            return cls("alibi", claimed, claimed)
        if getattr(config, "alibi", False) or config.model_type == "bloom":
            return cls("alibi", claimed)
        if claimed is not None and _has_table(model, claimed):
            return cls("learned", claimed, claimed)
        return cls("none", claimed)


def rotary_modules(model: "PreTrainedModel") -> dict[str, nn.Module]:
    """By path, the modules that make rotations; none if no layer uses them."""
    used = getattr(model.config, "no_rope_layers", None)  # despite its name, 1 where they are used
    if used is not None and not any(used):
        return {}
    return {
        path: module
        for path, module in model.named_modules()
        if type(module).__name__.endswith("RotaryEmbedding")
    }


def require_causal(model: "PreTrainedModel") -> None:
    """Raise unless the model predicts each token from those before it."""
    name = type(model).__name__
    causal = model.get_output_embeddings() is not None and (
        name.endswith(("ForCausalLM", "LMHeadModel")) or getattr(model.config, "is_decoder", False)
    )
    if getattr(model.config, "is_encoder_decoder", False) or not causal:
        raise InputError(
            f"model = {name!r}: is no causal language model; expected one that predicts the next "
            "token, such as LlamaForCausalLM (for an encoder see: lengthwise probe)"
        )


def _has_table(model: "PreTrainedModel", positions: int) -> bool:
    """Whether there is a table with a row per position. Some begin a few rows later."""
    tokens = model.get_input_embeddings()
    return any(
        isinstance(module, nn.Embedding)
        and module is not tokens
        and "pos" in path.lower().replace("wpe", "pos")
        and module.num_embeddings >= positions
        for path, module in model.named_modules()
    )
