"""Averaging inside the Lightning `Trainer`."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from safetensors.torch import save_model
from torch import Tensor

from lengthwise.averaging._adapters import (
    MakeAverage,
    averaged_evaluation,
    begin,
    warn_nothing_to_save,
)
from lengthwise.averaging._base import Average
from lengthwise.averaging.applied import require_live
from lengthwise.averaging.bema import BEMA
from lengthwise.files import write_with

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError as error:
    raise ImportError(
        "lengthwise.averaging.lightning needs lightning: pip install 'lengthwise[lightning]'"
    ) from error

FINAL_FILE = "averaged.safetensors"


class AveragingCallback(Callback):
    """Averages the weights of a module that a Lightning `Trainer` trains.

    Every checkpoint of the trainer holds the average's state, and a resumed training continues from
    it. After training, the averaged module is saved as `averaged.safetensors` in the trainer's
    `default_root_dir`; `safetensors.torch.load_model` loads it.

    Args:
        make: What makes the average of the module: `BEMA`, `EMA`, or a `functools.partial` of them.
        evaluate: Whether validation, test and prediction use the averaged weights.
    """

    def __init__(self, make: MakeAverage = BEMA, evaluate: bool = False) -> None:
        self.average: Average | None = None
        self._make = make
        self._evaluate = evaluate
        self._restored: dict[str, Tensor] | None = None
        self._applied = ExitStack()

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Make the average, or resume the one of the checkpoint."""
        step = trainer.global_step
        self.average = begin(self._make, pl_module, step, self._restored, "the checkpoint")
        self._restored = None

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        """Take in the weights, if the batch ended with an optimizer step."""
        assert self.average is not None
        if trainer.global_step > self.average.step:
            self.average.update(trainer.global_step)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save the averaged module."""
        assert self.average is not None
        if not self.average.ready:
            warn_nothing_to_save(self.average)
        elif trainer.is_global_zero:
            with self.average.applied():
                file = Path(trainer.default_root_dir) / FINAL_FILE
                write_with(file, lambda path: save_model(pl_module, str(path)))

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Refuse to save averaged weights as live ones."""
        require_live(pl_module)

    def state_dict(self) -> dict[str, Tensor]:
        """The average's state, for the trainer's checkpoint."""
        return {} if self.average is None else self.average.state_dict()

    def load_state_dict(self, state_dict: dict[str, Tensor]) -> None:
        """Keep the checkpoint's state until the module is ready for it.

        Args:
            state_dict: What the checkpoint holds of this callback.
        """
        self._restored = state_dict or None

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Let the module carry the averaged weights."""
        if not trainer.sanity_checking:
            self._enter()

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Give the module its live weights back."""
        self._applied.close()

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Let the module carry the averaged weights."""
        self._enter()

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Give the module its live weights back."""
        self._applied.close()

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Let the module carry the averaged weights."""
        self._enter()

    def on_predict_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Give the module its live weights back."""
        self._applied.close()

    def on_exception(self, trainer: Trainer, *_: Any) -> None:
        """Give the module its live weights back."""
        self._applied.close()

    def _enter(self) -> None:
        if self._evaluate:
            self._applied.enter_context(averaged_evaluation(self.average))
