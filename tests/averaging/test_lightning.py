"""The real Lightning Trainer on a small real module, including kill and resume."""

import os
import signal
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

pytest.importorskip("lightning")

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from safetensors.torch import load_file, load_model

from lengthwise.averaging import BEMA, AveragingError
from lengthwise.averaging.lightning import AveragingCallback
from lengthwise.errors import InputError, LengthwiseWarning

warnings.filterwarnings("ignore", module="lightning")


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


class Regression(LightningModule):
    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.frozen = nn.Linear(4, 8).requires_grad_(False)
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 1)
        self.to(dtype)
        self.losses: list[float] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.frozen(x.to(self.head.weight.dtype))))

    def loss(self, batch: list[torch.Tensor]) -> torch.Tensor:
        return (self(batch[0]).float() - batch[1]).square().mean()

    def training_step(self, batch, index):
        return self.loss(batch)

    def validation_step(self, batch, index):
        self.losses.append(self.loss(batch).item())

    def test_step(self, batch, index):
        self.losses.append(self.loss(batch).item())

    def predict_step(self, batch, index):
        return self(batch[0])

    def configure_optimizers(self):
        return torch.optim.AdamW([p for p in self.parameters() if p.requires_grad], 0.05)


def data(seed: int = 1, batches: int = 16) -> DataLoader:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(8 * batches, 4, generator=generator)
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)


