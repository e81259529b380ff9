"""What the adapters for other people's trainers share."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias
from warnings import warn

from torch import Tensor, nn

from lengthwise.averaging._base import Average
from lengthwise.errors import InputError, LengthwiseWarning

MakeAverage: TypeAlias = Callable[[nn.Module], Average]
"""`BEMA`, `EMA`, or a `functools.partial` of them with settings."""


def begin(
    make: MakeAverage, model: nn.Module, step: int, state: Mapping[str, Tensor] | None, source: str
) -> Average:
    """An average for a training that starts, or is resumed, at `step`.

    Raises:
        InputError: The training is resumed, but `source` has no state to resume from.
    """
    average = make(model)
    if state is not None:
        average.load_state_dict(state)
    elif step > average.schedule.snapshot_step:
        raise InputError(
            f"training resumes at step {step}, but {source} has no state of an average: expected a "
            f"checkpoint made with this callback, or start_after >= {step} to begin a new average"
        )
    return average


@contextmanager
def averaged_evaluation(average: Average | None) -> Iterator[None]:
    """Evaluate with averaged weights, or with a warning and the live ones if there are none yet."""
    if average is None or not average.ready:
        step = 0 if average is None else average.step
        message = f"no average yet at step {step}: the live weights are evaluated"
        warn(message, LengthwiseWarning, stacklevel=3)
        yield
    else:
        with average.applied():
            yield


def warn_nothing_to_save(average: Average) -> None:
    """Say that a training ended before the first update."""
    warn(
        f"no averaged model is saved: training ended at step {average.step}, before the first "
        f"update at step {average.schedule.first_update}",
        LengthwiseWarning,
        stacklevel=3,
    )
