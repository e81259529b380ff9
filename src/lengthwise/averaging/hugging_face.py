"""Averaging inside the Hugging Face `Trainer` and everything built on it."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import nn
from torch.utils.hooks import RemovableHandle

from lengthwise.averaging._adapters import (
    MakeAverage,
    averaged_evaluation,
    begin,
    warn_nothing_to_save,
)
from lengthwise.averaging._base import Average, BiasPower, EMAPower
from lengthwise.averaging.applied import AveragingError, require_live
from lengthwise.averaging.bema import BEMA
from lengthwise.files import write_with

try:
    from transformers import (
        Trainer,
        TrainerCallback,
        TrainerControl,
        TrainerState,
        TrainingArguments,
    )
except ImportError as error:
    raise ImportError(
        "lengthwise.averaging.hugging_face needs transformers: pip install 'lengthwise[hf]'"
    ) from error

STATE_FILE = "averaging.safetensors"
FINAL_FOLDER = "averaged"


class AveragingCallback(TrainerCallback):
    """Averages the weights of a model that a `Trainer` trains.

    Every checkpoint of the trainer gets the average's state, and a resumed training continues from
    it. After training, the averaged model is saved by `save_pretrained` in the folder `averaged` of
    the output directory.

    Args:
        make: What makes the average of the model: `BEMA`, `EMA`, or a `functools.partial` of them.
        resume_from: The checkpoint a training resumes from, if it is not in the output directory
            nor in `TrainingArguments.resume_from_checkpoint`.
    """

    def __init__(self, make: MakeAverage = BEMA, resume_from: str | Path | None = None) -> None:
        self.average: Average | None = None
        self._make = make
        self._resume_from = resume_from
        self._model: Any = None
        self._guard: RemovableHandle | None = None

    def evaluate_averaged(self, trainer: Trainer) -> None:
        """Let `evaluate` and `predict` of the trainer, also during training, use the average.

        Args:
            trainer: The trainer that has this callback.
        """
        for name in ("evaluate", "predict"):
            setattr(trainer, name, self._averaged(getattr(trainer, name)))

    def save_pretrained(
        self,
        folder: str | Path,
        ema_power: EMAPower = "first",
        bias_power: BiasPower = "first",
    ) -> None:
        """Save the averaged model with its own `save_pretrained`.

        Args:
            folder: Where to save it.
            ema_power: One of the EMA powers; may be left out where there is one only.
            bias_power: One of the bias powers, or None for the EMA itself.

        Raises:
            AveragingError: There is no average yet.
        """
        if self.average is None or self._model is None:
            raise AveragingError("there is no average yet: training has not begun")
        guarded = self._guard is not None
        with self.average.applied(ema_power, bias_power):
            self._unguard()
            try:
                self._model.save_pretrained(folder)
            finally:
                if guarded:
                    self._guard_saving(self._model)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Make the average, or resume the one of the checkpoint."""
        model = self._model = kwargs["model"]
        file = self._checkpoint(args, state) / STATE_FILE
        stored = load_file(file) if state.global_step > 0 and file.exists() else None
        self.average = begin(self._make, model, state.global_step, stored, str(file.parent))
        self._guard_saving(model)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Take in the weights after an optimizer step."""
        assert self.average is not None
        self.average.update(state.global_step)

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Put the average's state into the trainer's checkpoint."""
        assert self.average is not None
        if state.is_world_process_zero:
            tensors = self.average.state_dict()
            file = Path(str(args.output_dir)) / f"checkpoint-{state.global_step}" / STATE_FILE
            write_with(file, lambda path: save_file(tensors, path))

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Save the averaged model."""
        assert self.average is not None
        self._unguard()
        if not self.average.ready:
            warn_nothing_to_save(self.average)
        elif state.is_world_process_zero:
            folder = Path(str(args.output_dir)) / FINAL_FOLDER
            self.save_pretrained(folder)
            if (processing_class := kwargs.get("processing_class")) is not None:
                processing_class.save_pretrained(folder)

    def _checkpoint(self, args: TrainingArguments, state: TrainerState) -> Path:
        # A callback is not told which checkpoint the trainer resumes from.
        given = self._resume_from or args.resume_from_checkpoint
        if isinstance(given, str | Path):
            return Path(given)
        return Path(str(args.output_dir)) / f"checkpoint-{state.global_step}"

    def _averaged(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def evaluate(*args: Any, **kwargs: Any) -> Any:
            with averaged_evaluation(self.average):
                return method(*args, **kwargs)

        return evaluate

    def _guard_saving(self, model: nn.Module) -> None:
        self._unguard()  # a training that failed has left its guard behind
        # The trainer's way to a checkpoint leads through the model's state_dict.
        self._guard = model.register_state_dict_pre_hook(lambda *_: require_live(model))

    def _unguard(self) -> None:
        if self._guard is not None:
            self._guard.remove()
            self._guard = None
