"""The training of one fleet, step by step, with all of its state in plain tensors."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lengthwise.averaging import BEMA
from lengthwise.errors import InputError, require
from lengthwise.randomness import address, at, below, bits, seeded
from lengthwise.tasks import Batch, Task
from lengthwise.training.devices import require_device
from lengthwise.training.fleet import Fleet
from lengthwise.training.hyperparameters import Hyperparameters
from lengthwise.training.losses import FleetLoss, count_answers
from lengthwise.training.optimizer import FleetAdamW

DRAW_AHEAD = 16
"""Steps whose data are drawn at once: the cost of small operations is then shared."""


def build_fleet(
    build: Callable[[Hyperparameters], nn.Module],
    members: Sequence[Hyperparameters],
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    **settings: Any,
) -> Fleet:
    """Build one model per member from the member's own random stream, and stack them.

    `settings` are those of `Fleet`.

    Members of the same seed and trial get the same initial weights where their models draw the same
    numbers; a norm draws none, so a remedy and its baseline start out equal.
    """
    require_device(str(device))
    models = []
    for member in members:
        with seeded(member.seed, member.trial, "weights"):
            models.append(build(member).to(dtype))
    return Fleet(models, device, **settings)


class Trainer:
    """Trains a fleet on a task. What step t does is a function of the state and of t alone."""

    def __init__(
        self,
        fleet: Fleet,
        task: Task,
        members: Sequence[Hyperparameters],
        *,
        train_length: int,
        batch: int,
        steps: int,
        shortest: int | None = None,
        accumulate: int = 1,
    ) -> None:
        """Prepare `steps` steps on batches of `batch` inputs of up to `train_length`.

        With `shortest`, each step draws its length, from `shortest` to `train_length`, the same for
        all models. Without it all inputs have `train_length`; a task that asks after every prefix
        then still trains on all lengths up to it.

        With `accumulate`, a batch goes through the models in so many parts whose gradients are
        added: less memory, and the same step but for masks of dropout and random offsets, which are
        drawn for each part.
        """
        longest = task.lengths[-1]
        require(train_length in task.lengths, "train_length", train_length, f"one of 1..{longest}")
        if shortest is not None:
            expected = f"one of 1..{train_length}, the longest"
            require(1 <= shortest <= train_length, "shortest", shortest, expected)
        require(batch >= 1, "batch", batch, "at least 1")
        require(steps >= 1, "steps", steps, "at least 1")
        expected = f"a divisor of batch = {batch}"
        require(accumulate >= 1 and batch % accumulate == 0, "accumulate", accumulate, expected)
        require(len(members) == fleet.size, "members", len(members), f"{fleet.size}, as the fleet")
        self.fleet = fleet
        self.task = task
        self.train_length = train_length
        self.shortest = train_length if shortest is None else shortest
        self.batch = batch
        self.accumulate = accumulate
        self.steps = steps
        self.step = 0
        """Steps done so far."""
        self.loss = torch.full((fleet.size,), torch.nan, device=fleet.device)
        """Loss of each model at the last step done."""
        self.optimizer = FleetAdamW(fleet, members, steps)
        self.average = fleet_average(fleet, members)
        self._losses = FleetLoss(task, members, fleet.device)
        keys = [address(member.seed, member.trial, "data") for member in members]
        self._data_keys = torch.tensor(keys, device=fleet.device)
        self._ahead: tuple[int, Batch[Any]] | None = None

    @property
    def diverged(self) -> Tensor:
        """The step at which each model diverged, or -1: `(models,)`."""
        return self.optimizer.diverged

    def advance(self) -> None:
        """Do one step."""
        batch = self._batch(self.step)
        answers = count_answers(batch.drawn)
        self.loss = torch.zeros_like(self.loss)
        for number, part in enumerate(batch.parts(self.accumulate)):
            loss = self._losses(self.fleet.forward(part.inputs), part, answers)
            gradient = self.fleet.gradient(loss, add=number > 0)
            self.loss += loss.detach()
        self.optimizer.step(self.step, self.loss, gradient)
        if self.average is not None:
            self.average.update()
        self.step += 1

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that training needs to go on, as tensors under flat names."""
        state = {f"model/{name}": view for name, view in self.fleet.views().items()}
        state |= {f"buffer/{name}": buffer for name, buffer in self.fleet.buffers.items()}
        state |= {
            "optimizer/first": self.optimizer.first,
            "optimizer/second": self.optimizer.second,
            "optimizer/diverged": self.optimizer.diverged,
            "loss": self.loss,
            "step": torch.tensor(self.step),
        }
        if self.average is not None:
            state |= {f"average/{n}": tensor for n, tensor in self.average.state_dict().items()}
        return state

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take over a state; the next steps are then what they would have been."""
        own = self.state_dict()
        _require_same_tensors(own, state)
        for name, tensor in own.items():
            tensor.copy_(state[name])
        self.step = int(state["step"])
        if self.average is not None:
            names = (name for name in state if name.startswith("average/"))
            self.average.load_state_dict({name.partition("/")[2]: state[name] for name in names})

    def _batch(self, step: int) -> Batch[Any]:
        """The data of `step`: a function of the members' streams and `step` only."""
        first, ahead = self._ahead or (0, None)
        if ahead is None or not first <= step < first + len(ahead.drawn):
            first = step
            # Steps of different lengths cannot be drawn as one.
            count = DRAW_AHEAD if self.shortest == self.train_length else 1
            steps = torch.arange(first, first + count, device=self.fleet.device)
            keys = at(self._data_keys, steps.unsqueeze(1))
            ahead = self.task.draw(keys, self._length(step), self.batch)
            ahead = ahead.to(self.fleet.weights.dtype)
            self._ahead = (first, ahead)
        return ahead.step(step - first)

    def _length(self, step: int) -> int:
        choices = self.train_length - self.shortest + 1
        word = bits(torch.tensor(address("length", step)), 1)
        return self.shortest + int(below(word, choices))


def fleet_average(fleet: Fleet, members: Sequence[Hyperparameters]) -> BEMA | None:
    """The averages of a fleet, with every power its own per model; None if none is asked for."""

    def columns(field: str) -> list[Tensor]:
        powers = [getattr(member, field) for member in members]
        require(len({len(own) for own in powers}) == 1, field, powers, "as many for every member")
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
