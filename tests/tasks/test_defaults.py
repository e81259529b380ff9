"""What a task is trained with by default fits it."""

import pytest

from lengthwise.registry import TASKS
from lengthwise.runs import default_hyperparameters, recipe_for


@pytest.mark.parametrize("name", TASKS.listed())
def test_the_defaults_of_every_task_make_a_recipe(name: str) -> None:
    recipe = recipe_for(name)
    assert recipe.max_train_length < max(recipe.test_lengths or recipe.task.lengths)
    default_hyperparameters(recipe.task)