def trainer(folder: Path, callbacks: list, steps: int = 12, **options) -> Trainer:
    settings = {
        "accelerator": "cpu",
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    return Trainer(
        max_steps=steps, default_root_dir=folder, callbacks=callbacks, **settings | options
    )


class Recorder(Callback):
    """The trainable weights after every optimizer step."""

    def __init__(self) -> None:
        self.weights: list[dict[str, torch.Tensor]] = []

    def on_train_start(self, trainer, pl_module):
        self.record(pl_module)

    def on_train_batch_end(self, trainer, pl_module, *_):
        if trainer.global_step == len(self.weights):
            self.record(pl_module)

    def record(self, module):
        named = module.named_parameters()
        self.weights.append({n: p.detach().double().clone() for n, p in named if p.requires_grad})


@pytest.mark.parametrize("accumulation", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_final_module_is_the_average(tmp_path, accumulation, dtype):
    module, averaging, recorder = Regression(dtype), AveragingCallback(BEMA), Recorder()
    trainer(tmp_path, [averaging, recorder], accumulate_grad_batches=accumulation).fit(
        module, data()
    )
    assert averaging.average.step == 12
    weights = recorder.weights
    ema = {name: tensor.clone() for name, tensor in weights[0].items()}
    for t in range(1, 13):
        for name in ema:
            ema[name] += (10 + t) ** -0.5 * (weights[t][name] - ema[name])
    saved = Regression(dtype)
    load_model(saved, tmp_path / "averaged.safetensors")
    for name, tensor in averaging.average.weights().items():
        expected = ema[name] + 22**-0.2 * (weights[12][name] - weights[0][name])
        torch.testing.assert_close(tensor.double(), expected, atol=1e-5, rtol=1e-5)
        assert torch.equal(saved.get_parameter(name), tensor.to(dtype))
    assert torch.equal(saved.norm.running_var, module.norm.running_var)
    assert torch.equal(saved.frozen.weight, module.frozen.weight)


def mean_loss(module: Regression, loader: DataLoader) -> float:
    module.eval()
    with torch.no_grad():
        return sum(module.loss(batch).item() for batch in loader) / len(loader)


@pytest.mark.parametrize("evaluate", [True, False])
def test_evaluation_uses_the_average_if_asked(tmp_path, evaluate):
    module, averaging = Regression(), AveragingCallback(partial(BEMA, ema_power=0.9), evaluate)
    held_out = data(seed=2, batches=1)
    fitting = trainer(tmp_path, [averaging], val_check_interval=4, num_sanity_val_steps=1)
    fitting.fit(module, data(), held_out)
    live = mean_loss(module, held_out)
    with averaging.average.applied():
        averaged = mean_loss(module, held_out)
    assert live != averaged
    expected = averaged if evaluate else live
    assert module.losses[-1] == pytest.approx(expected)
    fitting.test(module, held_out, verbose=False)
    assert module.losses[-1] == pytest.approx(expected)
    (predictions,) = fitting.predict(module, held_out)
    (batch,) = held_out
    assert (predictions - batch[1]).square().mean().item() == pytest.approx(expected)


def test_training_is_untouched_by_averaged_evaluation(tmp_path):
    states = []
    for evaluate in (True, False):
        module = Regression()
        averaging = AveragingCallback(BEMA, evaluate)
        trainer(tmp_path, [averaging], val_check_interval=2).fit(module, data(), data(2, 1))
        states.append(module.state_dict())
    torch.testing.assert_close(states[0], states[1], rtol=0, atol=0)


def test_an_error_in_evaluation_gives_the_live_weights_back(tmp_path):
    class Fails(Regression):
        def validation_step(self, batch, index):
            raise RuntimeError("validation fails")

    module, recorder = Fails(), Recorder()
    callbacks = [AveragingCallback(BEMA, evaluate=True), recorder]
    fitting = trainer(tmp_path, callbacks, val_check_interval=4, num_sanity_val_steps=0)
    with pytest.raises(RuntimeError, match="validation fails"):
        fitting.fit(module, data(), data(2, 1))
    assert torch.equal(module.head.weight.double(), recorder.weights[-1]["head.weight"])


def test_averaged_weights_are_not_saved_as_a_checkpoint(tmp_path):
    class SavesTooEarly(Callback):
        def on_validation_batch_end(self, trainer, *_):
            trainer.save_checkpoint(tmp_path / "wrong.ckpt")

    callbacks = [AveragingCallback(BEMA, evaluate=True), SavesTooEarly()]
    fitting = trainer(tmp_path, callbacks, val_check_interval=4, num_sanity_val_steps=0)
    with pytest.raises(AveragingError, match="must not be saved"):
        fitting.fit(Regression(), data(), data(2, 1))
    assert not (tmp_path / "wrong.ckpt").exists()


def test_before_the_first_update_evaluation_says_so(tmp_path):
    averaging = AveragingCallback(partial(BEMA, update_every=50), evaluate=True)
    fitting = trainer(tmp_path, [averaging], steps=4, val_check_interval=4)
    with pytest.warns(LengthwiseWarning) as record:
        fitting.fit(Regression(), data(), data(2, 1))
    said = [str(w.message) for w in record if issubclass(w.category, LengthwiseWarning)]
    assert said[0] == "no average yet at step 4: the live weights are evaluated"
    assert "no averaged model is saved" in said[1]
    assert not (tmp_path / "averaged.safetensors").exists()


def test_resuming_without_a_state_is_refused(tmp_path):
    first = trainer(tmp_path, [], steps=4)
    first.fit(Regression(), data())
    first.save_checkpoint(tmp_path / "plain.ckpt")
    with pytest.raises(InputError, match="resumes at step 4, but the checkpoint has no state"):
        trainer(tmp_path, [AveragingCallback()], steps=6).fit(
            Regression(), data(), ckpt_path=tmp_path / "plain.ckpt"
        )


class KilledAt(Callback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_train_batch_end(self, trainer, *_):
        if trainer.global_step == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


def train_in_this_process(folder: Path, killed_at: int) -> None:
    """Start or resume a training, and perhaps die in it."""
    checkpoint = folder / "step.ckpt"
    settings = {"ema_power": [0.5, 0.8], "start_after": 2, "update_every": 3}
    callbacks = [
        AveragingCallback(partial(BEMA, **settings)),
        # Lightning itself resumes exactly only from the end of an epoch, which has 5 steps here.
        ModelCheckpoint(folder, "step", save_on_train_epoch_end=True, enable_version_counter=False),
        KilledAt(killed_at),
    ]
    fitting = trainer(folder, callbacks, steps=18, enable_checkpointing=True)
    resume = checkpoint if checkpoint.exists() else None
    # One batch, again and again: Lightning does not resume the order of a plain DataLoader.
    fitting.fit(Regression(), data(batches=1), ckpt_path=resume)


def test_a_killed_and_resumed_training_equals_an_uninterrupted_one(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train_in_this_process(whole, killed_at=0)
    command = [sys.executable, __file__, str(killed), "8"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert not (killed / "averaged.safetensors").exists()
    train_in_this_process(killed, killed_at=0)
    weights = [load_file(folder / "averaged.safetensors") for folder in (killed, whole)]
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=0)
    key = "AveragingCallback"
    states = [
        torch.load(folder / "step.ckpt", weights_only=True)["callbacks"][key]
        for folder in (killed, whole)
    ]
    torch.testing.assert_close(states[0], states[1], rtol=0, atol=0)


def test_a_missing_extra_says_what_to_install():
    code = "import sys; sys.modules['lightning'] = None; import lengthwise.averaging.lightning"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.strip().endswith("pip install 'lengthwise[lightning]'")


if __name__ == "__main__":
    torch.set_num_threads(1)
    train_in_this_process(Path(sys.argv[1]), int(sys.argv[2]))
