"""What every remedy is: a module of hooks into a model, each the identity unless overridden."""

from typing import Any, ClassVar

from torch import Tensor, nn

from lengthwise.registry import REMEDIES
from lengthwise.remedies._keys import Keys, Shape

remedy = REMEDIES.register
"""`@remedy("alibi")` above a subclass of `Remedy` makes it known by that name."""


class Remedy(nn.Module):
    """A part that claims to carry a model further in length.

    A remedy is made once per layer and acts through the hooks of attention, or with
    `per_layer = False` once per model, where it may treat position ids, embedded tokens, hide keys,
    and give one bias to all layers. Several remedies chain in the order in which they are named.

    Args:
        shape: All that it may be built for. Further keywords of a subclass are its options.
    """

    name: ClassVar[str]
    """The name by which models know it: see `remedy`."""

    per_layer: ClassVar[bool] = True
    """Whether every layer has its own."""

    maps: ClassVar[int] = 1
    """Score maps per head: 2 for differential attention, which makes one of them (`combined`)."""

    shared_keys: ClassVar[bool] = False
    """Whether the maps of a head share its keys, and differ in their queries alone: the model's
    own queries are those of the first map, and `second_queries` makes those of the second."""

    excludes: ClassVar[tuple[str, ...]] = ()
    """Hooks in which no other remedy may act beside it, because it leaves nothing for them."""

    by_multiset: ClassVar[bool] = False
    """Whether equal keys may be read once with the logarithm of their count, because nothing
    depends on where a key stands. Fast paths ask this and never guess."""

    stochastic: ClassVar[bool] = True
    """Whether attention weights are still positive and sum to 1."""

    positional: ClassVar[bool] = False
    """Whether it needs position ids, which a set has not."""

    ordered: ClassVar[bool] = False
    """Whether it needs the order of the tokens, which a set has not, but no ids."""

    tracks: ClassVar[bool] = False
    """Whether it can read several position ids per token."""

    causal: ClassVar[bool] = True
    """Whether a token's output stays independent of later tokens."""

    sees_later: ClassVar[bool] = False
    """Whether it depends on them outside training too: then no model takes it in which tokens see
    earlier ones only, not even one that takes batch norm."""

    by_prefix: ClassVar[bool] = True
    """Whether outside training a token's output stays the same however many tokens follow it. If
    not, as where positions are stretched by the length of the input, every length is measured on
    inputs of its own."""

    by_query: ClassVar[bool] = False
    """Whether in training a query gives out the same whichever other queries there are; then the
    last layer of a GPT need not read at places where nothing is asked (see `Keys.asked`). Only
    hooks of a layer count. Fast paths ask this and never guess."""

    in_place_of: ClassVar[str | None] = None
    """The remedy of a trained model whose place it takes where it is one of `test_remedies`."""

    from_run: ClassVar[bool] = False
    """Whether its buffers are made, by `begun`, of the attention of another run's models, which
    `start_from` names; the run's own models then begin with weights that are drawn anew."""

    crosses: ClassVar[bool] = False
    """Whether it acts in cross attention too, where distances have both signs (`Shape.crossing`).
    Those with `by_multiset` do anyway: nothing of them depends on where a key stands."""

    own_stream: ClassVar[bool] = True
    """Whether its initial weights come from a random stream of its own, so that the rest of the
    model starts out as it would without it."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        # True of the class above it, it may be wrong of one that overrides a hook.
        if any(hook in vars(cls) for hook in HOOKS):
            for flag in ("by_multiset", "by_query"):
                if flag not in vars(cls):
                    setattr(cls, flag, False)

    def __init__(self, shape: Shape) -> None:
        """Make it for a shape; further keywords of a subclass are its options."""
        super().__init__()

    @classmethod
    def reshaped(cls, shape: Shape, **options: Any) -> Shape:
        """The shape that all remedies beside it are made for: it may need more position ids.

        Args:
            shape: The shape of the model.
            **options: The options that this remedy is made with.
        """
        return shape

    @property
    def replaces(self) -> str | None:
        """What of the model it replaces: two remedies that replace the same are refused."""
        return "the attention weights" if self.acts("weights", "combined") else None

    def begun(self, weights: Tensor, distance: Tensor, key: Tensor) -> dict[str, Tensor]:
        """Its buffers by name, with `from_run`: out of the last layer's attention weights.

        Args:
            weights: `(inputs, heads, queries, keys)` of a trained model on some inputs.
            distance: Position of the query minus that of the key, which broadcasts to `weights`.
            key: A random stream of the model's own.
        """
        raise NotImplementedError

    def acts(self, *hooks: str) -> bool:
        """Whether it does anything in one of these hooks: those that its class overrides.

        Args:
            *hooks: Names of hooks.
        """
        return any(getattr(type(self), hook) is not getattr(Remedy, hook) for hook in hooks)

    def ids(self, ids: Tensor) -> Tensor:
        """Position ids `(..., length)` that everything after it sees (not per layer).

        Args:
            ids: The ids that came in.
        """
        return ids

    def embedded(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """The embedded tokens `(..., length, width)` (not per layer).

        Args:
            hidden: The embedded tokens that came in.
            ids: Their position ids, `(..., length)`.
        """
        return hidden

    def numbered(self, hidden: Tensor, tokens: Tensor) -> Tensor:
        """The embedded tokens as `embedded`, by the numbers `(..., length)` of the tokens.

        Args:
            hidden: The embedded tokens that came in.
            tokens: Their numbers.
        """
        return hidden

    def visible(self, read: Keys) -> Tensor | None:
        """Which keys stay seen: True and False that broadcast to `log_count` (not per layer).

        Args:
            read: What the queries read: positions, counts and masks.
        """
        return None

    def second_queries(self, x: Tensor) -> Tensor:
        """Queries of the second map, `(..., queries, heads * head width)`, with `shared_keys`.

        Args:
            x: What queries are made of, `(..., queries, width)`.
        """
        raise NotImplementedError

    def queries_keys(self, queries: Tensor, keys: Tensor, read: Keys) -> tuple[Tensor, Tensor]:
        """Queries and keys `(..., heads, rows, head width)`; queries come scaled already.

        Args:
            queries: The queries that came in.
            keys: The keys that came in.
            read: What the queries read: positions, counts and masks.
        """
        return queries, keys

    def scale(self, read: Keys) -> Tensor | None:
        """A factor of the scores, `(..., heads or 1, queries, 1)`; queries are multiplied by it.

        Args:
            read: What the queries read: positions, counts and masks.
        """
        return None

    def bias(self, read: Keys) -> Tensor | None:
        """What is added to the scores of all maps of a head: `(..., heads or 1, queries, keys)`.

        Args:
            read: What the queries read: positions, counts and masks.
        """
        return None

    def scores(self, scores: Tensor, read: Keys) -> Tensor:
        """The scores `(..., heads * maps, queries, keys)`, before hidden keys are left out.

        Args:
            scores: The scores that came in.
            read: What the queries read: positions, counts and masks.
        """
        return scores

    def weights(self, scores: Tensor, read: Keys) -> Tensor | None:
        """Attention weights `(..., heads, queries, keys)`; None is the softmax.

        Args:
            scores: The finished scores, hidden keys not left out yet.
            read: What the queries read: positions, counts and masks.
        """
        return None

    def by_kernel(
        self, keys: Tensor, values: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor] | None:
        """Keys, values and mask of which the softmax mixes what `weights` would; None is none.

        Args:
            keys: Keys as the kernel takes them.
            values: Their values.
            mask: What is added to the scores.
        """
        return None

    def combined(self, maps: Tensor, read: Keys) -> Tensor:
        """What a head makes of its softmax maps: `(..., heads, maps, queries, any)` without maps.

        It must be linear in the maps: it is given their weights, or what these have mixed.

        Args:
            maps: The maps of every head.
            read: What the queries read: positions, counts and masks.
        """
        raise NotImplementedError

    def mixed(self, heads: Tensor) -> Tensor:
        """The mixed values before W_O, `(..., queries, heads, value width of a head)`.

        Args:
            heads: The mixed values that came in.
        """
        return heads

    def output(self, output: Tensor) -> Tensor:
        """What attention gives out, after W_O: `(..., queries, width)`.

        Args:
            output: The output that came in.
        """
        return output


HOOKS = (
    "ids", "embedded", "numbered", "visible", "second_queries", "queries_keys", "scale", "bias",
    "scores", "weights", "combined", "mixed", "output",
)  # fmt: skip
"""The hooks of a remedy, in the order in which a model calls them."""


def softmax(scores: Tensor, read: Keys) -> Tensor:
    """The usual attention weights."""
    return (scores + read.log_count).softmax(-1)
