"""Tasks: draw examples of any length, know the exact target distribution of each."""

from lengthwise.tasks._base import Batch, Task
from lengthwise.tasks.set_complement import SetComplement

__all__ = ["Batch", "SetComplement", "Task"]
