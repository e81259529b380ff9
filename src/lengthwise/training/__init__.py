"""Training: fleets of models side by side, each with its own hyper-parameters and random stream."""

from lengthwise.hyperparameters import Hyperparameters
from lengthwise.training.fleet import Fleet
from lengthwise.training.optimizer import FleetAdamW
from lengthwise.training.trainer import Trainer, build_fleet

__all__ = ["Fleet", "FleetAdamW", "Hyperparameters", "Trainer", "build_fleet"]
