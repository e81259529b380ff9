"""One update of an average: ours, its peers, and a bare lerp over cached lists of tensors.

One thread. Two sets of weights: the 25 M parameters of OthelloGPT (8 layers, width 512) in 101
tensors, where memory traffic is what costs, and 100 tensors of 64 parameters, where the calls are.

The C library is told to keep freed memory. With its default settings the temporary tensors of TRL
cost page faults, 0 to 67 000 per update depending on what the process did before, which makes its
time swing between 4 and 25 bare lerps. What is compared here is the work, at TRL's best.
"""

import ctypes
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import ema_pytorch
import torch
from _harness import Comparison, arguments, interleaved, report
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from transformers import TrainerControl, TrainerState, TrainingArguments
from trl.trainer.callbacks import BEMACallback

from lengthwise.averaging import BEMA, EMA

EMA_POWERS = [0.3, 0.4, 0.5, 0.6, 0.7]
BIAS_POWERS = [0.05 * n for n in range(20)]


class Weights(nn.Module):
    """Parameters of the given shapes; TRL builds its copy from the `config`."""

    def __init__(self, config: list[tuple[int, ...]]) -> None:
        super().__init__()
        self.config = config
        self.parameters_ = nn.ParameterList(torch.randn(shape) for shape in config)


def gpt_shapes(layers: int, width: int, vocabulary: int, context: int) -> list[tuple[int, ...]]:
    attention: list[tuple[int, ...]] = [(3 * width, width), (3 * width,), (width, width), (width,)]
    mlp: list[tuple[int, ...]] = [(4 * width, width), (4 * width,), (width, 4 * width), (width,)]
    norms = [(width,)] * 4
    ends = [(vocabulary, width), (context, width), (width,), (width,), (vocabulary, width)]
    return layers * [*attention, *mlp, *norms] + ends


SIZES: dict[str, list[tuple[int, ...]]] = {
    "25 M parameters": gpt_shapes(layers=8, width=512, vocabulary=61, context=59),
    "100 small tensors": [(8, 8)] * 100,
}


def bare_lerp(model: nn.Module) -> Callable[[], object]:
    live = [parameter.detach() for parameter in model.parameters()]
    averages = [tensor.clone() for tensor in live]
    return lambda: torch._foreach_lerp_(averages, live, 0.01)


def trl_update(model: Any) -> Callable[[], object]:
    callback = BEMACallback(update_freq=1)
    arguments, state, control = TrainingArguments(), TrainerState(), TrainerControl()
    callback.on_train_begin(arguments, state, control, model)

    def update() -> None:
        state.global_step += 1
        callback.on_step_end(arguments, state, control, model)

    return update


def torch_update(model: nn.Module) -> Callable[[], object]:
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
    return lambda: average.update_parameters(model)


def ema_pytorch_update(model: nn.Module) -> Callable[[], object]:
    average = ema_pytorch.EMA(model, beta=0.99, update_after_step=0, update_every=1)
    return average.update


def keep_freed_memory() -> None:
    """Never give memory back to the system, nor map it anew; does nothing but with glibc."""
    trim_threshold, mmap_threshold, a_gigabyte = -1, -3, 1 << 30
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(trim_threshold, a_gigabyte)
        mallopt(mmap_threshold, a_gigabyte)


def main() -> int:
    """Run the comparisons."""
    options = arguments(__doc__ or "")
    keep_freed_memory()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    comparisons: list[Comparison] = []
    figures: dict[str, float] = {}
    for size, shapes in SIZES.items():
        model = Weights(shapes)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        # Short bunches of small work: few of them meet another process.
        rounds, repeats = (21, 1) if parameters > 1e6 else (301, 10)
        print(f"{size}: {len(shapes)} tensors, {parameters} parameters")
        competitors = {
            "bare lerp": bare_lerp(model),
            "EMA": EMA(model).update,
            "BEMA": BEMA(model).update,
            "grid": BEMA(model, EMA_POWERS, BIAS_POWERS).update,
            "TRL": trl_update(model),
            "AveragedModel": torch_update(model),
            "ema-pytorch": ema_pytorch_update(model),
        }
        taken = interleaved(competitors, rounds, repeats)
        figures |= {f"{size}: {name}": seconds for name, seconds in taken.items()}
        for name, seconds in taken.items():
            print(f"{size}: {name} {1e3 * seconds:.3f} ms")
        bare, ours = taken["bare lerp"], taken["BEMA"]
        comparisons += [
            Comparison(f"{size}: EMA / bare lerp", taken["EMA"] / bare, 1.2, "at most"),
            Comparison(f"{size}: BEMA / bare lerp", ours / bare, 1.2, "at most"),
            Comparison(f"{size}: grid of 5 x 20 / bare lerp", taken["grid"] / bare, 5.5, "at most"),
            Comparison(f"{size}: TRL / BEMA", taken["TRL"] / ours, 4 if parameters > 1e6 else 10),
            Comparison(f"{size}: AveragedModel / EMA", taken["AveragedModel"] / taken["EMA"]),
            Comparison(f"{size}: ema-pytorch / EMA", taken["ema-pytorch"] / taken["EMA"]),
        ]
    return report(comparisons, figures, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
