"""Set readers: training steps and evaluated items per second against straightforward PyTorch.

The peer is the set reader as one writes it down: the whole item encoder, keys and values for every
item, one model at a time, foreach AdamW. Width 128, batch 128, 16 items, a fleet of 8; evaluation
reads sets of 2**14 items. One thread each. Both have the same weights. In training the fleet draws
its data and the peer has them for nothing; in evaluation both read the same items, drawn before the
clock starts. The share of the matmul peak is measured against a large square product in the same
rounds.
"""

import time

import torch
from _harness import Comparison, arguments, interleaved, report
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.memory import keep_freed_memory
from lengthwise.models import SetReader, SetReaderModel
from lengthwise.runs import recipe_for
from lengthwise.tasks import ArgmaxRetrieval
from lengthwise.training import Hyperparameters
from lengthwise.training.traced import AFTER

MODELS, WIDTH, BATCH, ITEMS = 8, 128, 128, 16
LONG, SETS = 2**14, 32
PART = 512
"""Items of a part: 512 x 32 sets x 128 features are what an evaluation holds at once."""
PEAK_SIZE = 1024
ROUNDS, STEPS = 7, 4


class PlainSetReader(nn.Module):
    """The same function with a key and a value per item."""

    def __init__(self, item_width: int, query_width: int, classes: int) -> None:
        super().__init__()
        self.items = nn.Sequential(
            nn.Linear(item_width, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH, bias=False)
        )
        self.query = nn.Sequential(
            nn.Linear(query_width, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH, bias=False)
        )
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.norm = nn.LayerNorm(WIDTH)
        self.answer = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, classes))

    def forward(self, items: Tensor, query: Tensor) -> Tensor:
        """Logits of `(sets, items, features)`."""
        hidden = self.items(items)
        asked = self.q(self.query(query)).unsqueeze(1)
        read = functional.scaled_dot_product_attention(asked, self.k(hidden), self.v(hidden))
        logits: Tensor = self.answer(self.norm(self.o(read.squeeze(1))))
        return logits


class OneByOne:
    """One model in plain PyTorch."""

    def __init__(self, task: ArgmaxRetrieval, batch: tuple[Tensor, Tensor, Tensor]) -> None:
        self.model = PlainSetReader(task.item_width, task.query_width, task.classes)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, foreach=True)
        self.items, self.query, self.labels = batch

    def step(self) -> None:
        """One training step."""
        loss = functional.cross_entropy(self.model(self.items, self.query), self.labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def training() -> dict[str, float]:
    """Seconds of a step of the whole fleet and of a step of one plain model."""
    task = ArgmaxRetrieval()
    model = SetReaderModel(width=WIDTH, remedies=("layernorm",))
    settings = {"min_train_length": ITEMS, "max_train_length": ITEMS}
    recipe = recipe_for(task, model, batch=BATCH, steps=10**6, **settings)
    seeds = [Hyperparameters(seed=seed, ema_powers=(), bias_powers=()) for seed in range(MODELS)]
    trainer = recipe.trainer(seeds)
    for _ in range(AFTER + 1):  # a training of 20,000 steps is traced for nearly all of them
        trainer.step()
    inputs, labels = task.draw(torch.tensor(1), ITEMS, BATCH)
    alone = OneByOne(task, (inputs.items, inputs.query, labels))
    competitors = {"fleet": trainer.step, "alone": alone.step}
    return interleaved(competitors, ROUNDS, STEPS, time.process_time)


@torch.no_grad()
def evaluation() -> dict[str, float]:
    """Seconds of reading the same long sets, and of one large matrix product."""
    task = ArgmaxRetrieval()
    inputs, _ = task.draw(torch.tensor(2), LONG, SETS)
    ours = SetReader(
        task.item_width, task.query_width, task.classes, width=WIDTH, remedies=("layernorm",)
    ).eval()
    plain = PlainSetReader(task.item_width, task.query_width, task.classes).eval()
    sets = list(zip(inputs.items, inputs.query, strict=True))
    left, right = torch.randn(2, PEAK_SIZE, PEAK_SIZE)
    return interleaved(
        {
            "ours": lambda: ours.read(inputs.query, LONG, lambda: inputs.items.split(PART, 1)),
            # Set by set: all keys and values of one set fit into memory, and mostly into the cache.
            "plain": lambda: [plain(items[None], query[None]) for items, query in sets],
            "peak": lambda: left @ right,
        },
        rounds=3,
    )


def main() -> int:
    options = arguments(__doc__ or "")
    torch.set_num_threads(1)
    keep_freed_memory()  # as every process that trains does; the peer has it for nothing
    steps, reads = training(), evaluation()
    # Per item: the first layer, its score and its share of the mix; GELU counts for nothing.
    operations = 2 * LONG * SETS * WIDTH * (ArgmaxRetrieval().item_width + 2)
    peak = 2 * PEAK_SIZE**3 / reads["peak"]
    plain_operations = 2 * LONG * SETS * WIDTH * (ArgmaxRetrieval().item_width + 3 * WIDTH + 2)
    speed_up = steps["alone"] * MODELS / steps["fleet"]
    comparisons = [
        Comparison("training steps, fleet of 8 / one by one", speed_up, 3.0),
        Comparison("evaluated items at 2**14, ours / plain", reads["plain"] / reads["ours"], 2.0),
        Comparison("share of the matmul peak, ours", operations / reads["ours"] / peak),
        Comparison("share of the matmul peak, plain", plain_operations / reads["plain"] / peak),
    ]  # fmt: skip
    items = LONG * SETS / reads["ours"]
    print(f"evaluated items per second, ours: {items:.3g}; matmul peak: {peak / 1e9:.3g} GFLOP/s")
    return report(comparisons, steps | reads, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
