"""Remedies: a training step of the small GPT with each over one with rotary positions.

At 64 and at 512 tokens, 2,048 tokens in a batch. Positions and biases stand in place of the rotary
ones; whatever else there is stands beside them. x-transformers with the same flag is timed in the
same rounds, where it has one: the same layers, heads and widths, its own attention kernel switched
to `scaled_dot_product_attention` wherever it allows that. Both are trained as one writes it down,
with cross-entropy and fused AdamW, on one thread, whose own time is what counts.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from _harness import Comparison, interleaved, parser, report
from torch import nn
from torch.nn import functional
from x_transformers import Decoder, TransformerWrapper

from lengthwise.errors import require_name
from lengthwise.memory import keep_freed_memory
from lengthwise.models import GPT
from lengthwise.models.gpt import SIZES
from lengthwise.registry import REMEDIES
from lengthwise.remedies._catalogue import describe, with_what_it_needs

VOCAB, TOKENS = 64, 2048
LENGTHS = (64, 512)
ROUNDS = 5
GROUP = 6
"""Remedies of a group, which is timed with rotary positions of its own."""

BARS = {"biases": 1.5, "scores and weights": 2.0, "differential": 1.6}
"""By kind, or by what a name begins with."""
PEER = 1.0
"""As fast as x-transformers, at least."""

FLAGS: dict[str, dict[str, Any]] = {
    "none": {},
    "learned": {"use_abs_pos_emb": True},
    "sinusoidal": {"scaled_sinu_pos_emb": True},
    "rotary": {"rotary_pos_emb": True},
    "xpos": {"rotary_xpos": True},
    "interpolated": {"rotary_pos_emb": True, "rotary_interpolation_factor": 8.0},
    "alibi": {"alibi_pos_bias": True},
    "t5": {"rel_pos_bias": True},
    "cope": {"attn_use_cope": True},
    "fox": {"attn_data_dependent_alibi": True},
    "qk-norm": {"attn_qk_norm": True},
    "qk-rmsnorm": {"attn_qk_rmsnorm": True},
    "sigmoid": {"attn_sigmoid": True},
    "selective": {"attn_selective": True},
    "off-by-one": {"attn_add_zero_kv": True},
    "sink": {"attn_head_learned_sink": True},
}
"""What x-transformers calls the same."""


class Step:
    """A model in plain PyTorch, and one step of its training."""

    def __init__(self, model: nn.Module, length: int) -> None:
        self.model = model.train()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        self.tokens, self.labels = torch.randint(VOCAB, (2, TOKENS // length, length))

    def __call__(self) -> None:
        """One training step."""
        logits = self.model(self.tokens)
        loss = functional.cross_entropy(logits.flatten(0, 1), self.labels.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def ours(name: str, length: int) -> Step:
    """The small GPT with a remedy, beside rotary positions where it says nothing of positions."""
    instead = describe(name).kind in ("positions", "biases")
    remedies = with_what_it_needs(name) if instead else ("rotary", name)
    return Step(GPT(VOCAB, length, SIZES["small"], remedies=remedies), length)


def theirs(name: str, length: int) -> Step:
    """The same of x-transformers, with the faster kernel where it takes the flag."""
    layers, heads, width = SIZES["small"]
    wrapper = {"use_abs_pos_emb": name == "sinusoidal"}
    flags = {"rotary_pos_emb": True} if describe(name).kind == "scores and weights" else {}
    for flag, value in FLAGS[name].items():
        (wrapper if flag in ("use_abs_pos_emb", "scaled_sinu_pos_emb") else flags)[flag] = value

    def decoder(flash: bool) -> Decoder:
        return Decoder(
            dim=width, depth=layers, heads=heads, attn_dim_head=width // heads, attn_flash=flash,
            verbose=False, **flags,
        )  # fmt: skip

    try:
        stack = decoder(True)
    except AssertionError:  # how it says that a flag does not go with the kernel
        stack = decoder(False)
    model = TransformerWrapper(num_tokens=VOCAB, max_seq_len=length, attn_layers=stack, **wrapper)
    return Step(model, length)


def bar_of(name: str) -> float | None:
    """What a step may cost; positions and norms are only reported."""
    return next((BARS[key] for key in BARS if name.startswith(key)), BARS.get(describe(name).kind))


def timed(names: list[str], length: int) -> dict[str, float]:
    """Median seconds of a step of each, of its peer, and of rotary positions beside them."""
    steps: dict[str, Callable[[], object]] = {"rotary": ours("rotary", length)}
    for name in names:
        steps[name] = steps["rotary"] if name == "rotary" else ours(name, length)
        if name in FLAGS:
            steps[f"x-transformers: {name}"] = theirs(name, length)
    return interleaved(steps, ROUNDS, clock=time.process_time)


def main() -> int:
    own = parser(__doc__ or "")
    own.add_argument("--remedies", nargs="*", metavar="NAME", help="only these (default: all)")
    own.add_argument("--lengths", nargs="*", type=int, default=LENGTHS, help="tokens of an input")
    options = own.parse_args()
    # Over sequences, batch norm would mix later tokens into earlier ones: a GPT refuses it.
    names = options.remedies or [name for name in REMEDIES.names() if REMEDIES.get(name).causal]
    for name in names:
        require_name(name, REMEDIES.names(), "remedy")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    keep_freed_memory()
    warnings.simplefilter("ignore")
    comparisons: list[Comparison] = []
    seconds: dict[str, float] = {}
    for length in options.lengths:
        for first in range(0, len(names), GROUP):
            group = names[first : first + GROUP]
            taken = timed(group, length)
            seconds |= {f"{length}: {name}": value for name, value in taken.items()}
            for name in group:
                ratio = taken[name] / taken["rotary"]
                title = f"{length} tokens, {name} / rotary"
                comparisons.append(Comparison(title, ratio, bar_of(name), "at most"))
                if name in FLAGS:
                    ratio = taken[name] / taken[f"x-transformers: {name}"]
                    title = f"{length} tokens, {name} / x-transformers"
                    comparisons.append(Comparison(title, ratio, PEER, "at most"))
    return report(comparisons, seconds, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
