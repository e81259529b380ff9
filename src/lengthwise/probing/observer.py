"""Watching the attention of a Hugging Face model while it runs, without changing what it does.

The model's own `sdpa` path computes the output; beside it the weights of the chosen queries are
worked out once more and measured. Transformers lets both be plugged in: an attention function and,
so that padding and sliding windows are not lost, a mask function under the same name.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError, require
from lengthwise.probing.weights import Scoring, measure_weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Queries = Literal["last", "all"] | int | tuple[int, ...]
"""The last position, all positions, so many at even distances up to the last, or these ones."""

IMPLEMENTATION = "lengthwise_sdpa"
"""The name contains `sdpa`, so transformers checks that the model supports it."""

SUPPORTED = (
    "supported are decoders and encoders of transformers whose attention goes through its "
    "AttentionInterface and runs on sdpa, such as Llama, Qwen, Mistral, GPT-2 and BERT"
)


@dataclass(frozen=True)
class Output:
    """An attention output over the watched queries of each sequence."""

    mean: Tensor
    """`(batch, groups, components)`."""
    variance: Tensor
    """Around that mean; zero where one query is watched."""

    def cpu(self) -> "Output":
        """A copy in main memory."""
        return Output(self.mean.cpu(), self.variance.cpu())


@dataclass(frozen=True)
class Observation:
    """What one layer's attention did in a forward pass, per sequence."""

    weights: Tensor
    """`(measures, batch, heads)`, means over the watched queries."""
    heads: Output
    """Each head's output, before the output projection; groups are heads."""
    projected: Output | None = None
    """The layer's output after the projection, one group. None if no linear map reads the heads."""

    def cpu(self) -> "Observation":
        """A copy in main memory."""
        projected = None if self.projected is None else self.projected.cpu()
        return Observation(self.weights.cpu(), self.heads.cpu(), projected)


class Enough(Exception):  # noqa: N818 - it is no error
    """All that was to be watched has been; the rest of the forward pass is not needed."""


class Observer:
    """Collects the observations of the last forward pass; see `observing`."""

    def __init__(
        self, queries: Queries, layers: Collection[int] | None, top: int, stop_early: bool
    ) -> None:
        """Use `observing` instead."""
        self.observations: dict[int, Observation] = {}
        self._queries = queries
        self._layers = layers
        self._top = top
        self._last = max(layers) if layers and stop_early else None
        self._calls = 0
        self._unprojected: tuple[int, Tensor, Tensor, Tensor] | None = None
        self._projection: nn.Module | None = None

    def begin(self, *_: object) -> None:
        """Forget the last forward pass; a new one begins."""
        self.observations = {}
        self._calls = 0
        self._unprojected = self._projection = None

    def attended(self, query: Tensor, key: Tensor, output: Tensor, scoring: Scoring) -> None:
        """Take in one call of attention; output is `(batch, length, heads, width)`."""
        layer, self._calls = self._calls, self._calls + 1
        if self._layers is not None and layer not in self._layers:
            return
        positions = _positions(self._queries, query.shape[2]).to(query.device)
        weights = measure_weights(query, key, positions, scoring, self._top)
        sees = ~weights[0, :, 0].isnan()
        self.observations[layer] = Observation(
            weights.nanmean(-1), _over_queries(output, positions, sees)
        )
        self._unprojected = (layer, output, positions, sees)

    def mapping(self, module: nn.Module, arguments: tuple[Any, ...]) -> None:
        """A linear map begins: the first that reads what attention gave is the projection.

        Seen as it begins, because an adapter around a linear map begins before the one inside it.
        """
        if self._unprojected is not None and self._projection is None and arguments:
            given, output = arguments[0], self._unprojected[1]
            if isinstance(given, Tensor) and _same_memory(given, output):
                self._projection = module

    def mapped(self, module: nn.Module, _: object, result: Tensor) -> None:
        """A linear map is done: if it is the projection, take in its result."""
        if self._unprojected is None or module is not self._projection:
            return
        layer, output, positions, sees = self._unprojected
        self._unprojected = self._projection = None
        result = result.reshape(*output.shape[:2], 1, -1)
        self.observations[layer] = replace(
            self.observations[layer], projected=_over_queries(result, positions, sees)
        )
        if layer == self._last:
            raise Enough


