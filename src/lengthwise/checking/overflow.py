"""Where in a model a number stops being one: half precision overflows at some length."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from lengthwise.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def require_finite(model: "PreTrainedModel", ids: Tensor) -> None:
    """Run the model once more and raise with the first module whose output is not finite."""
    first: list[str] = []

    def look(name: str) -> Any:
        def hook(_: nn.Module, __: Any, output: Any) -> None:
            parts = output if isinstance(output, tuple | list) else (output,)
            tensors = [p for p in parts if isinstance(p, Tensor) and p.is_floating_point()]
            if not first and any(not bool(t.isfinite().all()) for t in tensors):
                first.append(name)

        return hook

    with ExitStack() as stack:
        for name, module in model.named_modules():
            if not any(True for _ in module.children()):
                stack.callback(module.register_forward_hook(look(name)).remove)
        model(input_ids=ids, use_cache=False)
    where = f"first in {first[0]}" if first else "in the logits"
    dtype = str(next(model.parameters()).dtype).removeprefix("torch.")
    advice = "float32" if dtype == "bfloat16" else "bfloat16 or float32"
    wider = f"; expected a wider one, such as {advice}" if dtype != "float32" else ""
    raise InputError(
        f"dtype = {dtype!r}: gives numbers that are not finite at length {ids.shape[1]}, "
        f"{where}{wider}; lengths that were done are kept"
    )
