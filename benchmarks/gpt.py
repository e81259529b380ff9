"""GPT on Othello: training steps per second against Hugging Face's GPT-2 of the same shape.

The peer is `GPT2LMHeadModel` with sdpa attention and an unembedding of its own, trained as one
writes it down: the same games, cross-entropy on the same answers, gradient clipping and
`torch.optim.AdamW`. 8 x 8, all 59 moves, no dropout, one thread each. Ours is a fleet of one that
plays its games, while the peer has them for nothing; neither keeps averages. Then ours with
bfloat16 and with torch.compile, with dropout and averages as a run has them by default, and the
part of a step that goes into games, optimizer and averages. Speeds are set against a large square
product in the same rounds.
"""

import shutil
import warnings
from collections.abc import Callable
from dataclasses import replace

import torch
from _harness import Comparison, arguments, interleaved, report
from torch import Tensor
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

from lengthwise.memory import keep_freed_memory
from lengthwise.models import GPTModel
from lengthwise.models.gpt import SIZES
from lengthwise.runs import default_hyperparameters, recipe_for
from lengthwise.tasks import IGNORE_INDEX, Othello
from lengthwise.training import Hyperparameters, Trainer

GAMES = Othello(8)
LENGTH = GAMES.lengths[-1]
AS_A_RUN = default_hyperparameters(GAMES)
PLAIN = replace(
    AS_A_RUN, embed_dropout=0.0, attention_dropout=0.0, resid_dropout=0.0,
    ema_powers=(), bias_powers=(),
)  # fmt: skip
PEAK_SIZE = 1024
BAR = 1.0
"""As fast as a plain module: a fleet gathers its gradients into one tensor, which may be of many
models, and that must not cost more than is saved elsewhere."""
AS_A_RUN_BAR = 0.9
"""What dropout and averages may cost."""


class Peer:
    """GPT-2 in plain PyTorch, on games that are there already."""

    def __init__(self, size: str, batch: int) -> None:
        layers, heads, width = SIZES[size]
        config = GPT2Config(
            vocab_size=GAMES.classes, n_positions=LENGTH, n_embd=width, n_layer=layers,
            n_head=heads, activation_function="gelu", tie_word_embeddings=False, use_cache=False,
            embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0,
            bos_token_id=None, eos_token_id=None,
        )  # fmt: skip
        self.model = GPT2LMHeadModel(config).train()
        self.model.set_attn_implementation("sdpa")
        matrices = [p for p in self.model.parameters() if p.ndim >= 2]
        vectors = [p for p in self.model.parameters() if p.ndim < 2]
        self.optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
            lr=5e-4, betas=(0.9, 0.95),
        )  # fmt: skip
        self.inputs, self.labels = GAMES.draw(torch.tensor(1), LENGTH, batch)

    def step(self) -> None:
        """One training step."""
        logits: Tensor = self.model(self.inputs).logits
        loss = functional.cross_entropy(
            logits.flatten(0, 1), self.labels.flatten(), ignore_index=IGNORE_INDEX
        )
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()


def trainer(
    size: str,
    batch: int,
    hyperparameters: Hyperparameters = PLAIN,
    *,
    half: bool = False,
    compiled: bool = False,
) -> Trainer:
    recipe = recipe_for(
        GAMES, GPTModel(**SIZES[size]._asdict()), max_train_length=LENGTH, batch=batch,
        steps=10**6, precision="bfloat16" if half else "float32",
        compiled="yes" if compiled else "no",
    )  # fmt: skip
    return recipe.trainer([hyperparameters])


def operations(size: str, batch: int) -> float:
    """Of a training step: products with weights, and attention over all pairs of places."""
    layers, _, width = SIZES[size]
    per_token = 12 * layers * width**2 + width * GAMES.classes + 2 * layers * width * LENGTH
    return 3 * 2 * per_token * batch * LENGTH


def parts_of_a_step(ours: Trainer, batch: int) -> dict[str, Callable[[], object]]:
    """What a step does beside the passes through the model, each on its own."""
    gradient, loss = torch.randn_like(ours.fleet.weights), torch.ones(1)
    assert ours.average is not None
    return {
        "games": lambda: GAMES.draw(torch.tensor([[2]]), LENGTH, batch),
        "optimizer": lambda: ours.optimizer.step(0, loss, gradient),
        "averages": ours.average.update,
    }


def main() -> int:
    options = arguments(__doc__ or "")
    torch.set_num_threads(1)
    keep_freed_memory()  # as a run does; the peer profits as well
    # CPU kernels of bfloat16 and torch.compile are announced with warnings of their own.
    warnings.simplefilter("ignore")
    left, right = torch.randn(2, PEAK_SIZE, PEAK_SIZE)
    comparisons: list[Comparison] = []
    seconds: dict[str, float] = {}
    for size, batch, rounds, repeats in (("small", 32, 7, 2), ("original", 8, 5, 1)):
        kinds: dict[str, Callable[[], object]] = {
            "ours": trainer(size, batch).step,
            "peer": Peer(size, batch).step,
            "bfloat16": trainer(size, batch, half=True).step,
            "peak": lambda: left @ right,
        }
        if size == "small":
            full = trainer(size, batch, AS_A_RUN)
            kinds["as a run"] = full.step
            kinds |= parts_of_a_step(trainer(size, batch, AS_A_RUN), batch)
            if shutil.which("g++"):
                kinds["compiled"] = trainer(size, batch, compiled=True).step
        taken = interleaved(kinds, rounds, repeats)
        seconds |= {f"{size}: {name}": value for name, value in taken.items()}
        speed = {name: operations(size, batch) / taken[name] / 1e9 for name in ("ours", "peer")} | {
            "matmul": 2 * PEAK_SIZE**3 / taken["peak"] / 1e9
        }
        print(f"{size}, GFLOP/s:", ", ".join(f"{n} {value:.3g}" for n, value in speed.items()))
        comparisons.append(
            Comparison(f"steps, {size}, ours / GPT-2", taken["peer"] / taken["ours"], BAR)
        )
        for name in ("bfloat16", "compiled", "as a run"):
            if name in taken:
                ratio = taken["ours"] / taken[name]
                bar = AS_A_RUN_BAR if name == "as a run" else None
                comparisons.append(Comparison(f"steps, {size}, {name} / plain", ratio, bar))
        for name in ("games", "optimizer", "averages"):
            if name in taken:
                share = taken[name] / taken["as a run"]
                comparisons.append(Comparison(f"{name} / step, {size}, as a run", share))
    return report(comparisons, seconds, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
