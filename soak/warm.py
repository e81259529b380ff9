"""Importing this loads what the first training and the first game of a process load.

Forked processes then need not. Nothing here starts a thread, which a fork would lose.
"""

import torch

import lengthwise.comparing.run
import lengthwise.comparing.work
import lengthwise.search.work  # noqa: F401
from lengthwise.models import GPTModel, MinimalModel
from lengthwise.othello import positions, random_games
from lengthwise.runs import recipe_for
from lengthwise.tasks import SetComplement
from lengthwise.training import Hyperparameters

torch.set_num_threads(1)
for model in (MinimalModel(remedies=("layernorm",)), GPTModel(layers=1, heads=1, width=8)):
    recipe = recipe_for(
        SetComplement(6), model, max_train_length=3, steps=2, batch=4, test_inputs=4
    )
    trainer = recipe.trainer(
        [Hyperparameters(seed=seed, ema_powers=(0.5,), attention_dropout=0.1) for seed in range(2)]
    )
    trainer.run(lambda trainer: None)
    list(recipe.measure(trainer.fleet))
random_games(1, 0, 4, 0, split="held-out", threads=1)
list(positions([], 8))