@contextmanager
def observing(
    model: "PreTrainedModel",
    queries: Queries = "last",
    layers: Collection[int] | None = None,
    top: int = 8,
    stop_early: bool = False,
) -> Iterator[Observer]:
    """Watch the attention of `model`; inside, `observer.observations` holds the last forward pass.

    Args:
        model: Any model of transformers that goes through its `AttentionInterface`.
        queries: Which positions to watch. A position that sees no key, such as padding on the
            left, does not count.
        layers: Which layers to watch, counted from 0; None for all.
        top: How many of the largest weights make up `top_mass`.
        stop_early: Whether a forward pass ends, by raising `Enough`, after the last of `layers`.

    Raises:
        InputError: The attention of the model cannot be watched, or the queries are none of its
            positions.
    """
    some = isinstance(queries, int) and queries >= 1
    chosen = isinstance(queries, tuple) and len(queries) > 0 and min(queries) >= 0
    expected = "'last', 'all' or a number of positions, or a tuple of them"
    require(queries in ("last", "all") or some or chosen, "queries", queries, expected)
    observer = Observer(queries, layers, top, stop_early)
    with ExitStack() as stack:
        stack.enter_context(attention_of(model, IMPLEMENTATION))
        stack.callback(model.register_forward_pre_hook(observer.begin).remove)
        for module in model.modules():
            _OBSERVERS[module] = observer
            stack.callback(_OBSERVERS.pop, module)
            if hasattr(module, "in_features") or hasattr(module, "nx"):  # nx: GPT-2's Conv1D
                stack.callback(module.register_forward_pre_hook(observer.mapping).remove)
                stack.callback(module.register_forward_hook(observer.mapped).remove)
        yield observer


@contextmanager
def attention_of(model: "PreTrainedModel", implementation: str) -> Iterator[None]:
    """Run the model with another attention implementation; afterwards its own is restored."""
    _register()
    name = type(model).__name__
    if getattr(model.config, "is_encoder_decoder", False):
        raise InputError(f"model = {name!r}: has an encoder and a decoder; {SUPPORTED}")
    before = model.config._attn_implementation
    try:
        model.set_attn_implementation(implementation)
    except (ValueError, ImportError) as error:
        reason = str(error).split(". ")[0]
        raise InputError(
            f"model = {name!r}: cannot be instrumented ({reason}); {SUPPORTED}"
        ) from None
    try:
        if model.config._attn_implementation != implementation:
            raise InputError(
                f"model = {name!r}: cannot be instrumented, because its attention does not go "
                f"through transformers' AttentionInterface; {SUPPORTED}"
            )
        yield
    finally:
        with suppress(ValueError):
            model.set_attn_implementation(before)


@contextmanager
def without_rotary_positions(model: nn.Module) -> Iterator[None]:
    """Switch rotary position embeddings off: every rotation is by the angle 0."""
    name = type(model).__name__
    expected = f"a model with rotary positions to switch off, which {name} has not"

    def unrotated(module: nn.Module, _: object, rotation: Any) -> tuple[Tensor, Tensor]:
        require(isinstance(rotation, tuple) and len(rotation) == 2, "positions", "off", expected)
        cosine, sine = rotation
        scaling = getattr(module, "attention_scaling", 1.0)
        circle = torch.hypot(cosine.float(), sine.float()) / scaling  # or it is something else
        require(bool((circle - 1).abs().max() < 0.05), "positions", "off", expected)
        return torch.full_like(cosine, scaling), torch.zeros_like(sine)

    rotaries = [m for m in model.modules() if type(m).__name__.endswith("RotaryEmbedding")]
    require(bool(rotaries), "positions", "off", expected)
    with ExitStack() as stack:
        for rotary in rotaries:
            stack.callback(rotary.register_forward_hook(unrotated).remove)
        yield


_OBSERVERS: dict[nn.Module, Observer] = {}
"""Who watches a module, so that several models can be watched at once."""


def _register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(IMPLEMENTATION, _watched(sdpa_attention_forward))
    AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)


def _watched(attention: Callable[..., tuple[Tensor, None]]) -> Callable[..., tuple[Tensor, None]]:
    def watched(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        **options: Any,
    ) -> tuple[Tensor, None]:
        result = attention(module, query, key, value, attention_mask, **options)
        causal = options.get("is_causal")
        causal = getattr(module, "is_causal", True) if causal is None else causal
        scale = options.get("scaling")
        scoring = Scoring(
            scale=query.shape[-1] ** -0.5 if scale is None else scale,
            causal=causal and attention_mask is None and query.shape[2] > 1,
            mask=attention_mask,
            bias=options.get("position_bias"),
        )
        _OBSERVERS[module].attended(query, key, result[0], scoring)
        return result

    return watched


def _positions(queries: Queries, length: int) -> Tensor:
    if queries == "last":
        return torch.tensor([length - 1])
    if isinstance(queries, tuple):
        return torch.tensor(queries)
    count = length if queries == "all" else min(int(queries), length)
    return (torch.arange(1, count + 1) * length) // count - 1


def _over_queries(output: Tensor, positions: Tensor, sees: Tensor) -> Output:
    """Mean and variance of `(batch, length, groups, width)` over the positions that see a key."""
    everywhere = len(positions) == output.shape[1]
    chosen = (output if everywhere else output[:, positions]).float().flatten(2)
    if not sees.all():
        chosen = chosen.masked_fill(~sees.unsqueeze(-1), 0.0)  # what is there may be no number
    share = (sees / sees.sum(1, keepdim=True)).unsqueeze(1)
    mean = share @ chosen
    variance = share @ (chosen - mean).square_()
    shape = output.shape[2:]
    return Output(mean.squeeze(1).unflatten(-1, shape), variance.squeeze(1).unflatten(-1, shape))


def _same_memory(one: Tensor, other: Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
