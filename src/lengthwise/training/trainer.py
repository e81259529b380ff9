"""The training of one fleet, step by step, with all of its state in plain tensors."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lengthwise.averaging import BEMA
from lengthwise.errors import InputError, require
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.randomness import address, at, below, bits, seeded
from lengthwise.remedies._keys import Places
from lengthwise.tasks import Batch, Task
from lengthwise.tasks._base import require_answerable
from lengthwise.training.devices import require_device
from lengthwise.training.fleet import Fleet
from lengthwise.training.losses import FleetLoss, count_answers, places_asked
from lengthwise.training.optimizer import FleetAdamW

DRAW_AHEAD = 16
"""Steps whose data are drawn at once: the cost of small operations is then shared."""


def build_fleet(
    build: Callable[[Hyperparameters], nn.Module],
    hyperparameters: Sequence[Hyperparameters],
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    **settings: Any,
) -> Fleet:
    """Build one model for each of `hyperparameters` from its own random stream, and stack them.

    Models of the same seed and trial get the same initial weights where they draw the same numbers;
    a remedy draws from a stream of its own, so that it and its baseline start out equal.

    Args:
        build: Makes one model.
        hyperparameters: What each model trains with.
        device: Where to put the fleet.
        dtype: Precision of the weights.
        settings: Those of `Fleet`.

    Raises:
        InputError: The device is not here, or the models do not fit into one fleet.
    """
    require_device(str(device))
    models = []
    for one in hyperparameters:
        with seeded(one.seed, one.trial, "weights"):
            models.append(build(one).to(dtype))
    return Fleet(models, hyperparameters, device, **settings)


class Trainer:
    """Trains a fleet on a task. What step t does is a function of the state and of t alone."""

    def __init__(
        self,
        fleet: Fleet,
        task: Task,
        *,
        max_train_length: int,
        batch: int,
        steps: int,
        min_train_length: int | None = None,
        accumulate: int = 1,
    ) -> None:
        """Prepare a training.

        Args:
            fleet: What to train, with its hyper-parameters.
            task: What to train it on.
            max_train_length: The longest input.
            batch: Inputs per step.
            steps: How many steps.
            min_train_length: With it, each step draws its length from here to `max_train_length`,
                the same for all models. Without it all inputs have `max_train_length`; a task that
                asks after every prefix then still trains on all lengths up to it.
            accumulate: In how many parts a batch goes through the models, whose gradients are
                added: less memory, and the same step but for masks of dropout and random offsets,
                which are drawn for each part.

        Raises:
            InputError: A value is out of range.
        """
        shortest, longest = task.lengths[0], task.lengths[-1]
        expected = f"one of {shortest}..{longest}"
        require(max_train_length in task.lengths, "max_train_length", max_train_length, expected)
        if min_train_length is not None:
            fits = min_train_length in task.lengths and min_train_length <= max_train_length
            expected = f"one of {shortest}..{max_train_length}, the longest"
            require(fits, "min_train_length", min_train_length, expected)
        require(batch >= 1, "batch", batch, "at least 1")
        require(steps >= 1, "steps", steps, "at least 1")
        expected = f"a divisor of batch = {batch}"
        require(accumulate >= 1 and batch % accumulate == 0, "accumulate", accumulate, expected)
        self.fleet = fleet
        self.task = task
        self.max_train_length = max_train_length
        self.min_train_length = max_train_length if min_train_length is None else min_train_length
        self.batch = batch
        self.accumulate = accumulate
        self.steps = steps
        self.steps_done = 0
        self.loss = torch.full((fleet.size,), torch.nan, device=fleet.device)
        """Loss of each model at the last step done."""
        self.optimizer = FleetAdamW(fleet, steps)
        self.average = fleet_average(fleet)
        own_loss = bool(getattr(fleet.template, "own_loss", False))
        self._losses = FleetLoss(task, fleet.hyperparameters, fleet.device, own_loss=own_loss)
        keys = [address(one.seed, one.trial, "data") for one in fleet.hyperparameters]
        self._data_keys = torch.tensor(keys, device=fleet.device)
        self._ahead: tuple[int, Batch] | None = None

    @property
    def diverged(self) -> Tensor:
        """The step at which each model diverged, or -1: `(models,)`."""
        return self.optimizer.diverged

    def run(self, after_step: Callable[["Trainer"], None] = lambda trainer: None) -> None:
        """Do all steps that are left.

        Args:
            after_step: Called after every step; what it raises ends the training there.
        """
        while self.steps_done < self.steps:
            self.step()
            after_step(self)

    def step(self) -> None:
        """Do one step."""
        batch = self._batch(self.steps_done)
        answers = count_answers(batch.labels)
        asked = self._asked(batch)
        self.loss = torch.zeros_like(self.loss)
        for number, part in enumerate(batch.parts(self.accumulate)):
            data = (part.labels, self._losses.targets(part.inputs), answers)
            loss, gradient = self.fleet.loss_and_gradient(
                self._losses, part.inputs, *data, asked=asked, add=number > 0
            )
            self.loss += loss
        self.optimizer.step(self.steps_done, self.loss, gradient)
        if self.average is not None:
            self.average.update()
        self.steps_done += 1

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that training needs to resume, as tensors under flat names."""
        state = {f"model/{name}": view for name, view in self.fleet.views().items()}
        state |= {f"buffer/{name}": buffer for name, buffer in self.fleet.buffers.items()}
        state |= {
            "optimizer/first": self.optimizer.first,
            "optimizer/second": self.optimizer.second,
            "optimizer/diverged": self.optimizer.diverged,
            "loss": self.loss,
            "step": torch.tensor(self.steps_done),
        }
        if self.average is not None:
            state |= {f"average/{n}": tensor for n, tensor in self.average.state_dict().items()}
        return state

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take over a state; the next steps are then what they would have been.

        Args:
            state: What `state_dict` of such a trainer gave.
        """
        own = self.state_dict()
        _require_same_tensors(own, state)
        for name, tensor in own.items():
            tensor.copy_(state[name])
        self.steps_done = int(state["step"])
        if self.average is not None:
            names = (name for name in state if name.startswith("average/"))
            self.average.load_state_dict({name.partition("/")[2]: state[name] for name in names})

    def _batch(self, step: int) -> Batch:
        """The data of `step`: a function of the models' streams and `step` only."""
        first, ahead = self._ahead or (0, None)
        if ahead is None or not first <= step < first + len(ahead.labels):
            first = step
            # Steps of different lengths cannot be drawn as one.
            count = DRAW_AHEAD if self.min_train_length == self.max_train_length else 1
            steps = torch.arange(first, first + count, device=self.fleet.device)
            keys = at(self._data_keys, steps.unsqueeze(1))
            ahead = self.task.draw(keys, self._length(step), self.batch)
            require_answerable(ahead.inputs, ahead.labels)
            ahead = ahead.to(self.fleet.weights.dtype)
            self._ahead = (first, ahead)
        return ahead.at(step - first)

    def _asked(self, batch: Batch) -> Places | None:
        """The places at which the step's batch asks anything, or None: they are read all."""
        labels = batch.labels
        if labels.dim() != 3 or labels.is_floating_point() or not self.fleet.takes(batch.inputs):
            return None
        return places_asked(labels)

    def _length(self, step: int) -> int:
        choices = self.max_train_length - self.min_train_length + 1
        word = bits(torch.tensor(address("length", step)), 1)
        return self.min_train_length + int(below(word, choices))


def fleet_average(fleet: Fleet) -> BEMA | None:
    """The averages of a fleet, with every power its own per model; None if none is asked for."""

    def columns(field: str) -> list[Tensor]:
        powers = [getattr(one, field) for one in fleet.hyperparameters]
        require(len({len(own) for own in powers}) == 1, field, powers, "as many for every model")
        return [torch.tensor(column, dtype=torch.float64) for column in zip(*powers, strict=True)]

    ema_powers, bias_powers = columns("ema_powers"), columns("bias_powers")
    if not ema_powers:
        return None
    return BEMA({"weights": fleet.weights}, ema_power=ema_powers, bias_power=bias_powers)


def _require_same_tensors(own: dict[str, Tensor], state: dict[str, Tensor]) -> None:
    for name in sorted(own.keys() | state.keys()):
        ours, theirs = own.get(name), state.get(name)
        if ours is None or theirs is None or ours.shape != theirs.shape:
            shapes = [None if tensor is None else tuple(tensor.shape) for tensor in (ours, theirs)]
            raise InputError(
                f"checkpoint: tensor {name!r} has shape {shapes[1]}, expected {shapes[0]}: "
                "it belongs to another run"
            )
