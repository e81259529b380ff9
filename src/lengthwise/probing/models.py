"""Finding and loading models by name, each failure said in one line."""

import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch

from lengthwise.errors import InputError, require
from lengthwise.probing.packaged import MODELS, packaged

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

DType = Literal["float32", "bfloat16", "float16", "auto"]


def load(
    name: str, dtype: DType = "float32", device: str = "cpu"
) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase | None"]:
    """Load a model and its tokenizer, if it has one, ready to run.

    Args:
        name: `smollm2` or `minilm`, a folder, a GGUF file, or a name on the hub.
        dtype: Of the weights; `auto` takes what the checkpoint says, quantised ones included.
        device: Such as `cpu` or `cuda`.
    """
    _require_device(device)
    path = packaged(name, MODELS[name], "model") if name in MODELS else Path(name).expanduser()
    if path.suffix.lower() == ".gguf":
        require(path.is_file(), "model", name, "a GGUF file that is there")
        where, options = str(path.parent), {"gguf_file": path.name}
    elif path.is_dir():
        expected = "a folder with a config.json, as save_pretrained writes it"
        require((path / "config.json").is_file(), "model", name, expected)
        where, options = str(path), {}
    else:
        on_the_hub = re.fullmatch(r"\w[\w.-]*(/[\w.-]+)?", name) is not None
        require(on_the_hub, "model", name, "a folder or a file that is there, or a hub name")
        where, options = name, {}
    try:
        with _quiet():
            return _load(where, options, dtype, device)
    except ImportError as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"model = {name!r}: needs a package that is not installed ({reason}); "
            "pip install 'lengthwise[hf]' brings the usual ones"
        ) from error
    except Exception as error:  # the readers of other people raise whatever comes
        raise InputError(f"model = {name!r}: {_reason(error, name)}") from error


def _require_device(device: str) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # the latter without the code for a device
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"device = {device!r}: expected one that is there ({reason})") from error


def positions_of(model: "PreTrainedModel") -> int | None:
    """How many positions the model has; None if it sets no limit."""
    limit = getattr(model.config, "max_position_embeddings", None)
    for path, module in model.named_modules():
        padding = getattr(module, "padding_idx", None)
        if path.endswith("position_embeddings") and padding is not None:
            return int(module.weight.shape[0]) - padding - 1  # RoBERTa counts from after it
    return limit if isinstance(limit, int) and limit > 0 else None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the bars and retries that transformers and the hub print while they load."""
    from transformers.utils import logging as bars

    shown = bars.is_progress_bar_enabled()
    hub = logging.getLogger("huggingface_hub")
    level, verbosity = hub.level, bars.get_verbosity()
    bars.disable_progress_bar()
    bars.set_verbosity(logging.CRITICAL)  # what is wrong is said by the error that it raises
    hub.setLevel(logging.ERROR)
    try:
        with redirect_stderr(io.StringIO()):  # one bar, that of GGUF files, heeds no setting
            yield
    finally:
        hub.setLevel(level)
        bars.set_verbosity(verbosity)
        if shown:
            bars.enable_progress_bar()


def _load(
    where: str, options: dict[str, str], dtype: DType, device: str
) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase | None"]:
    import transformers

    config = transformers.AutoConfig.from_pretrained(where, **options)
    architecture = (config.architectures or [""])[0]
    kind: Any = getattr(transformers, architecture, transformers.AutoModelForCausalLM)
    weights = "auto" if dtype == "auto" else getattr(torch, dtype)
    model = kind.from_pretrained(where, dtype=weights, device_map=device, **options)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(where, **options)
    except Exception:  # none was saved with the model: random tokens need none
        tokenizer = None
    return model.eval(), tokenizer


def _reason(error: BaseException, name: str) -> str:
    """What a user can do about it, from the kinds of errors behind the one transformers raises."""
    kinds = set()
    cause: BaseException | None = error
    while cause is not None:
        kinds.add(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    if "GatedRepoError" in kinds:
        return (
            f"is gated; accept its terms at https://huggingface.co/{name} and log in with: "
            "hf auth login"
        )
    if "RepositoryNotFoundError" in kinds:
        return "is not on the hub, or is private (log in with: hf auth login)"
    if kinds & {"LocalEntryNotFoundError", "OfflineModeIsEnabled", "ConnectionError"}:
        return (
            "is not on this machine and the hub cannot be reached; download it where there is a "
            f"network with: hf download {name}; or probe a packaged model: {', '.join(MODELS)}"
        )
    reason = str(error).strip().partition("\n")[0]
    return f"cannot be loaded ({reason or type(error).__name__})"
